package scaled

import (
	"math"
	"testing"

	"github.com/anamnesis-go/anamnesis/asm"
)

// Each code's number is encoded as that code, what lies between two as the nearer one, and the middle as each
// rule says.
func TestNumbersAreRoundedToE2M1(t *testing.T) {
	for c := range byte(7) {
		low, high := e2m1[c], e2m1[c+1]
		middle := low + (high-low)/2
		for _, r := range []struct {
			name   string
			encode func(float32) byte
			tie    byte
		}{{"even", asm.NearestE2M1, c + c&1}, {"down", downward, c}, {"up", upward, c + 1}} {
			for x, want := range map[float32]byte{
				low: c, math.Nextafter32(low, 9): c, math.Nextafter32(middle, 0): c, middle: r.tie,
				math.Nextafter32(middle, 9): c + 1, math.Nextafter32(high, 0): c + 1, high: c + 1,
			} {
				if got := r.encode(x); got != want {
					t.Errorf("%s: %v is %d, want %d", r.name, x, got, want)
				}
			}
		}
	}
	for x, want := range map[float32]byte{6.5: 7, math.MaxFloat32: 7, float32(math.Inf(1)): 7, 0x1p-149: 0, -0x1p-149: 8, -0.1: 8, -6: 15, float32(math.Copysign(0, -1)): 0} {
		if got := asm.ToE2M1(x); got != want {
			t.Errorf("%v is %d, want %d", x, got, want)
		}
	}
}
