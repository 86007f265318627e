package safetensors

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// layout puts the tensors in the order of their bytes and proves that they tile
// the data: from its first byte to the file's last, no hole, no overlap.
func (d *decoder) layout() error {
	if err := d.order(); err != nil {
		return d.fail("header", prefix, err)
	}
	end := d.h.Len
	for i := range d.h.Infos {
		t := &d.h.Infos[i]
		if t.Span.Off != end {
			cause := wire.ErrGap
			if t.Span.Off < end {
				cause = wire.ErrOverlap
			}
			return d.fail("tensor "+wire.Quote(t.Name), prefix+int64(d.places[i]),
				cause.With("data_offsets begin at %d, the tensors before end at %d", t.Span.Off-d.h.Len, end-d.h.Len))
		}
		end = t.Span.End()
	}
	d.h.Data = end - d.h.Len
	switch {
	case d.stream != nil:
	case end > d.size:
		return d.fail("data", d.size, wire.ErrTruncated.With("the tensors end at %#x, the file at %#x", end, d.size))
	case end < d.size:
		return d.fail("data", end, wire.ErrTrailing.With("%d bytes belong to no tensor", d.size-end))
	}
	d.b.Drop(int64(cap(d.places)) * 4)
	d.places = nil
	return nil
}

// order sorts Infos and places by the spans, entries of one span in the order
// of the header.
func (d *decoder) order() error {
	byPlace := func(a, b tensor.Info) int {
		return cmp.Or(cmp.Compare(a.Span.Off, b.Span.Off), cmp.Compare(a.Span.Len, b.Span.Len))
	}
	if slices.IsSortedFunc(d.h.Infos, byPlace) {
		return nil
	}
	type key struct {
		span tensor.Span
		i    int64
	}
	n := len(d.h.Infos)
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
	slices.SortFunc(keys, func(a, b key) int {
		return cmp.Or(cmp.Compare(a.span.Off, b.span.Off), cmp.Compare(a.span.Len, b.span.Len), cmp.Compare(a.i, b.i))
	})
	// Follow each cycle of the permutation; an index is set to itself when its
	// place is filled.
	for to := range keys {
		info, place := d.h.Infos[to], d.places[to]
		for at := int64(to); keys[at].i != at; {
			from := keys[at].i
			keys[at].i = at
			if from == int64(to) {
				d.h.Infos[at], d.places[at] = info, place
				break
			}
			d.h.Infos[at], d.places[at] = d.h.Infos[from], d.places[from]
			at = from
		}
	}
	d.b.Drop(int64(n) * 24)
	return nil
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}
