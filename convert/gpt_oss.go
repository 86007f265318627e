package convert

import (
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/encode"
	"github.com/anamnesis-go/anamnesis/internal/jsontree"
	"github.com/anamnesis-go/anamnesis/internal/transformers"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// ossStacks are gpt-oss's parameters of experts, [E, in, out] in transformers and [E,
// out, in] in the quantized file.
var ossStacks = []string{".mlp.experts.gate_up_proj", ".mlp.experts.down_proj"}

// ossExperts returns the module of a stack of experts.
func ossExperts(name string) (module string, ok bool) {
	for _, s := range ossStacks {
		if strings.HasSuffix(name, s) {
			return name[:strings.LastIndexByte(name, '.')], true
		}
	}
	return "", false
}

// takesOss decides about a tensor of gpt-oss: only its experts are quantized.
func (e *groupedEncoder) takesOss(name string, shape []int64) (encode.Verdict, error) {
	_, experts := ossExperts(name)
	switch {
	case experts && len(shape) == 3 && e.Rule.Exclude != nil && e.Rule.Exclude(name):
		return encode.DecodeIt, e.Keep(name, transformers.Excluded)
	case experts && len(shape) == 3 && e.Type != "gpt_oss":
		return encode.DecodeIt, e.KeepFor(name, "only config.json of a gpt_oss model says how it is laid out")
	case experts && len(shape) == 3 && (shape[0] == 0 || !e.f.Fits(shape[2], shape[1]) || shape[1] == 0 || shape[2] == 0):
		return encode.DecodeIt, e.KeepFor(name, "its rows or columns are not a whole number of groups")
	case experts && len(shape) == 3:
		return encode.EncodeIt, nil
	case len(shape) != 2 || !strings.HasSuffix(name, ".weight"):
		return encode.DecodeIt, nil
	}
	return encode.DecodeIt, e.KeepFor(name, "not a stack of experts; gpt-oss quantizes nothing else")
}

// ossConfig returns the configuration of OpenAI's files. Modules of experts that are left
// alone are added by name; both of their stacks must be left alone.
func (e *groupedEncoder) ossConfig() ([]byte, error) {
	alone := slices.Clone(ossAlone)
	for i := range e.Kept {
		module, ok := ossExperts(e.Kept[i].Name)
		if !ok || slices.Contains(alone, module) {
			continue
		}
		for k := range e.Weights {
			if err := e.Budget.Step(1); err != nil {
				return nil, err
			}
			if other, _ := ossExperts(e.Weights[k].Name); other == module {
				return nil, wire.ErrUnsupported.Errorf("%s is left alone (%s), but the other stack of its experts is not: transformers quantizes both or neither", wire.Quote(e.Kept[i].Name), e.Kept[i].Why)
			}
		}
		var err error
		if alone, err = limits.Append(e.Budget, alone, module); err != nil {
			return nil, err
		}
	}
	return ossText(e.Budget, alone)
}

// ossAlone are the modules that OpenAI's files do not quantize.
var ossAlone = []string{"model.layers.*.self_attn", "model.layers.*.mlp.router", "model.embed_tokens", "lm_head"}

// ossText returns their quantization_config.
func ossText(b *limits.Budget, alone []string) ([]byte, error) {
	w := jsontree.NewText(b)
	w.Put("{\n  \"modules_to_not_convert\": ")
	w.Names(alone)
	w.Put(",\n  \"quant_method\": \"mxfp4\"\n}")
	return w.Done()
}
