package wire

import (
	"strconv"
	"strings"
)

// Float returns the nearest float of a number that a file writes as text; ok is false for what
// [strconv.ParseFloat] refuses. It first asks pay for [FloatSteps].
func Float(text string, bits int, pay func(int64) error) (f float64, ok bool, err error) {
	if err := pay(FloatSteps(text)); err != nil {
		return 0, false, err
	}
	f, err = strconv.ParseFloat(text, bits)
	return f, err == nil, nil
}

const (
	// A number of fewer significant digits than this never lies halfway between two floats in a
	// way that strconv must look at twice.
	plainDigits = 16
	// A number of more digits than this does not fit the integer that strconv begins with.
	fastDigits = 19
	// Beyond this decimal exponent a float may be subnormal.
	fastExponent = 290
	// strconv returns zero or infinity at once for exponents beyond this.
	lastExponent = 400

	plainSteps = 2  // of a number of fewer digits
	closeSteps = 6  // of a number of plainDigits to fastDigits digits
	slowSteps  = 32 // of one that is converted digit by digit
)

// FloatSteps returns the steps of converting a decimal number. Most take the time of two. A
// number that is subnormal, or that has many digits, is shifted as a decimal, a few bits at a
// time: that takes time in proportion to its exponent and its digits, a hundred times what another
// number takes.
func FloatSteps(text string) int64 {
	digits, exponent := decimal(text)
	switch {
	case exponent > fastExponent || digits > fastDigits:
		return slowSteps + min(exponent, lastExponent) + digits/2
	case digits < plainDigits:
		return plainSteps
	}
	return closeSteps
}

// decimal returns the significant digits of a number and the absolute value of the exponent of
// its first digit.
func decimal(text string) (digits, exponent int64) {
	mantissa, e, _ := strings.Cut(strings.TrimLeft(text, "+-"), "e")
	if e == "" {
		mantissa, e, _ = strings.Cut(mantissa, "E")
	}
	whole, part, _ := strings.Cut(mantissa, ".")
	whole = strings.TrimLeft(whole, "0")
	first := int64(len(whole))
	if whole == "" {
		trimmed := strings.TrimLeft(part, "0")
		first, part = int64(len(trimmed)-len(part)), trimmed
	}
	if e != "" {
		n, err := strconv.ParseInt(e, 10, 32)
		if err != nil { // too large, or no number: the dearest
			n = lastExponent
		}
		first += n
	}
	return int64(len(whole) + len(part)), max(first, -first)
}
