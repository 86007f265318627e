package host_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/gate/host"
	"github.com/anamnesis-go/anamnesis/internal/effort"
	"github.com/anamnesis-go/anamnesis/limits"
)

const honest = "\x02\x00\x00\x00\x00\x00\x00\x00{}"

// dear returns a pickle that is expensive to judge: it makes lists, and drops them.
var dear = func() string {
	var out bytes.Buffer
	out.WriteString("\x80\x02")
	for range 120_000 {
		out.WriteString("]0") // makes a list and drops it
	}
	out.WriteString("N.")
	return out.String()
}()

// upload begins an upload of a tenant with its file.
func upload(t *testing.T, h *host.Host, tenant, data string) *host.Upload {
	t.Helper()
	u, err := h.Begin(tenant)
	if err != nil {
		t.Fatal(err)
	}
	if err := u.Spool(strings.NewReader(data), int64(len(data))); err != nil {
		t.Fatal(err)
	}
	return u
}

// dearest takes 20 times as long.
var dearest = "\x80\x02" + strings.Repeat(dear[2:len(dear)-2], 20) + "N."

func newHost(t *testing.T, o host.Options) *host.Host {
	t.Helper()
	h, err := host.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Close)
	return h
}

// waitFor waits until the host is in a state.
func waitFor(t *testing.T, h *host.Host, what string, is func(host.Load) bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !is(h.Load()); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("no %s: %+v", what, h.Load())
		}
	}
}

// The uploads of another tenant are judged before the backlog of one tenant is done, with
// any number of slots.
func TestATenantsBacklogDoesNotDelayAnother(t *testing.T) {
	for _, slots := range []int{1, 2, 4} {
		t.Run(fmt.Sprint(slots), func(t *testing.T) {
			h := newHost(t, host.Options{Slots: slots})
			// The judgement is so slow that the backlog is seen before it is done. With the race
			// detector one takes fifteen times as long.
			backlog, times := 60, 6
			if effort.Race {
				backlog, times = 30, 1
			}
			slow := "\x80\x02" + strings.Repeat(dear[2:len(dear)-2], times) + "N."
			var mu sync.Mutex
			var order []string
			var wg sync.WaitGroup
			judge := func(tenant string, u *host.Upload) {
				wg.Go(func() {
					defer u.Close()
					if _, err := u.Judge(t.Context()); err != nil {
						t.Error(err)
					}
					mu.Lock()
					defer mu.Unlock()
					order = append(order, tenant)
				})
			}
			var a, b []*host.Upload
			for range backlog {
				a = append(a, upload(t, h, "a", slow))
			}
			for range 3 {
				b = append(b, upload(t, h, "b", honest))
			}
			for _, u := range a {
				judge("a", u)
			}
			waitFor(t, h, "backlog", func(l host.Load) bool { return l.Judging+l.Waiting > backlog/2 })
			for _, u := range b {
				judge("b", u)
			}
			wg.Wait()
			before := 0
			for i, tenant := range order {
				if tenant == "b" {
					before = i
				}
			}
			if len(order) != backlog+3 || before > backlog-2*slots {
				t.Errorf("%d files of a were judged before the last of b: %v", before, order)
			}
			if l := h.Load(); l != (host.Load{}) {
				t.Errorf("left behind: %+v", l)
			}
		})
	}
}

// One judgement that holds the only slot gives it to another tenant.
func TestAnExpensiveJudgementYields(t *testing.T) {
	h := newHost(t, host.Options{Slots: 1, Gate: gate.Gate{Policy: gate.Policy{Limits: limits.Policy{MaxSteps: 1 << 40, Timeout: limits.NoTimeout, MaxItems: 1 << 30}}}})
	a := upload(t, h, "a", dearest)
	defer a.Close()
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := a.Judge(ctx)
		done <- err
	}()
	waitFor(t, h, "judgement", func(l host.Load) bool { return l.Judging == 1 })
	b := upload(t, h, "b", honest)
	defer b.Close()
	if v, err := b.Judge(t.Context()); err != nil || !v.Accepted() {
		t.Errorf("%+v, %v", v, err)
	}
	select {
	case err := <-done:
		t.Errorf("the dear judgement ended first: %v", err)
	default:
	}
	stop()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("the dear judgement: %v", err)
	}
	if l := h.Load(); l.Judging != 0 || l.Waiting != 0 {
		t.Errorf("left behind: %+v", l)
	}
}

// A tenant that fills its own part of the queue gets "busy"; the queue of the host is for all.
func TestAQueueForEachTenant(t *testing.T) {
	hold, begun := make(chan struct{}), make(chan struct{}, 64)
	judge := func(ctx context.Context, g *gate.Gate, r io.ReaderAt, size int64, hint gate.Hint) (*gate.Verdict, error) {
		begun <- struct{}{}
		select {
		case <-hold:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		b := g.Policy.Limits.Budget(ctx)
		defer b.Close()
		return g.Check(b, r, size, hint)
	}
	h := newHost(t, host.Options{Slots: 1, Queue: 4, Judge: judge})
	var wg sync.WaitGroup
	judgeOne := func(tenant string) error {
		u := upload(t, h, tenant, honest)
		done := make(chan error, 1)
		wg.Go(func() {
			defer u.Close()
			_, err := u.Judge(t.Context())
			done <- err
		})
		before := h.Load()
		for {
			select {
			case err := <-done:
				return err
			case <-time.After(time.Millisecond):
				if h.Load().Waiting > 0 && h.Load() == before || h.Load().Waiting > before.Waiting {
					select {
					case err := <-done:
						return err
					case <-time.After(20 * time.Millisecond):
						return nil
					}
				}
				before = h.Load()
			}
		}
	}
	first := upload(t, h, "a", honest)
	wg.Go(func() {
		defer first.Close()
		if _, err := first.Judge(t.Context()); err != nil {
			t.Error(err)
		}
	})
	<-begun
	for i, c := range []struct {
		tenant        string
		busy, tenant_ bool
	}{{"a", false, false}, {"a", false, false}, {"a", true, true}, {"b", false, false}, {"c", false, false}, {"d", true, false}} {
		busy, is := errors.AsType[*host.Busy](judgeOne(c.tenant))
		if is != c.busy || is && busy.Tenant != c.tenant_ {
			t.Errorf("file %d, of %s: %+v", i, c.tenant, busy)
		}
	}
	close(hold)
	wg.Wait()
	if l := h.Load(); l != (host.Load{}) {
		t.Errorf("left behind: %+v", l)
	}
}

// Where judgements cannot yield, because other processes judge, one tenant that holds all
// slots leaves one to the others.
func TestOneTenantNeverHoldsAllSlots(t *testing.T) {
	hold := make(chan struct{})
	judge := func(ctx context.Context, g *gate.Gate, r io.ReaderAt, size int64, hint gate.Hint) (*gate.Verdict, error) {
		if hint.Name == "dear" {
			<-hold
		}
		b := g.Policy.Limits.Budget(ctx)
		defer b.Close()
		return g.Check(b, r, size, hint)
	}
	h := newHost(t, host.Options{Slots: 2, Judge: judge})
	var wg sync.WaitGroup
	for range 10 {
		u := upload(t, h, "a", honest)
		u.Name = "dear"
		wg.Go(func() {
			defer u.Close()
			if _, err := u.Judge(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	waitFor(t, h, "backlog", func(l host.Load) bool { return l.Judging == 2 && l.Waiting == 8 })
	for range 3 {
		u := upload(t, h, "b", honest)
		if v, err := u.Judge(t.Context()); err != nil || !v.Accepted() {
			t.Errorf("%+v, %v", v, err)
		}
		u.Close()
	}
	if l := h.Load(); l.Judging != 2 {
		t.Errorf("%+v", l)
	}
	close(hold)
	wg.Wait()
}

// One tenant cannot take all of the spool or of the memory.
func TestSharesOfSpoolAndMemory(t *testing.T) {
	h := newHost(t, host.Options{MaxFile: 1 << 20, MaxSpool: 4 << 20, Memory: 2 << 20, Gate: gate.Gate{Policy: gate.Policy{Limits: limits.Policy{MaxTotalBytes: 1 << 20}}}})
	body := func() io.Reader { return strings.NewReader(dear + strings.Repeat(" ", 750<<10)) }
	take := func(tenant string, r io.Reader, size int64) error {
		u, err := h.Begin(tenant)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { u.Close() })
		return u.Spool(r, size)
	}
	for i, tenant := range []string{"a", "a", "a", "b"} {
		err := take(tenant, body(), -1)
		busy, is := errors.AsType[*host.Busy](err)
		if is != (i == 2) || is && !busy.Tenant || !is && err != nil {
			t.Errorf("spool %d: %v", i, err)
		}
	}
	if l := h.Load(); l.Spooled < 1900<<10 {
		t.Errorf("%+v", l)
	}
	if o := h.Options(); o.TenantMemory != 1<<20 {
		t.Errorf("a tenant may hold %d of %d bytes", o.TenantMemory, o.Memory)
	}
}

func TestAClosedUploadTakesNothing(t *testing.T) {
	h := newHost(t, host.Options{Dir: t.TempDir()})
	u, err := h.Begin("a")
	if err != nil {
		t.Fatal(err)
	}
	if err := u.Close(); err != nil {
		t.Fatal(err)
	}
	for _, size := range []int64{int64(len(honest)), -1} {
		if err := u.Spool(strings.NewReader(honest), size); err == nil {
			t.Errorf("size %d: it took a file", size)
		}
	}
	if err := u.Use(strings.NewReader(honest), int64(len(honest))); err == nil {
		t.Error("it took a file in place")
	}
	if v, err := u.Judge(t.Context()); err == nil || v != nil {
		t.Errorf("it was judged: %v", v)
	}
	if l := h.Load(); l != (host.Load{}) {
		t.Errorf("left behind: %+v", l)
	}
}

// A host that ends finishes what is judged, and refuses what waits.
func TestDrainFinishesCurrentJudgements(t *testing.T) {
	hold := make(chan struct{})
	judge := func(ctx context.Context, g *gate.Gate, r io.ReaderAt, size int64, hint gate.Hint) (*gate.Verdict, error) {
		<-hold
		b := g.Policy.Limits.Budget(ctx)
		defer b.Close()
		return g.Check(b, r, size, hint)
	}
	h := newHost(t, host.Options{Slots: 1, Judge: judge})
	first, second := upload(t, h, "a", honest), upload(t, h, "b", honest)
	defer first.Close()
	defer second.Close()
	done := [2]chan error{make(chan error, 1), make(chan error, 1)}
	go func() { _, err := first.Judge(t.Context()); done[0] <- err }()
	waitFor(t, h, "judgement", func(l host.Load) bool { return l.Judging == 1 })
	go func() { _, err := second.Judge(t.Context()); done[1] <- err }()
	waitFor(t, h, "one that waits", func(l host.Load) bool { return l.Waiting == 1 })
	if err := h.Ready(); err != nil {
		t.Error(err)
	}
	h.Drain()
	if err := <-done[1]; !errors.As(err, new(*host.Busy)) {
		t.Errorf("what waits: %v", err)
	}
	if err := h.Ready(); err == nil {
		t.Error("it is ready while it ends")
	}
	close(hold)
	if err := <-done[0]; err != nil || !first.Verdict.Accepted() {
		t.Errorf("what is judged: %v", err)
	}
}

// The policy's timeout still ends a judgement.
func TestThePolicysTimeEndsAJudgement(t *testing.T) {
	h := newHost(t, host.Options{Gate: gate.Gate{Policy: gate.Policy{Limits: limits.Policy{Timeout: time.Nanosecond}}}})
	u := upload(t, h, "a", dearest)
	defer u.Close()
	v, err := u.Judge(t.Context())
	if err != nil || v.Accepted() || !errors.Is(v.Err, limits.ErrLimit) {
		t.Errorf("%+v, %v", v, err)
	}
}
