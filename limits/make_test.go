package limits_test

import (
	"math"
	"slices"
	"testing"

	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/limits/limitstest"
	"github.com/google/go-cmp/cmp"
)

type wide [3]uint64

func TestMakeChargesBeforeItAllocates(t *testing.T) {
	b := limitstest.Open(t, limits.Policy{MaxTotalBytes: 1000})
	s, err := limits.Make[wide](b, 10)
	must(t, err)
	if len(s) != 10 || limitstest.Used(b, limits.Total) != 240 {
		t.Errorf("%d elements, %d bytes", len(s), limitstest.Used(b, limits.Total))
	}
	_, err = limits.Make[wide](b, 20<<20)
	refused(t, err, limits.Error{Axis: limits.SingleAlloc, Want: 480 << 20, Left: limits.DefaultMaxSingleAlloc})
	_, err = limits.Make[wide](b, 100)
	refused(t, err, limits.Error{Axis: limits.Total, Want: 2400, Left: 760})
	for _, n := range []int{-1, math.MinInt, math.MaxInt} {
		_, err = limits.Make[wide](b, n)
		refused(t, err, limits.Error{Axis: limits.SingleAlloc, Want: math.MaxInt64, Left: limits.DefaultMaxSingleAlloc})
	}
	empty, err := limits.Make[struct{}](b, 5)
	must(t, err)
	if len(empty) != 5 || limitstest.Used(b, limits.Total) != 240 {
		t.Error("elements without size are charged")
	}
}

func TestGrowMovesOnlyWhenItMust(t *testing.T) {
	b := limitstest.Open(t, limits.Policy{})
	s, err := limits.Grow[uint32](b, nil, 3)
	must(t, err)
	if len(s) != 0 || cap(s) < 3 {
		t.Fatalf("len %d cap %d", len(s), cap(s))
	}
	charged := limitstest.Used(b, limits.Total)
	s = append(s, 1, 2, 3)
	same, err := limits.Grow(b, s, cap(s)-3)
	must(t, err)
	if &same[0] != &s[0] || limitstest.Used(b, limits.Total) != charged {
		t.Error("moved although there was room")
	}
	moved, err := limits.Grow(b, s, cap(s))
	must(t, err)
	if d := cmp.Diff(s, moved); d != "" || &moved[0] == &s[0] {
		t.Errorf("not moved whole: %s", d)
	}
}

func TestAppendChargesNoMoreThanThreeTimes(t *testing.T) {
	b := limitstest.Open(t, limits.Policy{})
	var s []uint64
	var err error
	for i := range uint64(10_000) {
		s, err = limits.Append(b, s, i)
		must(t, err)
	}
	for i, v := range s {
		if v != uint64(i) {
			t.Fatalf("element %d is %d", i, v)
		}
	}
	held, used := int64(8*cap(s)), limitstest.Used(b, limits.Total)
	if used < held || used > 2*held {
		t.Errorf("%d bytes charged for a list of %d", used, held)
	}
}

func TestAppendKeepsTheListOnRefusal(t *testing.T) {
	b := limitstest.Open(t, limits.Policy{MaxTotalBytes: 100})
	var s []uint64
	var err error
	for err == nil {
		s, err = limits.Append(b, s, 7)
	}
	refused(t, err, limits.Error{Axis: limits.Total, Want: 128, Left: 36})
	if d := cmp.Diff([]uint64{7, 7, 7, 7, 7, 7, 7, 7}, s); d != "" {
		t.Error(d)
	}
}

func TestCloneAndString(t *testing.T) {
	b := limitstest.Open(t, limits.Policy{MaxTotalBytes: 30})
	from := []uint16{1, 2, 3}
	got, err := limits.Clone(b, from)
	must(t, err)
	from[0] = 9
	if d := cmp.Diff([]uint16{1, 2, 3}, got); d != "" {
		t.Error(d)
	}
	text, err := limits.String(b, []byte("twelve bytes"))
	must(t, err)
	if text != "twelve bytes" || limitstest.Used(b, limits.Total) != 18 {
		t.Errorf("%q, %d bytes", text, limitstest.Used(b, limits.Total))
	}
	_, err = limits.String(b, []byte("thirteen byte"))
	refused(t, err, limits.Error{Axis: limits.Total, Want: 13, Left: 12})
	_, err = limits.Clone(b, make([]uint32, 4))
	refused(t, err, limits.Error{Axis: limits.Total, Want: 16, Left: 12})
}

// Many short texts cost few allocations, and what they are charged.
func TestTextsShareAllocations(t *testing.T) {
	b := limits.Policy{}.Budget(t.Context())
	defer b.Close()
	var texts limits.Texts
	var got []string
	var want []string
	allocs := testing.AllocsPerRun(1, func() {
		for i := range 1000 {
			s, err := texts.String(b, []byte{byte(i), byte(i >> 8), 'x'})
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, s)
		}
	})
	for i := range 2000 {
		want = append(want, string([]byte{byte(i % 1000), byte(i % 1000 >> 8), 'x'}))
	}
	if !slices.Equal(got, want) {
		t.Error("texts are not what was given")
	}
	if allocs > 40 {
		t.Errorf("%v allocations", allocs)
	}
	if long, err := texts.String(b, make([]byte, 5000)); err != nil || len(long) != 5000 {
		t.Errorf("a long text: %d bytes, %v", len(long), err)
	}
	if charged := b.Charged(); charged < 2000*3+5000 || charged > 20000 {
		t.Errorf("%d bytes charged", charged)
	}
	tight := limits.Policy{MaxTotalBytes: 50}.Budget(t.Context())
	defer tight.Close()
	if _, err := new(limits.Texts).String(tight, []byte("x")); err == nil {
		t.Error("a piece above the ceiling is made")
	}
}
