package quant

import (
	"github.com/anamnesis-go/anamnesis/internal/form"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
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
func RoundTrip(b *limits.Budget, m tensor.Model, w *Weight, to Target) (Trip, error) {
	trip := Trip{First: -1}
	b = b.Probe()
	defer b.Close()
	t := tripper{reader: reader{b: b, m: m, w: w}, to: to, trip: &trip}
	t.codec, _ = CodecOf(to.DType())
	step := max(1, tileBytes/4/max(1, w.cols))
	for lo := int64(0); lo < w.rows; lo += step {
		if err := t.rows(lo, min(lo+step, w.rows)); err != nil {
			return trip, wire.At("quant", "tensor "+wire.Quote(w.Name), wire.NoOffset, err)
		}
	}
	return trip, nil
}

type tripper struct {
	reader
	to    Target
	codec Codec
	dst   []byte
	trip  *Trip
}

// rows takes the rows [lo, hi) there and back.
func (t *tripper) rows(lo, hi int64) (err error) {
	n := (hi - lo) * t.w.cols
	if t.dst == nil {
		if t.dst, err = limits.Make[byte](t.b, int(n)*t.to.Size()); err != nil {
			return err
		}
	}
	if err := t.reader.rows(t.dst, t.to, lo, hi); err != nil {
		return err
	}
	t.codec.Decode(t.tile[:n], t.dst[:int(n)*t.to.Size()])
	f, ok := t.w.form.(form.Reversible)
	if !ok {
		return wire.ErrUsage.Errorf("%s has no way back", t.w.Layout)
	}
	f.Back(t.parts, lo*t.w.cols, t.tile[:n], t.count)
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
