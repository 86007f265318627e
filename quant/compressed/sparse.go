package compressed

import (
	"strings"

	"github.com/anamnesis-go/anamnesis/asm"
	"github.com/anamnesis-go/anamnesis/internal/form"
	"github.com/anamnesis-go/anamnesis/internal/scheme"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

var Sparse = scheme.Scheme{
	Name: "sparse bitmask", Stores: "compressed-tensors' bit masks, over FP8 too", Oracle: "compressed-tensors 0.12",
	Goldens: []string{"sparse-*"}, Bind: bindSparse,
	Methods: []scheme.Method{Method},
	Mains:   []scheme.Main{{Codes: ".compressed", Parts: []string{".bitmask", ".shape", ".row_offsets", ".weight_scale"}}},
	Scales:  []string{"_scale"},
	Marks:   []string{".compressed"},
	Claims:  masked,
}

// masked reports whether a tensor has a bit mask beside it.
func masked(s *scheme.Set, info *tensor.Info) bool {
	stem, ok := scheme.Suffix(info, ".compressed")
	if ok {
		_, ok = s.Find(stem + ".bitmask")
	}
	return ok
}

// bindSparse binds compressed-tensors' bit masks, with and without the prefix of older
// versions.
func bindSparse(s *scheme.Set, info *tensor.Info) (*scheme.Weight, error) {
	if !masked(s, info) {
		return nil, nil
	}
	stem, _ := scheme.Suffix(info, ".compressed")
	name := strings.TrimSuffix(stem, ".weight") + ".weight"
	w := &scheme.Weight{Name: name, Layout: "bit mask", Parts: []tensor.Info{*info}}
	shape, err := s.Integers(stem+".shape", w)
	if err != nil {
		return nil, err
	}
	if len(shape) != 2 || shape[0] < 0 || shape[1] <= 0 {
		return nil, wire.ErrMismatch.Errorf("its companion %s says %v", wire.Quote(stem+".shape"), shape)
	}
	w.Shape = shape
	mask, err := s.Companion(stem+".bitmask", []int64{shape[0], form.CeilDiv(shape[1], 8)}, tensor.U8)
	if err != nil {
		return nil, err
	}
	f := &form.Sparse{Rows: shape[0], Cols: shape[1], Values: info.Elements()}
	w.Form, w.Parts = f, append(w.Parts, *mask)
	codec, isFP8 := form.Float8Of(info.DType)
	if !isFP8 {
		if f.Read, f.Size, err = scheme.ScaleNumber(info); err != nil {
			return nil, err
		}
		f.As, f.Plain = form.KernelType(info.DType)
		return w, sparseRows(s, stem, w, f, mask)
	}
	f.Float8, f.Size, f.Read = codec, 1, func(p []byte, i int64) float32 {
		return codec.Value(p[i])
	}
	if err := sparseRows(s, stem, w, f, mask); err != nil {
		return nil, err
	}
	return w, sparseScales(s, w, f, stem)
}

// sparseScales binds the scales of the dense matrix.
func sparseScales(s *scheme.Set, w *scheme.Weight, f *form.Sparse, stem string) error {
	name := strings.TrimSuffix(stem, ".weight") + ".weight_scale"
	scale, ok := s.Find(name)
	if !ok {
		return wire.ErrMissing.Errorf("its companion %s", wire.Quote(name))
	}
	dense := tensor.Info{Name: w.Name, Shape: w.Shape}
	g, layout, err := s.ScaleGrid(&dense, scale)
	if err != nil {
		return err
	}
	f.Scales, w.Layout = &g, "bit mask, FP8, "+layout
	w.Parts = append(w.Parts, *scale)
	return nil
}

// sparseRows checks that the number of bits of every row agrees with the offsets.
func sparseRows(s *scheme.Set, stem string, w *scheme.Weight, f *form.Sparse, mask *tensor.Info) error {
	offsets, ok := s.Find(stem + ".row_offsets")
	f.Half = !ok
	var starts []byte
	if ok {
		if offsets.DType != tensor.I64 || offsets.Elements() != f.Rows {
			return scheme.Mismatch(&w.Parts[0], offsets)
		}
		p, err := s.Small(offsets)
		if err != nil {
			return err
		}
		if starts, err = limits.Clone(s.Budget, p); err != nil {
			return err
		}
		w.Parts = append(w.Parts, *offsets)
	}
	p, err := s.Small(mask)
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
