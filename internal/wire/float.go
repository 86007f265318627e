package wire

import (
	"math"
	"math/big"
	"strconv"
	"strings"
	"sync"
)

// Float returns the nearest float of a number that a file writes as text; ok is false for what
// [strconv.ParseFloat] refuses. It first asks pay for [FloatSteps]. A number that strconv would convert
// digit by digit is divided as an integer, which is right where strconv (Go 1.26) is not: a number of more
// than 800 digits before its point.
func Float(text string, pay func(int64) error) (f float64, ok bool, err error) {
	d, plain := decimalOf(text)
	if err := pay(d.steps()); err != nil {
		return 0, false, err
	}
	if plain && d.slow() {
		f, ok = d.nearest()
		return f, ok, nil
	}
	f, err = strconv.ParseFloat(text, 64)
	return f, err == nil, nil
}

const (
	// A number of fewer significant digits than this never lies halfway between two floats in a
	// way that strconv must look at twice.
	plainDigits = 16
	// A number of more digits than this does not fit the integer that strconv begins with.
	fastDigits = 19
	// Beyond this decimal exponent a float may be subnormal.
	fastExponent = 306
	// Beyond this one it is infinite or zero.
	lastExponent = 400
	// No float, and no number halfway between two, has more significant digits than this.
	tellingDigits = 800

	plainSteps = 2  // of a number of fewer digits
	closeSteps = 6  // of a number of plainDigits to fastDigits digits
	slowSteps  = 32 // of one that is divided as an integer
)

// FloatSteps returns the steps of converting a decimal number. Most take the time of two; one that may
// be subnormal, or that has many digits, twenty times that, and more for each digit.
func FloatSteps(text string) int64 {
	d, _ := decimalOf(text)
	return d.steps()
}

// A decimal is a number as it is written.
type decimal struct {
	minus       bool
	whole, part string // the digits before and after the point, without the zeros before the first
	exponent    int64  // of ten
	first       int64  // the exponent of the first digit, plus one
}

// decimalOf takes a number apart. It is not plain if it is none, or is written in another way than in
// decimal digits.
func decimalOf(text string) (d decimal, plain bool) {
	mantissa := strings.TrimLeft(text, "+-")
	plain = len(text)-len(mantissa) <= 1
	d.minus = strings.HasPrefix(text, "-")
	if i := strings.IndexAny(mantissa, "eE"); i >= 0 {
		n, err := strconv.ParseInt(mantissa[i+1:], 10, 32)
		if err != nil { // too large, or no number
			plain, n = false, lastExponent
		}
		mantissa, d.exponent = mantissa[:i], n
	}
	whole, part, _ := strings.Cut(mantissa, ".")
	plain = plain && whole+part != "" && strings.Trim(whole, "0123456789") == "" && strings.Trim(part, "0123456789") == ""
	d.whole, d.part = strings.TrimLeft(whole, "0"), part
	d.first = int64(len(d.whole)) + d.exponent
	if d.whole == "" {
		d.part = strings.TrimLeft(part, "0")
		d.first -= int64(len(part) - len(d.part))
		d.exponent -= int64(len(part) - len(d.part))
	}
	return d, plain
}

// digits returns how many significant digits there are.
func (d *decimal) digits() int64 { return int64(len(d.whole) + len(d.part)) }

// slow reports whether strconv converts the number digit by digit, which takes a hundred times what it
// takes for another.
func (d *decimal) slow() bool {
	return d.digits() > fastDigits || max(d.first, -d.first) > fastExponent
}

// steps returns the steps of converting the number.
func (d *decimal) steps() int64 {
	switch {
	case d.slow():
		return slowSteps + d.digits()/8
	case d.digits() < plainDigits:
		return plainSteps
	}
	return closeSteps
}

// nearest returns the float that is nearest to the number, of two the even one; ok is false if it is
// infinite.
func (d *decimal) nearest() (f float64, ok bool) {
	digits, more := (d.whole + d.part), false
	exponent := d.exponent - int64(len(d.part))
	if len(digits) > tellingDigits {
		more = strings.Trim(digits[tellingDigits:], "0") != ""
		exponent += int64(len(digits) - tellingDigits)
		digits = digits[:tellingDigits]
	}
	num, _ := new(big.Int).SetString("0"+digits, 10)
	switch {
	case num.Sign() == 0 || d.first < -lastExponent:
	case d.first > lastExponent:
		f = math.Inf(1)
	case exponent >= 0:
		f = quotient(num.Mul(num, tens(exponent)), big.NewInt(1), more)
	default:
		f = quotient(num, tens(-exponent), more)
	}
	if d.minus {
		f = math.Copysign(f, -1)
	}
	return f, !math.IsInf(f, 0)
}

// quotient returns the float that is nearest to num/den, or, if there is more, to what is a little above.
func quotient(num, den *big.Int, more bool) float64 {
	const bits, fraction, least = 66, 53, -1074 // a quotient has bits or one more; a float fraction, of which the last is no smaller than 2^least
	shift := bits - (num.BitLen() - den.BitLen())
	if shift >= 0 {
		num.Lsh(num, uint(shift))
	} else {
		den = new(big.Int).Lsh(den, uint(-shift))
	}
	q, rest := num.QuoRem(num, den, new(big.Int))
	drop := max(q.BitLen()-fraction, shift+least)
	if drop > q.BitLen() {
		return 0
	}
	half, below := q.Bit(drop-1) == 1, more || rest.Sign() != 0 || int(q.TrailingZeroBits()) < drop-1
	m := q.Rsh(q, uint(drop)).Uint64()
	if half && (below || m&1 == 1) {
		m++
	}
	return math.Ldexp(float64(m), drop-shift)
}

// tens returns a power of ten.
func tens(n int64) *big.Int {
	table := powers()
	if n < int64(len(table)) {
		return table[n]
	}
	return new(big.Int).Exp(big.NewInt(10), big.NewInt(n), nil)
}

// powers are the powers of ten that numbers of few digits need.
var powers = sync.OnceValue(func() []*big.Int {
	table := []*big.Int{big.NewInt(1)}
	for range lastExponent + fastDigits {
		table = append(table, new(big.Int).Mul(table[len(table)-1], big.NewInt(10)))
	}
	return table
})
