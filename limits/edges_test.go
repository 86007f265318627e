package limits_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/limits/limitstest"
)

// A ceiling is reached, not passed: what is as large fits, and one more does not, on each axis that
// is charged by amounts, by an account and by a working set.
func TestACeilingItselfFits(t *testing.T) {
	const most = 1000
	for name, c := range map[string]struct {
		policy limits.Policy
		charge func(b *limits.Budget, n int64) error
	}{
		"one buffer":                     {limits.Policy{MaxSingleAlloc: most}, func(b *limits.Budget, n int64) error { return b.Alloc(n) }},
		"one buffer of a working set":    {limits.Policy{MaxSingleAlloc: most}, func(b *limits.Budget, n int64) error { w := b.Workspace(); return w.Alloc(n) }},
		"bytes":                          {limits.Policy{MaxTotalBytes: most}, func(b *limits.Budget, n int64) error { return b.Hold(n) }},
		"items":                          {limits.Policy{MaxItems: most}, func(b *limits.Budget, n int64) error { return b.Items(n) }},
		"a working set":                  {limits.Policy{MaxWorkingSet: most}, func(b *limits.Budget, n int64) error { w := b.Workspace(); return w.Hold(n) }},
		"a working set within the total": {limits.Policy{MaxTotalBytes: most}, func(b *limits.Budget, n int64) error { w := b.Workspace(); return w.Hold(n) }},
		"steps":                          {limits.Policy{MaxSteps: most}, func(b *limits.Budget, n int64) error { return b.Step(n) }},
		"fetched":                        {limits.Policy{MaxFetched: most}, func(b *limits.Budget, n int64) error { return b.Fetch(n) }},
	} {
		for n, fits := range map[int64]bool{0: true, 1: true, most: true, most + 1: false, math.MaxInt64: false, -1: false, math.MinInt64: false} {
			b := limitstest.Open(t, c.policy)
			err := c.charge(b, n)
			if (err == nil) != fits || !fits && !errors.Is(err, limits.ErrLimit) && !errors.Is(err, limits.ErrAmount) {
				t.Errorf("%s, %d: %v", name, n, err)
			}
			if n < 0 && !errors.Is(err, limits.ErrAmount) {
				t.Errorf("%s, %d: %v is no wrong amount", name, n, err)
			}
			if err := c.charge(b, most); fits && n > 0 && err == nil && name[:3] != "one" {
				t.Errorf("%s: %d fit after %d", name, most, n)
			}
		}
	}
}

// An account takes back what was charged. To return nothing is harmless; to return more is refused
// and changes nothing.
func TestWhatIsGivenBackWasCharged(t *testing.T) {
	b := limitstest.Open(t, limits.Policy{})
	w := b.Workspace()
	if err := errors.Join(b.Hold(10), w.Hold(5)); err != nil {
		t.Fatal(err)
	}
	for name, give := range map[string]func(n int64) error{"account": b.Drop, "working set": w.Drop} {
		for _, n := range []int64{-1, 16, math.MaxInt64, math.MinInt64} {
			if err := give(n); !errors.Is(err, limits.ErrAmount) {
				t.Errorf("%s: %d: %v", name, n, err)
			}
		}
		if err := give(0); err != nil {
			t.Errorf("%s: nothing: %v", name, err)
		}
		if total, set := limitstest.Used(b, limits.Total), limitstest.Used(b, limits.WorkingSet); total != 15 || set != 5 {
			t.Errorf("%s: %d bytes and %d", name, total, set)
		}
	}
	if err := errors.Join(w.Drop(5), b.Drop(10)); err != nil || limitstest.Used(b, limits.Total) != 0 || limitstest.Used(b, limits.WorkingSet) != 0 {
		t.Errorf("%v, %d bytes", err, limitstest.Used(b, limits.Total))
	}
}

// A request without a context has no account, and one whose context ends has one no longer; an
// account that is closed asks its context for nothing more.
func TestAnAccountOfARequestEndsWithIt(t *testing.T) {
	host := limitstest.Host(t, limits.Policy{})
	//lint:ignore SA1012 callers may make this mistake
	none := host.ChildContext(nil, limits.Policy{})
	if err := none.Alloc(1); err == nil || none.Err() == nil {
		t.Error("an account without a context charges")
	}
	none.Close()
	ctx, cancel := context.WithCancel(t.Context())
	c := host.ChildContext(ctx, limits.Policy{})
	if err := c.Err(); err != nil {
		t.Fatal(err)
	}
	cancel()
	for range 1000 {
		if c.Err() != nil {
			break
		}
		time.Sleep(time.Millisecond)
	}
	if err := c.Err(); !errors.Is(err, context.Canceled) {
		t.Errorf("after its request: %v", err)
	}
	c.Close()
	if host.Err() != nil {
		t.Error("the host ended with a request")
	}
}

// An amount that no slice has is refused before anything is made, and an account that is none has
// no room for any.
func TestAmountsThatNoSliceHas(t *testing.T) {
	type wide [1 << 20]byte
	b := limitstest.Open(t, limits.Policy{MaxSingleAlloc: math.MaxInt64, MaxTotalBytes: math.MaxInt64})
	for _, n := range []int{-1, math.MinInt, math.MaxInt, math.MaxInt>>20 + 1, math.MaxInt>>19 + 1} {
		if p, err := limits.Make[wide](b, n); p != nil || !errors.Is(err, limits.ErrLimit) {
			t.Errorf("%d: %d, %v", n, len(p), err)
		}
	}
	if p, err := limits.Make[byte](b, -1); p != nil || !errors.Is(err, limits.ErrLimit) {
		t.Errorf("%d, %v", len(p), err)
	}
	if used := limitstest.Used(b, limits.Total); used != 0 {
		t.Errorf("%d bytes are held", used)
	}
	for _, nothing := range []limits.Account{(*limits.Budget)(nil), &limits.Budget{}, (*limits.Workspace)(nil)} {
		if _, err := limits.Make[wide](nothing, math.MaxInt); err == nil || !strings.Contains(err.Error(), " 0 ") {
			t.Errorf("%T: %v", nothing, err)
		}
		if s, err := limits.Grow(nothing, []byte(nil), 1); s != nil || err == nil {
			t.Errorf("%T grows: %v", nothing, err)
		}
	}
	if s, err := limits.Append(b, make([]byte, 1, 2), 7); err != nil || len(s) != 2 || limitstest.Used(b, limits.Total) != 0 {
		t.Errorf("room that is there is paid: %v, %v", s, err)
	}
	if s, err := limits.Grow(limitstest.Open(t, limits.Policy{MaxTotalBytes: 1}), []byte{1}, 9); !slices.Equal(s, []byte{1}) || !errors.Is(err, limits.ErrLimit) {
		t.Errorf("%v, %v", s, err)
	}
}

// A text of a policy is at most as long as it may be, and an error of its reader is that error.
func TestPoliciesAreReadWhole(t *testing.T) {
	body := `{"max_items": 5}`
	for length, fits := range map[int]bool{limits.MaxPolicyBytes: true, limits.MaxPolicyBytes + 1: false} {
		p, err := limits.ReadPolicy(strings.NewReader(body + strings.Repeat(" ", length-len(body))))
		if (err == nil) != fits || fits && p.MaxItems != 5 || !fits && !errors.Is(err, limits.ErrPolicy) {
			t.Errorf("%d bytes: %+v, %v", length, p, err)
		}
	}
	if _, err := limits.ReadPolicy(iotest.ErrReader(io.ErrClosedPipe)); !errors.Is(err, io.ErrClosedPipe) || errors.Is(err, limits.ErrPolicy) {
		t.Errorf("%v", err)
	}
	for _, text := range []string{"", "[", "{", `{"max_items"`, `{"max_items":`, `{"max_items":}`, `{1:2}`, `{"max_items" 1}`, `{"quirks":`, `{"quirks":[`, `{"quirks":["a"`, `{"quirks":[1]}`, `{"quirks":[""]}`, `{"quirks":[}`,
		`{"refuse_unknown_members":`, `{"refuse_unknown_members":1}`, `{"refuse_unknown_members":"true"}`, `{"max_items":{}}`, `{"max_items":"1"}`, `{"timeout":1}`, fmt.Sprintf(`{"max_depth":%d}`, limits.MaxDepthCeiling+1), `{"max_items":0}`, `{"max_items":1}1`, `{"max_items":1}}`, "\xff"} {
		if p, err := limits.ParsePolicy([]byte(text)); !errors.Is(err, limits.ErrPolicy) || p.MaxItems != 0 || p.RefuseUnknownMembers {
			t.Errorf("%s: %+v, %v", text, p, err)
		}
	}
	var p limits.Policy
	if err := p.Set(limits.Axis(200), "1"); err == nil {
		t.Error("an axis that is none is set")
	}
	if _, err := (limits.Policy{MaxItems: -1}).MarshalJSON(); !errors.Is(err, limits.ErrPolicy) {
		t.Errorf("%v", err)
	}
}

// Sizes up to the largest number are read, and none beyond it; texts that are none have no value.
func TestSizesToTheLargestNumber(t *testing.T) {
	for text, want := range map[string]int64{
		"9223372036854775807": math.MaxInt64, "9223372036854775807B": math.MaxInt64, "8191PiB": 8191 << 50, "1 KiB": 1 << 10, "0MiB": 0,
		"9223372036854775808": -1, "8192PiB": -1, "16384PiB": -1, "9223372036854775807PiB": -1, "18014398509481984KiB": -1, "1KB": -1, "KiB": -1, "": -1, "-1": -1, "1.5MiB": -1, "+1": -1, "1  KiB": -1,
	} {
		n, err := limits.ParseSize(text)
		if (err == nil) != (want >= 0) || err == nil && n != want || err != nil && n != 0 {
			t.Errorf("%s: %d, %v", text, n, err)
		}
	}
	for text, want := range map[string]time.Duration{"1ns": 1, "60s": time.Minute, "none": limits.NoTimeout, "": 0, "0s": 0, "-1s": 0, "5": 0, "x": 0} {
		d, err := limits.ParseTimeout(text)
		if (err == nil) != (want != 0) || d != want {
			t.Errorf("%s: %v, %v", text, d, err)
		}
	}
	for d, want := range map[time.Duration]string{time.Hour: "1h", time.Minute: "1m", 90 * time.Minute: "1h30m", time.Hour + time.Second: "1h0m1s", 10 * time.Minute: "10m", time.Millisecond: "1ms", limits.NoTimeout: "none", 100 * time.Hour: "100h"} {
		if got := limits.FormatTimeout(d); got != want {
			t.Errorf("%v is written %s", d, got)
		}
	}
}

// The limit of an axis is the policy's number, or the default if it has none, and a depth never
// exceeds the ceiling; a finding is refused by its code or by "*".
func TestWhatAPolicyAllows(t *testing.T) {
	for _, a := range limits.Axes() {
		if n := (&limits.Policy{}).Limit(a); n <= 0 {
			t.Errorf("%v: %d by default", a, n)
		}
	}
	deep := limits.Policy{MaxDepth: limits.MaxDepthCeiling + 1, MaxItems: -5}
	if deep.Limit(limits.Depth) != limits.MaxDepthCeiling || deep.Limit(limits.Items) != 0 {
		t.Errorf("%d, %d", deep.Limit(limits.Depth), deep.Limit(limits.Items))
	}
	for _, c := range []struct {
		list []string
		want bool
	}{{nil, false}, {[]string{"*"}, true}, {[]string{"a.b"}, true}, {[]string{"a"}, false}} {
		if p := (limits.Policy{RefuseFindings: c.list}); p.RefusesFinding("a.b") != c.want {
			t.Errorf("%q", c.list)
		}
	}
	names := limits.Profiles()
	for _, name := range []string{"server", "strict", "edge", "upload", "tabular", "training"} {
		if _, ok := limits.Profile(name); !ok || !slices.Contains(names, name) {
			t.Errorf("%s, among %q", name, names)
		}
	}
}

// The peak is the most that was held, of one account and of those above it, whatever was given back.
func TestThePeakIsTheMost(t *testing.T) {
	host := limitstest.Host(t, limits.Policy{})
	b := host.Child(limits.Policy{})
	most, held := int64(0), int64(0)
	for i, n := range []int64{5, -2, 7, -10, 3, 9, -9, -3, 12, -12} {
		if n > 0 {
			if err := b.Hold(n); err != nil {
				t.Fatal(err)
			}
		} else if err := b.Drop(-n); err != nil {
			t.Fatal(err)
		}
		held += n
		most = max(most, held)
		for _, of := range []*limits.Budget{b, host} {
			if limitstest.Used(of, limits.Total) != held || limitstest.Peak(of, limits.Total) != most {
				t.Errorf("after %d: %d held, %d at most; not %d and %d", i, limitstest.Used(of, limits.Total), limitstest.Peak(of, limits.Total), held, most)
			}
		}
	}
	for _, n := range []int64{100, 300, 200} {
		if err := b.Alloc(n); err != nil {
			t.Fatal(err)
		}
	}
	for _, of := range []*limits.Budget{b, host} {
		if peak := limitstest.Peak(of, limits.SingleAlloc); peak != 300 {
			t.Errorf("the largest buffer has %d bytes", peak)
		}
	}
	b.Close()
	if limitstest.Peak(b, limits.Total) != 600 || limitstest.Used(b, limits.Total) != 0 {
		t.Errorf("closed: %d held, %d at most", limitstest.Used(b, limits.Total), limitstest.Peak(b, limits.Total))
	}
}

// An observer gets each charge with its axis and its amount. A charge that it refuses is a limit,
// and nothing is charged.
func TestEachChargeIsTold(t *testing.T) {
	for axis, charge := range map[limits.Axis]func(b *limits.Budget) error{
		limits.Total: func(b *limits.Budget) error { return b.Hold(7) }, limits.Items: func(b *limits.Budget) error { return b.Items(7) },
		limits.StepCount: func(b *limits.Budget) error { return b.Step(7) }, limits.Fetched: func(b *limits.Budget) error { return b.Fetch(7) },
		limits.InflateRatio: func(b *limits.Budget) error { return b.Inflate(7, 7) }, limits.ExpandRatio: func(b *limits.Budget) error { return b.Expand(7) },
	} {
		t.Run(fmt.Sprint(axis), func(t *testing.T) {
			var told []string
			limitstest.Watch(t, func(axis string, n int64) { told = append(told, fmt.Sprint(axis, " ", n)) })
			if err := charge(limitstest.Open(t, limits.Policy{})); err != nil || !slices.Equal(told, []string{fmt.Sprint(axis, " ", 7)}) {
				t.Errorf("%q, %v", told, err)
			}
		})
	}
	t.Run("a meter", func(t *testing.T) {
		sum := int64(0)
		limitstest.Watch(t, func(_ string, n int64) { sum += n })
		b := limitstest.Open(t, limits.Policy{})
		steps := b.Steps()
		for range 5 {
			if err := steps.Step(); err != nil {
				t.Fatal(err)
			}
		}
		if sum != 5 {
			t.Errorf("%d steps are told", sum)
		}
	})
	t.Run("refused", func(t *testing.T) {
		host := limitstest.Host(t, limits.Policy{})
		b := host.Child(limits.Policy{})
		defer b.Close()
		limitstest.Refuse(t, func(axis string, n int64) bool { return axis == limits.Items.String() && n == 3 })
		if err := b.Items(3); !errors.Is(err, limits.ErrLimit) {
			t.Errorf("%v", err)
		}
		if err := errors.Join(b.Items(2), b.Hold(3)); err != nil {
			t.Error(err)
		}
		if limitstest.Used(b, limits.Items) != 2 || limitstest.Used(host, limits.Items) != 2 {
			t.Errorf("%d items, %d of the host", limitstest.Used(b, limits.Items), limitstest.Used(host, limits.Items))
		}
	})
}

// A host that is full refuses what its child asks for, and keeps nothing of it.
func TestAHostThatIsFullKeepsNothingOfItsChild(t *testing.T) {
	host := limitstest.Host(t, limits.Policy{MaxTotalBytes: 10, MaxItems: 10, MaxWorkingSet: 10})
	b := host.Child(limits.Policy{})
	w := b.Workspace()
	for name, charge := range map[string]func(n int64) error{"bytes": b.Hold, "items": b.Items, "working set": w.Hold} {
		if err := charge(11); !errors.Is(err, limits.ErrLimit) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, a := range []limits.Axis{limits.Total, limits.Items, limits.WorkingSet} {
		if limitstest.Used(b, a) != 0 || limitstest.Used(host, a) != 0 {
			t.Errorf("%v: %d, %d of the host", a, limitstest.Used(b, a), limitstest.Used(host, a))
		}
	}
	if err := errors.Join(b.Hold(5), b.Items(10), w.Hold(5)); err != nil {
		t.Error(err)
	}
	w.Close()
	if err := b.Drop(5); err != nil {
		t.Error(err)
	}
	b.Close()
	if err := b.Hold(1); !errors.Is(err, limits.ErrClosed) {
		t.Errorf("closed: %v", err)
	}
}
