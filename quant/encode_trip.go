package quant

import (
	"math"

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
// library's own quantizer would turn.
func RoundTrip(b *limits.Budget, m tensor.Model, w *Weight, to Target) (Trip, error) {
	trip := Trip{First: -1}
	b = b.Child(*b.Policy())
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

// A reversible form counts which of its codes come back from numbers, the first of
// them number first of the weight.
type reversible interface {
	back(t *tripper, first int64, values []float32)
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
	f, ok := t.w.form.(reversible)
	if !ok {
		return wire.ErrUsage.With("%s has no way back", t.w.Layout)
	}
	f.back(t, lo*t.w.cols, t.tile[:n])
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

func (f *bnb4) back(t *tripper, first int64, values []float32) {
	book := f.values(t.parts)
	var products [16]float32
	block := int64(-1)
	for i, x := range values {
		at := first + int64(i)
		if at/f.block != block {
			block = at / f.block
			scale := f.absmax(t.parts, block, first/f.block)
			for c, v := range book {
				products[c] = v * scale
			}
		}
		stored := t.parts[bnbCodes][at/2-first/2]
		if at%2 == 0 {
			stored >>= 4
		}
		t.count(at, mirror(&products, &book, x) == stored&15)
	}
}

// values is the code book, with the zero that has a sign.
func (f *bnb4) values(parts [][]byte) [16]float32 {
	var book [16]float32
	decodeF32(book[:], parts[bnbBook])
	if f.fp4 {
		book[8] = negativeZero
	}
	return book
}

// mirror is the code whose product with the scale is nearest to x. Zeros are
// told apart by their sign.
func mirror(products, book *[16]float32, x float32) byte {
	best := 0
	for c := 1; c < 16; c++ {
		if closer(products, book, x, c, best) {
			best = c
		}
	}
	return byte(best)
}

func closer(products, book *[16]float32, x float32, c, best int) bool {
	d, least := distance(products[c], x), distance(products[best], x)
	if d != least {
		return d < least
	}
	if same, was := math.Signbit(float64(products[c])) == math.Signbit(float64(x)),
		math.Signbit(float64(products[best])) == math.Signbit(float64(x)); same != was {
		return same
	}
	return math.Abs(float64(book[c])) < math.Abs(float64(book[best]))
}

func distance(a, b float32) float64 { return math.Abs(float64(a) - float64(b)) }

func (f *bnb8) back(t *tripper, first int64, values []float32) {
	for i, x := range values {
		scale := numbers[tensor.F32](t.parts[1], int64(i)/f.cols)
		back := math.RoundToEven(float64(x) / float64(scale) * 127)
		code := int8(max(-128, min(127, back)))
		if scale == 0 {
			code = 0
		}
		t.count(first+int64(i), byte(code) == t.parts[0][i])
	}
}
