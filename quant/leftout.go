package quant

import (
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// activationScales are companions that say how a runtime quantizes what goes
// into a module. The numbers of the weight do not depend on them.
var activationScales = []string{
	".input_scale", ".input_scale_inv", ".input_global_scale", ".input_zero_point", ".activation_scale", ".scale_input",
	".input_activation_scale", ".output_activation_scale", ".output_scale",
}

// cacheScales are those of the attention's cache.
var cacheScales = []string{".k_cache_scale", ".v_cache_scale", ".k_scale", ".v_scale", ".q_scale", ".prob_output_scale"}

// explained reports a tensor that only makes sense beside quantized weights:
// loaders of the unquantized model stop at it. A tensor that merely has such a
// name stays.
func (s *set) explained(info *tensor.Info, bound *nameList) bool {
	for _, suffix := range activationScales {
		if module, ok := strings.CutSuffix(info.Name, suffix); ok {
			return bound.has(module + ".weight")
		}
	}
	if module, ok := strings.CutSuffix(info.Name, "_input_scale"); ok && bound.has(module) {
		return true // of ModelOpt's fused experts
	}
	for _, suffix := range cacheScales {
		if strings.HasSuffix(info.Name, suffix) {
			return s.quantizesCache()
		}
	}
	return s.sentinel(info)
}

// quantizesCache reports a configuration that gives the cache scales.
func (s *set) quantizesCache() bool {
	q := s.config.quant
	return s.config.method() == "gemma" || q.get("kv_cache_quant_config") != nil || q.get("kv_cache_scheme") != nil || q.text("kv_cache_quant_algo") != "" || q.text("kv_cache_dtype") != ""
}

// sentinel reports ComfyUI's mark that a file's weights are scaled.
func (s *set) sentinel(info *tensor.Info) bool {
	_, isFP8 := fp8Codec(info.DType)
	return isFP8 && info.Elements() <= 2 && (info.Name == "scaled_fp8" || strings.HasSuffix(info.Name, ".scaled_fp8"))
}

// A nameList is the names of the weights that are bound.
type nameList struct{ sorted []string }

func (n *nameList) has(name string) bool {
	_, ok := slices.BinarySearch(n.sorted, name)
	return ok
}

func (o *Bound) weightNames(b *limits.Budget) (*nameList, error) {
	names, err := limits.Make[string](b, len(o.Weights))
	if err != nil {
		return nil, err
	}
	for i, w := range o.Weights {
		names[i] = w.Name
	}
	slices.Sort(names)
	return &nameList{names}, nil
}

// packedNames end the names of tensors that hold codes and nothing else, and
// say what follows the module's name where their scales are called.
var packedNames = []struct{ codes, scales string }{
	{".qweight", ".scales"}, {".weight_packed", ".weight_scale"}, {".W_q", ".scale"}, {"_qdata", "_scale"},
	{".comfy_quant", ".weight"}, {"_proj_blocks", "_proj_scales"},
}

// codeTypes are those that codes are kept in and honest weights are not.
var codeTypes = []tensor.DType{tensor.U8, tensor.I8, tensor.I32, tensor.U32}

// companions are what a weight of codes has beside it, after its own name or
// after that of its module.
var (
	moduleCompanions = []string{".weight_scale", ".scales", ".SCB", ".scale", ".scale_weight", ".wscales", ".biases"}
	weightCompanions = []string{
		".absmax", ".quant_map", "_absmax", "_quant_map", "_scb", "_scale", "_scale_inv", "_scale_2", "_scales", "_weight_scale", "_zero_point", "_zeros",
	}
)

// unexplained refuses codes that no row of the table has bound: copied as they
// are, they would look like weights.
func (s *set) unexplained(info *tensor.Info) error {
	for _, n := range packedNames {
		stem, ok := strings.CutSuffix(info.Name, n.codes)
		if !ok {
			continue
		}
		if _, ok := s.find(stem + n.scales); !ok {
			return wire.ErrMissing.With("its companion %s", wire.Quote(stem+n.scales))
		}
		return wire.ErrUnsupported.With("%s of shape %v holds codes that no scheme here explains", info.TypeName(), info.Shape)
	}
	if !slices.Contains(codeTypes, info.DType) || isScale(info.Name) {
		return nil
	}
	stem, isWeight := strings.CutSuffix(info.Name, ".weight")
	for i, companion := range slices.Concat(weightCompanions, moduleCompanions) {
		name := info.Name
		if i >= len(weightCompanions) {
			if name = stem; !isWeight {
				break
			}
		}
		if scale, ok := s.find(name + companion); ok {
			return wire.ErrUnsupported.With("%s of shape %v beside %s of %s %v: no scheme here explains them",
				info.TypeName(), info.Shape, wire.Quote(scale.Name), scale.TypeName(), scale.Shape)
		}
	}
	return nil
}
