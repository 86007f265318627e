package limits_test

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/limits/limitstest"
	"github.com/google/go-cmp/cmp"
)

// refused asserts that err is the typed error of one axis.
func refused(t *testing.T, err error, want limits.Error) {
	t.Helper()
	got, ok := errors.AsType[*limits.Error](err)
	if !ok || !errors.Is(err, limits.ErrLimit) {
		t.Fatalf("got %v, want a limit error", err)
	}
	if d := cmp.Diff(want, *got); d != "" {
		t.Error(d)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestEveryAxisRefusesWithItsName(t *testing.T) {
	for _, c := range []struct {
		name   string
		policy limits.Policy
		charge func(b *limits.Budget) error
		want   limits.Error
	}{
		{"one buffer", limits.Policy{MaxSingleAlloc: 10}, func(b *limits.Budget) error { return b.Alloc(11) },
			limits.Error{Axis: limits.SingleAlloc, Want: 11, Left: 10}},
		{"one leased buffer", limits.Policy{MaxSingleAlloc: 10}, func(b *limits.Budget) error { _, err := b.Lease(11); return err },
			limits.Error{Axis: limits.SingleAlloc, Want: 11, Left: 10}},
		{"a negative buffer", limits.Policy{}, func(b *limits.Budget) error { return b.Alloc(-1) },
			limits.Error{Axis: limits.SingleAlloc, Want: -1, Left: limits.DefaultMaxSingleAlloc}},
		{"bytes in all", limits.Policy{MaxTotalBytes: 10}, func(b *limits.Budget) error { return errors.Join(b.Alloc(6), b.Alloc(5)) },
			limits.Error{Axis: limits.Total, Want: 5, Left: 4}},
		{"bytes held", limits.Policy{MaxTotalBytes: 10}, func(b *limits.Budget) error { return b.Hold(math.MaxInt64) },
			limits.Error{Axis: limits.Total, Want: math.MaxInt64, Left: 10}},
		{"negative bytes", limits.Policy{}, func(b *limits.Budget) error { return b.Hold(-1) },
			limits.Error{Axis: limits.Total, Want: -1, Left: limits.DefaultMaxTotalBytes}},
		{"items", limits.Policy{MaxItems: 3}, func(b *limits.Budget) error { return errors.Join(b.Items(3), b.Items(1)) },
			limits.Error{Axis: limits.Items, Want: 1, Left: 0}},
		{"depth", limits.Policy{MaxDepth: 1}, func(b *limits.Budget) error { return errors.Join(b.Enter(), b.Enter()) },
			limits.Error{Axis: limits.Depth, Want: 1, Left: 0}},
		{"steps at once", limits.Policy{MaxSteps: 10}, func(b *limits.Budget) error { return b.Step(11) },
			limits.Error{Axis: limits.StepCount, Want: 11, Left: 10}},
		{"working set", limits.Policy{MaxWorkingSet: 10}, func(b *limits.Budget) error { return work(b, 11) },
			limits.Error{Axis: limits.WorkingSet, Want: 11, Left: 10}},
		{"working set within the total", limits.Policy{MaxTotalBytes: 10}, func(b *limits.Budget) error { return work(b, 11) },
			limits.Error{Axis: limits.Total, Want: 11, Left: 10}},
		{"open files", limits.Policy{MaxOpenFiles: 1}, func(b *limits.Budget) error {
			_, err := b.OpenFile()
			must(t, err)
			_, err = b.OpenFile()
			return err
		}, limits.Error{Axis: limits.OpenFiles, Want: 1, Left: 0}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := limitstest.Open(t, c.policy)
			refused(t, c.charge(b), c.want)
		})
	}
}

func TestARefusedChargeChangesNothing(t *testing.T) {
	host := limitstest.Host(t, limits.Policy{MaxTotalBytes: 100, MaxItems: 10, MaxSingleAlloc: 1000})
	tenant := host.Child(limits.Policy{MaxTotalBytes: 1000, MaxItems: 1000})
	defer tenant.Close()
	b := tenant.Child(limits.Policy{MaxTotalBytes: 1000, MaxItems: 1000})
	defer b.Close()
	must(t, b.Hold(60))
	must(t, b.Items(6))

	refused(t, b.Alloc(41), limits.Error{Axis: limits.Total, Want: 41, Left: 40})
	refused(t, b.Items(5), limits.Error{Axis: limits.Items, Want: 5, Left: 4})
	refused(t, work(b, 41), limits.Error{Axis: limits.Total, Want: 41, Left: 40})
	for _, a := range []*limits.Budget{host, tenant, b} {
		if used := limitstest.Used(a, limits.Total); used != 60 {
			t.Errorf("%d bytes held", used)
		}
		if used := limitstest.Used(a, limits.Items); used != 6 {
			t.Errorf("%d items held", used)
		}
		if peak := limitstest.Peak(a, limits.Total); peak != 60 {
			t.Errorf("peak is %d", peak)
		}
		if used := limitstest.Used(a, limits.WorkingSet); used != 0 {
			t.Errorf("%d bytes of working set", used)
		}
	}
	must(t, b.Hold(40))
	must(t, b.Items(4))
}

func TestAChildsOwnRefusalTouchesNoAncestor(t *testing.T) {
	host := limitstest.Host(t, limits.Policy{MaxTotalBytes: 100})
	b := host.Child(limits.Policy{MaxTotalBytes: 10})
	defer b.Close()
	refused(t, b.Hold(11), limits.Error{Axis: limits.Total, Want: 11, Left: 10})
	if peak := limitstest.Peak(host, limits.Total); peak != 0 {
		t.Errorf("the host saw %d bytes", peak)
	}
}

func TestOpenChildrenTogetherMustFitTheHost(t *testing.T) {
	host := limitstest.Host(t, limits.Policy{MaxTotalBytes: 100})
	first, second := host.Child(limits.Policy{}), host.Child(limits.Policy{})
	defer second.Close()
	must(t, first.Hold(70))
	refused(t, second.Hold(31), limits.Error{Axis: limits.Total, Want: 31, Left: 30})
	first.Close()
	must(t, second.Hold(100))
}

func TestStepsDepthAndRatiosBelongToOneOperation(t *testing.T) {
	host := limitstest.Host(t, limits.Policy{MaxSteps: 10, MaxDepth: 1, MaxInflateRatio: 2, MaxExpandRatio: 2})
	for range 5 {
		b := host.Child(limits.Policy{MaxSteps: 10, MaxDepth: 1, MaxInflateRatio: 1000, MaxExpandRatio: 1000})
		must(t, b.Step(10))
		must(t, b.Enter())
		must(t, b.Inflate(1<<21, 1<<30))
		must(t, b.Expand(1<<31))
		b.Close()
	}
	for _, a := range []limits.Axis{limits.StepCount, limits.Depth, limits.InflateRatio, limits.ExpandRatio} {
		if got := limitstest.Peak(host, a); got != 0 {
			t.Errorf("the host counted %d on the axis %v", got, a)
		}
	}
}

func TestLeaseIsGivenBackOnce(t *testing.T) {
	host := limitstest.Host(t, limits.Policy{})
	b := host.Child(limits.Policy{})
	defer b.Close()
	must(t, b.Hold(5))
	release, err := b.Lease(100)
	must(t, err)
	release()
	release()
	if used := limitstest.Used(host, limits.Total); used != 5 {
		t.Errorf("%d bytes held", used)
	}
	if peak := limitstest.Peak(host, limits.Total); peak != 105 {
		t.Errorf("peak is %d", peak)
	}
}

// work charges the working set.
func work(b *limits.Budget, n int64) error {
	w := b.Workspace()
	return w.Hold(n)
}

func TestAWorkingSetIsGivenBackInParts(t *testing.T) {
	b := limitstest.Host(t, limits.Policy{})
	w := b.Workspace()
	must(t, w.Hold(100))
	must(t, w.Hold(50))
	w.Drop(100)
	if used, peak := limitstest.Used(b, limits.WorkingSet), limitstest.Peak(b, limits.WorkingSet); used != 50 || peak != 150 {
		t.Errorf("used %d, peak %d", used, peak)
	}
	w.Drop(50)
}

func TestUsageListsEveryAxis(t *testing.T) {
	b := limitstest.Open(t, limits.Policy{MaxTotalBytes: 1000, MaxOpenFiles: 3, Timeout: limits.NoTimeout})
	must(t, b.Alloc(10))
	must(t, b.Alloc(7))
	b.Drop(7)
	must(t, b.Items(3))
	must(t, b.Enter())
	must(t, b.Step(4))
	must(t, work(b, 20))
	closed, err := b.OpenFile()
	must(t, err)
	_, err = b.OpenFile()
	must(t, err)
	closed()
	closed()
	must(t, b.Request())
	must(t, b.Fetch(5))
	must(t, b.Fetch(6))
	b.Source(100)
	must(t, b.Inflate(3, 10))
	must(t, b.Inflate(10, 10))
	must(t, b.Expand(250))
	got := b.Usage()
	for i, a := range limits.Axes() {
		if got[i].Axis != a {
			t.Errorf("row %d is the axis %v", i, got[i].Axis)
		}
	}
	if u := got[limits.Time]; u.Used <= 0 || u.Limit != int64(limits.NoTimeout) {
		t.Errorf("time: %+v", u)
	}
	want := []limits.AxisUsage{
		{Axis: limits.SingleAlloc, Used: 0, Peak: 10, Limit: limits.DefaultMaxSingleAlloc},
		{Axis: limits.Total, Used: 30, Peak: 30, Limit: 1000},
		{Axis: limits.Items, Used: 3, Peak: 3, Limit: limits.DefaultMaxItems},
		{Axis: limits.InflateRatio, Used: 2, Peak: 4, Limit: limits.DefaultMaxInflateRatio},
		{Axis: limits.ExpandRatio, Used: 3, Peak: 3, Limit: limits.DefaultMaxExpandRatio},
		{Axis: limits.Depth, Used: 1, Peak: 1, Limit: limits.DefaultMaxDepth},
		{Axis: limits.StepCount, Used: 4, Peak: 4, Limit: limits.DefaultMaxSteps},
		{Axis: limits.WorkingSet, Used: 20, Peak: 20, Limit: limits.DefaultMaxWorkingSet},
		{Axis: limits.OpenFiles, Used: 1, Peak: 2, Limit: 3},
		{Axis: limits.Requests, Used: 1, Peak: 1, Limit: limits.DefaultMaxRequests},
		{Axis: limits.Fetched, Used: 11, Peak: 11, Limit: limits.DefaultMaxFetched},
	}
	if d := cmp.Diff(want, got[:limits.Time]); d != "" {
		t.Error(d)
	}
}

func TestTheDeadlineIsALimit(t *testing.T) {
	expired := func(b *limits.Budget) error {
		<-b.Context().Done()
		return b.Err()
	}
	t.Run("the policy's own", func(t *testing.T) {
		b := limitstest.Open(t, limits.Policy{Timeout: 1})
		err := expired(b)
		refused(t, err, limits.Error{Axis: limits.Time, Want: 1, Left: 1})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v is not a deadline", err)
		}
	})
	t.Run("the caller's", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Nanosecond)
		defer cancel()
		b := limits.Policy{}.Budget(ctx)
		defer b.Close()
		if err, ok := errors.AsType[*limits.Error](expired(b)); !ok || err.Axis != limits.Time {
			t.Errorf("got %v", b.Err())
		}
	})
	t.Run("a host's is not its children's", func(t *testing.T) {
		host := limitstest.Open(t, limits.Policy{Timeout: 1})
		b := host.Child(limits.Policy{Timeout: limits.NoTimeout})
		defer b.Close()
		if expired(host) == nil {
			t.Error("the host has no deadline")
		}
		must(t, b.Err())
		must(t, b.Step(1))
	})
}

func TestCancellationCarriesItsCause(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	b := limits.Policy{}.Budget(ctx)
	defer b.Close()
	cause := errors.New("the client went away")
	cancel(cause)
	if err := b.Step(1); !errors.Is(err, cause) || errors.Is(err, limits.ErrLimit) {
		t.Errorf("got %v", err)
	}
}

func TestErrorTexts(t *testing.T) {
	for want, err := range map[string]limits.Error{
		"limit total: it takes 5 bytes, and 3 are left":                                           {Axis: limits.Total, Want: 5, Left: 3},
		"limit inflate_ratio: the file reaches 1027:1, allowed is 200:1":                          {Axis: limits.InflateRatio, Want: 1027, Left: 200},
		"limit expand_ratio: the file reaches 65:1, allowed is 64:1":                              {Axis: limits.ExpandRatio, Want: 65, Left: 64},
		"limit time: more than 1m":                                                                {Axis: limits.Time, Want: int64(time.Minute), Left: int64(time.Minute)},
		"limit axis?: it takes 1, and 0 are left":                                                 {Axis: 200, Want: 1},
		"limit working_set: it takes 9223372036854775807 bytes, and 9223372036854775806 are left": {Axis: limits.WorkingSet, Want: math.MaxInt64, Left: math.MaxInt64 - 1},
	} {
		if got := err.Error(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestChargedCountsWhatWasGivenBack(t *testing.T) {
	b := limitstest.Open(t, limits.Policy{})
	for range 3 {
		if err := b.Hold(10); err != nil {
			t.Fatal(err)
		}
		b.Drop(10)
	}
	if err := b.Alloc(5); err != nil {
		t.Fatal(err)
	}
	if got := b.Charged(); got != 35 {
		t.Errorf("charged %d, want 35", got)
	}
}

// What a child allocates at once counts for those above it too: their usage is
// that of the whole operation.
func TestAParentKnowsTheLargestBufferBelow(t *testing.T) {
	host := limits.Policy{}.Budget(t.Context())
	defer host.Close()
	child := host.Child(limits.Policy{})
	grandchild := child.Child(limits.Policy{})
	if err := child.Alloc(300); err != nil {
		t.Fatal(err)
	}
	if err := grandchild.Alloc(1000); err != nil {
		t.Fatal(err)
	}
	grandchild.Close()
	child.Close()
	for _, b := range []*limits.Budget{host, child, grandchild} {
		for _, u := range b.Usage() {
			if u.Axis == limits.SingleAlloc && u.Peak != 1000 {
				t.Errorf("peak %d", u.Peak)
			}
		}
	}
}
