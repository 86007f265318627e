package scaled

import "math"

// e2m1 are the numbers of four-bit floats.
var e2m1 = [16]float32{0, .5, 1, 1.5, 2, 3, 4, 6, float32(math.Copysign(0, -1)), -.5, -1, -1.5, -2, -3, -4, -6}

// middles lie between the magnitudes of two codes.
var middles = [7]float32{.25, .75, 1.25, 1.75, 2.5, 3.5, 5}

// toE2M1 is the code of the nearest magnitude, of two the even one; what is larger
// than 6 becomes it. Negative numbers have the sign, zeros do not.
func toE2M1(x float32) byte {
	sign := byte(0)
	if x < 0 {
		sign, x = 8, -x
	}
	return sign | magnitude(x, true)
}

// magnitude counts the middles between two codes that lie below a number. In the
// middle is the even code right, or the smaller one.
func magnitude(x float32, even bool) byte {
	n := byte(0)
	for i, middle := range middles {
		if x > middle || even && i%2 == 1 && x == middle {
			n++
		}
	}
	return n
}
