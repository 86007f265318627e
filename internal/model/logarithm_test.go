package model

import (
	"math"
	"testing"
)

// The exponential is that of the mathematics, rounded once; so is the one of package
// math, which may be another float64 on another processor and hardly ever another float32.
func TestExponentialRoundsOnce(t *testing.T) {
	for x, want := range map[float32]uint32{0: 0x3F800000, 1: 0x402DF854, -1: 0x3EBC5AB2, 0.5: 0x3FD3094C, 90: 0x7F800000, -103.9: 1, -200: 0} {
		if got := math.Float32bits(exponential(x)); got != want {
			t.Errorf("exponential(%v) is %#08x, want %#08x", x, got, want)
		}
	}
	for bits := uint32(0x3A000000); bits < 0x42B00000; bits += 997 {
		for _, x := range []float32{math.Float32frombits(bits), -math.Float32frombits(bits)} {
			if got, want := exponential(x), float32(math.Exp(float64(x))); got != want {
				t.Fatalf("exponential(%v) is %v, want %v", x, got, want)
			}
		}
	}
	if x := exponential(float32(math.NaN())); x == x {
		t.Errorf("of a NaN: %v", x)
	}
}
