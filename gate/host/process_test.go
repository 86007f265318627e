package host_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/gate/host"
	"github.com/anamnesis-go/anamnesis/limits"
)

// elsewhere judges as another process would, which asks for turns through pipes, and counts
// what it asks for.
func elsewhere(asked *atomic.Int64) func(context.Context, *gate.Gate, io.ReaderAt, int64, gate.Hint) (*gate.Verdict, error) {
	return func(ctx context.Context, g *gate.Gate, r io.ReaderAt, size int64, h gate.Hint) (*gate.Verdict, error) {
		asks, asking := io.Pipe()
		granted, grants := io.Pipe()
		ended := make(chan error, 1)
		turn := host.TurnOf(ctx)
		go func() {
			ended <- turn.Grant(countedReader{asks, asked}, grants)
			grants.Close()
		}()
		inner, end := context.WithCancelCause(ctx)
		defer end(nil)
		a := host.Ask(asking, granted, end)
		b := limits.Policy{Timeout: limits.NoTimeout}.Budget(inner)
		defer b.Close()
		b.Meter(a.Pay)
		v, err := g.Check(b, a.Reader(r), size, h)
		asking.Close()
		return v, errors.Join(err, <-ended)
	}
}

type countedReader struct {
	io.Reader
	n *atomic.Int64
}

func (c countedReader) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	if err == nil {
		c.n.Add(1)
	}
	return n, err
}

// A judgement in another process that holds the only slot gives it to another tenant: it asks
// for a turn for each quantum of its steps, and those of the other come between.
func TestAJudgementInAnotherProcessYields(t *testing.T) {
	var asked atomic.Int64
	h := newHost(t, host.Options{Slots: 1, Judge: elsewhere(&asked)})
	var mu sync.Mutex
	var order []string
	var wg sync.WaitGroup
	judge := func(tenant, data string) {
		u := upload(t, h, tenant, data)
		wg.Go(func() {
			defer u.Close()
			v, err := u.Judge(t.Context())
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			order = append(order, tenant)
			if _, ok := u.Acceptance(); !ok {
				t.Errorf("%s: %v", tenant, v.Err)
			}
		})
	}
	judge("a", dearest)
	waitFor(t, h, "judgement of a", func(l host.Load) bool { return l.Judging == 1 && asked.Load() > 0 })
	for range 3 {
		judge("b", honest)
	}
	wg.Wait()
	if strings.Join(order, "") != "bbba" {
		t.Errorf("judged in the order %v: the process of a kept its slot", order)
	}
	// 4.8 million steps, a quantum of which is a turn at most.
	if n := asked.Load(); n < 4_800_000>>18 {
		t.Errorf("%d turns are too few", n)
	}
	if l := h.Load(); l != (host.Load{}) {
		t.Errorf("left behind: %+v", l)
	}
}

// A process that never asks for a turn does not keep the only slot from others: while it runs,
// they are judged one after another.
func TestAProcessThatNeverYieldsDoesNotBlockOthers(t *testing.T) {
	var running atomic.Int64
	stuck := make(chan struct{})
	h := newHost(t, host.Options{Slots: 1, Judge: func(ctx context.Context, g *gate.Gate, r io.ReaderAt, size int64, hint gate.Hint) (*gate.Verdict, error) {
		if running.Add(1) > 2 {
			t.Error("more than one slot more")
		}
		defer running.Add(-1)
		if hint.Name == "stuck" {
			<-stuck
		}
		b := limits.Policy{}.Budget(ctx)
		defer b.Close()
		return g.Check(b, r, size, hint)
	}})
	var wg sync.WaitGroup
	judge := func(tenant, name string) func() {
		u := upload(t, h, tenant, honest)
		u.Name = name
		return func() {
			defer u.Close()
			if _, err := u.Judge(t.Context()); err != nil {
				t.Error(err)
			}
			if _, ok := u.Acceptance(); !ok {
				t.Errorf("%s of %s: not accepted", name, tenant)
			}
		}
	}
	wg.Go(judge("a", "stuck"))
	waitFor(t, h, "judgement of a", func(l host.Load) bool { return l.Judging == 1 })
	for _, tenant := range []string{"b", "c"} {
		judge(tenant, "m.safetensors")()
	}
	close(stuck)
	wg.Wait()
	if l := h.Load(); l != (host.Load{}) {
		t.Errorf("left behind: %+v", l)
	}
}

// A process whose parent is gone ends its judgement, and does not go on without turns. A
// parent whose child is gone has nothing left to grant.
func TestAnOrphanedProcessEndsItsJudgement(t *testing.T) {
	asks, asking := io.Pipe()
	granted, grants := io.Pipe()
	asks.Close()
	grants.Close()
	ctx, end := context.WithCancelCause(t.Context())
	defer end(nil)
	a := host.Ask(asking, granted, end)
	a.Every(1)
	b := limits.Policy{}.Budget(ctx)
	defer b.Close()
	b.Meter(a.Pay)
	g := gate.Gate{}
	v, err := g.Check(b, a.Reader(strings.NewReader(honest)), int64(len(honest)), gate.Hint{})
	if err == nil && v.Accepted() {
		t.Error("a judgement went on without a parent")
	}
	if err := context.Cause(ctx); err == nil || !strings.Contains(err.Error(), "the process that grants turns is gone") {
		t.Errorf("the cause is %v", err)
	}
	if host.TurnOf(t.Context()) != nil {
		t.Error("a context without a judgement has a turn")
	}
}
