package encode

import (
	"github.com/anamnesis-go/anamnesis/internal/scheme"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// An Encoding is one weight in another stored form: one tensor or several. Numbers are
// counted in row-major order. Put is called concurrently, for disjoint ranges.
type Encoding interface {
	// Outs is what the weight is stored as.
	Outs() []Out
	// Block is how many numbers are encoded together. Ranges begin at multiples
	// of it and end at one, or at the weight's end.
	Block() int64
	// Hold is the size of the memory that Open gets, which is kept until End.
	Hold() int64
	Open(memory []byte)
	// Span returns the bytes of out i that the numbers [lo, hi) produce, none for an out
	// that End returns.
	Span(i int, lo, hi int64) tensor.Span
	// Put encodes src, the numbers from lo on. dst[i] is the bytes of Span(i).
	Put(dst [][]byte, lo int64, src []float32) error
	// End returns the bytes of each out that no range produces, nil for the others.
	End() ([][]byte, error)
}

// An Out is one tensor of the output.
type Out struct {
	Name  string
	DType tensor.DType
	Shape []int64 // outermost dimension first
	Size  int64   // bytes
}

// Options are what an encoder needs to know of a conversion.
type Options struct {
	// Straight is the model as weights are read from it.
	Straight tensor.Model
	Threads  int           // of passes over a weight; 0 is one per processor
	Zeroes   bool          // numbers that are not finite count as zero
	Target   scheme.Target // the type of weights that are decoded and not encoded
	Casts    bool          // other tensors are rounded to it
	Again    bool          // weights that are quantized already are quantized again
	Format   string        // of the output
	// Listed counts tensors in the order of the source, instead of by layer and name.
	Listed bool
	// Runs reports whether llama.cpp has an architecture.
	Runs  func(architecture string) bool
	Rules *Rules // of the library in whose form the model is; nil for transformers
}
