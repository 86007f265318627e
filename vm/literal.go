package vm

import (
	"math"
	"strconv"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/wire"
)

func (m *machine) opNone() error  { return m.push(refNone) }
func (m *machine) opTrue() error  { return m.push(refTrue) }
func (m *machine) opFalse() error { return m.push(refFalse) }

func (m *machine) opBinInt() error {
	n, err := m.u32()
	if err != nil {
		return err
	}
	return m.pushInt(int64(int32(n)))
}

func (m *machine) opBinInt1() error {
	n, err := m.u8()
	if err != nil {
		return err
	}
	return m.push(inline | ref(n))
}

func (m *machine) opBinInt2() error {
	n, err := m.u16()
	if err != nil {
		return err
	}
	return m.push(inline | ref(n))
}

// pushInt pushes an integer of 64 bits.
func (m *machine) pushInt(n int64) error {
	if n >= minInline && n <= maxInline {
		return m.push(inline | ref(uint32(n))&^inline)
	}
	return m.pushNew(node{kind: KindInt, a: uint32(n), n: uint32(uint64(n) >> 32), size: 1})
}

func (m *machine) opLong1() error {
	n, err := m.u8()
	if err != nil {
		return err
	}
	return m.long(uint64(n))
}

func (m *machine) opLong4() error {
	n, err := m.u32()
	if err != nil {
		return err
	}
	if int32(n) < 0 {
		return wire.ErrRange.WithRule("pickle.number-size").Errorf("an integer of %d bytes", int32(n))
	}
	return m.long(uint64(n))
}

// long pushes n bytes of little-endian two's complement.
func (m *machine) long(n uint64) error {
	off, err := m.data(n)
	if err != nil {
		return err
	}
	s := m.src[off:m.pos]
	for len(s) > 8 && redundant(s[len(s)-1], s[len(s)-2]) {
		s = s[:len(s)-1]
	}
	if len(s) > 8 {
		return m.pushNew(node{kind: KindInt, flags: flagBig, a: uint32(off), n: uint32(len(s)), size: textSize(len(s))})
	}
	var v uint64
	if s != "" && s[len(s)-1] >= 0x80 {
		v = math.MaxUint64
	}
	for i := len(s) - 1; i >= 0; i-- {
		v = v<<8 | uint64(s[i])
	}
	return m.pushInt(int64(v))
}

// redundant reports whether the highest byte only repeats the sign of the next.
func redundant(high, next byte) bool {
	return high == 0 && next < 0x80 || high == 0xff && next >= 0x80
}

func (m *machine) opBinFloat() error {
	v, err := m.u64()
	if err != nil {
		return err
	}
	return m.pushFloat(math.Float64frombits(swap64(v)))
}

func swap64(v uint64) uint64 {
	v = v>>32 | v<<32
	v = v>>16&0x0000ffff0000ffff | v&0x0000ffff0000ffff<<16
	return v>>8&0x00ff00ff00ff00ff | v&0x00ff00ff00ff00ff<<8
}

func (m *machine) pushFloat(v float64) error {
	bits := math.Float64bits(v)
	return m.pushNew(node{kind: KindFloat, a: uint32(bits), n: uint32(bits >> 32), size: 1})
}

// opInt reads a decimal integer. "00" and "01" are False and True. Other forms (octal,
// hexadecimal, signs, spaces, underscores) differ between CPython's two unpicklers, and
// no pickler writes them.
func (m *machine) opInt() error {
	off, end, err := m.line()
	if err != nil {
		return err
	}
	switch s := m.src[off:end]; s {
	case "00":
		return m.push(refFalse)
	case "01":
		return m.push(refTrue)
	default:
		return m.decimal(s)
	}
}

func (m *machine) opLong() error {
	off, end, err := m.line()
	if err != nil {
		return err
	}
	return m.decimal(strings.TrimSuffix(m.src[off:end], "L"))
}

// maxDigits is the longest decimal integer that CPython reads
// (sys.set_int_max_str_digits).
const maxDigits = 4300

// bigSteps are those of converting an integer of more than 64 bits. Longer ones pay for their lines
// too.
const bigSteps = 24

// bigCost is the cost of converting a short integer of more than 64 bits.
const bigCost = 256

func (m *machine) decimal(s string) error {
	digits := strings.TrimPrefix(s, "-")
	if !isDecimal(digits) || s == "-0" {
		return wire.ErrSyntax.WithRule("pickle.number").Errorf("%s is not a decimal integer", wire.Quote(s))
	}
	if len(digits) > maxDigits {
		return wire.ErrRange.WithRule("pickle.number-size").Errorf("an integer of %d digits", len(digits))
	}
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return m.pushInt(n)
	}
	if err := m.steps.Take(bigSteps); err != nil {
		return err
	}
	// The digits, the number, its bytes, and the conversion.
	if err := m.work.Hold(3*int64(len(s)) + bigCost); err != nil {
		return err
	}
	text := encodeBig(s)
	at, err := m.keep(text)
	if err != nil {
		return err
	}
	return m.pushNew(node{kind: KindInt, flags: flagBig | flagSide, a: at, n: uint32(len(text)), size: textSize(len(text))})
}

// isDecimal reports whether s is digits without a leading zero.
func isDecimal(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != "" && (s[0] != '0' || s == "0")
}

// index reads the decimal index of GET and PUT.
func (m *machine) index() (uint32, error) {
	off, end, err := m.line()
	if err != nil {
		return 0, err
	}
	s := m.src[off:end]
	if !isDecimal(s) {
		return 0, wire.ErrSyntax.WithRule("pickle.memo-index").Errorf("%s is not an index", wire.Quote(s))
	}
	n, err := strconv.ParseUint(s, 10, 32)
	if err != nil {
		return 0, wire.ErrRange.WithRule("pickle.memo-range").Errorf("memo index %s", wire.Quote(s))
	}
	return uint32(n), nil
}

// opFloat reads the forms of Python's repr: [+-]digits[.digits][e[+-]digits], inf and
// nan.
func (m *machine) opFloat() error {
	off, end, err := m.line()
	if err != nil {
		return err
	}
	s := m.src[off:end]
	if !isFloat(s) {
		return wire.ErrSyntax.WithRule("pickle.number").Errorf("%s is not a number", wire.Quote(s))
	}
	v, ok, err := wire.Float(s, m.steps.Take)
	if err != nil {
		return err
	}
	if !ok { // CPython's unpicklers disagree about 1e999
		return wire.ErrRange.WithRule("pickle.number-size").Errorf("%s", wire.Quote(s))
	}
	return m.pushFloat(v)
}

func isFloat(s string) bool {
	if len(s) > maxDigits {
		return false
	}
	switch s {
	case "inf", "-inf", "nan":
		return true
	}
	s = strings.TrimPrefix(s, "-")
	s, exponent, has := strings.Cut(s, "e")
	if has && !isDigits(strings.TrimLeft(exponent, "+-")) || len(exponent)-len(strings.TrimLeft(exponent, "+-")) > 1 {
		return false
	}
	whole, part, has := strings.Cut(s, ".")
	return isDigits(whole) && (!has || isDigits(part))
}

func isDigits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}
