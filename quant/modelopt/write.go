package modelopt

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/encode"
	"github.com/anamnesis-go/anamnesis/internal/jsontree"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant/scaled"
)

// Rows, Matrix and Groups are the targets: a scale for each row or block, one for a matrix, and
// groups.
var (
	Rows = []*encode.Target{
		ofBlocks(scaled.Format{Name: "modelopt_fp8_channel", Layout: "FP8 E4M3 of ModelOpt, one scale per row", Code: scaled.E4M3, Rows: 1, Precision: scaled.WideAll}, "FP8_PER_CHANNEL_PER_TOKEN"),
		ofBlocks(scaled.Format{Name: "modelopt_fp8_block", Layout: "FP8 E4M3 of ModelOpt, one scale for 128 x 128", Code: scaled.E4M3, Rows: 128, Cols: 128, Precision: scaled.WideAll}, "FP8_PB_WO"),
	}
	Matrix = []*encode.Target{
		ofGroups(scaled.Groups{Name: "modelopt_fp8", Layout: "FP8 E4M3 of ModelOpt, one scale per matrix", Wide: true, Bits: 8, Float: true, Scale: scaled.Nothing, Global: true, Rule: scaled.WholeRule}, "FP8"),
	}
	Groups = []*encode.Target{
		ofGroups(scaled.Groups{Name: "modelopt_nvfp4", Layout: "NVFP4 of ModelOpt, groups of 16", Bits: 4, Size: 16, Float: true, Scale: scaled.Float8, Global: true, Rule: scaled.MultipliedRule}, "W4A16_NVFP4"),
		ofGroups(scaled.Groups{Name: "modelopt_mxfp8", Layout: "MXFP8 of ModelOpt, groups of 32", Bits: 8, Size: 32, Float: true, Scale: scaled.Exponent, Rule: scaled.LogarithmRule}, "MXFP8"),
	}
)

// row returns the common part of the targets, which servers know by the name of an algorithm.
func row(name, algo string) *encode.Target {
	return &encode.Target{Name: name, Library: "ModelOpt", Fuses: true, Served: encode.Served{
		Transformers: "it does not know ModelOpt's method, and ignores the scales", Method: "modelopt", VLLM: algo, SGLang: algo,
	}}
}

func ofBlocks(f scaled.Format, algo string) *encode.Target {
	t := row(f.Name, algo)
	t.Scaled, t.Start = &f, startBlocks
	return t
}

func ofGroups(f scaled.Groups, algo string) *encode.Target {
	t := row(f.Name, algo)
	t.Groups, t.Start = &f, startGroups
	return t
}

// Encoders of the weights of one model: rows has a scale for each row or block, grouped one for
// each group or for the whole weight.
type (
	rows    struct{ encode.Scaled }
	grouped struct{ encode.Grouped }
)

func startBlocks(j *encode.Job) (encode.Encoder, error) {
	e := &rows{}
	e.Names = func(weight string, lines, per int64) (codes, scales string, shape []int64) {
		if shape = []int64{lines}; j.Target.Scaled.Cols > 0 {
			shape = []int64{lines, 1, per, 1}
		}
		return weight, weight + "_scale", shape
	}
	if err := e.Start(j); err != nil {
		return nil, err
	}
	e.Leaves, e.Leaver = leaves, j.Target.Library
	return e, nil
}

func startGroups(j *encode.Job) (encode.Encoder, error) {
	e := &grouped{}
	e.Plan = plan
	if err := e.Start(j); err != nil {
		return nil, err
	}
	e.Leaves, e.Leaver = leaves, j.Target.Library
	return e, nil
}

// plan lists the tensors of a weight.
func plan(e *encode.GroupedWeight) error {
	rows, cols := e.Source.Rows(), e.Source.Cols()
	p, name := &e.Parts, e.Source.Name
	if e.F.Size == 0 {
		return errors.Join(e.Out(&p.Codes, name, tensor.F8E4M3, rows, cols), e.Out(&p.Over, name+"_scale", tensor.F32))
	}
	_, scale := e.ScaleType()
	if e.F.Global {
		return errors.Join(e.Out(&p.Codes, name, tensor.U8, rows, cols/2), e.Out(&p.Scales, name+"_scale", scale, rows, e.F.Count(cols)), e.Out(&p.Over, name+"_scale_2", tensor.F32))
	}
	return errors.Join(e.Out(&p.Codes, name, tensor.F8E4M3, rows, cols), e.Out(&p.Scales, name+"_scale", scale, rows, e.F.Count(cols)))
}

// Config returns the configuration, which names the algorithm alone.
func (e *rows) Config() ([]byte, error) {
	return text(&e.Linear, map[bool]string{true: "FP8_PER_CHANNEL_PER_TOKEN", false: "FP8_PB_WO"}[e.Format().Rows == 1], "")
}

// Config returns a configuration with one group. Inputs of 8-bit layers are quantized in the
// same groups at run time.
func (e *grouped) Config() ([]byte, error) {
	f := e.Format()
	size := ""
	if f.Size > 0 {
		size = "        \"group_size\": " + strconv.FormatInt(f.Size, 10) + ",\n"
	}
	arguments := "{\n        \"dynamic\": false,\n" + size + "        \"num_bits\": " + strconv.Itoa(f.Bits) + ",\n        \"type\": \"float\"\n      }"
	algo, activations := "W4A16_NVFP4", ""
	if f.Bits == 8 {
		algo, activations = "MXFP8", "      \"input_activations\": "+arguments+",\n"
	}
	if f.Size == 0 {
		algo = "FP8"
	}
	groups := "  \"config_groups\": {\n    \"group_0\": {\n" + activations + "      \"targets\": [\n        \"Linear\"\n      ],\n      \"weights\": " + arguments + "\n    }\n  },\n"
	return text(&e.Linear, algo, groups)
}

// text returns the common part of the configurations.
func text(e *encode.Linear, algo, groups string) ([]byte, error) {
	ignored, err := e.Ignored()
	if err != nil {
		return nil, err
	}
	w := jsontree.NewText(e.Budget)
	w.Put("{\n", groups, "  \"ignore\": ")
	w.Names(ignored)
	w.Put(",\n  \"producer\": {\n    \"name\": \"modelopt\"\n  },\n  \"quant_algo\": \"", algo, "\",\n  \"quant_method\": \"modelopt\"\n}")
	return w.Done()
}

// parts and begins are what ModelOpt 0.47 leaves alone in each of its formats, by
// the names of modules (its default_disabled_quantizers.yaml): parts of a name that a "." ends are
// whole modules. Its list of convolutions is not needed, which are no matrices.
var (
	parts = []string{
		"block_sparse_moe.gate", "mlp.gate.", "mlp.shared_expert_gate.", "router", // what chooses experts
		"linear_attn.in_proj_a", "linear_attn.in_proj_b", // decay and rate of Qwen3-Next's linear attention
		"lm_head", "output_layer", "proj_out.",
		"embed_vision", "vision_tower", "visual", "vision_model", "multi_modal_projector",
	}
	begins = []string{"mtp.", "output."}
)

// leaves reports a weight that ModelOpt leaves alone.
func leaves(name string) bool {
	in := func(part string) bool { return strings.Contains(name, part) }
	starts := func(part string) bool { return strings.HasPrefix(name, part) }
	return slices.ContainsFunc(parts, in) || slices.ContainsFunc(begins, starts)
}
