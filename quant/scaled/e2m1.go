package scaled

import (
	"math"

	"github.com/anamnesis-go/anamnesis/asm"
)

// e2m1 are the values of the codes.
var e2m1 = [16]float32{0, .5, 1, 1.5, 2, 3, 4, 6, float32(math.Copysign(0, -1)), -.5, -1, -1.5, -2, -3, -4, -6}

// middles are the bounds between magnitudes: code i is between middles[i] and
// middles[i+1]. NaN, which compares false, means that there is no bound.
var middles = [9]float32{nan, .25, .75, 1.25, 1.75, 2.5, 3.5, 5, nan}

var nan = float32(math.NaN())

// downward returns the code of the nearest magnitude; a tie goes to the smaller one.
func downward(x float32) byte {
	code := asm.NearestE2M1(x)
	if x == middles[code] {
		code--
	}
	return code
}

// upward returns the code of the nearest magnitude; a tie goes to the larger one.
func upward(x float32) byte {
	code := asm.NearestE2M1(x)
	if x == middles[code+1] {
		code++
	}
	return code
}
