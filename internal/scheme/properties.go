package scheme

import (
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/config"
	"github.com/anamnesis-go/anamnesis/internal/form"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// Properties of a weight that are a few integers: tensors in safetensors, plain numbers
// in a pickle, where they are metadata.

// maxIntegers bounds the length of a shape or another property.
const maxIntegers = 16

// countSuffixes are the suffixes of integers in metadata that are properties.
var countSuffixes = []string{".nbits", ".axis", ".shape"}

// loadMeta keeps the texts of the model's metadata, and the integers that describe
// tensors.
func (s *Set) loadMeta() error {
	s.Texts, s.counts = map[string]string{}, map[string][]int64{}
	for k, v := range s.Model.Meta() {
		text, isText := v.(string)
		isCount := !isText && slices.ContainsFunc(countSuffixes, func(end string) bool { return strings.HasSuffix(k, end) })
		if !isText && !isCount {
			continue
		}
		list, isList, err := s.wholes(v)
		if err != nil {
			return err
		}
		if !isText && !isList {
			continue
		}
		if err := s.Budget.Hold(2 * config.NodeCost); err != nil {
			return err
		}
		switch _, twice := s.counts[k]; {
		case isText:
			s.Texts[k] = text
		case twice:
			s.counts[k] = nil // duplicate: ambiguous
		default:
			s.counts[k] = list
		}
	}
	return nil
}

// wholes returns a value of the metadata that is an integer or a list of them.
func (s *Set) wholes(v any) ([]int64, bool, error) {
	if n, ok := v.(int64); ok {
		return []int64{n}, true, nil
	}
	list, ok := v.([]any)
	if !ok {
		return nil, false, nil
	}
	out, err := limits.Make[int64](s.Budget, len(list))
	for i := range out {
		if out[i], ok = list[i].(int64); !ok {
			return nil, false, nil
		}
	}
	return out, true, err
}

// Integers reads a companion of a few integers and binds it to the weight.
func (s *Set) Integers(name string, w *Weight) ([]int64, error) {
	info, ok := s.Find(name)
	if !ok {
		return s.counted(name)
	}
	g, _ := info.DType.Geometry()
	n := info.Elements()
	if n > maxIntegers || info.DType != tensor.I64 && info.DType != tensor.I32 {
		return nil, wire.ErrUnsupported.Errorf("its companion %s is %d of %s", wire.Quote(name), n, info.TypeName())
	}
	p, err := s.Small(info)
	if err != nil {
		return nil, err
	}
	out := make([]int64, 0, maxIntegers)
	for i := range n {
		v := int64(int32(form.U32(p[i*int64(g.Bytes):])))
		if info.DType == tensor.I64 {
			v = int64(uint64(form.U32(p[8*i:])) | uint64(form.U32(p[8*i+4:]))<<32)
		}
		if out, err = natural(out, name, v); err != nil {
			return nil, err
		}
	}
	w.Extra = append(w.Extra, *info)
	return out, nil
}

// counted is integers for metadata.
func (s *Set) counted(name string) (_ []int64, err error) {
	list, ok := s.counts[name]
	switch {
	case !ok:
		return nil, wire.ErrMissing.Errorf("its companion %s", wire.Quote(name))
	case list == nil:
		return nil, wire.ErrDuplicate.Errorf("its companion %s", wire.Quote(name))
	case len(list) > maxIntegers:
		return nil, wire.ErrUnsupported.Errorf("its companion %s is %d numbers", wire.Quote(name), len(list))
	}
	out := make([]int64, 0, maxIntegers)
	for _, n := range list {
		if out, err = natural(out, name, n); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// natural appends a number that must not be negative.
func natural(list []int64, name string, n int64) ([]int64, error) {
	if n < 0 {
		return nil, wire.ErrRange.Errorf("its companion %s says %d", wire.Quote(name), n)
	}
	return append(list, n), nil
}
