package compare

import (
	"encoding/binary"
	"encoding/hex"
	"math"
	"strconv"

	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant"
)

// A value is one number. Integers are exact in n and neg, and rounded in f.
type value struct {
	f       float64
	n       uint64 // the magnitude of an integer
	neg     bool
	integer bool
}

// A loader reads as many numbers as dst has from the beginning of p; tile has
// room for as many.
type loader func(dst []value, p []byte, tile []float32)

// loaderOf reads the numbers of a type; nil for a type without.
func loaderOf(t tensor.DType) loader {
	le := binary.LittleEndian
	switch t {
	case tensor.Bool, tensor.U8:
		return each(1, func(p []byte) value { return unsigned(uint64(p[0])) })
	case tensor.I8:
		return each(1, func(p []byte) value { return signed(int64(int8(p[0]))) })
	case tensor.U16:
		return each(2, func(p []byte) value { return unsigned(uint64(le.Uint16(p))) })
	case tensor.I16:
		return each(2, func(p []byte) value { return signed(int64(int16(le.Uint16(p)))) })
	case tensor.U32:
		return each(4, func(p []byte) value { return unsigned(uint64(le.Uint32(p))) })
	case tensor.I32:
		return each(4, func(p []byte) value { return signed(int64(int32(le.Uint32(p)))) })
	case tensor.U64:
		return each(8, func(p []byte) value { return unsigned(le.Uint64(p)) })
	case tensor.I64:
		return each(8, func(p []byte) value { return signed(int64(le.Uint64(p))) })
	case tensor.F64:
		return each(8, func(p []byte) value { return value{f: math.Float64frombits(le.Uint64(p))} })
	}
	codec, ok := quant.CodecOf(t)
	if !ok {
		return nil
	}
	g, _ := t.Geometry()
	return func(dst []value, p []byte, tile []float32) {
		n := sizeOf(t, int64(len(dst)))
		tile = tile[:n/int64(g.Bytes)*int64(g.Elems)]
		codec.Decode(tile, p[:n])
		for i := range dst {
			dst[i] = value{f: float64(tile[i])}
		}
	}
}

func each(size int, read func(p []byte) value) loader {
	return func(dst []value, p []byte, _ []float32) {
		for i := range dst {
			dst[i] = read(p[i*size:])
		}
	}
}

func unsigned(n uint64) value { return value{f: float64(n), n: n, integer: true} }

func signed(n int64) value {
	if n < 0 {
		return value{f: float64(n), n: -uint64(n), neg: true, integer: true}
	}
	return unsigned(uint64(n))
}

// same says that two values are equal: NaN equals NaN.
func (x value) same(y value) bool {
	if x.integer && y.integer {
		return x.n == y.n && x.neg == y.neg
	}
	return x.f == y.f || x.f != x.f && y.f != y.f
}

// distance is how far two numbers are apart; NaN where one is none.
func (x value) distance(y value) float64 {
	if x.integer && y.integer && x.neg == y.neg {
		return float64(max(x.n, y.n) - min(x.n, y.n))
	}
	if x.f == y.f {
		return 0
	}
	return math.Abs(x.f - y.f)
}

// text is the number for people. A NaN is told with its bits, if they are given.
func (x value) text(bits []byte) string {
	switch {
	case x.integer && x.neg:
		return "-" + strconv.FormatUint(x.n, 10)
	case x.integer:
		return strconv.FormatUint(x.n, 10)
	case x.f != x.f && bits != nil:
		return "NaN (" + hexOf(bits) + ")"
	case float64(float32(x.f)) == x.f || x.f != x.f:
		return strconv.FormatFloat(x.f, 'g', -1, 32)
	default:
		return strconv.FormatFloat(x.f, 'g', -1, 64)
	}
}

// hexOf is the most significant byte first.
func hexOf(p []byte) string {
	text := "0x"
	for i := len(p) - 1; i >= 0; i-- {
		text += hex.EncodeToString(p[i : i+1])
	}
	return text
}

// hexText is a block as it is stored, the beginning of a long one.
func hexText(p []byte) string {
	if len(p) > 8 {
		return hex.EncodeToString(p[:8]) + "..."
	}
	return hex.EncodeToString(p)
}
