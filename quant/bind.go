package quant

import (
	"slices"

	"github.com/anamnesis-go/anamnesis/internal/scheme"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A Bound divides the tensors of a model into quantized weights, tensors that are copied
// byte for byte, and scales that the unquantized model does not need.
type Bound = scheme.Bound

// Numbers is one decoded weight. Data belongs to the iterator: it is valid until the next
// weight.
type Numbers = scheme.Numbers

// A set is the tensors of a model while weights are bound to them.
type set struct {
	*scheme.Set
	claimed []bool
	known   []*scheme.Scheme // the schemes that know the whole configuration
}

func newPlan(b *limits.Budget, m tensor.Model, o Options) (*set, error) {
	of, err := scheme.NewSet(b, m, o, rows)
	if err != nil {
		return nil, err
	}
	s := &set{Set: of}
	s.claimed, err = limits.Make[bool](b, m.Len())
	return s, err
}

// Plan binds the tensors of a model, across its shards, to logical weights. Of tensor data
// it reads only the few parts that describe how others are stored.
func Plan(b *limits.Budget, m tensor.Model, o Options) (*Bound, error) {
	s, err := newPlan(b, m, o)
	if err != nil {
		return nil, wire.At("quant", "", wire.NoOffset, err)
	}
	out := &Bound{}
	for i := range s.Infos {
		if err := b.Step(1); err != nil {
			return nil, wire.At("quant", "", wire.NoOffset, err)
		}
		if s.claimed[i] {
			continue
		}
		w, err := s.bind(i)
		if err != nil {
			return nil, wire.At("quant", "tensor "+wire.Quote(s.Infos[i].Name), wire.NoOffset, err)
		}
		if w == nil {
			continue
		}
		if out.Weights, err = limits.Append(b, out.Weights, w); err != nil {
			return nil, wire.At("quant", "", wire.NoOffset, err)
		}
	}
	if o.As != "" && !slices.ContainsFunc(out.Weights, func(w *Weight) bool { return w.Row.As == o.As }) {
		return nil, wire.At("quant", "", wire.NoOffset, scheme.ErrNotMLX)
	}
	if err := s.rest(out); err != nil {
		return nil, wire.At("quant", "", wire.NoOffset, err)
	}
	out.Ignored = s.Ignored
	return out, s.layOutModel(out)
}

// rest classifies the tensors that no weight is made of.
func (s *set) rest(out *Bound) error {
	bound, err := weightNames(s.Budget, out, func(*Weight) bool { return true })
	if err != nil {
		return err
	}
	owners, err := weightNames(s.Budget, out, scheme.Owns)
	if err != nil {
		return err
	}
	for i, info := range s.Infos {
		if err := s.Budget.Step(1); err != nil {
			return err
		}
		if s.claimed[i] {
			continue
		}
		if err := s.unplaced(&info, owners); err != nil {
			return wire.At("quant", "tensor "+wire.Quote(info.Name), wire.NoOffset, err)
		}
		list := &out.Plain
		if !s.Options.KeepScales && s.explained(&info, bound) {
			list = &out.LeftOut
		}
		if *list, err = limits.Append(s.Budget, *list, info); err != nil {
			return err
		}
	}
	return nil
}

// bind tries every row of the table on one tensor. If two rows bind it, that is an error
// that names both, unless the options or the file decide.
func (s *set) bind(i int) (*Weight, error) {
	var found *Weight
	if s.Infos[i].Elements() == 0 {
		return nil, nil
	}
	s.Hollow = nil
	if err := s.refuse(&s.Infos[i]); err != nil {
		return nil, err
	}
	for _, row := range s.Table.Asked {
		if found != nil && found.Row.Priority > row.Priority {
			break
		}
		if row.Declares == scheme.ByMethod && !row.Stands(s.Config.Method()) {
			continue
		}
		w, err := row.Bind(s.Set, &s.Infos[i])
		if err != nil {
			return nil, err
		}
		if w == nil {
			continue
		}
		w.Scheme, w.Row = row.Name, row
		switch {
		case found == nil || s.Options.Scheme == row.Name:
			found = w
		case s.Options.Scheme != found.Scheme:
			return nil, wire.ErrUnsupported.Errorf("two readings, %s and %s: %s decides", scheme.Reading(found), scheme.Reading(w), wire.OptionScheme)
		}
	}
	switch {
	case found == nil:
		return nil, nil
	case s.Hollow != nil:
		return nil, wire.ErrMismatch.Errorf("its companion %s is empty: shape %v", wire.Quote(s.Hollow.Name), s.Hollow.Shape)
	}
	if err := s.contradicted(found); err != nil {
		return nil, err
	}
	if err := s.understood(found); err != nil {
		return nil, err
	}
	if err := s.layOut(found); err != nil {
		return nil, err
	}
	return found, s.claim(found)
}

// claim marks the parts as used and proves that the weight can be held.
func (s *set) claim(w *Weight) error {
	n, ok := wire.Product(w.Shape)
	if _, fits := wire.Mul(n, 4); !ok || !fits {
		return wire.ErrOverflow.Errorf("shape %v", w.Shape)
	}
	rows, cols := int64(0), int64(1)
	if len(w.Shape) > 0 {
		cols = w.Shape[len(w.Shape)-1]
	}
	if cols > 0 {
		rows = int64(n) / cols
	}
	scheme.Resize(w, rows, cols)
	for _, list := range [...][]tensor.Info{w.Parts, w.Extra} {
		for k, p := range list {
			if err := scheme.AsStored(&p); err != nil {
				return err
			}
			i, _ := s.Names.Find(p.Name)
			if s.claimed[i] && (k == 0 || !w.Row.Joint) {
				return wire.ErrDuplicate.Errorf("%s also belongs to another weight than %s", wire.Quote(p.Name), wire.Quote(w.Parts[0].Name))
			}
			s.claimed[i] = true
		}
	}
	if err := s.Budget.Items(1); err != nil {
		return err
	}
	return s.Budget.Expand(int64(n) * int64(s.Options.Target.Size()))
}
