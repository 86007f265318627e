package quant

import (
	"slices"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A configuration is a hypothesis, and the tensors decide. If they contradict each other,
// the caller decides.

// contradicted refuses a weight if the configuration's method does not stand for its
// scheme and the caller did not ask for that scheme. A method without a row in the table
// does not contradict any scheme.
func (s *set) contradicted(w *Weight) error {
	method := s.config.Method()
	if !s.rows.methods[method] || w.row.decides() || w.Scheme == s.o.Scheme || w.row.stands(method) {
		return nil
	}
	names := wire.Quote(w.Parts[0].Name)
	if len(w.Parts) > 1 {
		names += " and " + wire.Quote(w.Parts[1].Name)
	}
	return wire.ErrUnsupported.Errorf("two readings: %s says quant_method %s, and %s are %s: %s %q decides",
		s.config.File, wire.Quote(method), names, w.Scheme, wire.OptionScheme, w.Scheme)
}

// reading describes a scheme and the tensor that it was bound to.
func (w *Weight) reading() string {
	if len(w.Parts) < 2 {
		return w.Scheme
	}
	return w.Scheme + " with " + wire.Quote(w.Parts[1].Name)
}

// says compares a weight with the groups of compressed-tensors' configuration that its
// module may belong to. One of them must describe it.
func (s *set) says(stem, kind string, group int64, zeros bool, scales *tensor.Info) error {
	groups, err := s.Groups(stem)
	if err != nil {
		return err
	}
	zero := true
	if zeros && len(groups) > 0 {
		if zero, err = s.allZero(stem + ".weight_zero_point"); err != nil {
			return err
		}
	}
	for _, g := range groups {
		weights, strategy := g.At("weights"), g.At("weights").Text("strategy")
		symmetric, known := weights.Get("symmetric").(bool)
		n, sized, bad := s.number("group_size", weights.Get("group_size"))
		switch {
		case bad != nil:
			err = bad
		case known && !symmetric && !zeros:
			err = wire.ErrMissing.Errorf("its companion %s, which %s promises (symmetric false)", wire.Quote(stem+".weight_zero_point"), s.config.File)
		case known && symmetric && zeros && !zero:
			err = wire.ErrMismatch.Errorf("%s says symmetric true, with which its library takes no zero points, and %s is not zero", s.config.File, wire.Quote(stem+".weight_zero_point"))
		case sized && (strategy == "group" || strategy == "tensor_group") && n != group:
			err = wire.ErrMismatch.Errorf("%s says group_size %d, and %s of shape %v says %d", s.config.File, n, wire.Quote(scales.Name), scales.Shape, group)
		case weights.Text("type") != "" && weights.Text("type") != kind:
			err = wire.ErrMismatch.Errorf("%s says type %s, but the codes beside %s are of type %s", s.config.File, wire.Quote(weights.Text("type")), wire.Quote(scales.Name), kind)
		default:
			return nil
		}
	}
	return err
}

// allZero reports whether a tensor is all zeros. Some versions of compressed-tensors
// wrote such zero points for symmetric codes.
func (s *set) allZero(name string) (bool, error) {
	info, ok := s.find(name)
	if !ok {
		return true, nil
	}
	p, err := s.small(info)
	if err != nil {
		return false, err
	}
	if err := s.b.Step(int64(len(p))); err != nil {
		return false, err
	}
	return !slices.ContainsFunc(p, func(c byte) bool { return c != 0 }), nil
}
