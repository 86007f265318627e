package quant

import (
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// refused are the schemes that are known and not decoded: the suffix of a main
// tensor, a companion that must be there too, and who can convert it.
var refused = [...]struct{ main, companion, name, remedy string }{
	{".trellis", ".suh", "EXL3", "exllamav3 can export it"},
	{".trellis", ".su", "EXL3", "exllamav3 can export it"},
	{".q_weight", ".q_scale_max", "EXL2", "exllamav2 can dequantize it"},
	{".codes", ".codebooks", "AQLM", "the aqlm package can dequantize it"},
	{".indices", ".centroids.weight", "VPTQ", "the vptq package can dequantize it"},
	{".Qidxs", ".SU", "QuIP#", "quip-sharp can dequantize it"},
	{".dense_weights", ".in_perm", "SpQR", "the spqr package can dequantize it"},
	{".qweight", ".proj_down", "SVDQuant", "start from the unquantized model"},
	{".B", ".s", "Marlin", "start from the GPTQ model that it was made of"},
	{".weight_packed", ".meta", "Marlin 2:4", "start from the model before compression"},
	{"._data", "._scale", "quanto", "optimum-quanto can dequantize it"},
	{"._data._data", "._scale", "quanto", "optimum-quanto can dequantize it"},
	{".weight", ".weight_scales", "EETQ", "start from the unquantized model"},
	{".weight_packed", ".scale_packed", "Marlin 2:4", "start from the model before compression"},
	{".qweight", ".oscales", "FPQuant", "start from the unquantized model"},
}

// bindRefused names what cannot be decoded: silence would copy its codes as if
// they were weights.
func bindRefused(s *set, info *tensor.Info) (*Weight, error) {
	for _, r := range refused {
		stem, ok := strings.CutSuffix(info.Name, r.main)
		if !ok {
			continue
		}
		if _, ok := s.find(stem + r.companion); ok {
			return nil, wire.ErrUnsupported.With("the scheme %s: %s", r.name, r.remedy)
		}
	}
	return nil, nil
}
