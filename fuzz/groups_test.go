package fuzz_test

import (
	"bytes"
	"math"
	"slices"
	"testing"

	"github.com/anamnesis-go/anamnesis/asm"
	"github.com/anamnesis-go/anamnesis/internal/encode"
	"github.com/anamnesis-go/anamnesis/quant"
	"github.com/anamnesis-go/anamnesis/quant/scaled"
)

// FuzzGroups quantizes groups in each format with scales along a row: each code must be
// the nearest that its scale allows, and decoded values must get their codes again under
// the same scale.
func FuzzGroups(f *testing.F) {
	f.Add([]byte{0, 0, 128, 63, 0, 0, 128, 191, 7}, uint8(0), uint8(1))
	f.Add([]byte{0x12, 0x34, 0x56, 0x78, 0x9A}, uint8(31), uint8(3))
	f.Add(bytes.Repeat([]byte{0, 0, 0, 128}, 3), uint8(90), uint8(2))
	f.Add([]byte{1, 0, 0, 0, 0xFF, 0xFF, 0x7F, 0x7F}, uint8(5), uint8(200))
	f.Fuzz(func(t *testing.T, data []byte, how, size uint8) {
		all := groupFormats()
		format := all[int(how)%len(all)]
		d := kinds[int(how)/len(all)%3]
		switch {
		case format.Half:
			d = asm.F16
		case format.Bfloat:
			d = asm.BF16
		}
		groupsOf(t, &format, numbersFrom(data, int(format.Step())*(1+int(size)%3), d, size&1 == 1), d)
	})
}

// groupsOf encodes groups under the same global scale, and decodes them.
func groupsOf(t *testing.T, f *scaled.Groups, src []float32, d asm.Type) {
	t.Helper()
	most, err := scaled.Most(0, src)
	wild := firstWild(src)
	if (err != nil) != (wild >= 0) {
		t.Fatalf("%s: %v, the first that is not finite is element %d", f.Name, err, wild)
	}
	if err != nil {
		refusedRightly(t, f.Name, err, src, false)
		return
	}
	over := f.Over(most, d)
	for step := int(f.Step()); len(src) > 0; src = src[step:] {
		x := src[:step]
		one, err := f.Encode(make([]byte, step), x, d, over)
		other, _ := f.Encode(bytes.Repeat([]byte{0xA5}, step), x, d, over)
		if err != nil {
			if most < 0x1p15 {
				t.Fatalf("%s of %v: %v: %v", f.Name, d, x, err)
			}
			continue
		}
		if !bytes.Equal(one.Codes, other.Codes) || one.Scale != other.Scale || one.Second != other.Second {
			t.Fatalf("%s: what stood there shows", f.Name)
		}
		for i, c := range one.Codes {
			if int(c) >= 1<<f.Bits {
				t.Fatalf("%s: code %#x of element %d has more than %d bits", f.Name, c, i, f.Bits)
			}
		}
		back := make([]float32, step)
		f.Decode(back, &one, over)
		nearestCodes(t, f, x, back, &one, over, d)
		codesComeBack(t, f, &one, back, over, d)
	}
}

// codesOf returns the values of all codes of a group.
func codesOf(f *scaled.Groups, c *scaled.Coded, over float32) []float32 {
	all := scaled.Coded{Codes: make([]byte, 1<<f.Bits), Scale: c.Scale, Second: c.Second}
	for i := range all.Codes {
		all.Codes[i] = byte(i)
	}
	list := make([]float32, len(all.Codes))
	f.Decode(list, &all, over)
	return slices.DeleteFunc(list, func(x float32) bool { return x-x != 0 })
}

// ordinary reports that all values of a group, and the products that decode it, are normal
// numbers of the types that it is computed in.
func ordinary(f *scaled.Groups, x []float32, codes []float32, d asm.Type) bool {
	most := float64(0)
	for _, v := range slices.Concat(x, codes) {
		most = max(most, math.Abs(float64(v)))
	}
	least := tinies[d] * 0x1p16
	if f.Scale == scaled.Half || f.Half {
		least = max(least, tinies[asm.F16]*0x1p16)
	}
	return most > least && most < 0x1p112 && (d != asm.F16 && f.Scale != scaled.Half || most < 0x1p14)
}

// nearestCodes fails if another code is nearer than the types in which libraries compute
// and the rounding of the scale explain.
func nearestCodes(t *testing.T, f *scaled.Groups, x, back []float32, c *scaled.Coded, over float32, d asm.Type) {
	t.Helper()
	all := codesOf(f, c, over)
	if !ordinary(f, x, all, d) {
		return
	}
	slices.Sort(all)
	width := max(math.Abs(float64(all[0])), math.Abs(float64(all[len(all)-1])))
	slop := 4 * epsilons[d] * width
	if f.Scale == scaled.Half {
		slop = max(slop, 4*epsilons[asm.F16]*width)
	}
	for i, v := range x {
		if math.Abs(float64(v)) > 2*width {
			continue // a scale that has no larger value: MLX' NVFP4 has nothing over it
		}
		best := math.Inf(1)
		for _, y := range all {
			best = min(best, math.Abs(float64(v)-float64(y)))
		}
		if off := math.Abs(float64(v) - float64(back[i])); off > best+slop {
			t.Fatalf("%s of %v: %v became %v under %v, %v, a code is as near as %v", f.Name, d, v, back[i], c.Scale, c.Second, best)
		}
	}
}

// codesComeBack encodes what was decoded.
func codesComeBack(t *testing.T, f *scaled.Groups, one *scaled.Coded, back []float32, over float32, d asm.Type) {
	t.Helper()
	rounded := slices.Clone(back)
	scaled.Round(rounded, d)
	if !slices.Equal(rounded, back) || !ordinary(f, back, nil, d) {
		return
	}
	again, err := f.Encode(make([]byte, len(back)), back, d, over)
	if err != nil {
		t.Fatalf("%s of %v: what was decoded: %v", f.Name, d, err)
	}
	if again.Scale != one.Scale || again.Second != one.Second {
		return
	}
	numbers := make([]float32, len(back))
	f.Decode(numbers, &again, over)
	if !slices.Equal(numbers, back) {
		t.Fatalf("%s of %v: % x became % x under %v", f.Name, d, one.Codes, again.Codes, one.Scale)
	}
}

// blockFormats are those of targets with a scale for each block, groupFormats those in groups.
func blockFormats() []scaled.Format {
	blocks, _ := encode.Formats(quant.Targets())
	return blocks
}

func groupFormats() []scaled.Groups {
	_, list := encode.Formats(quant.Targets())
	return list
}
