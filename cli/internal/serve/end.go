package serve

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/anamnesis-go/anamnesis/cli/internal/run"
	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// shutdown refuses what arrives or waits, finishes what is being judged, and cuts clients
// that keep the service from ending. The error says that a judgement was not finished.
func (v *server) shutdown() (err error) {
	v.api.Drain()
	soft, stop := context.WithTimeout(context.Background(), v.cmd.Drain)
	defer stop()
	var all sync.WaitGroup
	var lost atomic.Int64
	defer context.AfterFunc(soft, func() {
		if soft.Err() == context.DeadlineExceeded {
			lost.Store(int64(v.api.Gate().Host().Load().Judging))
		}
	})()
	for _, h := range v.http {
		all.Go(func() {
			if h.Shutdown(soft) == nil {
				return
			}
			time.Sleep(50 * time.Millisecond) // what is lost is counted
			v.cut()
			v.closeHTTP(h)
		})
	}
	for _, end := range v.clamds {
		all.Go(end)
	}
	all.Wait()
	if n := lost.Load(); n > 0 {
		return wire.ErrInternal.Errorf("%d checks were not finished within --drain %v", n, v.cmd.Drain)
	}
	return nil
}

// closeHTTP closes all connections, after a moment in which the clients of judgements that
// were cut get their answers.
func (v *server) closeHTTP(h *http.Server) {
	ctx, stop := context.WithTimeout(context.Background(), run.CutTime/4)
	defer stop()
	if h.Shutdown(ctx) != nil {
		v.log.Warn("clients that do not send, or do not read their answers, are disconnected")
		_ = h.Close() // the listener is closed already
	}
}
