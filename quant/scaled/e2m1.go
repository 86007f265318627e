package scaled

import "math"

// e2m1 are the numbers of four-bit floats.
var e2m1 = [16]float32{0, .5, 1, 1.5, 2, 3, 4, 6, float32(math.Copysign(0, -1)), -.5, -1, -1.5, -2, -3, -4, -6}

// middles lie between the magnitudes of two codes: the one below code i is middles[i], the one above it
// middles[i+1]. NaN, which equals nothing, stands where there is none.
var middles = [9]float32{nan, .25, .75, 1.25, 1.75, 2.5, 3.5, 5, nan}

var nan = float32(math.NaN())

// nearestE2M1 is the code of the nearest magnitude, of two the even one; what is larger than 6 becomes it.
// For 2^e, the power of two not above a number and at least 1, the last bit of 2^(e+22) is half of it: adding
// that rounds to what codes differ by, and two codes more there are for each e.
func nearestE2M1(x float32) byte {
	bits := min(math.Float32bits(x)&^(1<<31), 0x40C00000)
	power := max(bits, 0x3F800000)&0x7F800000 + 22<<23
	rounded := math.Float32bits(math.Float32frombits(bits) + math.Float32frombits(power))
	return byte(rounded - power + power>>22 - (127+22)*2)
}

// toE2M1 is the same with the sign of negative numbers; zeros have none.
func toE2M1(x float32) byte {
	bits := math.Float32bits(x)
	if bits<<1 == 0 {
		return 0
	}
	return byte(bits>>28)&8 | nearestE2M1(x)
}

// downward is the code of the nearest magnitude, of two the smaller one.
func downward(x float32) byte {
	code := nearestE2M1(x)
	if x == middles[code] {
		code--
	}
	return code
}

// upward is the code of the nearest magnitude, of two the larger one.
func upward(x float32) byte {
	code := nearestE2M1(x)
	if x == middles[code+1] {
		code++
	}
	return code
}
