package gguf

import (
	"encoding/binary"
	"math"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A writer appends the parts of a header to a buffer that is charged to the account. It
// keeps its first error.
type writer struct {
	b     *limits.Budget
	buf   []byte
	width int // of a length
	order binary.ByteOrder
	big   tensor.Order
	err   error
}

// room appends n bytes and returns them.
func (w *writer) room(n int) []byte {
	if w.err == nil {
		w.buf, w.err = limits.Grow(w.b, w.buf, n)
	}
	if w.err != nil {
		return nil
	}
	end := len(w.buf)
	w.buf = w.buf[:end+n]
	return w.buf[end:]
}

func (w *writer) put(s string) { copy(w.room(len(s)), s) }

func (w *writer) u32(n uint32) {
	if p := w.room(4); p != nil {
		w.order.PutUint32(p, n)
	}
}

func (w *writer) u64(n uint64) {
	if p := w.room(8); p != nil {
		w.order.PutUint64(p, n)
	}
}

// length writes a count, which has 32 bits in version 1.
func (w *writer) length(n uint64) {
	switch {
	case w.width == 8:
		w.u64(n)
	case n <= math.MaxUint32:
		w.u32(uint32(n))
	case w.err == nil:
		w.err = wire.ErrUnsupported.Errorf("version 1 cannot hold the number %d", n)
	}
}

func (w *writer) text(s string) {
	w.length(uint64(len(s)))
	w.put(s)
}

// align pads with zeros.
func (w *writer) align(to int64) {
	n := int(-int64(len(w.buf)) & (to - 1))
	clear(w.room(n))
}

// scalar writes the low bytes of n as the kind has them.
func (w *writer) scalar(k Kind, n uint64) {
	p := w.room(int(k.size()))
	switch len(p) {
	case 1:
		p[0] = byte(n)
	case 2:
		w.order.PutUint16(p, uint16(n))
	case 4:
		w.order.PutUint32(p, uint32(n))
	case 8:
		w.order.PutUint64(p, n)
	}
}

// value writes the kind and the value.
func (w *writer) value(v any) {
	if k, n, ok := bitsOf(v); ok {
		w.u32(uint32(k))
		w.scalar(k, n)
		return
	}
	switch v := v.(type) {
	case string:
		w.u32(uint32(KindString))
		w.checked(v)
	case Array:
		w.u32(uint32(KindArray))
		w.array(v)
	default:
		if !w.slice(v) && w.err == nil {
			w.err = wire.ErrUnsupported.Errorf("GGUF has no value of the type %T", v)
		}
	}
}

// checked writes a text, or fails if it is invalid.
func (w *writer) checked(s string) {
	if badText(s, w.b.Policy().Quirk(QuirkNUL)) >= 0 && w.err == nil {
		w.err = wire.ErrUnsupported.Errorf("a text is not UTF-8 without NUL")
	}
	w.text(s)
}

// bitsOf returns the kind and the bits of a scalar.
func bitsOf(v any) (Kind, uint64, bool) {
	switch v := v.(type) {
	case uint8:
		return KindU8, uint64(v), true
	case int8:
		return KindI8, uint64(v), true
	case uint16:
		return KindU16, uint64(v), true
	case int16:
		return KindI16, uint64(v), true
	case uint32:
		return KindU32, uint64(v), true
	case int32:
		return KindI32, uint64(v), true
	case uint64:
		return KindU64, v, true
	case int64:
		return KindI64, uint64(v), true
	case float32:
		return KindF32, uint64(math.Float32bits(v)), true
	case float64:
		return KindF64, math.Float64bits(v), true
	case bool:
		if v {
			return KindBool, 1, true
		}
		return KindBool, 0, true
	default:
		return 0, 0, false
	}
}

// slice writes a Go slice as an array.
func (w *writer) slice(v any) bool {
	switch v := v.(type) {
	case []uint8:
		list(w, KindU8, v)
	case []int8:
		list(w, KindI8, v)
	case []uint16:
		list(w, KindU16, v)
	case []int16:
		list(w, KindI16, v)
	case []uint32:
		list(w, KindU32, v)
	case []int32:
		list(w, KindI32, v)
	case []uint64:
		list(w, KindU64, v)
	case []int64:
		list(w, KindI64, v)
	case []float32:
		list(w, KindF32, v)
	case []float64:
		list(w, KindF64, v)
	case []bool:
		list(w, KindBool, v)
	case []string:
		w.arrayHead(KindString, len(v))
		for _, s := range v {
			w.checked(s)
		}
	default:
		return false
	}
	return true
}

func (w *writer) arrayHead(k Kind, n int) {
	w.u32(uint32(KindArray))
	w.u32(uint32(k))
	w.length(uint64(n))
}

func list[T any](w *writer, k Kind, v []T) {
	w.arrayHead(k, len(v))
	for i := range v {
		_, n, _ := bitsOf(v[i])
		w.scalar(k, n)
	}
}

// array writes an array of another file: unchanged if that file has the same widths and
// byte order, else element by element.
func (w *writer) array(a Array) {
	w.u32(uint32(a.elem))
	w.length(a.n)
	if a.f.order == w.big && (a.f.width() == uint64(w.width) || a.elem != KindString && a.elem != KindArray) {
		w.copy(a)
		return
	}
	if a.elem == KindArray {
		for inner, err := range a.Arrays(w.b) {
			if w.failed(err) {
				return
			}
			w.array(inner)
		}
		return
	}
	for v, err := range a.All(w.b) {
		if w.failed(err) {
			return
		}
		if s, ok := v.(string); ok {
			w.text(s)
		} else {
			_, n, _ := bitsOf(v)
			w.scalar(a.elem, n)
		}
	}
}

func (w *writer) failed(err error) bool {
	if w.err == nil {
		w.err = err
	}
	return w.err != nil
}

// copy writes the bytes of an array's elements.
func (w *writer) copy(a Array) {
	n, ok := wire.Int(uint64(a.span.Len), wire.MaxSize)
	if !ok {
		w.failed(wire.ErrUnsupported.Errorf("an array of %d bytes", a.span.Len))
		return
	}
	if p := w.room(n); p != nil {
		w.failed(wire.ReadFull(a.f.r, p, a.span.Off))
	}
}
