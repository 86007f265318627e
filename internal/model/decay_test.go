package model

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// The logarithm is that of mathematics, rounded once: math.Log of float64 is within a unit
// of its last place, which decides nothing but ties.
func TestLogarithm(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	check := func(x float32) {
		got, want := logarithm(x), math.Log(float64(x))
		if off := math.Abs(float64(got) - want); off > math.Abs(float64(math.Nextafter32(got, float32(math.Inf(1)))-got))*0.5000001 {
			t.Fatalf("ln %v = %v, want %v", x, got, want)
		}
	}
	for _, x := range []float32{1, math.SmallestNonzeroFloat32, math.MaxFloat32, math.Nextafter32(1, 0), math.Nextafter32(1, 2), 0.5, 2, math.E} {
		check(x)
	}
	for range 1_000_000 {
		check(math.Float32frombits(r.Uint32N(0x7F800000-1) + 1))
	}
}

// The numbers that published models have come back from their exponentials: those of BF16
// that are not next to nothing, and the next float too, as torch has it for one in a
// hundred. No other numbers are taken for exponentials.
func TestDecays(t *testing.T) {
	for bits := range uint32(1 << 16) {
		x := math.Float32frombits(bits << 16)
		if x != x || math.Abs(float64(x)) < 1e-3 || x > 88 || x < -80 {
			continue
		}
		f := exponential(x)
		for _, off := range []int32{-1, 0, 1} {
			near := math.Float32frombits(uint32(int32(math.Float32bits(f)) + off))
			if back, _ := rounded(logarithm(near), tensor.BF16); back != x || !decaysAs(near, tensor.BF16) {
				t.Fatalf("of e to the %v and %d units comes %v", x, off, back)
			}
		}
	}
	taken := 0
	r := rand.New(rand.NewPCG(7, 8))
	for range 100_000 {
		if decaysAs(float32(math.Exp(3*r.NormFloat64())), tensor.BF16) {
			taken++
		}
	}
	if taken > 100 {
		t.Errorf("%d of 100,000 numbers are taken for exponentials of BF16", taken)
	}
}
