package quant

import (
	"slices"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// bindPacked takes compressed-tensors' packed integers: unsigned fields in
// words along each row, zero points packed the same way along the rows.
func bindPacked(s *set, info *tensor.Info) (*Weight, error) {
	stem, ok := suffix(info, ".weight_packed")
	if !ok || info.DType != tensor.I32 || len(info.Shape) < 2 {
		return nil, nil
	}
	scales, ok := s.find(stem + ".weight_scale")
	if !ok {
		return nil, wire.ErrMissing.With("its companion %s", wire.Quote(stem+".weight_scale"))
	}
	w := &Weight{Name: stem + ".weight", Parts: []tensor.Info{*info, *scales}}
	if err := s.packedShape(w, stem, info); err != nil {
		return nil, err
	}
	shape := w.Shape
	cols, words := shape[len(shape)-1], info.Shape[len(info.Shape)-1]
	bits, codes, err := s.packedBits(cols, words)
	if err != nil {
		return nil, err
	}
	read, size, err := scaleNumber(scales)
	if err != nil {
		return nil, err
	}
	if len(scales.Shape) != len(shape) || !shaped(scales.Shape[:len(shape)-1], shape[:len(shape)-1]) {
		return nil, mismatch(info, scales)
	}
	groups := scales.Shape[len(shape)-1]
	group, err := s.groupSize(cols, groups)
	if err != nil {
		return nil, err
	}
	rows := info.Elements() / words
	f := &scaled{cols: cols, codes: codes, scales: groupGrid(rows, cols, group, size, read)}
	w.Layout, w.form = describe(bits, group), f
	if err := s.packedZeros(w, f, stem, bits, rows, groups); err != nil {
		return nil, err
	}
	return w, s.packedOrder(w, f, stem, groups)
}

// packedShape reads the true shape, which the words alone do not tell.
func (s *set) packedShape(w *Weight, stem string, info *tensor.Info) error {
	shape, err := s.integers(stem+".weight_shape", w)
	if err != nil {
		return err
	}
	last := len(info.Shape) - 1
	if len(shape) != len(info.Shape) || !slices.Equal(shape[:last], info.Shape[:last]) || shape[last] == 0 {
		return wire.ErrMismatch.With("%s says %v beside %v", wire.Quote(stem+".weight_shape"), shape, info.Shape)
	}
	w.Shape = shape
	return nil
}

// packedBits finds the width of a field. Widths that do not divide 32 were
// packed with unused bits in every word until 0.17 of the library and as one
// stream since; where both give the same words the configuration's version
// decides.
func (s *set) packedBits(cols, words int64) (int64, codes, error) {
	bits, ok := s.configBits()
	if !ok {
		for _, b := range []int64{1, 2, 4, 8} {
			if ceilDiv(cols*b, 32) == words {
				bits, ok = b, true
			}
		}
	}
	if !ok || bits < 1 || bits > 8 {
		return 0, codes{}, wire.ErrUnsupported.With("%d words for %d columns: the configuration must say num_bits", words, cols)
	}
	bias := int32(1) << (bits - 1)
	dense, loose := ceilDiv(cols*bits, 32) == words, ceilDiv(cols, 32/bits) == words
	switch {
	case dense && (32%bits == 0 || !loose || s.config.since(0, 17)):
		return bits, streamRow(cols, bits, 4*words, bias), nil
	case loose:
		return bits, wordRow(bits, 4*words, bias), nil
	default:
		return 0, codes{}, wire.ErrMismatch.With("%d words for %d columns of %d bits", words, cols, bits)
	}
}

// configBits is num_bits where all groups of the configuration agree.
func (s *set) configBits() (bits int64, ok bool) {
	groups := s.config.quant.at("config_groups")
	for _, name := range groups.names() {
		n, has := groups.at(name, "weights").whole("num_bits")
		if !has || ok && n != bits {
			return 0, false
		}
		bits, ok = n, true
	}
	return bits, ok
}

// groupSize is columns per group, which must divide them: a last group that is
// shorter has no size that the shapes could tell.
func (s *set) groupSize(cols, groups int64) (int64, error) {
	if groups <= 0 || cols%groups != 0 {
		return 0, wire.ErrMismatch.With("%d columns in %d groups", cols, groups)
	}
	return cols / groups, nil
}

func (s *set) packedZeros(w *Weight, f *scaled, stem string, bits, rows, groups int64) error {
	info, ok := s.find(stem + ".weight_zero_point")
	if !ok {
		return nil
	}
	bias := float32(int32(1) << (bits - 1))
	switch {
	case info.DType == tensor.I8 && info.Elements() == rows*groups:
		g := groupGrid(rows, f.cols, f.scales.blockCols, 1, numbers[tensor.I8])
		f.seconds = &g
	case info.DType == tensor.I32 && len(w.Shape) == 2 && shaped(info.Shape, []int64{ceilDiv(rows*bits, 32), groups}):
		g := groupGrid(rows, f.cols, f.scales.blockCols, 4, func(p []byte, i int64) float32 {
			return float32(column(p, groups, bits, i/groups, i%groups)) - bias
		})
		g.whole = info.Span.Len
		f.seconds = &g
	default:
		return mismatch(&w.Parts[0], info)
	}
	f.op = opShift
	w.Parts = append(w.Parts, *info)
	return nil
}

// packedOrder binds the groups of columns that were quantized out of order. A
// negative entry means that the order was never set.
func (s *set) packedOrder(w *Weight, f *scaled, stem string, groups int64) error {
	if _, ok := s.find(stem + ".weight_g_idx"); !ok {
		return nil
	}
	index, err := s.companion(stem+".weight_g_idx", []int64{f.cols}, tensor.I32)
	if err != nil {
		return err
	}
	p, err := s.small(index)
	if err != nil {
		return err
	}
	for c := range f.cols {
		g := int32(u32(p[4*c:]))
		if g < 0 {
			w.Extra = append(w.Extra, *index)
			return nil
		}
		if int64(g) >= groups {
			return wire.ErrRange.With("%s names group %d of %d", wire.Quote(index.Name), g, groups)
		}
	}
	f.columns = true
	w.Parts = append(w.Parts, *index)
	return nil
}
