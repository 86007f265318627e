package bnb_test

import (
	"errors"
	"io"

	"github.com/anamnesis-go/anamnesis/internal/form"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant"
)

// A Trip is what became of the codes of a weight that was decoded and encoded
// again.
type Trip struct {
	Codes  int64
	Differ int64
	First  int64 // the first code that differs, -1 if none does
}

// RoundTrip decodes a weight that bitsandbytes quantized, rounds it to the
// target, encodes it again with the scales that are stored, and counts the codes
// that did not come back.
//
// All come back in F32 and BF16, but where two codes stand for one number: in a
// block whose scale is zero, or so small that products with it underflow. Then the
// code that is nearest to zero is taken. F16 loses what lies outside its range.
// Scales are mirrored, never found anew: the nested ones of bitsandbytes have lost
// bits of the absmax, and a zero of FP4 keeps the sign of its code, which the
// library's own quantizer would change.
func RoundTrip(b *limits.Budget, m tensor.Model, w *quant.Weight, to quant.Target) (Trip, error) {
	trip := Trip{First: -1}
	b = b.Probe()
	defer b.Close()
	t := tripper{b: b, m: m, w: w, to: to, trip: &trip}
	t.codec, _ = quant.CodecOf(to.DType())
	step := max(1, 1<<18/max(1, w.Cols()))
	for lo := int64(0); lo < w.Rows(); lo += step {
		if err := t.rows(lo, min(lo+step, w.Rows())); err != nil {
			return trip, wire.At("quant", "tensor "+wire.Quote(w.Name), wire.NoOffset, err)
		}
	}
	return trip, nil
}

type tripper struct {
	b     *limits.Budget
	m     tensor.Model
	w     *quant.Weight
	to    quant.Target
	codec quant.Codec
	trip  *Trip
}

// rows takes the rows [lo, hi) there and back.
func (t *tripper) rows(lo, hi int64) error {
	n := (hi - lo) * t.w.Cols()
	parts := make([][]byte, len(t.w.Parts))
	for p, part := range t.w.Parts {
		span := t.w.Matrix().Need(p, lo, hi)
		parts[p] = make([]byte, span.Len)
		body, err := t.m.Body(t.b, part)
		if err != nil {
			return err
		}
		_, err = io.CopyN(io.Discard, body, span.Off)
		if err == nil {
			_, err = io.ReadFull(body, parts[p])
		}
		if err := errors.Join(err, body.Close()); err != nil {
			return err
		}
	}
	dst, tile := make([]byte, int(n)*t.to.Size()), make([]float32, max(n, t.w.Matrix().Scratch(hi-lo)))
	t.w.Matrix().Decode(dst, t.to.Kind(), parts, lo, hi, tile)
	t.codec.Decode(tile[:n], dst)
	f, ok := t.w.Matrix().Form.(form.Reversible)
	if !ok {
		return wire.ErrUsage.Errorf("%s has no way back", t.w.Layout)
	}
	f.Back(parts, lo*t.w.Cols(), tile[:n], t.count)
	return nil
}

func (t *tripper) count(at int64, same bool) {
	t.trip.Codes++
	if same {
		return
	}
	if t.trip.Differ++; t.trip.First < 0 {
		t.trip.First = at
	}
}
