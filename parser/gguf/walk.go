package gguf

import (
	"encoding/binary"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// arrayHead reads the kind and number of elements, and checks that the remaining bytes
// can hold them.
func (r *reader) arrayHead() (Kind, uint64, error) {
	elem, err := r.kind("element type")
	if err != nil {
		return 0, 0, err
	}
	at := r.c.Off()
	n, err := r.length("number of elements")
	if err != nil {
		return 0, 0, err
	}
	least := elem.size()
	switch elem {
	case KindString:
		least = r.f.width()
	case KindArray:
		least = 4 + r.f.width()
	}
	size, ok := wire.Mul(n, least)
	if ok {
		_, ok = wire.Add(size, uint64(r.c.Off()))
	}
	if !ok {
		return 0, 0, r.c.FailAt("", at, wire.ErrOverflow.WithRule("gguf.array-overflow").Errorf("%d elements of %d bytes", n, least))
	}
	if size > uint64(r.c.Left()) {
		return 0, 0, r.c.FailAt("", at, wire.ErrTruncated.Errorf("%d elements need at least %d bytes, %d are left", n, size, r.c.Left()))
	}
	return elem, n, nil
}

// elements skips the elements of an array.
func (r *reader) elements(elem Kind, n uint64) error {
	if err := r.b.Enter(); err != nil {
		return err
	}
	defer r.b.Leave()
	start := r.c.Off()
	var err error
	switch elem {
	case KindString:
		err = r.strings(n)
	case KindArray:
		return r.arrays(n)
	default:
		err = r.c.Skip(n * elem.size())
	}
	if err == nil && r.trace != nil {
		r.trace.array(r.b, Array{r.f, elem, n, tensor.Span{Off: start, Len: r.c.Off() - start}})
	}
	return err
}

// arrays skips n arrays.
func (r *reader) arrays(n uint64) error {
	if err := r.items(n); err != nil {
		return err
	}
	for range n {
		if err := r.steps.Step(); err != nil {
			return err
		}
		elem, m, err := r.arrayHead()
		if err != nil {
			return err
		}
		if err := r.elements(elem, m); err != nil {
			return err
		}
	}
	return nil
}

// strings skips n strings by their lengths, one window of the file at a time.
func (r *reader) strings(n uint64) error {
	if err := r.items(n); err != nil {
		return err
	}
	if err := r.b.Step(int64(n)); err != nil {
		return err
	}
	width := int(r.f.width())
	for n > 0 {
		if err := r.b.Err(); err != nil {
			return err
		}
		w, err := r.c.Window(width)
		if err != nil {
			return err
		}
		seen, past, bad := r.hop(w, n)
		if err := r.c.Skip(past); err != nil {
			return err
		}
		if bad {
			return r.badString()
		}
		n -= seen
	}
	return nil
}

// hop follows lengths inside a window. It returns how many strings begin in the window
// and where the next one begins, which may be beyond it. bad means that a length passes
// the end of the file.
func (r *reader) hop(w []byte, n uint64) (seen, past uint64, bad bool) {
	width, left := r.f.width(), uint64(r.c.Left())
	in := uint64(len(w))
	narrow, big := width == 4, r.f.order == tensor.Big
	for seen < n && past+width <= in {
		var size uint64
		switch {
		case narrow && big:
			size = uint64(binary.BigEndian.Uint32(w[past:]))
		case narrow:
			size = uint64(binary.LittleEndian.Uint32(w[past:]))
		case big:
			size = binary.BigEndian.Uint64(w[past:])
		default:
			size = binary.LittleEndian.Uint64(w[past:])
		}
		if size > left-past-width {
			return seen, past, true
		}
		past += width + size
		seen++
	}
	return seen, past, false
}

// badString returns the error about the length at the cursor.
func (r *reader) badString() error {
	at := r.c.Off()
	n, err := r.length("length of a string")
	if err != nil {
		return err
	}
	if _, ok := wire.Add(n, uint64(r.c.Off())); !ok {
		return r.c.FailAt("", at, wire.ErrOverflow.WithRule("gguf.text-overflow").Errorf("a string of %d bytes", n))
	}
	return r.c.FailAt("", at, wire.ErrTruncated.Errorf("a string of %d bytes, %d are left", n, r.c.Left()))
}
