package convert

import (
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A Sink is a format that is written. It knows nothing of sources or schemes.
type Sink interface {
	// Name is the format's name: "safetensors".
	Name() string
	// Stores reports whether the format has a name for a type.
	Stores(tensor.DType) bool
	// Layout places tensors, in the order given, in one file. What it cannot
	// hold is an error of class Unsupported that names the tensor.
	Layout(b *limits.Budget, outs []Out, meta []Entry) (*Layout, error)
}

// An Entry is one key of the metadata and its value, as [tensor.Model] lists
// them.
type Entry struct {
	Key   string
	Value any
}

// A Layout is one file before any tensor is known. What neither a patch nor a
// tensor covers is zero.
type Layout struct {
	Size    int64
	Offsets []int64 // of each tensor
	Head    []Patch // what is known now
	// Tail gives what depends on the tensors, from the CRC-32 of the bytes of
	// each; nil where nothing does.
	Tail func(sums []uint32) ([]Patch, error)
}

// A Patch is bytes at an offset of the file.
type Patch struct {
	Off  int64
	Data []byte
}
