package limits_test

import (
	"math"
	"testing"

	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/limits/limitstest"
)

func TestInflateRatio(t *testing.T) {
	const grace = limits.RatioGrace
	type member struct{ in, out int64 }
	inflated := func(want int64) *limits.Error {
		return &limits.Error{Axis: limits.InflateRatio, Want: want, Left: 200}
	}
	for _, c := range []struct {
		name    string
		members []member
		want    *limits.Error // of the last member; those before pass
	}{
		{"an array of zeros up to the grace", []member{{grace / 1027, grace}}, nil},
		{"one byte past the grace", []member{{grace / 1024, grace + 1}}, inflated(1025)},
		{"honest data past the grace", []member{{grace, grace * 10}}, nil},
		{"at the ratio", []member{{1 << 20, 200 << 20}}, nil},
		{"a byte above the ratio", []member{{1 << 20, 200<<20 + 1}}, inflated(201)},
		{"many small members together", []member{{1 << 16, grace / 2}, {1 << 16, grace / 2}, {1, 1}}, inflated(512)},
		{"one bad member before an honest one", []member{{10, 10_000}, {grace, grace}}, inflated(1000)},
		{"one bad member after an honest one", []member{{grace, grace + 1}, {10, 10_000}}, inflated(1000)},
		{"members that are bad only together", []member{{1 << 18, 50 << 20}, {1 << 18, 50 << 20}}, nil},
		{"a stored member", []member{{grace * 4, grace * 4}}, nil},
		{"out of nothing", []member{{0, grace + 1}}, inflated(grace + 1)},
		{"an empty member first", []member{{0, 0}, {1 << 10, grace + 1}}, inflated(65537)},
		{"sums that pass int64", []member{{1, 1}, {math.MaxInt64, math.MaxInt64}}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := limitstest.Open(t, limits.Policy{})
			var err error
			for i, m := range c.members {
				if err = b.Inflate(m.in, m.out); err != nil && i < len(c.members)-1 {
					t.Fatalf("member %d: %v", i, err)
				}
			}
			if c.want == nil {
				must(t, err)
				return
			}
			refused(t, err, *c.want)
		})
	}
}

func TestInflateRatioDoesNotDependOnOrder(t *testing.T) {
	members := [][2]int64{{10, 2500}, {limits.RatioGrace, limits.RatioGrace}, {1, 1}, {0, 0}, {7, 900}}
	for first := range members {
		b := limitstest.Open(t, limits.Policy{})
		var err error
		for i := range members {
			m := members[(first+i)%len(members)]
			err = b.Inflate(m[0], m[1])
		}
		refused(t, err, limits.Error{Axis: limits.InflateRatio, Want: 250, Left: 200})
	}
}

func TestExpandRatio(t *testing.T) {
	const grace = limits.RatioGrace
	t.Run("within the grace a small file may decode to anything", func(t *testing.T) {
		b := limitstest.Open(t, limits.Policy{})
		b.Source(1)
		must(t, b.Expand(grace))
		refused(t, b.Expand(1), limits.Error{Axis: limits.ExpandRatio, Want: grace + 1, Left: 64})
	})
	t.Run("the source counts", func(t *testing.T) {
		b := limitstest.Open(t, limits.Policy{})
		b.Source(2 << 20)
		b.Source(2 << 20)
		must(t, b.Expand(256<<20))
		refused(t, b.Expand(1), limits.Error{Axis: limits.ExpandRatio, Want: 65, Left: 64})
	})
	t.Run("inflated bytes count when they are more", func(t *testing.T) {
		b := limitstest.Open(t, limits.Policy{})
		b.Source(1 << 20)
		must(t, b.Inflate(1<<20, 4<<20))
		must(t, b.Expand(256<<20))
		refused(t, b.Expand(1), limits.Error{Axis: limits.ExpandRatio, Want: 65, Left: 64})
	})
	t.Run("sums that pass int64 stay large", func(t *testing.T) {
		b := limitstest.Open(t, limits.Policy{})
		b.Source(1 << 30)
		refused(t, b.Expand(math.MaxInt64), limits.Error{Axis: limits.ExpandRatio, Want: 1 << 33, Left: 64})
		refused(t, b.Expand(math.MaxInt64), limits.Error{Axis: limits.ExpandRatio, Want: 1 << 33, Left: 64})
	})
}
