// Package limitstest helps tests to see what an account still holds.
package limitstest

import (
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/watch"
	"github.com/anamnesis-go/anamnesis/limits"
)

// Open opens an account that is closed at the end of the test.
func Open(t testing.TB, p limits.Policy) *limits.Budget {
	t.Helper()
	b := p.Budget(t.Context())
	t.Cleanup(b.Close)
	return b
}

// Host opens an account for children and fails the test if at its end a child
// is open or anything is held.
func Host(t testing.TB, p limits.Policy) *limits.Budget {
	t.Helper()
	b := Open(t, p)
	t.Cleanup(func() { NoLeak(t, b) }) // runs before Close
	return b
}

// NoLeak fails the test unless every child of the host is closed and nothing is
// held.
func NoLeak(t testing.TB, host *limits.Budget) {
	t.Helper()
	if n := host.Children(); n != 0 {
		t.Errorf("%d children of the account are open", n)
	}
	for _, a := range []limits.Axis{limits.Total, limits.Items, limits.WorkingSet, limits.OpenFiles, limits.Requests, limits.Fetched, limits.Depth} {
		if n := Used(host, a); n != 0 {
			t.Errorf("the account holds %d on the axis %v", n, a)
		}
	}
}

// Used is what the account holds on one axis.
func Used(b *limits.Budget, a limits.Axis) int64 { return of(b, a).Used }

// Peak is the most that the account held on one axis.
func Peak(b *limits.Budget, a limits.Axis) int64 { return of(b, a).Peak }

func of(b *limits.Budget, a limits.Axis) limits.AxisUsage { return b.Usage()[a] }

// Refuse asks f before each charge of memory, items or files, until the end of the test,
// whether the account refuses it, whatever it holds.
func Refuse(t testing.TB, f func(axis string, n int64) bool) {
	t.Helper()
	watch.SetRefusal(f)
	t.Cleanup(func() { watch.SetRefusal(nil) })
}

// Watch tells f of each charge that is made until the end of the test, by its axis and its
// amount, in the goroutine that makes it. A meter of steps charges each step by itself then.
func Watch(t testing.TB, f func(axis string, n int64)) {
	t.Helper()
	watch.Set(f)
	t.Cleanup(func() { watch.Set(nil) })
}
