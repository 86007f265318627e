package mlx

import (
	"cmp"
	"slices"

	"github.com/anamnesis-go/anamnesis/asm"
	"github.com/anamnesis-go/anamnesis/internal/form"
	"github.com/anamnesis-go/anamnesis/internal/jsontree"
	"github.com/anamnesis-go/anamnesis/internal/scheme"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

var Scheme = scheme.Scheme{
	Name: "MLX", Stores: "affine 1 to 8 bits, mxfp4, mxfp8, nvfp4 and its global scale; transformers' metal", Oracle: "MLX, transformers",
	Goldens: []string{"mlx-*", "metal-*"}, Bind: bind,
	Methods: []scheme.Method{{Name: "", Known: keys}, {Name: "metal", Known: keys}},
	Mains:   []scheme.Main{{Codes: ".weight", Parts: []string{".scales", ".biases", ".qbiases", ".global_scale"}}},
	Scales:  []string{".scales", "_scale"},
	Endings: []string{"-4bit"},
	Stacked: true,
	As:      scheme.AsMLX,
}

// bind binds MLX's weights: fields of 1 to 8 bits in a stream of words along each row,
// with a scale and, in the affine mode, a bias per group.
func bind(s *scheme.Set, info *tensor.Info) (*scheme.Weight, error) {
	stem, ok := scheme.Suffix(info, ".weight")
	scales, hasScales := s.Find(stem + ".scales")
	if !ok || !hasScales || info.DType != tensor.U32 || len(info.Shape) < 2 || len(scales.Shape) != len(info.Shape) {
		return nil, nil
	}
	last := len(info.Shape) - 1
	if !scheme.Shaped(scales.Shape[:last], info.Shape[:last]) {
		return nil, scheme.Mismatch(info, scales)
	}
	m, err := moduleOf(s, stem)
	if err != nil {
		return nil, err
	}
	words, groups := info.Shape[last], scales.Shape[last]
	m.cols, m.rows, m.scales = words*32/m.bits, info.Elements()/words, scales
	if m.cols*m.bits != words*32 || groups == 0 || groups*m.group != m.cols {
		return nil, wire.ErrMismatch.Errorf("%s has shape %v beside %v, but %s says %d bits in groups of %d",
			wire.Quote(scales.Name), scales.Shape, info.Shape, s.Config.File, m.bits, m.group)
	}
	shape := append(append([]int64(nil), info.Shape[:last]...), m.cols)
	w := &scheme.Weight{Name: info.Name, Shape: shape, Layout: m.mode + ", " + scheme.Describe(m.bits, m.group), Parts: []tensor.Info{*info, *scales}}
	if m.mode != "affine" {
		return w, bindFloat(s, w, m)
	}
	return w, bindAffine(s, w, m)
}

// An module is how a module is quantized, and the matrix that its words hold.
type module struct {
	stem, mode  string
	bits, group int64
	global      bool // its entry says that there is a global scale
	rows, cols  int64
	scales      *tensor.Info
}

// moduleOf reads the mode of a module: its own entry, which is complete, else that of
// the model. Shapes alone only give the ratio of bits to group size.
func moduleOf(s *scheme.Set, stem string) (m module, err error) {
	of := s.Config.Quant
	if whether, ok := of.Get(stem).Bool(); ok && !whether {
		return m, wire.ErrMismatch.Errorf("%s says that %s is not quantized, but it has %s", s.Config.File, wire.Quote(stem), wire.Quote(stem+".scales"))
	}
	own := of.Within(stem)
	if own.There {
		of = own
	}
	mode := cmp.Or(of.Get("mode").String(), "affine")
	bits, hasBits := number(of, "bits", defaults[mode][0], own.There)
	group, hasGroup := number(of, "group_size", defaults[mode][1], own.There)
	if !hasBits || !hasGroup {
		return m, wire.ErrMissing.Errorf("MLX's bits and group_size, which the model's config.json has under quantization")
	}
	if bits < 1 || bits > 8 || bits == 7 || group < 1 || group > 1<<20 {
		return m, wire.ErrUnsupported.Errorf("%d bits in groups of %d, as %s says", bits, group, s.Config.File)
	}
	global, _ := of.Get("global_scale").Bool()
	if global && mode != "nvfp4" {
		return m, wire.ErrUnsupported.Errorf("a global scale of MLX's %s, which %s states", wire.Quote(mode), s.Config.File)
	}
	return module{stem: stem, mode: mode, bits: bits, group: group, global: global}, nil
}

// number reads a number of an entry. A null gives the default of the mode, and so does
// a missing number in a module's own entry: mlx_lm passes both to MLX's layers as they
// are.
func number(of jsontree.Value, name string, other int64, own bool) (int64, bool) {
	if !of.There {
		return 0, false
	}
	if !of.Get(name).There && (own || slices.Contains(of.Names(), name)) {
		return other, other > 0
	}
	return of.Get(name).Int()
}

// defaults are the bits and group size of each mode if none are given
// (_defaults_for_mode in mlx.nn.layers.quantized).
var defaults = map[string][2]int64{"affine": {4, 64}, "mxfp4": {4, 32}, "nvfp4": {4, 16}, "mxfp8": {8, 32}}

func bindAffine(s *scheme.Set, w *scheme.Weight, m module) error {
	name := m.stem + ".biases"
	if _, ok := s.Find(m.stem + ".qbiases"); ok { // as transformers writes them
		name = m.stem + ".qbiases"
	}
	biases, err := s.Companion(name, m.scales.Shape, m.scales.DType)
	if err != nil {
		return err
	}
	read, size, err := scheme.ScaleNumber(m.scales)
	if err != nil {
		return err
	}
	g := form.GroupGrid(m.rows, m.cols, m.group, size, read)
	g.Bulk = form.ScaleBulk(m.scales.DType)
	f := &form.Scaled{Cols: m.cols, Codes: form.StreamRow(m.cols, m.bits, m.cols*m.bits/8, 0), Scales: g, Seconds: &g, Op: asm.Affine}
	if s.Options.As == scheme.AsMLX {
		f.InSteps(m.scales.DType)
	}
	w.Form = f
	w.Parts = append(w.Parts, *biases)
	return nil
}

// bindFloat binds the modes of small floats: the same words with other codes. MLX only
// supports the default bits and group size there (mlx.core.dequantize).
func bindFloat(s *scheme.Set, w *scheme.Weight, m module) error {
	if m.scales.DType != tensor.U8 {
		return wire.ErrUnsupported.Errorf("its scales %s are %s", wire.Quote(m.scales.Name), m.scales.TypeName())
	}
	if of, ok := defaults[m.mode]; ok && of != [2]int64{m.bits, m.group} {
		return wire.ErrMismatch.Errorf("%s says %d bits in groups of %d, and MLX's %s is %d bits in groups of %d", s.Config.File, m.bits, m.group, m.mode, of[0], of[1])
	}
	f := &form.Scaled{Cols: m.cols, Scales: form.GroupGrid(m.rows, m.cols, m.group, 1, form.ExponentByte)}
	f.Scales.Bulk = form.ScaleBulk(tensor.U8)
	w.Form = f
	switch m.mode {
	case "mxfp4":
		f.Codes = form.Fp4Row(m.cols)
	case "nvfp4":
		f.Codes, f.Scales.Read, f.Scales.Bulk = form.Fp4Row(m.cols), form.Numbers[tensor.F8E4M3], form.BulkOf(tensor.F8E4M3)
		return bindGlobal(s, w, f, m)
	case "mxfp8":
		f.Codes = form.Float8Row(m.cols, asm.E4M3)
	default:
		return wire.ErrUnsupported.Errorf("MLX mode %s", wire.Quote(m.mode))
	}
	return nil
}

// largestNVFP4 is the largest scale times the largest code.
const largestNVFP4 = 448 * 6

// bindGlobal binds the global scale, if there is one: MLX stores the largest magnitude of
// the matrix.
func bindGlobal(s *scheme.Set, w *scheme.Weight, f *form.Scaled, m module) error {
	name := m.stem + ".global_scale"
	if _, ok := s.Find(name); !ok && !m.global {
		return nil
	}
	global, err := s.GlobalGrid(w, name)
	if err != nil {
		return err
	}
	read := global.Read
	global.Read = func(p []byte, i int64) float32 { return read(p, i) / largestNVFP4 }
	f.Global, w.Layout = global, w.Layout+", global scale"
	return nil
}

// keys are the properties of the model, and those of single modules by their names.
var keys = []string{"bits", "group_size", "mode", "*=true|", "*.bits", "*.group_size", "*.mode", "*.quantize_input", "*.global_scale=true|"}
