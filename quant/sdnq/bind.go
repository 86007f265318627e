package sdnq

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/anamnesis-go/anamnesis/asm"
	"github.com/anamnesis-go/anamnesis/internal/config"
	"github.com/anamnesis-go/anamnesis/internal/form"
	"github.com/anamnesis-go/anamnesis/internal/jsontree"
	"github.com/anamnesis-go/anamnesis/internal/scheme"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

var Scheme = scheme.Scheme{
	Name: "SDNQ", Stores: "2 to 8 bits with and without zero points, FP8; groups, Hadamard rotation, SVD", Oracle: "sdnq in float64",
	Goldens: []string{"sdnq-*"}, Bind: bind,
	Declares: scheme.ByMethod, Priority: 1,
	Methods: []scheme.Method{{Name: "sdnq", Known: keys}},
	Mains:   []scheme.Main{{Codes: ".weight", Parts: []string{".scale", ".zero_point", ".svd_up", ".svd_down"}}},
	Scales:  []string{".scale", ".zero_point"},
}

// bind binds matrices by the names of their modules; the configuration has everything
// that the shapes leave open.
func bind(s *scheme.Set, info *tensor.Info) (*scheme.Weight, error) {
	stem, ok := scheme.Suffix(info, ".weight")
	if !ok {
		return nil, nil
	}
	scales, ok := s.Find(stem + ".scale")
	if !ok {
		return nil, nil
	}
	c, err := moduleOf(s, info.Name)
	if err != nil {
		return nil, err
	}
	f := &form.Units{}
	signed, err := c.codes(f, info)
	if err != nil {
		return nil, err
	}
	w := &scheme.Weight{Name: info.Name, Parts: []tensor.Info{*info}}
	if err := c.shape(w, f, scales); err != nil {
		return nil, err
	}
	for i, part := range []string{".scale", ".zero_point"} {
		p, ok := s.Find(stem + part)
		switch {
		case i == 1 && signed && !ok:
			continue
		case !ok || i == 1 && signed:
			return nil, wire.ErrMismatch.Errorf("%s says weights_dtype %s: all unsigned types have %s, and no signed one", s.Config.File, wire.Quote(c.dtype), wire.Quote(stem+part))
		case p.DType != tensor.F32 && p.DType != tensor.F16 && p.DType != tensor.BF16 || !scheme.Shaped(p.Shape, scales.Shape):
			return nil, scheme.Mismatch(info, p)
		}
		w.Parts = append(w.Parts, *p)
		if i == 0 {
			f.Scale = form.FactorOf(p.DType)
		} else {
			f.Zero = form.FactorOf(p.DType)
		}
	}
	w.Form = f
	return w, c.rest(s, w, stem)
}

// module is the configuration of one module.
type module struct {
	own, all jsontree.Value
	dtype    string
}

func (c *module) get(key string) jsontree.Value { return config.First(c.own.Get(key), c.all.Get(key)) }

// moduleOf resolves the configuration for a weight as the library does.
func moduleOf(s *scheme.Set, name string) (*module, error) {
	c := &module{all: s.Config.Quant}
	modules := c.all.Within("modules_quant_config")
	for _, pattern := range modules.Names() {
		is, err := matches(s, pattern, name)
		if err != nil {
			return nil, err
		}
		if is {
			c.own = modules.Within(pattern)
			break
		}
	}
	c.dtype = c.get("weights_dtype").String()
	if c.dtype == "" {
		c.dtype = "int8"
	}
	types := c.all.Within("modules_dtype_dict")
	for _, dtype := range types.Names() {
		for _, v := range types.Get(dtype).List() {
			pattern := v.String()
			is, err := matches(s, pattern, name)
			if err != nil {
				return nil, err
			}
			if !is {
				continue
			}
			if lowest := strings.ToLower(dtype); strings.HasPrefix(lowest, "minimum") || strings.HasSuffix(lowest, "bit") || strings.HasSuffix(lowest, "bits") {
				return nil, wire.ErrUnsupported.Errorf("%s says %s of modules_dtype_dict: sdnq can save the model unquantized", s.Config.File, wire.Quote(dtype))
			}
			c.dtype = strings.ToLower(dtype)
			return c, c.refuse()
		}
	}
	return c, c.refuse()
}

// matches reports whether a pattern matches a weight: its name, a part between dots, a
// prefix after a dot, or an expression with stars.
func matches(s *scheme.Set, pattern, name string) (bool, error) {
	if err := s.Budget.Step(int64(len(name) + len(pattern))); err != nil {
		return false, err
	}
	if rest, ok := strings.CutPrefix(pattern, "."); ok {
		return strings.HasPrefix(name, rest), nil
	}
	if name == pattern || strings.Contains("."+name+".", "."+pattern+".") && !strings.Contains(pattern, ".") {
		return true, nil
	}
	if !strings.Contains(pattern, "*") {
		return false, nil
	}
	at, err := s.Place("^(?:"+strings.ReplaceAll(strings.ReplaceAll(pattern, ".*", `\.*`), "*", ".*")+")", name)
	return at == 0, err
}

// refuse refuses settings that are not decoded.
func (c *module) refuse() error {
	for _, key := range []string{"use_codebook", "use_codebook_scale"} {
		if c.get(key).True() {
			return wire.ErrUnsupported.Errorf("SDNQ's %s: sdnq can save the model unquantized", key)
		}
	}
	for _, key := range []string{"scale_dtype", "zero_point_dtype"} {
		if v := c.get(key).String(); v != "" && v != "none" {
			return wire.ErrUnsupported.Errorf("SDNQ's %s %s: sdnq can save the model unquantized", key, wire.Quote(v))
		}
	}
	return nil
}

// codes sets how a code is read, and returns whether it has a sign.
func (c *module) codes(f *form.Units, info *tensor.Info) (signed bool, err error) {
	if codec, ok := form.Float8Of(info.DType); ok {
		if c.dtype != map[asm.Float]string{asm.E4M3: "float8_e4m3fn", asm.E5M2: "float8_e5m2"}[codec] {
			return false, wire.ErrMismatch.Errorf("weights_dtype %s, stored as %s", wire.Quote(c.dtype), info.TypeName())
		}
		f.Unit, f.Code = form.UnitOf[8], func(p []byte, i int64) float32 { return codec.Value(p[i]) }
		return true, nil
	}
	text, unsigned := strings.CutPrefix(c.dtype, "u")
	text, ok := strings.CutPrefix(text, "int")
	bits, _ := strconv.ParseInt(text, 10, 64)
	unit, known := form.UnitOf[bits]
	if !ok || !known {
		return false, wire.ErrUnsupported.Errorf("SDNQ's weights_dtype %s: sdnq can save the model unquantized", wire.Quote(c.dtype))
	}
	want := tensor.U8
	if bits == 8 && !unsigned {
		want = tensor.I8
	}
	if info.DType != want {
		return false, wire.ErrMismatch.Errorf("weights_dtype %s, stored as %s", wire.Quote(c.dtype), info.TypeName())
	}
	f.Unit = unit
	read := form.UnitCode(bits)
	switch {
	case want == tensor.I8:
		f.Code = form.Numbers[tensor.I8]
	case unsigned:
		f.Code = func(p []byte, i int64) float32 { return float32(read(p, i)) }
	default:
		f.Code = func(p []byte, i int64) float32 { return float32(int32(read(p, i)) - 1<<(bits-1)) }
	}
	return !unsigned, nil
}

// shape computes rows, columns and groups; the scales have a row for each row.
func (c *module) shape(w *scheme.Weight, f *form.Units, scales *tensor.Info) error {
	info := &w.Parts[0]
	n := info.Elements()
	if f.Unit.Codes > 1 {
		if n%f.Unit.Bytes != 0 {
			return scheme.Mismatch(info, scales)
		}
		n = n / f.Unit.Bytes * f.Unit.Codes
	}
	have := scales.Shape
	if len(have) < 2 || len(have) > 3 || have[len(have)-1] != 1 {
		return wire.ErrUnsupported.Errorf("%s of shape %v: SDNQ's convolutions, and weights stored for integer matrix products (use_quantized_matmul)",
			wire.Quote(scales.Name), have)
	}
	rows, groups := have[0], int64(1)
	if len(have) == 3 {
		groups = have[1]
	}
	stored := []int64{rows, groups, n / max(1, rows*groups)}
	if len(have) == 2 {
		stored = []int64{rows, n / max(1, rows)}
	}
	one := len(have) == 2 && scales.Elements() == 1
	switch {
	case one && f.Unit.Codes > 1:
		return wire.ErrUnsupported.Errorf("%s with one scale: the shape of packed codes is not in the file", wire.Quote(scales.Name))
	case one && len(info.Shape) == 2:
		rows, groups = info.Shape[0], 0
	case rows*groups == 0 || n%(rows*groups) != 0 || f.Unit.Codes == 1 && !scheme.Shaped(info.Shape, stored):
		return scheme.Mismatch(info, scales)
	}
	f.Cols, f.Groups = n/rows, groups
	w.Shape = []int64{rows, f.Cols}
	w.Layout = c.dtype
	if groups > 1 {
		w.Layout += fmt.Sprintf(", groups of %d", f.Cols/groups)
	}
	return nil
}

// rest adds the product of low rank and the rotation.
func (c *module) rest(s *scheme.Set, w *scheme.Weight, stem string) error {
	_, up := s.Find(stem + ".svd_up")
	_, down := s.Find(stem + ".svd_down")
	if up || down {
		if err := s.LowRank(w, stem+".svd_up", stem+".svd_down"); err != nil {
			return err
		}
		w.Layout += ", SVD"
	}
	if !c.get("use_hadamard").True() {
		return nil
	}
	size := int64(256)
	n, ok, err := s.Number("hadamard_group_size", c.get("hadamard_group_size"))
	if err != nil {
		return err
	}
	if ok {
		if n < 1 || n&(n-1) != 0 {
			return wire.ErrMismatch.Errorf("hadamard_group_size %d, which is not a power of two", n)
		}
		size = n
	}
	// The largest power of two that divides the columns.
	run := int64(1)
	for run < min(size, w.Shape[1]) {
		run *= 2
	}
	for w.Shape[1]%run != 0 {
		run /= 2
	}
	if run < 4 {
		return nil
	}
	w.Layout += fmt.Sprintf(", rotated by %d", run)
	return scheme.Rotate(w, run)
}

// keys are all of SDNQConfig's. Settings for training and matrix products do not
// affect the weights.
var keys = []string{
	"weights_dtype", "scale_dtype", "zero_point_dtype", "quantized_matmul_dtype", "hadamard_group_size", "group_size", "svd_rank", "svd_steps", "codebook_steps",
	"dynamic_loss_threshold", "use_svd", "use_hadamard", "use_codebook", "use_codebook_scale", "use_grad_ckpt", "quant_conv", "quant_embedding", "use_quantized_matmul",
	"use_quantized_matmul_conv", "use_static_quantization", "use_dynamic_quantization", "use_stochastic_rounding", "dequantize_fp32", "non_blocking", "add_skip_keys",
	"minimum_allowed_numel", "minimum_allowed_channel_size", "modules_to_not_use_matmul", "modules_dtype_dict", "modules_dtype_dict.*", "modules_quant_config",
	"modules_quant_config.**", "quantization_device", "return_device", "sdnq_version", "is_training?", "is_integer", "is_unsigned",
}
