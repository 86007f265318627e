package quant

import (
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// refused are the schemes that are known and not decoded: the suffix of a main
// tensor, a companion that must be there too, who can convert it, and where
// names and that do not tell, what else must hold.
var refused = [...]struct {
	main, companion, name, remedy string
	when                          func(main, companion *tensor.Info) bool
}{
	{main: ".trellis", companion: ".suh", name: "EXL3", remedy: "exllamav3 can export it"},
	{main: ".trellis", companion: ".su", name: "EXL3", remedy: "exllamav3 can export it"},
	{main: ".q_weight", companion: ".q_scale_max", name: "EXL2", remedy: "exllamav2 can dequantize it"},
	{main: ".codes", companion: ".codebooks", name: "AQLM", remedy: "the aqlm package can dequantize it"},
	{main: ".indices", companion: ".centroids.weight", name: "VPTQ", remedy: "the vptq package can dequantize it"},
	{main: ".Qidxs", companion: ".SU", name: "QuIP#", remedy: "quip-sharp can dequantize it"},
	{main: ".dense_weights", companion: ".in_perm", name: "SpQR", remedy: "the spqr package can dequantize it"},
	{main: ".qweight", companion: ".proj_down", name: "SVDQuant", remedy: unquantized},
	{main: ".weight", companion: ".svdquant_lora_a", name: "NVFP4 with SVD", remedy: "modelopt can dequantize it"},
	{main: ".B", companion: ".s", name: "Marlin", remedy: "start from the GPTQ model that it was made of"},
	{main: ".weight_packed", companion: ".meta", name: "Marlin 2:4", remedy: "start from the model before compression"},
	{main: ".weight_packed", companion: ".scale_packed", name: "Marlin 2:4", remedy: "start from the model before compression"},
	{main: "._data", companion: "._scale", name: "quanto", remedy: "optimum-quanto can dequantize it"},
	{main: "._data._data", companion: "._scale", name: "quanto", remedy: "optimum-quanto can dequantize it"},
	{main: ".weight", companion: ".weight_scales", name: "EETQ", remedy: unquantized},
	{main: ".weight", companion: ".tables2", name: "HIGGS", remedy: "transformers can dequantize it: model.dequantize()"},
	{main: ".qweight", companion: ".dqweight", name: "FP-Quant", remedy: unquantized},
	{main: ".qweight", companion: ".forward_hadamard_matrix", name: "FP-Quant", remedy: unquantized},
	{main: ".W_q", companion: ".meta", name: "SINQ", remedy: unquantized},
	{main: ".weight_packed", companion: ".weight_scale", name: "MXFP6", remedy: "compressed-tensors can decompress it", when: sixBits},
	{main: ".weight", companion: ".weight_scale", name: "Quark's packed integers", remedy: "amd-quark can export it unquantized", when: quarkWords},
}

const unquantized = "start from the unquantized model"

// refusedFormats are what a configuration calls such schemes: its quant_method,
// or the format of a checkpoint.
var refusedFormats = map[string]struct{ name, remedy string }{
	"aqlm":        {"AQLM", "the aqlm package can dequantize it"},
	"vptq":        {"VPTQ", "the vptq package can dequantize it"},
	"quip":        {"QuIP#", "quip-sharp can dequantize it"},
	"spqr":        {"SpQR", "the spqr package can dequantize it"},
	"higgs":       {"HIGGS", "transformers can dequantize it: model.dequantize()"},
	"fp_quant":    {"FP-Quant", unquantized},
	"sinq":        {"SINQ", unquantized},
	"fouroversix": {"Four Over Six", unquantized},
	"eetq":        {"EETQ", unquantized},
	"exl2":        {"EXL2", "exllamav2 can dequantize it"},
	"exl3":        {"EXL3", "exllamav3 can export it"},
	"quanto":      {"quanto", "optimum-quanto can dequantize it"},
	"gptq_p":      {"GPTQModel's planar GPTQ", "gptqmodel can dequantize it"},
	"marlin":      {"Marlin", "start from the GPTQ model that it was made of"},
	"bitblas":     {"BitBLAS", "start from the GPTQ model that it was made of"},

	"auto_round:llm_compressor_nvfp4_e5m3": {"NVFP4 with E5M3 scales", "auto-round can load it"},
}

// sixBits is three bytes of four codes, under a scale for 32.
func sixBits(main, scale *tensor.Info) bool {
	if main.DType != tensor.U8 || len(main.Shape) < 2 || len(scale.Shape) != len(main.Shape) {
		return false
	}
	last := len(main.Shape) - 1
	return scale.DType == tensor.U8 && main.Shape[last]*4 == scale.Shape[last]*32*3
}

func quarkWords(main, _ *tensor.Info) bool { return main.DType == tensor.I32 }

// refuse names what cannot be decoded: silence would copy its codes as if they
// were weights.
func (s *set) refuse(info *tensor.Info) error {
	if floats[info.DType] {
		return nil
	}
	for _, r := range refused {
		stem, ok := strings.CutSuffix(info.Name, r.main)
		if !ok {
			continue
		}
		companion, ok := s.find(stem + r.companion)
		if ok && (r.when == nil || r.when(info, companion)) {
			return wire.ErrUnsupported.With("the scheme %s: %s", r.name, r.remedy)
		}
	}
	if !holdsCodes(info) || isScale(info.Name) {
		return nil
	}
	for _, key := range []string{"quant_method", "checkpoint_format", "format", "packing_format"} {
		if r, ok := refusedFormats[s.config.quant.text(key)]; ok {
			return wire.ErrUnsupported.With("the scheme %s (%s in %s): %s", r.name, key, s.config.file, r.remedy)
		}
	}
	return nil
}

// floats are the types of unquantized weights, which no refused scheme keeps
// codes in.
var floats = map[tensor.DType]bool{tensor.F16: true, tensor.BF16: true, tensor.F32: true, tensor.F64: true}
