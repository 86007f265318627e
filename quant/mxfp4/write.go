package mxfp4

import (
	"errors"
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/encode"
	"github.com/anamnesis-go/anamnesis/internal/jsontree"
	"github.com/anamnesis-go/anamnesis/internal/scheme"
	"github.com/anamnesis-go/anamnesis/internal/transformers"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant/scaled"
)

// Targets are OpenAI's own files of gpt-oss, of which only the experts are quantized.
var Targets = []*encode.Target{{
	Name: "gpt_oss", Library: "OpenAI", Groups: &groups, Served: encode.Served{Method: "gpt_oss_mxfp4"}, Start: start,
}}

var groups = scaled.Groups{Name: "gpt_oss", Layout: "MXFP4 of gpt-oss, groups of 32", Bits: 4, Size: 32, Float: true, Scale: scaled.Exponent, Bfloat: true, Rule: scaled.UpwardRule}

// encoder encodes the weights of one model.
type encoder struct{ encode.Grouped }

func start(j *encode.Job) (encode.Encoder, error) {
	e := &encoder{}
	e.Plan, e.Adjust = plan, turned
	return e, e.Start(j)
}

// turned reads the transpose of a weight, whose codes are packed along the inputs.
func turned(e *encode.GroupedWeight) (err error) {
	e.Source, err = scheme.Transpose(e.Source)
	return err
}

// plan lists the tensors of a weight.
func plan(e *encode.GroupedWeight) error {
	p, name, shape := &e.Parts, e.Source.Name, e.Source.Shape
	_, scale := e.ScaleType()
	count := e.F.Count(e.Source.Cols())
	return errors.Join(e.Out(&p.Codes, name+"_blocks", tensor.U8, shape[0], shape[1], count, e.F.Size/2), e.Out(&p.Scales, name+"_scales", scale, shape[0], shape[1], count))
}

// Blocks returns the quantization_config of a model whose blocks are moved from another file.
func Blocks(b *limits.Budget) ([]byte, error) { return configText(b, alone) }

// stacks are gpt-oss's parameters of experts, [E, in, out] in transformers and [E,
// out, in] in the quantized file.
var stacks = []string{".mlp.experts.gate_up_proj", ".mlp.experts.down_proj"}

// moduleOf returns the module of a stack of experts.
func moduleOf(name string) (module string, ok bool) {
	for _, s := range stacks {
		if strings.HasSuffix(name, s) {
			return name[:strings.LastIndexByte(name, '.')], true
		}
	}
	return "", false
}

// Takes decides about a tensor of gpt-oss: only its experts are quantized.
func (e *encoder) Takes(name string, shape []int64) (encode.Verdict, error) {
	_, experts := moduleOf(name)
	switch {
	case experts && len(shape) == 3 && e.Rule.Exclude != nil && e.Rule.Exclude(name):
		return encode.DecodeIt, e.Keep(name, transformers.Excluded)
	case experts && len(shape) == 3 && e.Type != "gpt_oss":
		return encode.DecodeIt, e.KeepFor(name, "only config.json of a gpt_oss model says how it is laid out")
	case experts && len(shape) == 3 && (shape[0] == 0 || !e.Format().Fits(shape[2], shape[1]) || shape[1] == 0 || shape[2] == 0):
		return encode.DecodeIt, e.KeepFor(name, "its rows or columns are not a whole number of groups")
	case experts && len(shape) == 3:
		return encode.EncodeIt, nil
	case len(shape) != 2 || !strings.HasSuffix(name, ".weight"):
		return encode.DecodeIt, nil
	}
	return encode.DecodeIt, e.KeepFor(name, "not a stack of experts; gpt-oss quantizes nothing else")
}

// Config returns the configuration of OpenAI's files. Modules of experts that are left
// alone are added by name; both of their stacks must be left alone.
func (e *encoder) Config() ([]byte, error) {
	names := slices.Clone(alone)
	for i := range e.Kept {
		module, ok := moduleOf(e.Kept[i].Name)
		if !ok || slices.Contains(names, module) {
			continue
		}
		for k := range e.Weights {
			if err := e.Budget.Step(1); err != nil {
				return nil, err
			}
			if other, _ := moduleOf(e.Weights[k].Name); other == module {
				return nil, wire.ErrUnsupported.Errorf("%s is left alone (%s), but the other stack of its experts is not: transformers quantizes both or neither", wire.Quote(e.Kept[i].Name), e.Kept[i].Why)
			}
		}
		var err error
		if names, err = limits.Append(e.Budget, names, module); err != nil {
			return nil, err
		}
	}
	return configText(e.Budget, names)
}

// alone are the modules that OpenAI's files do not quantize.
var alone = []string{"model.layers.*.self_attn", "model.layers.*.mlp.router", "model.embed_tokens", "lm_head"}

// configText returns their quantization_config.
func configText(b *limits.Budget, names []string) ([]byte, error) {
	w := jsontree.NewText(b)
	w.Put("{\n  \"modules_to_not_convert\": ")
	w.Names(names)
	w.Put(",\n  \"quant_method\": \"mxfp4\"\n}")
	return w.Done()
}
