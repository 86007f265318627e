// Package number reads the numbers of element types: integers exactly, all others
// as float64.
package number

import (
	"encoding/binary"
	"encoding/hex"
	"math"
	"strconv"

	"github.com/anamnesis-go/anamnesis/internal/elements"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant"
)

// A Value is one number. Integers are exact in N and Neg, and rounded in F.
type Value struct {
	F       float64
	N       uint64 // the magnitude of an integer
	Neg     bool
	Integer bool
}

// A Loader reads as many numbers as dst has from the beginning of p; tile has
// room for as many.
type Loader func(dst []Value, p []byte, tile []float32)

// Of reads the numbers of a type; nil for a type without.
func Of(t tensor.DType) Loader {
	le := binary.LittleEndian
	switch t {
	case tensor.Bool, tensor.U8:
		return each(1, func(p []byte) Value { return unsigned(uint64(p[0])) })
	case tensor.I8:
		return each(1, func(p []byte) Value { return signed(int64(int8(p[0]))) })
	case tensor.U16:
		return each(2, func(p []byte) Value { return unsigned(uint64(le.Uint16(p))) })
	case tensor.I16:
		return each(2, func(p []byte) Value { return signed(int64(int16(le.Uint16(p)))) })
	case tensor.U32:
		return each(4, func(p []byte) Value { return unsigned(uint64(le.Uint32(p))) })
	case tensor.I32:
		return each(4, func(p []byte) Value { return signed(int64(int32(le.Uint32(p)))) })
	case tensor.U64:
		return each(8, func(p []byte) Value { return unsigned(le.Uint64(p)) })
	case tensor.I64:
		return each(8, func(p []byte) Value { return signed(int64(le.Uint64(p))) })
	case tensor.F64:
		return each(8, func(p []byte) Value { return Value{F: math.Float64frombits(le.Uint64(p))} })
	}
	codec, ok := quant.CodecOf(t)
	if !ok {
		return nil
	}
	g, _ := t.Geometry()
	return func(dst []Value, p []byte, tile []float32) {
		n := elements.Size(t, int64(len(dst)))
		tile = tile[:n/int64(g.Bytes)*int64(g.Elems)]
		codec.Decode(tile, p[:n])
		for i := range dst {
			dst[i] = Value{F: float64(tile[i])}
		}
	}
}

func each(size int, read func(p []byte) Value) Loader {
	return func(dst []Value, p []byte, _ []float32) {
		for i := range dst {
			dst[i] = read(p[i*size:])
		}
	}
}

func unsigned(n uint64) Value { return Value{F: float64(n), N: n, Integer: true} }

func signed(n int64) Value {
	if n < 0 {
		return Value{F: float64(n), N: -uint64(n), Neg: true, Integer: true}
	}
	return unsigned(uint64(n))
}

// Same says that two values are equal: NaN equals NaN.
func (x Value) Same(y Value) bool {
	if x.Integer && y.Integer {
		return x.N == y.N && x.Neg == y.Neg
	}
	return x.F == y.F || x.F != x.F && y.F != y.F
}

// Distance is how far two numbers are apart; NaN where one is none.
func (x Value) Distance(y Value) float64 {
	if x.Integer && y.Integer && x.Neg == y.Neg {
		return float64(max(x.N, y.N) - min(x.N, y.N))
	}
	if x.F == y.F {
		return 0
	}
	return math.Abs(x.F - y.F)
}

// Text is the number for people. A NaN has its bits, if they are given.
func (x Value) Text(bits []byte) string {
	switch {
	case x.Integer && x.Neg:
		return "-" + strconv.FormatUint(x.N, 10)
	case x.Integer:
		return strconv.FormatUint(x.N, 10)
	case x.F != x.F && bits != nil:
		return "NaN (" + hexOf(bits) + ")"
	case float64(float32(x.F)) == x.F || x.F != x.F:
		return strconv.FormatFloat(x.F, 'g', -1, 32)
	default:
		return strconv.FormatFloat(x.F, 'g', -1, 64)
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
