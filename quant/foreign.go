package quant

import (
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/config"
	"github.com/anamnesis-go/anamnesis/internal/jsontree"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A foreign scheme is known but not decoded.
type foreign struct {
	name, remedy string // what it is, and who can convert it
	tensors      []pair // the tensors of its models
	formats      []string
	names        []string                    // suffixes that only its models have; such tensors may hold codes in any type
	modules      []string                    // suffixes of companions, after the name of the module
	says         func(q jsontree.Value) bool // whether the configuration is of this scheme
}

// A pair is the suffixes of a main tensor and of a companion that must exist. is, if set,
// must hold as well.
type pair struct {
	main, companion string
	when            func(main, companion *tensor.Info) bool
}

const (
	unquantized  = "start from the unquantized model"
	uncompressed = "start from the model before compression"
	fromGPTQ     = "start from the GPTQ model that it was made of"
)

// foreigners are the refused schemes. methods are their quant_method, or the format of a
// checkpoint.
var foreigners = []*foreign{
	{name: "EXL3", remedy: "exllamav3 can export it", tensors: []pair{{main: ".trellis", companion: ".suh"}, {main: ".trellis", companion: ".su"}},
		formats: []string{"exl3"}, names: []string{".trellis"}},
	{name: "EXL2", remedy: "exllamav2 can dequantize it", tensors: []pair{{main: ".q_weight", companion: ".q_scale_max"}}, formats: []string{"exl2"}},
	{name: "AQLM", remedy: "the aqlm package can dequantize it", tensors: []pair{{main: ".codes", companion: ".codebooks"}},
		formats: []string{"aqlm"}, names: []string{".codes"}},
	{name: "VPTQ", remedy: "the vptq package can dequantize it", tensors: []pair{{main: ".indices", companion: ".centroids.weight"}},
		formats: []string{"vptq"}, names: []string{".indices"}},
	{name: "QuIP#", remedy: "quip-sharp can dequantize it", tensors: []pair{{main: ".Qidxs", companion: ".SU"}}, formats: []string{"quip"}, names: []string{".Qidxs"}},
	{name: "SpQR", remedy: "the spqr package can dequantize it", tensors: []pair{{main: ".dense_weights", companion: ".in_perm"}},
		formats: []string{"spqr"}, names: []string{".dense_weights"}},
	{name: "SVDQuant", remedy: unquantized, tensors: []pair{{main: ".qweight", companion: ".proj_down"}}, formats: []string{"nunchaku_lite", "svdquant"}, names: []string{".qweight"}, modules: []string{".wscales"}},
	{name: "NVFP4 with SVD", remedy: "modelopt can dequantize it", tensors: []pair{{main: ".weight", companion: ".svdquant_lora_a"}}},
	{name: "Marlin", remedy: fromGPTQ, tensors: []pair{{main: ".B", companion: ".s"}}, formats: []string{"marlin"}},
	{name: "Marlin 2:4", remedy: uncompressed, tensors: []pair{{main: ".weight_packed", companion: ".meta"}, {main: ".weight_packed", companion: ".scale_packed"}}},
	{name: "EETQ", remedy: unquantized, tensors: []pair{{main: ".weight", companion: ".weight_scales"}}, formats: []string{"eetq"}},
	{name: "HIGGS", remedy: "transformers can dequantize it: model.dequantize()", tensors: []pair{{main: ".weight", companion: ".tables2"}},
		formats: []string{"higgs"}, names: []string{".tables2"}},
	{name: "FP-Quant", remedy: unquantized, tensors: []pair{{main: ".qweight", companion: ".dqweight"}, {main: ".qweight", companion: ".forward_hadamard_matrix"}},
		formats: []string{"fp_quant"}, names: []string{".qweight"}},
	{name: "SINQ", remedy: unquantized, tensors: []pair{{main: ".W_q", companion: ".meta"}}, formats: []string{"sinq"}},
	{name: "MXFP6", remedy: "compressed-tensors can decompress it", tensors: []pair{{main: ".weight_packed", companion: ".weight_scale", when: sixBits}}},
	{name: "Quark's packed integers", remedy: "amd-quark can export it unquantized", tensors: []pair{{main: ".weight", companion: ".weight_scale", when: quarkWords}}},
	{name: "Four Over Six", remedy: unquantized, formats: []string{"fouroversix"}},
	{name: "GPTQModel's planar GPTQ", remedy: "gptqmodel can dequantize it", formats: []string{"gptq_p"}},
	{name: "BitBLAS", remedy: fromGPTQ, formats: []string{"bitblas"}},
	{name: "Humming", remedy: unquantized, formats: []string{"humming"}},
	{name: "GGUF blocks of other files", remedy: "gptqmodel can dequantize it", formats: []string{"gguf"}},
	{name: "QQQ", remedy: "gptqmodel can dequantize it", tensors: []pair{{main: ".B", companion: ".s_channel"}, {main: ".qweight", companion: ".s_channel"}}, formats: []string{"qqq"}},
	{name: "ParoQuant", remedy: "the paroquant package can load it", tensors: []pair{{main: ".qweight", companion: ".theta"}, {main: ".qweight", companion: ".channel_scales"}},
		formats: []string{"paroquant"}},
	{name: "ModelSlim", remedy: unquantized, tensors: []pair{{main: ".weight", companion: ".weight_offset"}, {main: ".weight", companion: ".deq_scale"}}, formats: []string{"ascend"}},
	{name: "AutoRound's rotation", remedy: unquantized, says: func(q jsontree.Value) bool {
		return config.Says(q.Get("rotation_config")) != "" || config.Says(q.Get("rotation_configs")) != ""
	}},
	{name: "Quark's rotation", remedy: unquantized, says: quarkRotates},
	{name: "NVFP4 with E5M3 scales", remedy: "auto-round can load it", formats: []string{"auto_round:llm_compressor_nvfp4_e5m3"}},
}

// sixBits reports whether main packs four 6-bit codes into three bytes, with a scale for
// 32 codes.
func sixBits(main, scale *tensor.Info) bool {
	if main.DType != tensor.U8 || len(main.Shape) < 2 || len(scale.Shape) != len(main.Shape) {
		return false
	}
	last := len(main.Shape) - 1
	return scale.DType == tensor.U8 && main.Shape[last]*4 == scale.Shape[last]*32*3
}

func quarkWords(main, _ *tensor.Info) bool { return main.DType == tensor.I32 }

// quarkRotates reports whether the configuration has an algorithm of Quark that
// multiplies inputs by a matrix at run time, so that the weights alone are not the
// model's.
func quarkRotates(q jsontree.Value) bool {
	list := append(slices.Clone(q.Get("algo_config").List()), q.Get("algo_config"))
	return slices.ContainsFunc(list, func(v jsontree.Value) bool {
		name := v.Get("name").String()
		return name == "rotation" || name == "quarot" || name == "svdquant"
	})
}

// refuse refuses a tensor of a scheme that is not decoded: its codes would otherwise be
// copied as if they were weights.
func (s *set) refuse(info *tensor.Info) error {
	if floats[info.DType] {
		return nil
	}
	for _, f := range foreigners {
		for _, p := range f.tensors {
			stem, ok := strings.CutSuffix(info.Name, p.main)
			if !ok {
				continue
			}
			companion, ok := s.Find(stem + p.companion)
			if ok && (p.when == nil || p.when(info, companion)) {
				return wire.ErrUnsupported.Errorf("the scheme %s: %s", f.name, f.remedy)
			}
		}
	}
	if !s.Table.HoldsCodes(info) || s.Table.IsScale(info.Name) || s.Model.Format() == "gguf" {
		return nil
	}
	for _, f := range foreigners {
		if f.says != nil && f.says(s.Config.Quant) {
			return wire.ErrUnsupported.Errorf("%s (%s): %s", f.name, s.Config.File, f.remedy)
		}
	}
	for _, key := range []string{"quant_method", "checkpoint_format", "format", "packing_format"} {
		said := s.Config.Quant.Get(key).String()
		for _, f := range foreigners {
			if slices.Contains(f.formats, said) {
				return wire.ErrUnsupported.Errorf("the scheme %s (%s in %s): %s", f.name, key, s.Config.File, f.remedy)
			}
		}
	}
	return nil
}

// floats are the types of unquantized weights, in which no refused scheme stores codes.
var floats = map[tensor.DType]bool{tensor.F16: true, tensor.BF16: true, tensor.F32: true, tensor.F64: true}
