package cli

import (
	"context"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// A life is what signals mean to the program: the end, unless it is a service.
type life struct {
	serving atomic.Bool
	grace   atomic.Int64 // how long the program may take to end, in nanoseconds
	hangups chan os.Signal
}

func newLife() *life {
	l := &life{hangups: make(chan os.Signal, 1)}
	l.grace.Store(int64(grace))
	return l
}

// cutTime is how long a service takes to end once the time for running checks is over.
const cutTime = 2 * time.Second

// serve makes the program a service, for which a signal is the normal end.
func (l *life) serve(drain time.Duration) {
	l.grace.Store(int64(drain + cutTime))
	l.serving.Store(true)
}

// reloads reports whether a signal asks a service to read its files again, and passes it on.
func (l *life) reloads(s os.Signal) bool {
	if s != syscall.SIGHUP || !l.serving.Load() {
		return false
	}
	select {
	case l.hangups <- s:
	default: // the next reload will see what this one would
	}
	return true
}

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
	ctx, stop := context.WithTimeout(context.Background(), cutTime/4)
	defer stop()
	if h.Shutdown(ctx) != nil {
		v.log.Warn("clients are cut that do not send, or do not read their answers")
		_ = h.Close() // the listener is closed already
	}
}
