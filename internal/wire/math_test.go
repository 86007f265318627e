package wire_test

import (
	"math"
	"math/big"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// The numbers at which 64-bit arithmetic goes wrong.
var edges = []uint64{0, 1, 2, 3, 7, 8, 255, 1<<16 - 1, 1 << 16, 1<<31 - 1, 1 << 31, 1<<32 - 1, 1 << 32, 1<<32 + 1,
	3037000499, 3037000500, 1 << 62, 1<<63 - 2, 1<<63 - 1, 1 << 63, 1<<63 + 1, math.MaxUint64 - 1, math.MaxUint64}

func TestAddAndMulAgreeWithBigNumbers(t *testing.T) {
	limit := new(big.Int).SetUint64(wire.MaxSize)
	for _, a := range edges {
		for _, b := range edges {
			x, y := new(big.Int).SetUint64(a), new(big.Int).SetUint64(b)
			check(t, "+", a, b, wire.Add, new(big.Int).Add(x, y), limit)
			check(t, "*", a, b, wire.Mul, new(big.Int).Mul(x, y), limit)
		}
	}
}

func check(t *testing.T, op string, a, b uint64, f func(a, b uint64) (uint64, bool), want, limit *big.Int) {
	t.Helper()
	got, ok := f(a, b)
	if fits := want.Cmp(limit) <= 0; ok != fits || ok && got != want.Uint64() {
		t.Errorf("%d %s %d = %d, %t; want %v", a, op, b, got, ok, want)
	}
}

func TestInt(t *testing.T) {
	for _, n := range edges {
		for _, limit := range edges {
			got, ok := wire.Int(n, limit)
			if want := n <= limit && n <= math.MaxInt; ok != want || ok && uint64(got) != n {
				t.Errorf("Int(%d, %d) = %d, %t", n, limit, got, ok)
			}
		}
	}
}

func TestProduct(t *testing.T) {
	for _, c := range []struct {
		name string
		dims []int64
		want uint64
		ok   bool
	}{
		{"a scalar has one element", nil, 1, true},
		{"a matrix", []int64{3, 4, 5}, 60, true},
		{"no elements", []int64{3, 0}, 0, true},
		{"no elements beside a product that overflows", []int64{math.MaxInt64, 0, math.MaxInt64}, 0, true},
		{"a negative dimension", []int64{-1}, 0, false},
		{"a negative dimension behind a zero", []int64{0, -1}, 0, false},
		{"two negative dimensions", []int64{-2, -2}, 0, false},
		{"the largest", []int64{math.MaxInt64}, math.MaxInt64, true},
		{"one more", []int64{1 << 62, 2}, 0, false},
		{"one that wraps to a small number", []int64{1 << 32, 1 << 32, 3}, 0, false},
		{"64 dimensions", make64(1), 1, true},
		{"64 dimensions of two", make64(2), 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, ok := wire.Product(c.dims)
			if ok != c.ok || ok && got != c.want {
				t.Errorf("got %d, %t", got, ok)
			}
		})
	}
}

func make64(d int64) []int64 {
	dims := make([]int64, 64)
	for i := range dims {
		dims[i] = d
	}
	return dims
}

// An integer of any width gives the same number; one beyond 2^63, and any other value, is refused.
func TestIntegersOfAnyWidth(t *testing.T) {
	for _, c := range []struct {
		v    any
		want int64
		ok   bool
	}{
		{int(-5), -5, true}, {int8(-5), -5, true}, {int16(-5), -5, true}, {int32(-5), -5, true}, {int64(-5), -5, true},
		{uint8(200), 200, true}, {uint16(60000), 60000, true}, {uint32(1 << 31), 1 << 31, true}, {uint64(wire.MaxSize), wire.MaxSize, true},
		{uint64(wire.MaxSize + 1), -wire.MaxSize - 1, false}, {"5", 0, false}, {5.0, 0, false}, {nil, 0, false}, {true, 0, false},
	} {
		if got, ok := wire.Integer(c.v); ok != c.ok || got != c.want {
			t.Errorf("%T %v: %d, %v", c.v, c.v, got, ok)
		}
	}
}

func TestNonZero(t *testing.T) {
	for n := range 40 {
		p := make([]byte, n)
		if at := wire.NonZero(p); at != -1 {
			t.Errorf("%d zeros: %d", n, at)
		}
		for first := range n {
			for last := first; last < n; last++ {
				clear(p)
				p[first], p[last] = 0x80, 1
				if at := wire.NonZero(p); at != first {
					t.Errorf("%x: %d", p, at)
				}
			}
		}
	}
}
