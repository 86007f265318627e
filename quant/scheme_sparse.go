package quant

import (
	"strings"

	"github.com/anamnesis-go/anamnesis/asm"
	"github.com/anamnesis-go/anamnesis/internal/form"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

var sparseScheme = scheme{
	name: "sparse bitmask", stores: "compressed-tensors' bit masks, over FP8 too", oracle: "compressed-tensors 0.12",
	goldens: []string{"sparse-*"}, bind: bindSparse,
	methods: []method{{"compressed-tensors", compressedKeys}},
	mains:   []main{{codes: ".compressed", parts: []string{".bitmask", ".shape", ".row_offsets", ".weight_scale"}}},
	scales:  []string{"_scale"},
	marks:   []string{".compressed"},
}

// bindSparse binds compressed-tensors' bit masks, with and without the prefix of older
// versions.
func bindSparse(s *set, info *tensor.Info) (*Weight, error) {
	stem, ok := suffix(info, ".compressed")
	if !ok {
		return nil, nil
	}
	if _, ok := s.find(stem + ".bitmask"); !ok {
		return nil, nil
	}
	name := strings.TrimSuffix(stem, ".weight") + ".weight"
	w := &Weight{Name: name, Layout: "bit mask", Parts: []tensor.Info{*info}}
	shape, err := s.integers(stem+".shape", w)
	if err != nil {
		return nil, err
	}
	if len(shape) != 2 || shape[0] < 0 || shape[1] <= 0 {
		return nil, wire.ErrMismatch.Errorf("its companion %s says %v", wire.Quote(stem+".shape"), shape)
	}
	w.Shape = shape
	mask, err := s.companion(stem+".bitmask", []int64{shape[0], form.CeilDiv(shape[1], 8)}, tensor.U8)
	if err != nil {
		return nil, err
	}
	f := &form.Sparse{Rows: shape[0], Cols: shape[1], Values: info.Elements()}
	w.form, w.Parts = f, append(w.Parts, *mask)
	codec, isFP8 := fp8Codec(info.DType)
	if !isFP8 {
		if f.Read, f.Size, err = scaleNumber(info); err != nil {
			return nil, err
		}
		f.As, f.Plain = form.KernelType(info.DType)
		return w, s.sparseRows(stem, w, f, mask)
	}
	f.Float8, f.Size, f.Read = codec, 1, func(p []byte, i int64) float32 {
		return codec.Value(p[i])
	}
	if err := s.sparseRows(stem, w, f, mask); err != nil {
		return nil, err
	}
	return w, s.sparseScales(w, f, stem)
}

// sparseScales binds the scales of the dense matrix.
func (s *set) sparseScales(w *Weight, f *form.Sparse, stem string) error {
	name := strings.TrimSuffix(stem, ".weight") + ".weight_scale"
	scale, ok := s.find(name)
	if !ok {
		return wire.ErrMissing.Errorf("its companion %s", wire.Quote(name))
	}
	dense := tensor.Info{Name: w.Name, Shape: w.Shape}
	g, layout, err := s.scaleGrid(&dense, scale)
	if err != nil {
		return err
	}
	f.Scales, w.Layout = &g, "bit mask, FP8, "+layout
	w.Parts = append(w.Parts, *scale)
	return nil
}

// sparseRows checks that the number of bits of every row agrees with the offsets.
func (s *set) sparseRows(stem string, w *Weight, f *form.Sparse, mask *tensor.Info) error {
	offsets, ok := s.find(stem + ".row_offsets")
	f.Half = !ok
	var starts []byte
	if ok {
		if offsets.DType != tensor.I64 || offsets.Elements() != f.Rows {
			return mismatch(&w.Parts[0], offsets)
		}
		p, err := s.small(offsets)
		if err != nil {
			return err
		}
		if starts, err = limits.Clone(s.b, p); err != nil {
			return err
		}
		w.Parts = append(w.Parts, *offsets)
	}
	p, err := s.small(mask)
	if err != nil {
		return err
	}
	width, next := form.CeilDiv(f.Cols, 8), int64(0)
	for r := range f.Rows {
		row := p[r*width : (r+1)*width]
		if f.Cols%8 != 0 && row[width-1]>>(f.Cols%8) != 0 {
			return wire.ErrRange.Errorf("%s has bits past the end of row %d", wire.Quote(mask.Name), r)
		}
		if starts != nil && f.Start(starts[8*r:]) != next {
			return wire.ErrMismatch.Errorf("%s and %s disagree at row %d", wire.Quote(offsets.Name), wire.Quote(mask.Name), r)
		}
		n := int64(asm.Ones(row))
		if f.Half && 2*n != f.Cols {
			return wire.ErrMismatch.Errorf("%s has %d bits in row %d of %d", wire.Quote(mask.Name), n, r, f.Cols)
		}
		next += n
	}
	if next != f.Values {
		return wire.ErrMismatch.Errorf("%s has %d bits for %d values", wire.Quote(mask.Name), next, f.Values)
	}
	return nil
}
