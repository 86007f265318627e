package limits_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/limits/limitstest"
)

// An account that was not opened holds nothing, has charged nothing and has nothing left.
func TestNilAndZeroAccountsCountNothing(t *testing.T) {
	for _, nothing := range []any{(*limits.Budget)(nil), &limits.Budget{}, (*limits.Workspace)(nil), &limits.Workspace{}} {
		v := reflect.ValueOf(nothing)
		for i := range v.NumMethod() {
			m := v.Type().Method(i)
			if m.Type.NumIn() != 1 || v.Method(i).Type().NumOut() != 1 {
				continue
			}
			if out := v.Method(i).Call(nil)[0]; out.CanInt() && out.Int() != 0 {
				t.Errorf("%T.%s is %d", nothing, m.Name, out.Int())
			}
		}
	}
	if p := new(limits.Budget).Policy(); p.Limit(limits.Axis(200)) != 0 || limits.Axis(200).Field() != "" {
		t.Error("an axis that is none has a limit or a field")
	}
	for a := limits.Axis(0); a.Field() != ""; a++ {
		if next := a + 1; next.Field() == "" && next.String() != "axis?" {
			t.Errorf("the axis after the last is %q", next)
		}
	}
}

// A size is written as it is read, whatever it is.
func TestEverySizeIsWrittenAsItIsRead(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	list := []int64{0, 1, 1023, 1024, 1025, 1 << 20, 1<<20 + 1, 1 << 62}
	for range 1000 {
		list = append(list, random.Int64()>>random.IntN(63), 1<<random.IntN(63))
	}
	for _, n := range list {
		if got, err := limits.ParseSize(limits.FormatSize(n)); err != nil || got != n {
			t.Errorf("%d is written %s, which is read as %d, %v", n, limits.FormatSize(n), got, err)
		}
	}
	if limits.FormatSize(0) != "0" || limits.FormatSize(3<<20) != "3MiB" {
		t.Errorf("%s, %s", limits.FormatSize(0), limits.FormatSize(3<<20))
	}
}

// A filled policy shares no list with the one it was made of.
func TestAFilledPolicySharesNothing(t *testing.T) {
	p := limits.Policy{Quirks: []string{"a"}, RefuseFormats: []string{"a"}, RefuseFindings: []string{"a"}}
	filled := p.Filled()
	v, of := reflect.ValueOf(&filled).Elem(), reflect.ValueOf(p)
	lists := 0
	for i := range v.NumField() {
		if list, ok := v.Field(i).Interface().([]string); ok && len(list) > 0 {
			lists++
			list[0] = "b"
			if of.Field(i).Interface().([]string)[0] != "a" {
				t.Errorf("%s is shared", v.Type().Field(i).Name)
			}
		}
	}
	if lists != 3 {
		t.Errorf("%d lists", lists)
	}
}

// A limit reached is what it is, and no other error.
func TestAnErrorIsOnlyItsOwnKind(t *testing.T) {
	kinds := []error{limits.ErrLimit, context.DeadlineExceeded, limits.ErrAmount, limits.ErrClosed, limits.ErrNoAccount}
	for _, c := range []struct {
		err  *limits.Error
		want []error
	}{
		{&limits.Error{Axis: limits.Time, Want: 2, Left: 1}, []error{limits.ErrLimit, context.DeadlineExceeded}},
		{&limits.Error{Axis: limits.Items, Want: -1}, []error{limits.ErrLimit, limits.ErrAmount}},
		{&limits.Error{Axis: limits.Items, Want: 2, Left: 1}, []error{limits.ErrLimit}},
	} {
		for _, kind := range kinds {
			if got := errors.Is(c.err, kind); got != slices.Contains(c.want, kind) {
				t.Errorf("%v is %v: %v", c.err, kind, got)
			}
		}
	}
}

// A working set gives back what it holds and nothing of another's, and takes one buffer of
// exactly the largest size.
func TestAWorkingSetIsItsOwn(t *testing.T) {
	b := limitstest.Open(t, limits.Policy{MaxSingleAlloc: 100, MaxWorkingSet: 1000, MaxTotalBytes: 1000})
	one, other := b.Workspace(), b.Workspace()
	if err := errors.Join(one.Alloc(100), other.Hold(300)); err != nil {
		t.Fatal(err)
	}
	for _, n := range []int64{101, -1} {
		if one.Alloc(n) == nil || one.Drop(n) == nil {
			t.Errorf("%d bytes are taken or given back", n)
		}
	}
	if used := limitstest.Used(b, limits.WorkingSet); used != 400 {
		t.Errorf("%d bytes are held", used)
	}
	one.Close()
	other.Close()
	if used := limitstest.Used(b, limits.WorkingSet); used != 0 {
		t.Errorf("%d bytes are left", used)
	}
}

// The peak of an operation is at least that of each of its probes, and at most the sum of what
// ever was charged.
func TestThePeakOfAProbeIsOneOfItsOperation(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		b := limitstest.Open(t, limits.Policy{MaxSteps: 1 << 40, MaxDepth: 100})
		own, most, depth := int64(random.IntN(1000)), int64(0), 0
		if err := b.Step(own); err != nil {
			t.Fatal(err)
		}
		for range random.IntN(4) {
			p := b.Probe()
			n, levels := int64(random.IntN(1_000_000)), random.IntN(20)
			p.Step(n)
			for range levels {
				p.Enter()
			}
			most, depth = max(most, n), max(depth, levels)
			p.Close()
		}
		if peak := limitstest.Peak(b, limits.StepCount); peak < max(own, most) || peak > own+4*1_000_000+10_000 {
			t.Fatalf("peak %d after %d and probes of up to %d", peak, own, most)
		}
		if peak := limitstest.Peak(b, limits.Depth); peak != int64(depth) {
			t.Fatalf("peak %d after probes of up to %d levels", peak, depth)
		}
	}
}

// A member that inflates too much is refused, however honest the rest of the operation was.
func TestARatioIsThatOfEachMember(t *testing.T) {
	b := limitstest.Open(t, limits.Policy{MaxInflateRatio: 10})
	honest := b.Inflation()
	if err := honest.Add(1<<40, 1<<40); err != nil {
		t.Fatal(err)
	}
	member := b.Inflation()
	if err := member.Add(1<<20, 9<<20); err != nil {
		t.Fatal(err)
	}
	if err := member.Add(1, 5<<20); !errors.Is(err, limits.ErrLimit) {
		t.Errorf("14 to one: %v", err)
	}
}

// The account of a request ends its own deadline when it is closed, and leaves that of its host.
func TestAClosedRequestLeavesNoContextBehind(t *testing.T) {
	host := limitstest.Open(t, limits.Policy{})
	ctx, end := context.WithCancel(t.Context())
	defer end()
	c := host.ChildContext(ctx, limits.Policy{Timeout: 1 << 40})
	c.Close()
	select {
	case <-c.Context().Done():
	default:
		t.Error("the context of a closed account goes on")
	}
	if host.Err() != nil || ctx.Err() != nil {
		t.Errorf("%v, %v", host.Err(), ctx.Err())
	}
}
