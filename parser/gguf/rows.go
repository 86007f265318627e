package gguf

import (
	"encoding/binary"
	"math"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// usualRows reads rows of the common form: little endian, of a known type, whole in the
// window of the file. It stops at any other row, which [decoder.row] reads, and refuses
// if it is invalid.
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
		f.Infos = f.Infos[:i+1]
		f.rows = f.rows[:i+1]
		size, err := d.usualRow(w[at:], off+int64(at), &f.rows[i], &f.Infos[i])
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

// usualRow reads the row at the beginning of w, at off in the file. It returns the size of
// the row, or 0 for a row of another form, of which nothing is stored.
func (d *decoder) usualRow(w []byte, off int64, r *row, info *tensor.Info) (int, error) {
	if len(w) < 8 {
		return 0, nil
	}
	size := binary.LittleEndian.Uint64(w)
	if size > uint64(len(w)) || uint64(len(w)) < 8+size+4+8*MaxDims+12 {
		return 0, nil
	}
	name, p := w[8:8+size], w[8+size:]
	dims := binary.LittleEndian.Uint32(p)
	if dims > MaxDims || !goodText(name) {
		return 0, nil
	}
	n := int(dims)
	elements, ok := d.usualShape(info, p[4:4+8*n])
	p = p[4+8*n : 4+8*n+12]
	t := Type(binary.LittleEndian.Uint32(p))
	if !ok || t.DType() == tensor.Unknown || d.typed(info, t, elements) != nil {
		return 0, nil
	}
	var err error
	if info.Name, err = d.texts.String(d.b, name); err != nil {
		return 0, err
	}
	info.Order = tensor.Little
	d.dims = d.dims[:len(d.dims)+n]
	*r = row{off, binary.LittleEndian.Uint64(p[4:]), t, uint8(dims)}
	return 8 + len(name) + 4 + 8*n + 12, nil
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
