package nvfp4

import (
	"github.com/anamnesis-go/anamnesis/internal/form"
	"github.com/anamnesis-go/anamnesis/internal/scheme"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant/autoround"
	"github.com/anamnesis-go/anamnesis/quant/bfl"
	"github.com/anamnesis-go/anamnesis/quant/compressed"
	"github.com/anamnesis-go/anamnesis/quant/modelopt"
)

var Scheme = scheme.Scheme{
	Name: "NVFP4", Stores: "compressed-tensors and AutoRound (global scale divides), ModelOpt (it multiplies), fused experts", Oracle: "compressed-tensors, ModelOpt",
	Goldens: []string{"nvfp4-*"}, Bind: bind,
	Methods: autoround.Methods(compressed.Method, modelopt.Method, scheme.Method{Name: "nvfp4"}, bfl.Method),
	Mains: []scheme.Main{
		{Codes: ".weight_packed", Parts: []string{".weight_scale", ".weight_global_scale"}, Only: true},
		{Codes: ".weight", Parts: []string{".weight_scale", ".weight_scale_2"}},
		{Codes: "", Parts: []string{"_weight_scale", "_weight_scale_2", "_scale_2"}},
	},
	Scales:   []string{"_scale", "_scale_2"},
	Explains: []string{".input_scale", ".input_global_scale", "_input_scale"},
}

// names are the namings of NVFP4: E2M1 in groups of 16 under E4M3 scales. The global
// scales of the two libraries are reciprocals of each other.
var names = [...]scheme.Fp4Name{
	{Codes: ".weight_packed", Name: ".weight", Types: []tensor.DType{tensor.U8}, Scales: ".weight_scale", Global: ".weight_global_scale", Divides: true},
	{Codes: ".weight", Name: ".weight", Types: []tensor.DType{tensor.U8}, Scales: ".weight_scale", Global: ".weight_scale_2", Plus: true},
}

// bind binds the layouts of compressed-tensors and of ModelOpt.
func bind(s *scheme.Set, info *tensor.Info) (*scheme.Weight, error) {
	if w, err := bindFused(s, info); w != nil || err != nil {
		return w, err
	}
	for _, n := range names {
		stem, scales, ok := s.Fp4(info, n)
		if !ok || scales.DType != tensor.F8E4M3 {
			continue
		}
		_, has := s.Find(stem + n.Global)
		if !has {
			return nil, wire.ErrMissing.Errorf("its companion %s", wire.Quote(stem+n.Global))
		}
		for _, other := range names {
			if also, has := s.Find(stem + other.Global); has && other.Global != n.Global {
				return nil, wire.ErrUnsupported.Errorf("two readings: %s and %s are there, of which one divides and one multiplies",
					wire.Quote(stem+n.Global), wire.Quote(also.Name))
			}
		}
		w, f, err := s.Fp4Weight(info, scales, stem+n.Name, scheme.UnpackedShape(info.Shape), 16)
		if err != nil {
			return nil, err
		}
		global, err := s.GlobalGrid(w, stem+n.Global)
		if err != nil {
			return nil, err
		}
		f.Global, f.Divides = global, n.Divides
		if n.Plus {
			f.Codes = form.Fp4PlusRow(f.Cols)
		}
		w.Layout = "16-value blocks"
		return w, nil
	}
	return nil, nil
}
