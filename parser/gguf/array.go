package gguf

import (
	"fmt"
	"iter"
	"math"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// An Array is a list of values: a range of the file that is read on demand. The iterators
// charge what they read. They yield at most one error, as the last item; asking for
// another type than the elements have is one. Several goroutines may use an Array, each
// with its own iterator.
type Array struct {
	f    *file
	elem Kind
	n    uint64
	span tensor.Span
}

// Elem is the kind of the elements.
func (a Array) Elem() Kind { return a.elem }

// Len is the number of elements.
func (a Array) Len() int64 { return int64(a.n) }

// Span is where the elements lie in the file.
func (a Array) Span() tensor.Span { return a.span }

// Strings reads an array of strings.
func (a Array) Strings(b *limits.Budget) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		each(b, a, yield, a.elem == KindString, "strings", func(r *reader) (string, error) {
			return r.element()
		})
	}
}

// Bools reads an array of booleans.
func (a Array) Bools(b *limits.Budget) iter.Seq2[bool, error] {
	return func(yield func(bool, error) bool) {
		each(b, a, yield, a.elem == KindBool, "booleans", func(r *reader) (bool, error) {
			n, err := r.scalar(KindBool)
			return n != 0, err
		})
	}
}

// Ints reads an array of whole numbers of any width. A u64 beyond an int64 is
// an error.
func (a Array) Ints(b *limits.Budget) iter.Seq2[int64, error] {
	return func(yield func(int64, error) bool) {
		each(b, a, yield, a.elem.integer(), "whole numbers", func(r *reader) (int64, error) {
			n, err := r.scalar(a.elem)
			if err == nil && a.elem == KindU64 && n > math.MaxInt64 {
				return 0, r.c.FailAt("", r.c.Off()-8, wire.ErrRange.WithRule("gguf.number-signed").Errorf("%d passes a signed number of 64 bits", n))
			}
			return wholeNumber(a.elem, n), err
		})
	}
}

// Floats reads an array of f32 or f64.
func (a Array) Floats(b *limits.Budget) iter.Seq2[float64, error] {
	return func(yield func(float64, error) bool) {
		each(b, a, yield, a.elem == KindF32 || a.elem == KindF64, "floating point", func(r *reader) (float64, error) {
			n, err := r.scalar(a.elem)
			if a.elem == KindF32 {
				return float64(math.Float32frombits(uint32(n))), err
			}
			return math.Float64frombits(n), err
		})
	}
}

// Arrays reads an array of arrays.
func (a Array) Arrays(b *limits.Budget) iter.Seq2[Array, error] {
	return func(yield func(Array, error) bool) {
		each(b, a, yield, a.elem == KindArray, "arrays", (*reader).array)
	}
}

// All reads any array; the values have the types that [File.Meta] lists.
func (a Array) All(b *limits.Budget) iter.Seq2[any, error] {
	return func(yield func(any, error) bool) {
		each(b, a, yield, true, "", func(r *reader) (any, error) {
			switch a.elem {
			case KindString:
				return r.element()
			case KindArray:
				return r.array()
			default:
				n, err := r.scalar(a.elem)
				return scalarValue(a.elem, n), err
			}
		})
	}
}

// each reads the elements one by one.
func each[T any](b *limits.Budget, a Array, yield func(T, error) bool, fits bool, what string, read func(*reader) (T, error)) {
	var none T
	if !fits {
		yield(none, wire.At(Format, "", a.span.Off, wire.ErrUsage.Errorf("an array of %v cannot be read as %s", a.elem, what)))
		return
	}
	r := a.f.reader(b)
	if err := r.open(a.span); err != nil {
		yield(none, err)
		return
	}
	for range a.n {
		if err := r.steps.Step(); err != nil {
			yield(none, r.c.Fail("", err))
			return
		}
		v, err := read(&r)
		if err != nil {
			yield(none, wire.At(Format, "", r.c.Off(), err))
			return
		}
		if !yield(v, nil) {
			return
		}
	}
}

// open narrows the reader to one array.
func (r *reader) open(span tensor.Span) error {
	if err := r.c.MoveTo(span.Off); err != nil {
		return err
	}
	child, err := r.c.Sub(uint64(span.Len))
	r.c = child
	return err
}

// element reads one string of an array.
func (r *reader) element() (string, error) { return r.text("element", math.MaxInt64, r.nul) }

// array reads the head of an array in an array and moves past it.
func (r *reader) array() (Array, error) {
	elem, n, err := r.arrayHead()
	if err != nil {
		return Array{}, err
	}
	at := r.c.Off()
	if err := r.elements(elem, n); err != nil {
		return Array{}, err
	}
	return Array{r.f, elem, n, tensor.Span{Off: at, Len: r.c.Off() - at}}, nil
}

// wholeNumber sign-extends the bits of an integer.
func wholeNumber(k Kind, n uint64) int64 {
	switch k {
	case KindI8:
		return int64(int8(n))
	case KindI16:
		return int64(int16(n))
	case KindI32:
		return int64(int32(n))
	default:
		return int64(n)
	}
}

// String says what the array is, as llama.cpp does: "arr[str,32000]".
func (a Array) String() string { return fmt.Sprintf("arr[%v,%d]", a.elem, a.n) }
