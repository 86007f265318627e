package gguf

import (
	"encoding/binary"
	"math"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

const (
	// nameRoom is how much of the table is copied at once: the names are cut
	// from that copy, which is one allocation for some hundred of them.
	nameRoom = 16 << 10
	// usualRow is more than most rows take.
	usualRow = 96
)

// A table is a copy of the part of the file where rows lie.
type table struct {
	text string
	off  int64 // of the text in the file
}

// cut returns n bytes from off, if the copy holds them.
func (t *table) cut(off int64, n int) (string, bool) {
	at := off - t.off
	if at < 0 || at+int64(n) > int64(len(t.text)) {
		return "", false
	}
	return t.text[at : at+int64(n)], true
}

// name returns the n bytes at off, which w begins with, as text of their own.
func (d *decoder) name(w []byte, off int64, n int) (string, error) {
	if s, ok := d.table.cut(off, n); ok {
		return s, nil
	}
	left := d.tensors - len(d.out.Infos)
	room := min(len(w), max(n, min(nameRoom, left*usualRow)))
	text, err := limits.String(d.b, w[:room])
	if err != nil {
		return "", err
	}
	d.table = table{text, off}
	return text[:n], nil
}

// usualRows reads rows in the form that almost all have: little endian, of a
// known type, whole in the window of the file. It stops before any other, and
// leaves it to the slow way to find what is wrong with it, if anything is.
func (d *decoder) usualRows() error {
	f := d.out
	if f.version == 1 || f.order == tensor.Big || d.trace != nil {
		return nil
	}
	w, err := d.c.Window(8)
	if err != nil {
		return nil
	}
	off, at := d.c.Off(), 0
	for i := len(f.Infos); i < d.tensors; i++ {
		if err := d.steps.Step(); err != nil {
			return within(place("tensor", i, ""), off, err)
		}
		if err := d.rowRoom(); err != nil {
			return within(place("tensor", i, ""), off+int64(at), err)
		}
		f.Infos, f.rows = f.Infos[:i+1], f.rows[:i+1]
		size, err := d.usual(w[at:], off+int64(at), &f.rows[i], &f.Infos[i])
		if err != nil {
			return within(place("tensor", i, ""), off+int64(at), err)
		}
		if size == 0 {
			f.Infos, f.rows = f.Infos[:i], f.rows[:i]
			break
		}
		if err := d.unique(i); err != nil {
			return err
		}
		at += size
	}
	return d.c.Skip(uint64(at))
}

// usual reads the row that w begins with, at off in the file. It returns the
// bytes it takes, or 0 for a row of another form, of which nothing is kept.
func (d *decoder) usual(w []byte, off int64, r *row, info *tensor.Info) (int, error) {
	if len(w) < 8 {
		return 0, nil
	}
	size := binary.LittleEndian.Uint64(w)
	if size > uint64(len(w)) || uint64(len(w)) < 8+size+4+8*MaxDims+12 {
		return 0, nil
	}
	n := int(size)
	p := w[8+n:]
	count := binary.LittleEndian.Uint32(p)
	if count > MaxDims || !goodText(w[8:8+n]) {
		return 0, nil
	}
	dims := int(count)
	elements, ok := d.usualShape(info, p[4:4+8*dims])
	p = p[4+8*dims:]
	t := Type(binary.LittleEndian.Uint32(p))
	if !ok || t.DType() == tensor.Unknown || d.typed(info, t, elements) != nil {
		return 0, nil
	}
	name, err := d.name(w[8:], off+8, n)
	if err != nil {
		return 0, err
	}
	info.Name, info.Order = name, tensor.Little
	d.dims = d.dims[:len(d.dims)+dims]
	*r = row{off, binary.LittleEndian.Uint64(p[4:]), t, uint8(dims)}
	return 8 + n + 4 + 8*dims + 12, nil
}

// usualShape reads dimensions that are neither zero nor too large.
func (d *decoder) usualShape(info *tensor.Info, p []byte) (elements uint64, ok bool) {
	n := len(p) / 8
	shape := d.dims[len(d.dims) : len(d.dims)+n : len(d.dims)+n]
	elements, ok = 1, true
	for i := range shape {
		v := binary.LittleEndian.Uint64(p[8*i:])
		if v-1 >= math.MaxInt64 || !ok {
			return 0, false
		}
		elements, ok = wire.Mul(elements, v)
		shape[n-1-i] = int64(v)
	}
	info.Shape = shape
	return elements, ok
}
