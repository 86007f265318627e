package quant

import (
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/scheme"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// cacheScales are scales of the attention's cache, which belong to no weight.
var cacheScales = []string{".k_cache_scale", ".v_cache_scale", ".k_scale", ".v_scale", ".q_scale", ".prob_output_scale"}

// explained reports whether a tensor only makes sense beside quantized weights, so that
// loaders of the unquantized model would reject it. A tensor that merely has such a name
// is kept.
func (s *set) explained(info *tensor.Info, bound *nameList) bool {
	for _, end := range s.Table.Explained {
		if stem, ok := strings.CutSuffix(info.Name, end); ok {
			if end[0] == '.' {
				stem += ".weight"
			}
			if bound.has(stem) {
				return true
			}
		}
	}
	if scheme.EndsIn(info.Name, cacheScales) {
		return s.quantizesCache()
	}
	return slices.ContainsFunc(s.Table.Rows, func(r *scheme.Scheme) bool { return r.Left != nil && r.Left(info) })
}

// quantizesCache reports whether the configuration quantizes the attention's cache.
func (s *set) quantizesCache() bool {
	q := s.Config.Quant
	return s.Table.Caches(s.Config.Method()) || q.Get("kv_cache_quant_config").There || q.Get("kv_cache_scheme").There || q.Get("kv_cache_quant_algo").String() != "" || q.Get("kv_cache_dtype").String() != ""
}

// A nameList is a sorted list of the names of bound weights.
type nameList struct{ sorted []string }

func (n *nameList) has(name string) bool {
	_, ok := slices.BinarySearch(n.sorted, name)
	return ok
}

// weightNames returns the names of the weights that are wanted.
func weightNames(b *limits.Budget, o *Bound, wanted func(*Weight) bool) (*nameList, error) {
	names, err := limits.Make[string](b, len(o.Weights))
	if err != nil {
		return nil, err
	}
	n := 0
	for _, w := range o.Weights {
		if wanted(w) {
			names[n] = w.Name
			n++
		}
	}
	names = names[:n]
	if err := limits.SortUnstable(b, names, strings.Compare); err != nil {
		return nil, err
	}
	return &nameList{names}, nil
}

// codeTypes are types that hold codes and rarely anything else.
var codeTypes = []tensor.DType{tensor.U8, tensor.I8, tensor.I32, tensor.U32}

// otherCompanions are suffixes of companions of codes, written by programs that have no
// row in the table.
var otherCompanions = []string{"_absmax", "_quant_map", "_scb", "_scales", "_zeros"}

// unexplained refuses codes that no row of the table has bound: copied unchanged, they
// would look like weights.
func (s *set) unexplained(info *tensor.Info) error {
	for _, m := range s.Table.Only {
		stem, ok := strings.CutSuffix(info.Name, m.Codes)
		if !ok {
			continue
		}
		if _, ok := s.Find(stem + m.Parts[0]); !ok {
			return wire.ErrMissing.Errorf("its companion %s", wire.Quote(stem+m.Parts[0]))
		}
		return wire.ErrUnsupported.Errorf("%s of shape %v holds codes that no scheme here explains", info.TypeName(), info.Shape)
	}
	if !slices.Contains(codeTypes, info.DType) || s.Table.IsScale(info.Name) {
		return nil
	}
	for _, companions := range [...][]string{s.Table.Besides, otherCompanions} {
		if err := s.codesBeside(info, info.Name, companions); err != nil {
			return err
		}
	}
	if stem, ok := scheme.Suffix(info, ".weight"); ok {
		if err := s.codesBeside(info, stem, s.Table.Modules); err != nil {
			return err
		}
	}
	if method := s.Config.Method(); method != "" && len(info.Shape) > 1 && info.Elements() > 1 && !scheme.EndsIn(info.Name, buffers) {
		ignored, err := s.Ignores(info.Name, "")
		if err != nil || ignored {
			return err
		}
		return wire.ErrUnsupported.Errorf("%s says quant_method %s, and %s of shape %v belongs to no known scheme: start from the unquantized model, or %s %s",
			s.Config.File, wire.Quote(method), info.TypeName(), info.Shape, wire.OptionIgnoreUnknown, wire.Quote(info.Name))
	}
	return nil
}

// buffers are suffixes of integer matrices in unquantized models: masks, and positions in
// a sequence or a table.
var buffers = []string{".bias", "mask", "_ids", "_index", "_indices"}

// codesBeside refuses codes that have one of the companions.
func (s *set) codesBeside(info *tensor.Info, stem string, companions []string) error {
	for _, end := range companions {
		if scale, ok := s.Find(stem + end); ok {
			return wire.ErrUnsupported.Errorf("%s of shape %v beside %s of %s %v: no known scheme explains them",
				info.TypeName(), info.Shape, wire.Quote(scale.Name), scale.TypeName(), scale.Shape)
		}
		place, err := s.OtherFile(info, stem+end)
		if err != nil {
			return err
		}
		if place != "" {
			return wire.ErrUnsupported.Errorf("%s of shape %v, and %s is in %s", info.TypeName(), info.Shape, wire.Quote(stem+end), place)
		}
	}
	return nil
}
