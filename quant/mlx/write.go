package mlx

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/encode"
	"github.com/anamnesis-go/anamnesis/internal/jsontree"
	"github.com/anamnesis-go/anamnesis/internal/transformers"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant/scaled"
)

// Floats and Integers are the targets.
var (
	Floats = []*encode.Target{
		target(scaled.Groups{Name: "mlx_mxfp4", Layout: "MXFP4 of MLX, groups of 32", Mode: "mxfp4", Bits: 4, Size: 32, Float: true, Scale: scaled.Exponent, Rule: scaled.FloatRule}),
		target(scaled.Groups{Name: "mlx_mxfp8", Layout: "MXFP8 of MLX, groups of 32", Mode: "mxfp8", Bits: 8, Size: 32, Float: true, Scale: scaled.Exponent, Rule: scaled.FloatRule}),
		target(scaled.Groups{Name: "mlx_nvfp4", Layout: "NVFP4 of MLX, groups of 16", Mode: "nvfp4", Bits: 4, Size: 16, Float: true, Scale: scaled.Float8, Rule: scaled.FloatRule}),
	}
	Integers = integers(2, 3, 4, 5, 6, 8)
)

// tried is the target that mlx-lm was tried with.
const tried = "mlx_4"

// integers returns the targets of these widths.
func integers(bits ...int) (list []*encode.Target) {
	for _, n := range bits {
		list = append(list, target(affine(n)))
	}
	return list
}

// affine returns the format of integers of a width.
func affine(bits int) scaled.Groups {
	digit := string(rune('0' + bits))
	return scaled.Groups{Name: "mlx_" + digit, Layout: "INT" + digit + " of MLX, groups of 64", Mode: "affine", Bits: bits, Size: 64, Second: scaled.Bias, Rule: scaled.AffineRule}
}

func target(f scaled.Groups) *encode.Target {
	return &encode.Target{Name: f.Name, Library: "MLX", Groups: &f, KeepsRules: true, Start: start}
}

// encoder encodes the weights of one model.
type encoder struct {
	encode.Grouped

	rules *encode.Rules // of a model of mlx-lm; nil for a model of transformers
	casts bool          // to the type of decoded weights
	eight []string      // modules that have 8 bits
}

func start(j *encode.Job) (encode.Encoder, error) {
	e := &encoder{rules: j.Options.Rules, casts: j.Options.Casts}
	e.Plan = plan
	if e.rules != nil {
		e.Adjust = e.asModule
	}
	return e, e.Start(j)
}

// Takes decides about a tensor: embeddings and heads are quantized too, and in a model of mlx-lm
// every matrix that groups fit, also routers and stacks of experts.
func (e *encoder) Takes(name string, shape []int64) (encode.Verdict, error) {
	if e.rules != nil {
		if _, ok := e.formatOf(name, shape); ok && (e.Rule.Exclude == nil || !e.Rule.Exclude(name)) {
			return encode.EncodeIt, nil
		}
		return encode.DecodeIt, nil
	}
	also := func(why transformers.Reason) bool { return why == transformers.Embedding || why == transformers.Head }
	v, err := e.TakesAligned(name, shape, also, e.Format().Fits, "groups")
	if n := len(e.Kept); n > 0 && e.Kept[n-1].Name == name && e.Kept[n-1].Reason == transformers.Expert {
		e.Kept[n-1].Why = "expert: mlx-lm stacks them, and quantizes them in a model under its own names"
	}
	return v, err
}

// formatOf returns the format of a weight of mlx-lm's model; ok is false if it is not quantized.
func (e *encoder) formatOf(name string, shape []int64) (f scaled.Groups, ok bool) {
	f = *e.Format()
	module, isWeight := strings.CutSuffix(name, ".weight")
	switch {
	case !isWeight || len(shape) < 2 || shape[len(shape)-1]%f.Size != 0 || e.rules.Stays(module):
		return f, false
	case e.rules.Eight(module):
		return affine(8), true
	}
	return f, true
}

// asModule sets the format that mlx-lm uses for the weight's module.
func (e *encoder) asModule(t *encode.GroupedWeight) (err error) {
	f, _ := e.formatOf(t.Source.Name, t.Source.Shape)
	t.F = &f
	if module := strings.TrimSuffix(t.Source.Name, ".weight"); e.rules.Eight(module) {
		if e.eight, err = limits.Append(e.Budget, e.eight, module); err != nil {
			return err
		}
	}
	if e.casts && t.D != e.Target.Kind() {
		t.D, t.Rounds = e.Target.Kind(), true
	}
	return nil
}

// plan lists the tensors of a weight: words, scales and biases.
func plan(e *encode.GroupedWeight) error {
	p, stem, cols := &e.Parts, strings.TrimSuffix(e.Source.Name, "weight"), e.Source.Cols()
	_, scale := e.ScaleType()
	if e.F.Scale == scaled.Float8 {
		scale = tensor.U8
	}
	rows := e.Source.Shape[:len(e.Source.Shape)-1] // and those of a stack
	each := func(n int64) []int64 { return append(slices.Clone(rows), n) }
	err := errors.Join(e.Out(&p.Codes, e.Source.Name, tensor.U32, each(e.F.RowBytes(cols)/4)...), e.Out(&p.Scales, stem+"scales", scale, each(e.F.Count(cols))...))
	if e.F.Second == scaled.Bias {
		err = errors.Join(err, e.Out(&p.Seconds, stem+"biases", scale, each(e.F.Count(cols))...))
	}
	return err
}

// Members returns the members of config.json that hold the configuration: mlx-lm reads the first
// and writes both.
func (e *encoder) Members() []string { return []string{"quantization", "quantization_config"} }

// Config returns the configuration, with the modules that have another format.
func (e *encoder) Config() ([]byte, error) {
	w, f := jsontree.NewText(e.Budget), e.Format()
	w.Put("{\n  \"group_size\": ", strconv.FormatInt(f.Size, 10), ",\n  \"bits\": ", strconv.Itoa(f.Bits), ",\n  \"mode\": \"", f.Mode, "\"")
	for _, module := range e.eight {
		w.Put(",\n  ")
		w.Quote(module)
		w.Put(": {\n    \"group_size\": 64,\n    \"bits\": 8\n  }")
	}
	w.Put("\n}")
	return w.Done()
}

// Loadings returns what is known of mlx-lm.
func (e *encoder) Loadings() ([]encode.Loading, error) {
	return []encode.Loading{encode.ByMLX(e.Type, e.As.Name, tried)}, nil
}
