package corpus

import (
	"errors"
	"fmt"
	"math/big"
	"math/bits"
	"strconv"
	"strings"
)

// A number is an integer that fits 64 bits, signed or unsigned.
type number struct {
	neg bool
	abs uint64
}

// fits returns the two's complement of the number, and whether it fits that many bits,
// signed or unsigned.
func (n number) fits(size uint) (uint64, bool) {
	if n.neg {
		return -n.abs, n.abs <= 1<<(size-1)
	}
	return n.abs, size == 64 || n.abs < 1<<size
}

func (n number) String() string {
	s := strconv.FormatUint(n.abs, 10)
	if n.neg {
		return "-" + s
	}
	return s
}

func toNumber(n *big.Int) (number, bool) {
	abs := new(big.Int).Abs(n)
	return number{n.Sign() < 0, abs.Uint64()}, abs.IsUint64()
}

func add(a, b number) (number, bool) {
	if a.neg == b.neg {
		sum, carry := bits.Add64(a.abs, b.abs, 0)
		return number{a.neg, sum}, carry == 0
	}
	if a.abs < b.abs {
		a, b = b, a
	}
	diff := a.abs - b.abs
	return number{a.neg && diff != 0, diff}, true
}

func mul(a, b number) (number, bool) {
	hi, lo := bits.Mul64(a.abs, b.abs)
	return number{a.neg != b.neg && lo != 0, lo}, hi == 0
}

// counterNames are the counters of the innermost repeat, the one around it, and the next.
const counterNames = "ijk"

// An expr is a constant plus a multiple of each counter.
type expr struct {
	fixed   number
	factors [len(counterNames)]number
}

// eval returns the expression's value; counters has the innermost repeat last.
func (e expr) eval(counters []uint64) (number, error) {
	sum, fits := e.fixed, true
	for n, factor := range e.factors {
		if factor.abs == 0 {
			continue
		}
		product, ok1 := mul(factor, number{abs: counters[len(counters)-1-n]})
		next, ok2 := add(sum, product)
		sum, fits = next, fits && ok1 && ok2
	}
	if !fits {
		return number{}, errors.New("the number does not fit 64 bits")
	}
	return sum, nil
}

// repeatDepth returns how many repeats must enclose the expression.
func (e expr) repeatDepth() int {
	depth := 0
	for n, factor := range e.factors {
		if factor.abs != 0 {
			depth = n + 1
		}
	}
	return depth
}

// parseExpr parses sums of products: 12, -1, 0xff, 2^64-1, i*4+8.
func parseExpr(s string) (expr, error) {
	fail := func() (expr, error) {
		return expr{}, fmt.Errorf("%q is not a number", s)
	}
	var fixed big.Int
	var times [len(counterNames)]big.Int
	for rest, first := s, true; rest != "" || first; first = false {
		sign := int64(1)
		switch {
		case strings.HasPrefix(rest, "-"):
			sign, rest = -1, rest[1:]
		case strings.HasPrefix(rest, "+") && !first:
			rest = rest[1:]
		}
		n := strings.IndexAny(rest, "+-")
		if n < 0 {
			n = len(rest)
		}
		value, counter, ok := product(rest[:n])
		if !ok {
			return fail()
		}
		value.Mul(value, big.NewInt(sign))
		into := &fixed
		if counter >= 0 {
			into = &times[counter]
		}
		into.Add(into, value)
		rest = rest[n:]
	}
	var e expr
	var ok bool
	if e.fixed, ok = toNumber(&fixed); !ok {
		return fail()
	}
	for n := range times {
		if e.factors[n], ok = toNumber(&times[n]); !ok {
			return fail()
		}
	}
	return e, nil
}

// product parses factors separated by *, one of which may be a counter.
func product(s string) (value *big.Int, counter int, ok bool) {
	value, counter = big.NewInt(1), -1
	for factor := range strings.SplitSeq(s, "*") {
		if n := strings.Index(counterNames, factor); n >= 0 && len(factor) == 1 {
			if counter >= 0 {
				return nil, 0, false
			}
			counter = n
			continue
		}
		base, exponent, _ := strings.Cut(factor, "^")
		b, err := strconv.ParseUint(base, 0, 64)
		if err != nil {
			return nil, 0, false
		}
		e := uint64(1)
		if base != factor {
			if e, err = strconv.ParseUint(exponent, 0, 8); err != nil {
				return nil, 0, false
			}
		}
		value.Mul(value, new(big.Int).Exp(new(big.Int).SetUint64(b), new(big.Int).SetUint64(e), nil))
	}
	return value, counter, true
}
