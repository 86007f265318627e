package gguf

import (
	"encoding/binary"
	"io"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A file is a file of known version, with what its readers need.
type file struct {
	r       io.ReaderAt
	size    int64
	version uint32
	order   tensor.Order
}

// width returns the size of a length in bytes. Version 2 widened counts to 64 bits.
func (f *file) width() uint64 {
	if f.version == 1 {
		return 4
	}
	return 8
}

func (f *file) reader(b *limits.Budget) reader {
	r := reader{c: wire.NewCursor(b, Format, f.r, f.size), b: b, steps: b.Steps(), f: f, nul: b.Policy().Quirk(QuirkNUL)}
	if f.order == tensor.Big {
		r.c.Order = binary.BigEndian
	}
	return r
}

// A reader reads the parts of keys, arrays and tensor rows.
type reader struct {
	c           wire.Cursor
	b           *limits.Budget
	steps       limits.Steps
	f           *file
	trace       *tracer // nil unless a dump is wanted
	chargeItems bool    // charge elements as items, which only Decode does
	nul         bool    // elements of arrays may hold NUL
}

func (r *reader) items(n uint64) error {
	if !r.chargeItems {
		return nil
	}
	return r.b.Items(int64(n))
}

// mark tells the dump about the size bytes before the cursor. Callers on a hot path check
// trace first, since converting value to an interface may allocate.
func (r *reader) mark(what string, size uint64, value any) {
	if r.trace != nil {
		r.trace.add(r.c.Off()-int64(size), r.c.Off(), what, value)
	}
}

// count reads a count: 32 bits in version 1, else 64.
func (r *reader) count() (uint64, error) {
	if r.f.version == 1 {
		n, err := r.c.U32()
		return uint64(n), err
	}
	return r.c.U64()
}

// length is wide with a name for the dump.
func (r *reader) length(what string) (uint64, error) {
	n, err := r.count()
	if err == nil && r.trace != nil {
		r.mark(what, r.f.width(), n)
	}
	return n, err
}

// text reads a string: its length, then that many bytes of UTF-8 without NUL. A NUL would
// end the string early for readers in C but not for others. A quirk allows it in arrays.
func (r *reader) text(what string, most uint64, nul bool) (string, error) {
	at := r.c.Off()
	n, err := r.count()
	if err != nil {
		return "", err
	}
	if r.trace != nil {
		r.mark("length of the "+what, r.f.width(), n)
	}
	if _, ok := wire.Add(n, uint64(r.c.Off())); !ok {
		return "", r.c.FailAt("", at, wire.ErrOverflow.WithRule("gguf.text-overflow").Errorf("%s of %d bytes", what, n))
	}
	if n > most {
		return "", r.c.FailAt("", at, wire.ErrRange.WithRule("gguf.text-long").Errorf("%s of %d bytes, at most %d are allowed", what, n, most))
	}
	start := r.c.Off()
	s, err := r.c.String(n)
	if err != nil {
		return "", err
	}
	if i := badText(s, nul); i >= 0 {
		return "", r.c.FailAt("", start+int64(i), wire.ErrText.WithRule("gguf.text-invalid").Errorf("%s %s", what, textFault(s[i])))
	}
	if r.trace != nil {
		r.mark(what, n, s)
	}
	return s, nil
}

// kind reads the number of a value's kind.
func (r *reader) kind(what string) (Kind, error) {
	n, err := r.c.U32()
	if err != nil {
		return 0, err
	}
	k := Kind(n)
	if k >= kindCount {
		return 0, r.c.FailAt("", r.c.Off()-4, wire.ErrRange.WithRule("gguf.kind").Errorf("%s %d; 0 to 12 are defined", what, n))
	}
	r.mark(what, 4, k)
	return k, nil
}

// scalar reads the bits of a number or a boolean.
func (r *reader) scalar(k Kind) (n uint64, err error) {
	at := r.c.Off()
	switch k.size() {
	case 1:
		var v uint8
		v, err = r.c.U8()
		n = uint64(v)
	case 2:
		var v uint16
		v, err = r.c.U16()
		n = uint64(v)
	case 4:
		var v uint32
		v, err = r.c.U32()
		n = uint64(v)
	default:
		n, err = r.c.U64()
	}
	if err != nil {
		return 0, err
	}
	if k == KindBool && n > 1 {
		return 0, r.c.FailAt("", at, wire.ErrRange.WithRule("gguf.bool").Errorf("a boolean is 0 or 1, not %d", n))
	}
	if r.trace != nil {
		r.mark("value", k.size(), scalarValue(k, n))
	}
	return n, nil
}
