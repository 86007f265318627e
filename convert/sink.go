package convert

import (
	"github.com/anamnesis-go/anamnesis/internal/encode"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A Sink is an output format. It is independent of sources and schemes.
type Sink interface {
	// Name is the format's name: "safetensors".
	Name() string
	// Stores reports whether the format has a name for a type.
	Stores(tensor.DType) bool
	// Layout places tensors in one file, in the given order. A tensor that the format
	// cannot hold is an error of class Unsupported that names it.
	Layout(b *limits.Budget, outs []Out, meta []Entry) (*Layout, error)
}

// An Entry is one key of the metadata with its value, as tensor.Model lists it.
type Entry = encode.Entry

// A Layout describes one file before any tensor is read. Bytes that neither a patch nor a
// tensor covers are zero.
type Layout struct {
	Size    int64
	Offsets []int64 // of each tensor
	Head    []Patch // what is known now
	// Tail returns the parts that depend on the tensors, from the CRC-32 of each; nil if
	// there are none.
	Tail func(sums []uint32) ([]Patch, error)
}

// A Patch is bytes at an offset of the file.
type Patch struct {
	Off  int64
	Data []byte
}
