package awq

import (
	"strings"

	"github.com/anamnesis-go/anamnesis/asm"
	"github.com/anamnesis-go/anamnesis/internal/form"
	"github.com/anamnesis-go/anamnesis/internal/scheme"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

var GEMV = scheme.Scheme{
	Name: "AWQ GEMV", Stores: "4 bits in the order of the inputs", Oracle: "AutoAWQ's packer",
	Goldens: []string{"awq-gemv"}, Bind: bindGEMV,
	Methods: []scheme.Method{{Name: "awq", Known: keys}},
	Mains:   mains,
	Scales:  []string{".scales"},
	Marks:   []string{".qweight"},
	Claims: func(s *scheme.Set, info *tensor.Info) bool {
		return info.DType == tensor.I32 && strings.HasSuffix(info.Name, ".qweight") && isGEMV(s)
	},
}

var Fast = scheme.Scheme{
	Name: "AWQ GEMV_FAST", Stores: "llm-awq's layout of 4 bits", Oracle: "AutoAWQ's packer",
	Goldens: []string{"awq-gemv-fast"}, Bind: bindFast,
	Methods: []scheme.Method{{Name: "awq", Known: keys}},
	Mains:   mains,
	Scales:  []string{".scales"},
	Marks:   []string{".qweight"},
}

// bindGEMV binds AutoAWQ's GEMV layout: nibbles along the inputs in natural order,
// with rows of zero points and scales padded by zeros.
func bindGEMV(s *scheme.Set, info *tensor.Info) (*scheme.Weight, error) {
	stem, ok := scheme.Suffix(info, ".qweight")
	scales, hasScales := s.Find(stem + ".scales")
	if !ok || !hasScales || info.DType != tensor.I32 || len(info.Shape) != 2 || len(scales.Shape) != 2 ||
		scales.Shape[0] != info.Shape[0] || info.Shape[1]*8 == scales.Shape[1] || scales.Shape[1] == info.Shape[1] && !isGEMV(s) {
		return nil, nil
	}
	out, in, padded := info.Shape[0], info.Shape[1]*8, scales.Shape[1]
	group, err := groupOf(s, in, padded)
	if err != nil {
		return nil, err
	}
	if padded%8 != 0 || in == 0 || out == 0 {
		return nil, scheme.Mismatch(info, scales)
	}
	zeros, err := s.Companion(stem+".qzeros", []int64{out, padded / 8}, tensor.I32)
	if err != nil {
		return nil, err
	}
	read, size, err := scheme.ScaleNumber(scales)
	if err != nil {
		return nil, err
	}
	g := form.Grid{MatrixRows: out, BlockRows: 1, BlockCols: group, Cols: padded, Size: size, Read: read, Bulk: form.ScaleBulk(scales.DType)}
	z := g
	z.Whole, z.Bulk, z.Read = zeros.Span.Len, nil, func(p []byte, i int64) float32 { return float32(p[i/2] >> (4 * (i % 2)) & 15) }
	return &scheme.Weight{
		Name: stem + ".weight", Shape: []int64{out, in}, Layout: "GEMV, " + scheme.Describe(4, group),
		Parts: []tensor.Info{*info, *scales, *zeros},
		Form:  &form.Scaled{Cols: in, Codes: form.StreamRow(in, 4, in/2, 0), Scales: g, Seconds: &z, Op: asm.Shift},
	}, nil
}

// isGEMV reports whether AutoAWQ's configuration says that the tensors are for the GEMV kernel. With
// few inputs, the numbers of words and padded groups are the same as in GPTQ.
func isGEMV(s *scheme.Set) bool {
	return s.Config.Method() == "awq" && strings.EqualFold(s.Config.Quant.Get("version").String(), "gemv")
}

// groupOf returns the group size, which padded rows do not tell.
func groupOf(s *scheme.Set, in, padded int64) (int64, error) {
	group, ok := s.Config.Quant.Get("group_size").Int()
	switch {
	case !ok:
		return 0, wire.ErrMissing.Errorf("group_size in the configuration: rows of scales are padded")
	case group <= 0 || in%group != 0 || in/group > padded:
		return 0, wire.ErrMismatch.Errorf("groups of %d in %d inputs, with room for %d", group, in, padded)
	}
	return group, nil
}

// bindFast binds the GEMV_FAST layout, which is llm-awq's: four outputs in a stored
// row, with their nibbles shuffled, and zero points already multiplied.
func bindFast(s *scheme.Set, info *tensor.Info) (*scheme.Weight, error) {
	stem, ok := scheme.Suffix(info, ".qweight")
	if !ok || info.DType != tensor.I16 || len(info.Shape) != 2 {
		return nil, nil
	}
	out, in := info.Shape[0]*4, info.Shape[1]
	scales, err := s.Companion(stem+".scales", []int64{-1, out}, tensor.F16, tensor.BF16)
	if err != nil {
		return nil, err
	}
	padded := scales.Shape[0]
	zeros, err := s.Companion(stem+".qzeros", []int64{padded, out}, scales.DType)
	if err != nil {
		return nil, err
	}
	group, err := groupOf(s, in, padded)
	if err != nil {
		return nil, err
	}
	if in%64 != 0 {
		return nil, wire.ErrMismatch.Errorf("%d inputs are not whole blocks of 64", in)
	}
	read, size, err := scheme.ScaleNumber(scales)
	if err != nil {
		return nil, err
	}
	g := form.Grid{MatrixRows: out, BlockRows: 1, BlockCols: group, Cols: padded, Size: size, Read: read, Bulk: form.ScaleBulk(scales.DType)}.Transposed(out, scales.Span.Len)
	z := g
	z.Whole = zeros.Span.Len
	return &scheme.Weight{
		Name: stem + ".weight", Shape: []int64{out, in}, Layout: "GEMV_FAST, " + scheme.Describe(4, group),
		Parts: []tensor.Info{*info, *scales, *zeros},
		Form:  &form.Scaled{Cols: in, Codes: form.FastRow(in), Scales: g, Seconds: &z, Op: asm.Affine},
	}, nil
}
