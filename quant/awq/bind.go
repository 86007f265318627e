package awq

import (
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/form"
	"github.com/anamnesis-go/anamnesis/internal/scheme"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant/autoround"
)

var GEMM = scheme.Scheme{
	Name: "AWQ", Stores: "GEMM, 4 bits; GPTQModel's 2 to 8 bits", Oracle: "AutoAWQ, GPTQModel",
	Goldens: []string{"awq-gemm", "awq-gemm-*"}, Bind: bind,
	Methods: methods,
	Mains:   mains,
	Scales:  []string{".scales"},
	Marks:   []string{".qweight"},
	Meta:    []string{"awq_*"},
	Endings: []string{"-AWQ", "-awq", "_awq"},
	Linear:  true,
}

var methods = autoround.Methods(scheme.Method{Name: "awq", Known: keys})

var mains = []scheme.Main{{Codes: ".qweight", Parts: []string{".scales", ".qzeros"}, Only: true}}

// bind binds AutoAWQ's GEMM layout: a row of qweight holds the codes of one output per column of
// scales.
func bind(s *scheme.Set, info *tensor.Info) (*scheme.Weight, error) {
	stem, ok := scheme.Suffix(info, ".qweight")
	scales, hasScales := s.Find(stem + ".scales")
	if !ok || !hasScales || info.DType != tensor.I32 || len(info.Shape) != 2 || len(scales.Shape) != 2 || scales.Shape[1] == 0 {
		return nil, nil
	}
	in, out, groups := info.Shape[0], scales.Shape[1], scales.Shape[0]
	bits := info.Shape[1] * 32 / out
	if bits < 2 || bits > 8 || out*bits != info.Shape[1]*32 || bits != 4 && s.Config.Method() != "awq" {
		return nil, nil
	}
	if other := s.MethodOfOthers(methods, ".qweight"); other != "" {
		return nil, wire.ErrMismatch.Errorf("%s says %s, but %s is packed as AWQ packs", s.Config.File, other, wire.Quote(info.Name))
	}
	zeros, err := s.Companion(stem+".qzeros", []int64{groups, info.Shape[1]}, tensor.I32)
	if err != nil {
		return nil, err
	}
	if groups == 0 || in%groups != 0 {
		return nil, wire.ErrMismatch.Errorf("%d inputs in %d groups", in, groups)
	}
	if err := agrees(s, stem, scales, bits, in/groups, groups); err != nil {
		return nil, err
	}
	f := &form.PackedOut{In: in, Out: out, Groups: groups, Bits: bits, GroupSize: in / groups}
	if f.Scale, f.ScaleSize, err = scheme.ScaleNumber(scales); err != nil {
		return nil, err
	}
	f.Bulk = form.ScaleBulk(scales.DType)
	return &scheme.Weight{
		Name: stem + ".weight", Shape: []int64{out, in}, Layout: scheme.Describe(bits, f.GroupSize),
		Parts: []tensor.Info{*info, *scales, *zeros}, Form: f,
	}, nil
}

// agrees compares the shapes with the configuration, by the keys of both of its writers.
func agrees(s *scheme.Set, stem string, scales *tensor.Info, bits, group, groups int64) error {
	for _, key := range [...]string{"bits", "w_bit", "group_size", "q_group_size"} {
		n, ok, err := s.Whole(stem, key)
		if err != nil {
			return err
		}
		have := bits
		if strings.HasSuffix(key, "group_size") {
			if have = group; n == -1 && groups == 1 {
				continue
			}
		}
		if ok && n != have {
			return wire.ErrMismatch.Errorf("%s says %s %d, %s of shape %v beside its weight says %d", s.Config.File, key, n, wire.Quote(scales.Name), scales.Shape, have)
		}
	}
	return nil
}
