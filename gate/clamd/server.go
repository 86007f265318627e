package clamd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"sync"
	"time"

	"github.com/anamnesis-go/anamnesis/gate/host"
	"github.com/anamnesis-go/anamnesis/internal/folder"
	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// A Server answers clamd's clients.
type Server struct {
	Host *host.Host
	// Root is the folder below which paths are scanned; none are unless set. Make it with
	// [Below].
	Root fs.FS
	// Dir is the name that clients call Root by: "/srv/uploads".
	Dir string
	// Version is what VERSION answers.
	Version string
	// MaxConns bounds connections; 128 unless set, of which one address may have half. Idle
	// is how long a client may say nothing, and how long a command may take to come; 30 s
	// unless set.
	MaxConns int
	Idle     time.Duration
	// MinRate is how many bytes a second must pass of a stream or an answer, on an average of
	// ten seconds: 1 KiB unless set, no bound if negative. UploadTime bounds how long a stream
	// may take to come; 4 h unless set.
	MinRate    int64
	UploadTime time.Duration
	// Drain is how long judgements may go on after the context of Serve has ended; 8 s unless
	// set.
	Drain time.Duration
	// Reload, if set, is what RELOAD does.
	Reload func() error
	Log    *slog.Logger
	// Observe is called for each file.
	Observe func(host.Event)
}

// Below returns the files of a folder for [Server.Root]. No link leads out of it, and a pipe in the
// place of a file does not block, as it would with [os.Root.FS].
func Below(root *os.Root) fs.FS { return folder.Below(root) }

// Serve answers on a listener until the context ends. Then it cuts clients that send or read,
// waits for judgements, and returns nil.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	switch {
	case s == nil || s.Host == nil:
		return errors.New("clamd: there is no host that judges")
	case ctx == nil || l == nil:
		return errors.New("clamd: there is no listener, or no context")
	}
	s.setDefaults()
	var wg sync.WaitGroup
	defer wg.Wait()
	stop := context.AfterFunc(ctx, func() { l.Close() })
	defer stop()
	judging, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(s.Drain, end) })()
	conns := places{max: s.MaxConns, of: map[string]int{}}
	for {
		c, err := l.Accept()
		switch {
		case err != nil && ctx.Err() != nil:
			wg.Wait() // before the judgements end
			return nil
		case err != nil && isTemporary(err):
			time.Sleep(10 * time.Millisecond)
			continue
		case err != nil:
			return err
		}
		from := host.AddressTenant(c.RemoteAddr().String())
		if !conns.take(from) {
			c.Close() // as clamd does when its queue is full
			continue
		}
		wg.Go(func() {
			defer conns.give(from)
			s.serveConn(ctx, judging, c)
		})
	}
}

// places counts connections, and those of each address.
type places struct {
	max int

	mu  sync.Mutex
	all int
	of  map[string]int
}

// take reports whether there is a place for a client of an address, "" for none.
func (p *places) take(from string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.all >= p.max || from != "" && p.of[from] >= max(1, p.max/2) {
		return false
	}
	p.all++
	p.of[from]++
	return true
}

func (p *places) give(from string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all--
	if p.of[from]--; p.of[from] == 0 {
		delete(p.of, from)
	}
}

// isTemporary reports whether Accept may succeed later, for example when the process is
// out of descriptors.
func isTemporary(err error) bool {
	var e interface{ Temporary() bool }
	return errors.As(err, &e) && e.Temporary() && !errors.Is(err, net.ErrClosed)
}

func (s *Server) setDefaults() {
	if s.MaxConns <= 0 {
		s.MaxConns = 128
	}
	if s.Idle <= 0 {
		s.Idle = 30 * time.Second
	}
	if s.MinRate == 0 {
		s.MinRate = 1 << 10
	}
	if s.UploadTime <= 0 {
		s.UploadTime = 4 * time.Hour
	}
	if s.Drain <= 0 {
		s.Drain = 8 * time.Second
	}
	if s.Log == nil {
		s.Log = slog.New(slog.DiscardHandler)
	}
	if s.Observe == nil {
		s.Observe = func(host.Event) {}
	}
	if s.Version == "" {
		s.Version = "anamnesis"
	}
}

// clean is the answer about a file that is accepted. Only report gives it.
const clean = "OK"

// report logs a verdict and returns the answer about it: OK only from its acceptance, else FOUND
// with the rule.
func (s *Server) report(u *host.Upload, tenant, name string, spool, judge time.Duration) string {
	v := u.Verdict
	rules := make([]string, 0, 1)
	for _, r := range v.Refusals() {
		rules = append(rules, r.Rule)
	}
	e := host.Event{Tenant: tenant, Name: name, Size: u.Size, Status: v.Class().HTTPStatus(), Class: v.Class(), Rules: rules, Spool: spool, Judge: judge}
	defer func() { s.Observe(e) }()
	if _, ok := u.Acceptance(); ok {
		s.Log.Info("accepted", "name", wire.Clean(name, 256), "size", u.Size)
		return clean
	}
	if len(rules) == 0 {
		rules, e.Status = []string{"gate.internal"}, wire.Internal.HTTPStatus()
	}
	s.Log.Warn("refused", "name", wire.Clean(name, 256), "size", u.Size, "class", v.Class().String(), "rules", rules)
	return "Anamnesis." + rules[0] + " FOUND"
}

// statsText returns the statistics in clamd's form.
func (s *Server) statsText() string {
	l, o := s.Host.Load(), s.Host.Options()
	return fmt.Sprintf("POOLS: 1\n\nSTATE: VALID PRIMARY\nTHREADS: live %d  idle %d max %d idle-timeout %d\nQUEUE: %d items\n\tSTATS 0.000000\n\nMEMSTATS: heap %.3fM mmap 0.000M used %.3fM free %.3fM releasable 0.000M pools 0 pools_used 0.000M pools_total 0.000M\nEND",
		l.Judging, max(0, o.Slots-l.Judging), o.Slots, int(s.Idle/time.Second), l.Waiting, mega(o.Memory), mega(l.Memory), mega(o.Memory-l.Memory))
}

func mega(n int64) float64 { return float64(n) / (1 << 20) }
