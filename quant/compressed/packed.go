package compressed

import (
	"fmt"
	"slices"

	"github.com/anamnesis-go/anamnesis/asm"
	"github.com/anamnesis-go/anamnesis/internal/form"
	"github.com/anamnesis-go/anamnesis/internal/scheme"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant/autoround"
)

var Packed = scheme.Scheme{
	Name: "compressed-tensors packed", Stores: "1 to 8 bits, both packings, zero points, act-order", Oracle: "compressed-tensors",
	Goldens: []string{"packed-*"}, Bind: bindPacked,
	Methods: autoround.Methods(Method),
	Mains: []scheme.Main{
		{Codes: ".weight_packed", Parts: []string{".weight_scale", ".weight_shape", ".weight_zero_point", ".weight_g_idx"}, Only: true},
	},
	Scales:   []string{"_scale", "_zero_point"},
	Explains: []string{".input_scale", ".input_zero_point", ".output_scale"},
}

// bindPacked binds compressed-tensors' packed integers: unsigned fields in words along
// each row, and zero points packed the same way along the rows.
func bindPacked(s *scheme.Set, info *tensor.Info) (*scheme.Weight, error) {
	stem, ok := scheme.Suffix(info, ".weight_packed")
	if !ok || info.DType != tensor.I32 || len(info.Shape) < 2 {
		return nil, nil
	}
	scales, ok := s.Find(stem + ".weight_scale")
	if !ok {
		return nil, wire.ErrMissing.Errorf("its companion %s", wire.Quote(stem+".weight_scale"))
	}
	w := &scheme.Weight{Name: stem + ".weight", Parts: []tensor.Info{*info, *scales}}
	if err := packedShape(s, w, stem, info); err != nil {
		return nil, err
	}
	shape := w.Shape
	cols, words := shape[len(shape)-1], info.Shape[len(info.Shape)-1]
	bits, loose, err := packedBits(s, stem, cols, words)
	if err != nil {
		return nil, err
	}
	read, size, err := scheme.ScaleNumber(scales)
	if err != nil {
		return nil, err
	}
	one := scheme.Shaped(scales.Shape, []int64{1}) && oneScale(s, stem)
	if !one && (len(scales.Shape) != len(shape) || !scheme.Shaped(scales.Shape[:len(shape)-1], shape[:len(shape)-1])) {
		return nil, scheme.Mismatch(info, scales)
	}
	groups := scales.Shape[len(scales.Shape)-1]
	group, err := groupSize(s, cols, groups)
	if err != nil {
		return nil, err
	}
	rows := info.Elements() / words
	f := &form.Scaled{Cols: cols, Codes: form.StreamRow(cols, bits, 4*words, 1<<(bits-1)), Scales: form.GroupGrid(rows, cols, group, size, read)}
	f.Scales.Bulk = form.ScaleBulk(scales.DType)
	if loose {
		f.Codes = form.WordRow(bits, 4*words, 1<<(bits-1))
	}
	w.Layout, w.Form = scheme.Describe(bits, group), f
	if one {
		f.Scales, w.Layout = oneNumber(rows, cols, size, read), fmt.Sprintf("%d bits, one scale", bits)
	}
	if err := packedZeros(s, w, f, packed{stem, bits, loose, rows, groups}); err != nil {
		return nil, err
	}
	if err := Says(s, stem, "int", group, f.Seconds != nil, scales); err != nil {
		return nil, err
	}
	return w, packedOrder(s, w, f, stem, groups)
}

// oneScale reports whether the configuration gives a module a single scale.
func oneScale(s *scheme.Set, stem string) bool {
	groups, err := s.Groups(stem)
	if err != nil || len(groups) == 0 {
		return false
	}
	for _, g := range groups {
		if g.Within("weights").Get("strategy").String() != "tensor" {
			return false
		}
	}
	return true
}

// oneNumber returns a grid of one number for a whole weight.
func oneNumber(rows, cols, size int64, read form.Number) form.Grid {
	return form.Grid{MatrixRows: rows, BlockRows: rows, BlockCols: cols, Cols: 1, Size: size, Read: read}
}

// packedShape reads the true shape, which the words alone do not tell.
func packedShape(s *scheme.Set, w *scheme.Weight, stem string, info *tensor.Info) error {
	shape, err := s.Integers(stem+".weight_shape", w)
	if err != nil {
		return err
	}
	last := len(info.Shape) - 1
	if len(shape) != len(info.Shape) || !slices.Equal(shape[:last], info.Shape[:last]) || shape[last] == 0 {
		return wire.ErrMismatch.Errorf("%s says %v beside %v", wire.Quote(stem+".weight_shape"), shape, info.Shape)
	}
	w.Shape = shape
	return nil
}

// packedBits finds the width of a field: of the widths that the configuration allows, the
// one that fits the words. Up to version 0.17 of the library, widths that do not divide
// 32 left unused bits in every word (loose); since then they are one stream. If both give
// the same number of words, the configuration's version decides.
func packedBits(s *scheme.Set, stem string, cols, words int64) (bits int64, loose bool, err error) {
	allowed, err := allowedBits(s, stem)
	if err != nil {
		return 0, false, err
	}
	fit := 0
	for b := int64(1); b <= 8; b++ {
		if allowed[b] && (form.CeilDiv(cols*b, 32) == words || form.CeilDiv(cols, 32/b) == words) {
			bits, fit = b, fit+1
		}
	}
	switch {
	case fit == 0:
		return 0, false, wire.ErrMismatch.Errorf("%d words for %d columns match no width that %s allows", words, cols, s.ConfigName())
	case fit > 1:
		return 0, false, wire.ErrUnsupported.Errorf("%d words for %d columns have several readings: the configuration must have num_bits", words, cols)
	}
	stream, unused := form.CeilDiv(cols*bits, 32) == words, form.CeilDiv(cols, 32/bits) == words
	return bits, 32%bits != 0 && unused && !(stream && s.Config.Since(0, 17)), nil
}

// allowedBits returns the widths that the configuration gives a module, or those that all
// versions pack alike.
func allowedBits(s *scheme.Set, stem string) (allowed [9]bool, err error) {
	groups, err := s.Groups(stem)
	if err != nil {
		return allowed, err
	}
	for _, g := range groups {
		n, ok, err := s.Number("num_bits", g.Within("weights").Get("num_bits"))
		if err != nil {
			return allowed, err
		}
		if ok && (n < 1 || n > 8) {
			return allowed, wire.ErrRange.Errorf("%s says num_bits %d", s.Config.File, n)
		}
		if ok {
			allowed[n] = true
		}
	}
	if allowed == [9]bool{} {
		allowed = [9]bool{1: true, 2: true, 4: true, 8: true}
	}
	return allowed, nil
}

// groupSize returns the columns per group, which must divide the columns: the size of
// groups with a shorter last one does not follow from shapes.
func groupSize(s *scheme.Set, cols, groups int64) (int64, error) {
	if groups <= 0 || cols%groups != 0 {
		return 0, wire.ErrMismatch.Errorf("%d columns in %d groups", cols, groups)
	}
	return cols / groups, nil
}

// packed says how the codes of a module and their zero points are packed.
type packed struct {
	stem         string
	bits         int64
	loose        bool // words have unused bits
	rows, groups int64
}

// packedZeros binds zero points, which are packed like the codes, but along the rows.
func packedZeros(s *scheme.Set, w *scheme.Weight, f *form.Scaled, p packed) error {
	info, ok := s.Find(p.stem + ".weight_zero_point")
	if !ok {
		return nil
	}
	rows, words := p.rows, form.CeilDiv(p.rows*p.bits, 32)
	if p.loose {
		words = form.CeilDiv(rows, 32/p.bits)
	}
	one := f.Scales.BlockRows == rows && rows > 1
	switch {
	case one && info.DType == tensor.I8 && info.Elements() == 1:
		g := oneNumber(rows, f.Cols, 1, form.Numbers[tensor.I8])
		f.Seconds = &g
	case one:
		return scheme.Mismatch(&w.Parts[0], info)
	case info.DType == tensor.I8 && info.Elements() == rows*p.groups:
		g := form.GroupGrid(rows, f.Cols, f.Scales.BlockCols, 1, form.Numbers[tensor.I8])
		g.Bulk, f.Seconds = form.BulkOf(tensor.I8), &g
	case info.DType == tensor.I32 && len(w.Shape) == 2 && scheme.Shaped(info.Shape, []int64{words, p.groups}):
		g := form.PackedZeroGrid(rows, f.Cols, f.Scales.BlockCols, p.bits, p.loose)
		f.Seconds = &g
	default:
		return scheme.Mismatch(&w.Parts[0], info)
	}
	f.Op = asm.Shift
	w.Parts = append(w.Parts, *info)
	return nil
}

// packedOrder binds the groups of columns that were quantized out of order. A negative
// entry means that the order was never set.
func packedOrder(s *scheme.Set, w *scheme.Weight, f *form.Scaled, stem string, groups int64) error {
	index, p, err := s.GroupIndex(stem+".weight_g_idx", f.Cols)
	if index == nil {
		return err
	}
	for c := range f.Cols {
		g := int32(form.U32(p[4*c:]))
		if g < 0 {
			w.Extra = append(w.Extra, *index)
			return nil
		}
		if int64(g) >= groups {
			return wire.ErrRange.Errorf("%s names group %d of %d", wire.Quote(index.Name), g, groups)
		}
	}
	f.Columns = true
	w.Parts = append(w.Parts, *index)
	return nil
}
