package safetensors

import (
	"cmp"
	"strconv"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// layout sorts the tensors by offset and proves that they tile the data without holes or
// overlaps.
func (d *decoder) layout() error {
	if err := d.order(); err != nil {
		return d.fail("header", lengthSize, err)
	}
	end, steps := d.h.Len, d.b.Steps()
	for i := range d.h.Infos {
		if err := steps.Step(); err != nil {
			return d.fail("header", lengthSize, err)
		}
		t := &d.h.Infos[i]
		if t.Span.Off != end {
			cause := wire.ErrGap.WithRule("safetensors.hole")
			if t.Span.Off < end {
				cause = wire.ErrOverlap.WithRule("safetensors.tensor-overlap")
			}
			return d.fail("tensor "+wire.Quote(t.Name), lengthSize+int64(d.places[i]),
				cause.Errorf("data_offsets begin at %d, but the previous tensors end at %d", t.Span.Off-d.h.Len, end-d.h.Len))
		}
		end = t.Span.End()
	}
	d.h.Data = end - d.h.Len
	switch {
	case d.stream != nil:
	case end > d.size:
		return d.fail("data", d.size, wire.ErrTruncated.Errorf("the tensors end at %#x, but the file ends at %#x", end, d.size))
	case end < d.size:
		return d.fail("data", end, wire.ErrTrailing.WithRule("safetensors.data-trailing").Errorf("%d bytes belong to no tensor", d.size-end))
	}
	d.b.Drop(int64(cap(d.places)) * 4)
	d.places = nil
	return nil
}

// A key is a sort key with the current position of its entry.
type key struct {
	span tensor.Span
	from int64
}

const keySize = 24 // bytes of a key

func byPlace(a, b tensor.Span) int {
	return cmp.Or(cmp.Compare(a.Off, b.Off), cmp.Compare(a.Len, b.Len))
}

// order sorts Infos and places by span. Entries with the same span keep the order of the
// header.
func (d *decoder) order() error {
	n, sorted := len(d.h.Infos), true
	for i := 1; i < n && sorted; i++ {
		sorted = byPlace(d.h.Infos[i-1].Span, d.h.Infos[i].Span) <= 0
	}
	if sorted {
		return nil
	}
	if err := d.b.Step(int64(n)); err != nil {
		return err
	}
	keys, err := limits.Make[key](d.b, n)
	if err != nil {
		return err
	}
	for i := range d.h.Infos {
		keys[i] = key{d.h.Infos[i].Span, int64(i)}
	}
	if err := limits.SortUnstable(d.b, keys, func(a, b key) int { return cmp.Or(byPlace(a.span, b.span), cmp.Compare(a.from, b.from)) }); err != nil {
		return err
	}
	d.permute(keys)
	d.b.Drop(int64(n) * keySize)
	return nil
}

// permute moves each entry to its place, along the cycles of the permutation. A place
// that is done becomes its own source.
func (d *decoder) permute(keys []key) {
	for start := range keys {
		info, place := d.h.Infos[start], d.places[start]
		for at := int64(start); keys[at].from != at; {
			from := keys[at].from
			keys[at].from = at
			if from == int64(start) {
				d.h.Infos[at], d.places[at] = info, place
				break
			}
			d.h.Infos[at], d.places[at] = d.h.Infos[from], d.places[from]
			at = from
		}
	}
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}
