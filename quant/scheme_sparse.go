package quant

import (
	"strings"

	"github.com/anamnesis-go/anamnesis/asm"
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

// sparse is a matrix without its zeros: a bit per element says which are there.
// Parts: values, bits, for sparse-bitmask the first value of each row, and where
// the values are FP8 their scales.
type sparse struct {
	own
	rows, cols int64
	values     int64 // how many are stored
	read       number
	size       int64
	half       bool // exactly half of each row is there, and no offsets
	scales     *grid
	// as is the type that the values are written from by kernels, or float8 their
	// format.
	as     asm.Type
	float8 asm.Float
	plain  bool // there is such a type
}

func (f *sparse) need(p int, lo, hi int64) tensor.Span {
	switch {
	case p == 0 && f.half:
		return tensor.Span{Off: lo * f.cols / 2 * f.size, Len: (hi - lo) * f.cols / 2 * f.size}
	case p == 0:
		return tensor.Span{Len: f.values * f.size}
	case p == 1:
		row := ceilDiv(f.cols, 8)
		return tensor.Span{Off: lo * row, Len: (hi - lo) * row}
	case p == 2 && !f.half:
		return tensor.Span{Off: 8 * lo, Len: 8 * (hi - lo)}
	default:
		return f.scales.need(lo, hi)
	}
}

func (f *sparse) decode(dst []float32, parts [][]byte, lo, hi int64) {
	width := ceilDiv(f.cols, 8)
	for r := range hi - lo {
		next := r * f.cols / 2
		if !f.half {
			next = f.start(parts[2][8*r:])
		}
		for c := range f.cols {
			v := float32(0)
			if parts[1][r*width+c/8]>>(c%8)&1 == 1 {
				v = f.read(parts[0], next)
				next++
			}
			dst[r*f.cols+c] = v
		}
		if f.scales != nil {
			scaled := scaled{scales: *f.scales}
			scaled.scale(dst[r*f.cols:][:f.cols], [][]byte{nil, parts[len(parts)-1]}, lo, lo+r, 0)
		}
	}
}

// start reads where the values of a row begin.
func (f *sparse) start(p []byte) int64 { return int64(u32(p)) | int64(u32(p[4:]))<<32 }

// bindSparse takes compressed-tensors' bit masks, with the prefix that older
// versions kept and without it.
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
		return nil, wire.ErrMismatch.With("its companion %s says %v", wire.Quote(stem+".shape"), shape)
	}
	w.Shape = shape
	mask, err := s.companion(stem+".bitmask", []int64{shape[0], ceilDiv(shape[1], 8)}, tensor.U8)
	if err != nil {
		return nil, err
	}
	f := &sparse{rows: shape[0], cols: shape[1], values: info.Elements()}
	w.form, w.Parts = f, append(w.Parts, *mask)
	codec, isFP8 := fp8Codec(info.DType)
	if !isFP8 {
		if f.read, f.size, err = scaleNumber(info); err != nil {
			return nil, err
		}
		f.as, f.plain = kernelType(info.DType)
		return w, s.sparseRows(stem, w, f, mask)
	}
	f.float8, f.size, f.read = codec, 1, func(p []byte, i int64) float32 {
		return codec.Value(p[i])
	}
	if err := s.sparseRows(stem, w, f, mask); err != nil {
		return nil, err
	}
	return w, s.sparseScales(w, f, stem)
}

// sparseScales binds the scales that stand over the dense matrix.
func (s *set) sparseScales(w *Weight, f *sparse, stem string) error {
	name := strings.TrimSuffix(stem, ".weight") + ".weight_scale"
	scale, ok := s.find(name)
	if !ok {
		return wire.ErrMissing.With("its companion %s", wire.Quote(name))
	}
	dense := tensor.Info{Name: w.Name, Shape: w.Shape}
	g, layout, err := s.scaleGrid(&dense, scale)
	if err != nil {
		return err
	}
	f.scales, w.Layout = &g, "bit mask, FP8, "+layout
	w.Parts = append(w.Parts, *scale)
	return nil
}

// sparseRows proves that every row's values are there: the bits of each row
// count what the offsets say.
func (s *set) sparseRows(stem string, w *Weight, f *sparse, mask *tensor.Info) error {
	offsets, ok := s.find(stem + ".row_offsets")
	f.half = !ok
	var starts []byte
	if ok {
		if offsets.DType != tensor.I64 || offsets.Elements() != f.rows {
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
	width, next := ceilDiv(f.cols, 8), int64(0)
	for r := range f.rows {
		row := p[r*width : (r+1)*width]
		if f.cols%8 != 0 && row[width-1]>>(f.cols%8) != 0 {
			return wire.ErrRange.With("%s has bits past the end of row %d", wire.Quote(mask.Name), r)
		}
		if starts != nil && f.start(starts[8*r:]) != next {
			return wire.ErrMismatch.With("%s and %s disagree at row %d", wire.Quote(offsets.Name), wire.Quote(mask.Name), r)
		}
		n := int64(asm.Ones(row))
		if f.half && 2*n != f.cols {
			return wire.ErrMismatch.With("%s has %d bits in row %d of %d", wire.Quote(mask.Name), n, r, f.cols)
		}
		next += n
	}
	if next != f.values {
		return wire.ErrMismatch.With("%s has %d bits for %d values", wire.Quote(mask.Name), next, f.values)
	}
	return nil
}
