package quant

import (
	"fmt"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

var hqqScheme = scheme{
	name: "HQQ", stores: "1, 2, 3, 4, 8 bits on either axis; safetensors and qmodel.pt", oracle: "hqq",
	goldens: []string{"hqq-*"}, bind: bindHQQ,
	methods: []method{{"hqq", hqqKeys}},
	mains:   []main{{codes: ".W_q", parts: append([]string{".scale", ".zero", ".nbits", ".axis", ".shape"}, hqqRest...), only: true}},
	scales:  []string{".scale"},
}

// hqqRest are the properties that do not change the numbers.
var hqqRest = []string{
	".group_size", ".packing", ".compute_dtype", ".unpack_view_dtype", ".view_as_float", ".quant_scale", ".quant_zero",
	".offload_meta", ".channel_wise", ".optimize", ".round_zero", ".stores_quant_config", ".encoded_state_dict",
}

// hqq is codes of a matrix that was regrouped before it was packed: with axis 1
// a row is a group, with axis 0 a column is. Rows of the regrouped matrix are
// split, the first in the highest bits. Parts: W_q, scale, zero.
type hqq struct {
	cols, total int64
	bits        int64
	byColumn    bool  // axis 0: the groups are columns
	width       int64 // columns of the regrouped matrix
	height      int64 // rows of the regrouped matrix
	stored      int64 // rows of W_q
	read        number
	size        int64
	bulk        bulk
}

func (f *hqq) geometry() geometry { return geometry{group: f.total / max(1, f.cols)} }

func (f *hqq) need(p int, _, _ int64) tensor.Span {
	if p == 0 {
		bytes := int64(1)
		if f.bits == 3 {
			bytes = 4
		}
		return tensor.Span{Len: f.stored * f.width * bytes}
	}
	return tensor.Span{Len: f.groups() * f.size}
}

func (f *hqq) groups() int64 {
	if f.byColumn {
		return f.width
	}
	return f.height
}

func (f *hqq) decode(dst []float32, parts [][]byte, lo, hi int64) {
	for i := lo * f.cols; i < hi*f.cols; i++ {
		row, col := i/f.width, i%f.width
		group := row
		if f.byColumn {
			group = col
		}
		q := f.code(parts[0], row, col)
		dst[i-lo*f.cols] = float32(q-f.read(parts[2], group)) * f.read(parts[1], group)
	}
}

// code reads one code: row r stands in stored row r mod stored, the first rows
// in the highest field.
func (f *hqq) code(p []byte, r, c int64) float32 {
	at, field := r%f.stored*f.width+c, r/f.stored
	if f.bits == 3 {
		return float32(u32(p[4*at:]) >> (27 - 3*field) & 7)
	}
	return float32(p[at] >> (8 - f.bits*(field+1)) & uint8(1<<f.bits-1))
}

// hqqFields is how many codes a stored number holds.
var hqqFields = map[int64]int64{1: 8, 2: 4, 3: 10, 4: 2, 8: 1}

// bindHQQ takes weights whose every property is a tensor of its own.
func bindHQQ(s *set, info *tensor.Info) (*Weight, error) {
	stem, ok := suffix(info, ".W_q")
	if !ok || len(info.Shape) != 2 {
		return nil, nil
	}
	w := &Weight{Name: stem + ".weight", Parts: []tensor.Info{*info}}
	f := &hqq{stored: info.Shape[0], width: info.Shape[1]}
	var axis int64
	for _, v := range []struct {
		name string
		to   *int64
	}{{".nbits", &f.bits}, {".axis", &axis}} {
		n, err := s.integers(stem+v.name, w)
		if err != nil {
			return nil, err
		}
		if len(n) != 1 {
			return nil, wire.ErrMismatch.With("its companion %s has %d numbers", wire.Quote(stem+v.name), len(n))
		}
		*v.to = n[0]
	}
	var err error
	if w.Shape, err = s.integers(stem+".shape", w); err != nil {
		return nil, err
	}
	if err := f.lay(info, w.Shape, axis); err != nil {
		return nil, err
	}
	w.Layout, w.form = fmt.Sprintf("%s, axis %d", describe(f.bits, f.total/f.groups()), axis), f
	s.bindHQQRest(stem, w)
	return w, s.hqqScales(stem, w, f)
}

// lay proves that the codes are those of a matrix of the shape.
func (f *hqq) lay(info *tensor.Info, shape []int64, axis int64) error {
	fields := hqqFields[f.bits]
	want := tensor.U8
	if f.bits == 3 {
		want = tensor.I32
	}
	n, ok := wire.Product(shape)
	switch {
	case fields == 0:
		return wire.ErrUnsupported.With("codes of %d bits", f.bits)
	case info.DType != want:
		return wire.ErrUnsupported.With("codes of %d bits in %s: is the meta data quantized?", f.bits, info.TypeName())
	case axis != 0 && axis != 1:
		return wire.ErrRange.With("axis %d", axis)
	case !ok || len(shape) == 0 || n == 0 || f.width == 0 || int64(n)%f.width != 0:
		return wire.ErrMismatch.With("codes of shape %v for a weight of %v", info.Shape, shape)
	}
	f.byColumn, f.total, f.cols = axis == 0, int64(n), shape[len(shape)-1]
	f.height = f.total / f.width
	if ceilDiv(f.height, fields) != f.stored {
		return wire.ErrMismatch.With("codes of shape %v for a weight of %v", info.Shape, shape)
	}
	return nil
}

func (s *set) hqqScales(stem string, w *Weight, f *hqq) error {
	shape := []int64{f.height, 1}
	if f.byColumn {
		shape = []int64{1, f.width}
	}
	scale, err := s.companion(stem+".scale", shape, tensor.F32, tensor.F16, tensor.BF16)
	if err != nil {
		return err
	}
	zero, err := s.companion(stem+".zero", shape, scale.DType)
	if err != nil {
		return err
	}
	f.read, f.size, err = scaleNumber(scale)
	f.bulk = bulkOf(scale.DType)
	w.Parts = append(w.Parts, *scale, *zero)
	return err
}

// bindHQQRest claims the properties that do not change the numbers.
func (s *set) bindHQQRest(stem string, w *Weight) {
	for _, name := range hqqRest {
		if info, ok := s.find(stem + name); ok {
			w.Extra = append(w.Extra, *info)
		}
	}
}
