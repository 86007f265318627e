package limitstest_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/limits/limitstest"
)

// record is a test that only notes its failures.
type record struct {
	testing.TB
	failures []string
}

func (r *record) Helper() {}
func (r *record) Errorf(format string, args ...any) {
	r.failures = append(r.failures, fmt.Sprintf(format, args...))
}

func TestNoLeakCatches(t *testing.T) {
	for _, c := range []struct {
		name string
		leak func(t *testing.T, host *limits.Budget)
		want string
	}{
		{"a child that is open and holds nothing", func(t *testing.T, host *limits.Budget) {
			t.Cleanup(host.Child(limits.Policy{}).Close)
		}, "1 children of the account are open"},
		{"a child that holds bytes", func(t *testing.T, host *limits.Budget) {
			child := host.Child(limits.Policy{})
			t.Cleanup(child.Close)
			if err := child.Hold(7); err != nil {
				t.Fatal(err)
			}
		}, "the account holds 7 on the axis total"},
		{"a lease that was not released", func(t *testing.T, host *limits.Budget) {
			if _, err := host.Lease(9); err != nil {
				t.Fatal(err)
			}
		}, "the account holds 9 on the axis total"},
		{"items", func(t *testing.T, host *limits.Budget) {
			if err := host.Items(2); err != nil {
				t.Fatal(err)
			}
		}, "the account holds 2 on the axis items"},
		{"a level that was not left", func(t *testing.T, host *limits.Budget) {
			if err := host.Enter(); err != nil {
				t.Fatal(err)
			}
		}, "the account holds 1 on the axis depth"},
	} {
		t.Run(c.name, func(t *testing.T) {
			host := limitstest.Open(t, limits.Policy{})
			c.leak(t, host)
			r := &record{TB: t}
			limitstest.NoLeak(r, host)
			if got := strings.Join(r.failures, "; "); !strings.Contains(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestHostPassesWithoutLeak(t *testing.T) {
	host := limitstest.Host(t, limits.Policy{})
	child := host.Child(limits.Policy{})
	defer child.Close()
	if err := child.Alloc(100); err != nil {
		t.Fatal(err)
	}
	if got := limitstest.Peak(child, limits.Total); got != 100 {
		t.Errorf("peak %d", got)
	}
}
