package limits_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/limits/limitstest"
)

func TestCloseReturnsWhatTheChildHolds(t *testing.T) {
	host := limitstest.Host(t, limits.Policy{})
	b := host.Child(limits.Policy{})
	must(t, b.Alloc(100))
	must(t, b.Items(7))
	b.Close()
	b.Close()
	limitstest.NoLeak(t, host)
	if peak := limitstest.Peak(b, limits.Total); peak != 100 {
		t.Errorf("a closed account forgets its peak: %d", peak)
	}
	if used := limitstest.Used(b, limits.Total); used != 0 {
		t.Errorf("a closed account holds %d bytes", used)
	}
}

func TestAClosedAccountRefusesAndIgnores(t *testing.T) {
	host := limitstest.Host(t, limits.Policy{})
	b := host.Child(limits.Policy{})
	release, err := b.Lease(10)
	must(t, err)
	w := b.Workspace()
	must(t, w.Hold(10))
	must(t, b.Hold(10))
	b.Close()
	for name, charge := range map[string]func() error{
		"Alloc": func() error { return b.Alloc(1) },
		"Hold":  func() error { return b.Hold(0) },
		"Items": func() error { return b.Items(1) },
		"work":  func() error { return work(b, 1) },
		"Step":  func() error { return b.Step(1) },
		"Steps": func() error { s := b.Steps(); return s.Step() },
		"Err":   b.Err,
		"Lease": func() error { _, err := b.Lease(1); return err },
		"Make":  func() error { _, err := limits.Make[byte](b, 1); return err },
	} {
		if err := charge(); !errors.Is(err, limits.ErrClosed) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	release()
	b.Drop(10)
	w.Close()
	limitstest.NoLeak(t, host)
}

// Whoever closes first has returned all; the other must not return it again.
func TestAccountsMayCloseInAnyOrder(t *testing.T) {
	host := limitstest.Host(t, limits.Policy{})
	tenant := host.Child(limits.Policy{})
	b := tenant.Child(limits.Policy{})
	other := host.Child(limits.Policy{})
	defer other.Close()
	must(t, other.Hold(1000))
	release, err := b.Lease(100)
	must(t, err)
	must(t, b.Hold(10))
	tenant.Close()
	if used := limitstest.Used(host, limits.Total); used != 1000 {
		t.Errorf("host holds %d after its child closed", used)
	}
	if err := b.Hold(1); !errors.Is(err, limits.ErrClosed) {
		t.Errorf("a charge under a closed parent: %v", err)
	}
	if err := b.Err(); !errors.Is(err, limits.ErrClosed) {
		t.Errorf("an operation under a closed parent goes on: %v", err)
	}
	release()
	b.Drop(10)
	b.Close()
	if used := limitstest.Used(host, limits.Total); used != 1000 {
		t.Errorf("host holds %d after its grandchild closed", used)
	}
}

func TestCloseEndsTheContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	b := limits.Policy{}.Budget(ctx)
	child := b.Child(limits.Policy{})
	b.Close()
	<-b.Context().Done()
	<-child.Context().Done()
	child.Close()
	if ctx.Err() != nil {
		t.Error("the caller's context ended too")
	}
}

// Charges, leases and closings at once: nothing is held at the end, and the
// host never holds more than its ceiling. Run with -race.
func TestManyGoroutinesOnOneHost(t *testing.T) {
	const ceiling = 10_000
	host := limitstest.Host(t, limits.Policy{MaxTotalBytes: ceiling, MaxItems: 100})
	var group sync.WaitGroup
	for worker := range 16 {
		group.Go(func() {
			for round := range 200 {
				b := host.Child(limits.Policy{MaxTotalBytes: 2000})
				var inner sync.WaitGroup
				for range 3 {
					inner.Go(func() { churn(t, b, int64(worker+round%7+1)) })
				}
				if round%2 == 0 {
					inner.Wait()
				}
				b.Close() // in odd rounds while its goroutines still charge
				inner.Wait()
			}
		})
	}
	group.Wait()
	if peak := limitstest.Peak(host, limits.Total); peak > ceiling || peak == 0 {
		t.Errorf("the host's peak is %d", peak)
	}
}

func churn(t *testing.T, b *limits.Budget, n int64) {
	for range 20 {
		release, err := b.Lease(n * 40)
		fine(t, err)
		if fine(t, b.Hold(n)) {
			b.Drop(n)
		}
		fine(t, b.Items(1))
		w := b.Workspace()
		if fine(t, w.Hold(n)) {
			w.Close()
		}
		release()
	}
}

// fine reports success; a refusal for want of room, or because the account is
// closed, is what this test provokes.
func fine(t *testing.T, err error) bool {
	if err != nil && !errors.Is(err, limits.ErrLimit) && !errors.Is(err, limits.ErrClosed) {
		t.Error(err)
	}
	return err == nil
}

// A host at its ceiling refuses while accounts between are being closed: the
// path on which a charge is taken back from an account that is gone.
func TestRefusalsWhileClosing(t *testing.T) {
	host := limitstest.Host(t, limits.Policy{MaxTotalBytes: 50})
	var group sync.WaitGroup
	for range 2000 {
		tenant := host.Child(limits.Policy{})
		b := tenant.Child(limits.Policy{})
		group.Go(func() {
			for range 10 {
				fine(t, b.Hold(30))
			}
		})
		group.Go(b.Close)
		group.Go(tenant.Close)
	}
	group.Wait()
}

// Whatever takes memory as it goes notices the end of its operation, also where
// it does not step.
func TestAnEndedOperationIsGrantedNothing(t *testing.T) {
	gone := errors.New("the caller went away")
	cancelled, cancel := context.WithCancelCause(t.Context())
	cancel(gone)
	for name, b := range map[string]*limits.Budget{
		"cancelled":  limits.Policy{}.Budget(cancelled),
		"a deadline": limits.Policy{Timeout: 1}.Budget(t.Context()),
	} {
		<-b.Context().Done()
		w := b.Workspace()
		_, leased := b.Lease(1)
		_, grown := limits.Append(b, []int(nil), 1)
		for i, err := range []error{b.Alloc(1), b.Hold(1), b.Items(1), w.Hold(1), leased, grown} {
			if !errors.Is(err, gone) && !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s: charge %d: %v", name, i, err)
			}
		}
		limitstest.NoLeak(t, b)
		b.Close()
	}
}
