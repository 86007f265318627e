package limits_test

import (
	"errors"
	"sync"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/effort"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/limits/limitstest"
)

// A step is one call on one of the accounts of TestEveryOrderOfCalls: 0 is the host, 1 and
// 2 are children of it, 3 is what a model holds under 1.
type step struct {
	on   int
	what string
	n    int64
}

var steps = []step{
	{0, "hold", 2}, {1, "hold", 2}, {2, "hold", 1}, {3, "hold", 1},
	{1, "drop", 2}, {2, "drop", 1}, {3, "drop", 1},
	{1, "close", 0}, {2, "close", 0}, {3, "close", 0},
}

var above = [...]int{-1, 0, 0, 1}

// A ledger is what the accounts must hold, kept by addition.
type ledger struct {
	own    [4]int64 // charged to the account itself
	closed [4]bool
}

const hostCeiling, childCeiling = 4, 3

func (k *ledger) held(a int) int64 {
	if k.closed[a] {
		return 0
	}
	sum := k.own[a]
	for c, up := range above {
		if up == a {
			sum += k.held(c)
		}
	}
	return sum
}

func (k *ledger) isClosed(a int) bool { return a >= 0 && (k.closed[a] || k.isClosed(above[a])) }

func (k *ledger) apply(s step) (ok bool) {
	switch s.what {
	case "close":
		k.closed[s.on] = true
		return true
	case "drop":
		if k.closed[s.on] || k.own[s.on] < s.n {
			return false
		}
		k.own[s.on] -= s.n
		return true
	}
	if k.isClosed(s.on) {
		return false
	}
	for a := s.on; a >= 0; a = above[a] {
		ceiling := int64(childCeiling)
		if a == 0 {
			ceiling = hostCeiling
		}
		if k.held(a)+s.n > ceiling {
			return false
		}
	}
	k.own[s.on] += s.n
	return true
}

// Every order of a few calls on four accounts leaves in each what addition says, and
// nothing in the host once all are closed.
func TestEveryOrderOfCalls(t *testing.T) {
	length := 4
	if effort.Whole() {
		length = 6
	}
	var order []step
	var try func()
	tried := 0
	try = func() {
		if len(order) == length {
			tried++
			play(t, order)
			return
		}
		for _, s := range steps {
			order = append(order, s)
			try()
			order = order[:len(order)-1]
		}
	}
	try()
	t.Logf("%d orders", tried)
}

func play(t *testing.T, order []step) {
	host := limits.Policy{MaxTotalBytes: hostCeiling}.Budget(t.Context())
	child := limits.Policy{MaxTotalBytes: childCeiling}
	accounts := [4]*limits.Budget{host, host.Child(child), host.Child(child)}
	accounts[3] = accounts[1].Holding()
	var k ledger
	for i, s := range order {
		b, before := accounts[s.on], k
		var err error
		switch s.what {
		case "hold":
			err = b.Hold(s.n)
		case "drop":
			err = b.Drop(s.n)
		case "close":
			b.Close()
		}
		if ok := k.apply(s); ok != (err == nil) {
			t.Fatalf("%v: call %d: %v, with %v", order, i, err, before)
		}
		for a, b := range accounts {
			if got, want := limitstest.Used(b, limits.Total), k.held(a); got != want && !k.isClosed(a) {
				t.Fatalf("%v: after call %d account %d holds %d, want %d", order, i, a, got, want)
			}
		}
	}
	for _, b := range accounts[1:] {
		b.Close()
	}
	if got := limitstest.Used(host, limits.Total); got != k.own[0] || host.Children() != 0 {
		t.Fatalf("%v: the host holds %d, want %d", order, got, k.own[0])
	}
	host.Close()
}

// Sixteen goroutines open, charge, return too much, close twice and close too early, on
// three levels. Nothing is left, and no account ever holds more than the one above it.
func TestSixteenGoroutinesLeaveNothing(t *testing.T) {
	const ceiling = 5000
	host := limitstest.Host(t, limits.Policy{MaxTotalBytes: ceiling, MaxItems: 500, MaxOpenFiles: 40})
	var tenants [4]*limits.Budget
	for i := range tenants {
		tenants[i] = host.Child(limits.Policy{MaxTotalBytes: 3000, MaxWorkingSet: 900, MaxDepth: 40})
	}
	ours := func(err error) {
		if err != nil && !errors.Is(err, limits.ErrLimit) && !errors.Is(err, limits.ErrClosed) && !errors.Is(err, limits.ErrAmount) {
			t.Error(err)
		}
	}
	var group sync.WaitGroup
	for worker := range 16 {
		group.Go(func() {
			tenant := tenants[worker%len(tenants)]
			for round := range 150 {
				n := int64(worker + round%11 + 1)
				request := tenant.ChildContext(t.Context(), limits.Policy{MaxTotalBytes: 2000})
				model := request.Holding()
				var inner sync.WaitGroup
				for i := range 3 {
					inner.Go(func() {
						b := []*limits.Budget{request, model, model.Probe()}[i]
						ours(b.Hold(40 * n))
						ours(b.Drop(70 * n)) // of others too, if they hold it
						ours(b.Items(1))
						ours(b.Enter())
						ours(b.Inflate(1, n))
						w := b.Workspace()
						ours(w.Hold(n))
						ours(w.Drop(2 * n))
						release, err := b.Lease(n)
						ours(err)
						closed, err := b.OpenFile()
						ours(err)
						ours(b.Step(3))
						if round%3 > 0 { // else Close returns all of it
							closed()
							release()
							w.Close()
							ours(b.Leave())
						}
						if i == 2 {
							b.Close()
						}
						release()
					})
				}
				if round%2 == 0 {
					inner.Wait()
				}
				if round%5 == 0 {
					request.Close()
				}
				model.Close()
				model.Close()
				request.Close()
				inner.Wait()
			}
		})
	}
	group.Wait()
	for i, tenant := range tenants {
		if held := limitstest.Used(tenant, limits.Total); held != 0 || tenant.Children() != 0 {
			t.Errorf("tenant %d holds %d, %d children", i, held, tenant.Children())
		}
		tenant.Close()
	}
	if peak := limitstest.Peak(host, limits.Total); peak > ceiling || peak == 0 {
		t.Errorf("the host's peak is %d", peak)
	}
}
