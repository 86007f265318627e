package fuzz_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/anamnesis-go/anamnesis/asm"
	"github.com/anamnesis-go/anamnesis/quant/scaled"
)

// kinds are the types of a model's weights.
var kinds = [...]asm.Type{asm.F32, asm.BF16, asm.F16}

// numbersFrom returns n numbers of a type: any bits, or with tame spread around 1.
func numbersFrom(data []byte, n int, d asm.Type, tame bool) []float32 {
	list := make([]float32, n)
	for i := range list {
		var word [4]byte
		for k := range word {
			if len(data) > 0 {
				word[k] = data[(4*i+k)%len(data)]
			}
		}
		bits := binary.LittleEndian.Uint32(word[:])
		if tame {
			bits ^= uint32(i) * 0x9E3779B1
			bits = bits&0x807FFFFF | (120+bits>>23&7)<<23
		}
		list[i] = math.Float32frombits(bits)
	}
	scaled.Round(list, d)
	return list
}

// firstWild returns the index of the first number that is not finite, or -1.
func firstWild(list []float32) int {
	return slices.IndexFunc(list, func(x float32) bool { return x-x != 0 })
}

// refusedRightly fails unless an error names a number that is not finite, or a block whose
// reciprocal scale is not.
func refusedRightly(t *testing.T, name string, err error, src []float32, inverse bool) {
	t.Helper()
	bad, ok := errors.AsType[*scaled.Bad](err)
	switch {
	case !ok || bad.Index < 0 || bad.Index >= int64(len(src)):
		t.Fatalf("%s: %v", name, err)
	case math.Float32bits(src[bad.Index]) != math.Float32bits(bad.Value):
		t.Fatalf("%s: element %d is %v, not %v", name, bad.Index, src[bad.Index], bad.Value)
	case bad.Finite() && !inverse:
		t.Fatalf("%s: element %d is %v, and refused", name, bad.Index, bad.Value)
	}
}

// FuzzScaled quantizes a row of blocks in each format of scaled codes.
func FuzzScaled(f *testing.F) {
	f.Add([]byte{0, 0, 128, 63, 0, 0, 128, 191, 7}, uint8(0), uint8(130))
	f.Add([]byte{0x12, 0x34, 0x56, 0x78, 0x9A}, uint8(31), uint8(3))
	f.Add(bytes.Repeat([]byte{0, 0, 0, 128}, 3), uint8(90), uint8(64))
	f.Add([]byte{1, 0, 0, 0, 0xFF, 0xFF, 0x7F, 0x7F}, uint8(5), uint8(200))
	f.Fuzz(func(t *testing.T, data []byte, how, size uint8) {
		all := blockFormats()
		format := all[int(how)%len(all)]
		d := kinds[int(how)/len(all)%3]
		cols := 1 + int(size)
		if format.Whole || format.Code.Packed() {
			cols = int(format.Cols) * (1 + int(size)%3)
		}
		rows := 1 + int(size)%3*int(min(format.Rows-1, 1))
		src := numbersFrom(data, rows*cols, d, size&1 == 1)
		scaledRow(t, &format, src, int64(cols), d)
		levelsAgree(t, src, d)
	})
}

// epsilons are the distances from 1 to the next number of a type.
var epsilons = map[asm.Type]float64{asm.F32: 0x1p-23, asm.BF16: 0x1p-7, asm.F16: 0x1p-10}

// tinies are the smallest normal numbers.
var tinies = map[asm.Type]float64{asm.F32: 0x1p-126, asm.BF16: 0x1p-126, asm.F16: 0x1p-14}

// A coded is a row of blocks as a format stores it.
type coded struct {
	codes  []byte
	scales []float32
}

// scaledRow encodes a row of blocks, whole and in pieces, onto zeros and onto other bytes,
// and decodes it.
func scaledRow(t *testing.T, f *scaled.Format, src []float32, cols int64, d asm.Type) {
	t.Helper()
	rows := int64(len(src)) / cols
	encode := func(fill byte, piece int64, src []float32) (coded, error) {
		c := coded{bytes.Repeat([]byte{fill}, int(rows*f.RowBytes(cols))), make([]float32, f.Scales(cols))}
		for first := int64(0); first < f.Scales(cols); first += piece {
			if err := f.Encode(c.codes, c.scales[first:min(first+piece, f.Scales(cols))], src, first, cols, d); err != nil {
				return c, err
			}
		}
		return c, nil
	}
	one, err := encode(0, f.Scales(cols), src)
	other, otherErr := encode(0xA5, 1, src)
	if (err == nil) != (otherErr == nil) {
		t.Fatalf("%s: %v, and in pieces %v", f.Name, err, otherErr)
	}
	if err != nil {
		refusedRightly(t, f.Name, err, src, f.Inverse)
		return
	}
	if wild := firstWild(src); wild >= 0 {
		t.Fatalf("%s: element %d is %v, and taken", f.Name, wild, src[wild])
	}
	if !bytes.Equal(one.codes, other.codes) || !slices.Equal(one.scales, other.scales) {
		t.Fatalf("%s: pieces, or what stood there, show", f.Name)
	}
	back := make([]float32, len(src))
	for i := range src {
		r, c := int64(i)/cols, int64(i)%cols
		scale := one.scales[0]
		if f.Cols > 0 {
			scale = one.scales[c/f.Cols]
		}
		back[i] = f.Decode(one.codes[r*f.RowBytes(cols):], c, scale)
		withinCode(t, f, src[i], back[i], scale, d)
	}
	again, err := encode(0, f.Scales(cols), back)
	if f.Wide() || d == asm.F32 {
		sameAgain(t, f, one, again, err, d)
	}
}

// withinCode fails if a value is farther from the original than half a step of its code
// and the rounding of quotient and scale. A scale that is not normal has no such bound.
func withinCode(t *testing.T, f *scaled.Format, x, y, scale float32, d asm.Type) {
	t.Helper()
	if f.Inverse || f.Precision == scaled.WideAll {
		d = asm.F32
	}
	s := math.Abs(float64(scale))
	if s < tinies[d] || s > 0x1p118 {
		return
	}
	q := math.Abs(float64(x)) / s
	step := map[scaled.Code]float64{scaled.E4M3: max(q/16, 0x1p-10), scaled.E5M2: max(q/8, 0x1p-17), scaled.Int8: 0.5, scaled.Int8Packed: 0.5, scaled.Int4: 0.5}[f.Code]
	if off := math.Abs(float64(x) - float64(y)); off > s*(step+3*q*epsilons[d])+0x1p-148 {
		t.Fatalf("%s of %v: %v under %v became %v", f.Name, d, x, scale, y)
	}
}

// sameAgain fails unless decoded values get the same codes again where they get the same
// scale, which they must in E4M3, where the largest value is exact, up to the rounding of
// the division.
func sameAgain(t *testing.T, f *scaled.Format, one, again coded, err error, d asm.Type) {
	t.Helper()
	if err != nil {
		if bad, ok := errors.AsType[*scaled.Bad](err); ok && (f.Inverse || bad.Value-bad.Value != 0) {
			return
		}
		t.Fatalf("%s: what was decoded: %v", f.Name, err)
	}
	if !slices.Equal(one.scales, again.scales) {
		for k, s := range one.scales {
			off := math.Abs(float64(s) - float64(again.scales[k]))
			if f.Code == scaled.E4M3 && float64(s) > 64*tinies[d] && s < 0x1p118 && off > 0x1p-21*float64(s) {
				t.Fatalf("%s: scale %v became %v", f.Name, s, again.scales[k])
			}
		}
		return
	}
	for _, s := range one.scales {
		if s < 0x1p-117 || s > 0x1p118 { // products are not normal, or too large
			return
		}
	}
	if !bytes.Equal(one.codes, again.codes) {
		t.Fatalf("%s: codes % x became % x under %v", f.Name, one.codes, again.codes, one.scales)
	}
}

// levelsAgree compares what the kernels of these formats write at each level.
func levelsAgree(t *testing.T, src []float32, d asm.Type) {
	t.Helper()
	type answer struct {
		most        []float32
		over, times []byte
	}
	var want answer
	for i, level := range asm.Machine() {
		o := asm.For(level.Features())
		a := answer{make([]float32, (len(src)+31)/32), make([]byte, len(src)), make([]byte, len(src))}
		o.Absmax(a.most, src, 32)
		o.E4M3Over(a.over, src, 0.37, d)
		o.E4M3Times(a.times, src, 3.7)
		for k, m := range a.most {
			if m-m != 0 {
				a.most[k] = -1 // no format takes it, and NaN have several forms
			}
		}
		if i == 0 {
			want = a
		}
		if !slices.Equal(a.most, want.most) || !bytes.Equal(a.over, want.over) || !bytes.Equal(a.times, want.times) {
			t.Fatalf("%v writes other bytes", level)
		}
	}
}
