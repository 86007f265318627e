package bnb

import (
	"math"
	"strconv"
	"strings"
)

// StateName is the prefix of the name of a description, before the type of the codes.
const StateName = ".quant_state.bitsandbytes__"

// A State is what bitsandbytes writes beside the codes of a tensor.
type State struct {
	Quantizer
	DType  string // of the original tensor: "bfloat16", "float16", "float32"
	Shape  []int64
	Nested bool
	Mean   float32 // of the scales, if they are nested
}

// Key returns the name, after that of the weight, of the tensor that holds the text of
// the state.
func (s *State) Key() string { return StateName + s.Name() }

// Append appends the state as Python's json writes it.
func (s *State) Append(p []byte) []byte {
	p = append(p, `{"quant_type": "`+s.Name()+`", "blocksize": `...)
	p = strconv.AppendInt(p, int64(s.Block), 10)
	p = append(p, `, "dtype": "`+s.DType+`", "shape": [`...)
	for i, n := range s.Shape {
		if i > 0 {
			p = append(p, ", "...)
		}
		p = strconv.AppendInt(p, n, 10)
	}
	p = append(p, ']')
	if s.Nested {
		p = append(p, `, "nested_blocksize": `...)
		p = strconv.AppendInt(p, NestedBlock, 10)
		p = append(p, `, "nested_dtype": "float32", "nested_offset": `+pythonFloat(float64(s.Mean))...)
	}
	return append(p, '}')
}

// pythonFloat formats a finite float as Python's repr.
func pythonFloat(x float64) string {
	if a := math.Abs(x); a != 0 && (a < 1e-4 || a >= 1e16) {
		return strconv.FormatFloat(x, 'e', -1, 64)
	}
	text := strconv.FormatFloat(x, 'f', -1, 64)
	if !strings.Contains(text, ".") {
		text += ".0"
	}
	return text
}
