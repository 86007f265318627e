package tensor

import (
	"io"
	"io/fs"
	"iter"

	"github.com/anamnesis-go/anamnesis/limits"
)

// A Model is a file, or a set of shards, whose structure has been proven: every
// span lies inside its file and is as long as shape and type say. Its methods
// are safe for concurrent use, except Close.
type Model interface {
	// Format is the container's name: "safetensors", "gguf", "npz", ...
	Format() string
	// Len is the number of tensors.
	Len() int
	// Tensors lists the stored tensors in file order.
	Tensors() iter.Seq[Info]
	// Meta lists metadata in file order. Values are string, bool, integers,
	// floats, []any of those, or what the format's package documents.
	Meta() iter.Seq2[string, any]
	// Findings lists what a person should know.
	Findings() []Finding
	// Configs is the sibling files of the model, confined to its folder; an
	// empty file system when the model did not come from a folder.
	Configs() fs.FS
	// At returns random access to a tensor's bytes: offset 0 of the reader is
	// Info.Span.Off. False for a member that must be inflated in order.
	At(Info) (io.ReaderAt, bool)
	// Body reads a tensor's bytes in order, exactly Info.Span.Len of them.
	Body(*limits.Budget, Info) (io.ReadCloser, error)
	// Close releases files, and returns what the model holds to the account under which
	// package parser opened it. Closing twice is harmless.
	Close() error
}

// A Verifier is a Model that can check its bodies: checksums, real lengths,
// text rules of large arrays. A Model without it has nothing to check.
type Verifier interface {
	Verify(*limits.Budget) error
}

// A Quantizer is a Model with operators that make numbers of codes: a graph.
type Quantizer interface {
	// Quantized returns how the operators read a tensor of codes; false if none does.
	Quantized(name string) (Quantized, bool)
}

// A Quantized is a tensor of codes, and what its operator says of it. The tensors are named
// as the Model names them.
type Quantized struct {
	Operator string // "DequantizeLinear"
	Of       string // the format that has the operator: "onnx"
	Scales   string
	Zeros    string   // "" if there are none
	Axis     int64    // of the scales, or of the blocks
	Block    int64    // indices of the axis that share a scale, 0 for one index
	Bits     int64    // of a code, where the type does not say it
	Shape    [2]int64 // of the matrix, where the tensor's own is that of its blocks
	Why      string   // why it is not decoded, "" if it is
}

// A Stated is an open file whose source, such as a registry, may state its digest.
type Stated interface {
	// Verified reports whether the whole file was compared with the digest, or the source
	// states none.
	Verified() bool
	// Whole reports whether nearly all of the file has been read.
	Whole() bool
	// Verify reads what has not been digested, and compares the digest.
	Verify(*limits.Budget) error
}

// A Named is an open file whose source names its content, such as a registry.
type Named interface {
	// ContentName returns a digest of the content, or what the source changes with the
	// content; "" if it says nothing.
	ContentName() string
}
