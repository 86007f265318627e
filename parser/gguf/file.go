package gguf

import (
	"iter"
	"sync"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// Quirks that a policy may grant.
const (
	// QuirkGaps allows unused bytes between tensors, in multiples of the alignment. Offsets still
	// ascend.
	QuirkGaps = "gguf.gaps"
	// QuirkNUL lets elements of string arrays hold NUL bytes; a finding says so.
	QuirkNUL = "gguf.nul"
)

// A File is a GGUF file whose structure has been proven.
type File struct {
	tensor.File
	file
	pairs     []pair
	keyNames  *wire.NameSet
	rows      []row // one per tensor
	alignment int64
	headerEnd int64 // of the table of tensors
	dataStart int64
	dataEnd   int64 // of the last tensor

	verify struct {
		sync.Mutex
		done bool
		err  error
	}
}

// Version is the file's format version: 1, 2 or 3.
func (f *File) Version() uint32 { return f.version }

// Order is the byte order of the header and of the tensors.
func (f *File) Order() tensor.Order { return f.order }

// Alignment is the number of bytes that the offsets of the tensors are multiples of.
func (f *File) Alignment() int64 { return f.alignment }

// DataOffset is where in the file the data section begins, which the stated
// offsets count from. Without tensors it may lie beyond the end of the file.
func (f *File) DataOffset() int64 { return f.dataStart }

// Type is ggml's number of the i-th tensor's type.
func (f *File) Type(i int) Type { return f.rows[i].typ }

// Keys is the number of keys.
func (f *File) Keys() int { return len(f.pairs) }

// Meta lists keys and values in file order. A value is uint8, int8, uint16,
// int16, uint32, int32, uint64, int64, float32, float64, bool, string or [Array].
func (f *File) Meta() iter.Seq2[string, any] {
	return func(yield func(string, any) bool) {
		for i := range f.pairs {
			if !yield(f.pairs[i].key, f.pairs[i].value(&f.file)) {
				return
			}
		}
	}
}

// Get returns the value of a key as [File.Meta] lists it.
func (f *File) Get(key string) (any, bool) {
	p := f.find(key)
	if p == nil {
		return nil, false
	}
	return p.value(&f.file), true
}

func (f *File) find(key string) *pair {
	i, ok := f.keyNames.Find(key)
	if !ok {
		return nil
	}
	return &f.pairs[i]
}

func (p *pair) value(f *file) any {
	switch p.kind {
	case KindString:
		return p.str
	case KindArray:
		return Array{f, p.elem, p.num, p.body}
	default:
		return scalarValue(p.kind, p.num)
	}
}

// Findings lists the findings: those of the structure, and once [File.Verify]
// has run those of the bodies.
func (f *File) Findings() []tensor.Finding {
	f.verify.Lock()
	defer f.verify.Unlock()
	return f.Found.All()
}

// Verify reads the elements of all arrays and the padding: texts must be UTF-8 without
// NUL, booleans 0 or 1, padding zero. It adds findings about tokens that other
// readers reject or confuse. A second call returns the result of the first, unless that
// was an error of the account or the reader.
func (f *File) Verify(b *limits.Budget) error {
	f.verify.Lock()
	defer f.verify.Unlock()
	if f.verify.done {
		return f.verify.err
	}
	before := len(f.Found.All())
	v := verifier{reader: f.file.reader(b), out: f}
	err := v.run()
	switch wire.ClassOf(err) {
	case wire.Limit, wire.Internal:
		f.verify.done = len(f.Found.All()) > before // a second run would find it again
	default:
		f.verify.done = true
	}
	f.verify.err = err
	return err
}
