package quant

import (
	"github.com/anamnesis-go/anamnesis/internal/config"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// MaxConfig bounds one configuration file.
const MaxConfig = config.MaxFile

// Options decide questions that tensors and configuration leave open.
type Options struct {
	Target Target
	// Scheme is the scheme to prefer if several bind a tensor.
	Scheme string
	// GPTQZeros says how GPTQ stores zero points: "v1", "v2", or "" to detect it.
	GPTQZeros string
	// Block is the rows and columns of the block of an FP8 scale, or zero to detect them.
	Block [2]int64
	// FoldPreQuant multiplies weights by ModelOpt's pre_quant_scale of their inputs.
	// Without it such a weight is an error.
	FoldPreQuant bool
	// As is [AsMLX], or "" for float32 rounded once.
	As string
	// KeepScales passes activation and cache scales through.
	KeepScales bool
	// IgnoreUnknown are unknown keys of configurations, and names or suffixes of unknown
	// tensors, that the caller knows to be harmless.
	IgnoreUnknown []string
	// Folder gives each weight the name, the shape and the orientation that the unquantized
	// model has in transformers, for writing a folder. Without it weights are as in the
	// file.
	Folder bool
}

// AsMLX computes MLX's integers in the type of their scales, BF16 or F16, as
// mx.dequantize does: the product with the scale is rounded, and so is the sum with
// the bias. A model without weights of MLX is refused.
const AsMLX = "mlx"

// ErrNotMLX refuses [AsMLX] for a model without weights of MLX.
var ErrNotMLX = wire.ErrUsage.Errorf("%s: no weight is quantized by MLX", wire.OptionAs)

// A Bound divides the tensors of a model into quantized weights, tensors that are copied
// byte for byte, and scales that the unquantized model does not need.
type Bound struct {
	Weights []*Weight
	Plain   []tensor.Info
	LeftOut []tensor.Info
	Ignored []string // what was decoded in spite of, at the caller's word
}

// Plan binds the tensors of a model, across its shards, to logical weights. Of tensor data
// it reads only the few parts that describe how others are stored.
func Plan(b *limits.Budget, m tensor.Model, o Options) (*Bound, error) {
	s, err := newSet(b, m, o)
	if err != nil {
		return nil, wire.At("quant", "", wire.NoOffset, err)
	}
	out := &Bound{}
	for i := range s.infos {
		if err := b.Step(1); err != nil {
			return nil, wire.At("quant", "", wire.NoOffset, err)
		}
		if s.claimed[i] {
			continue
		}
		w, err := s.bind(i)
		if err != nil {
			return nil, wire.At("quant", "tensor "+wire.Quote(s.infos[i].Name), wire.NoOffset, err)
		}
		if w == nil {
			continue
		}
		if out.Weights, err = limits.Append(b, out.Weights, w); err != nil {
			return nil, wire.At("quant", "", wire.NoOffset, err)
		}
	}
	if o.As != "" && !s.ofMLX {
		return nil, wire.At("quant", "", wire.NoOffset, ErrNotMLX)
	}
	if err := s.rest(out); err != nil {
		return nil, wire.At("quant", "", wire.NoOffset, err)
	}
	out.Ignored = s.ignored
	return out, s.layOutModel(out)
}

// rest classifies the tensors that no weight is made of.
func (s *set) rest(out *Bound) error {
	bound, err := out.weightNames(s.b, func(*Weight) bool { return true })
	if err != nil {
		return err
	}
	owners, err := out.weightNames(s.b, (*Weight).owns)
	if err != nil {
		return err
	}
	for i, info := range s.infos {
		if err := s.b.Step(1); err != nil {
			return err
		}
		if s.claimed[i] {
			continue
		}
		if err := s.unplaced(&info, owners); err != nil {
			return wire.At("quant", "tensor "+wire.Quote(info.Name), wire.NoOffset, err)
		}
		list := &out.Plain
		if !s.o.KeepScales && s.explained(&info, bound) {
			list = &out.LeftOut
		}
		if *list, err = limits.Append(s.b, *list, info); err != nil {
			return err
		}
	}
	return nil
}

// bind tries every row of the table on one tensor. If two rows bind it, that is an error
// that names both, unless the options or the file decide.
func (s *set) bind(i int) (*Weight, error) {
	var found *Weight
	if s.infos[i].Elements() == 0 {
		return nil, nil
	}
	s.hollow = nil
	if err := s.refuse(&s.infos[i]); err != nil {
		return nil, err
	}
	for _, row := range s.rows.asked {
		if found != nil && found.row.priority > row.priority {
			break
		}
		if row.declares == byMethod && !row.stands(s.config.Method()) {
			continue
		}
		w, err := row.bind(s, &s.infos[i])
		if err != nil {
			return nil, err
		}
		if w == nil {
			continue
		}
		w.Scheme, w.row = row.name, row
		switch {
		case found == nil || s.o.Scheme == row.name:
			found = w
		case s.o.Scheme != found.Scheme:
			return nil, wire.ErrUnsupported.Errorf("two readings, %s and %s: %s decides", found.reading(), w.reading(), wire.OptionScheme)
		}
	}
	switch {
	case found == nil:
		return nil, nil
	case s.hollow != nil:
		return nil, wire.ErrMismatch.Errorf("its companion %s is empty: shape %v", wire.Quote(s.hollow.Name), s.hollow.Shape)
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
	w.cols = 1
	if len(w.Shape) > 0 {
		w.cols = w.Shape[len(w.Shape)-1]
	}
	if w.cols > 0 {
		w.rows = int64(n) / w.cols
	}
	for _, list := range [...][]tensor.Info{w.Parts, w.Extra} {
		for _, p := range list {
			if err := asStored(&p); err != nil {
				return err
			}
			i, _ := s.names.Find(p.Name)
			if s.claimed[i] {
				return wire.ErrDuplicate.Errorf("%s also belongs to another weight than %s", wire.Quote(p.Name), wire.Quote(w.Parts[0].Name))
			}
			s.claimed[i] = true
		}
	}
	if err := s.b.Items(1); err != nil {
		return err
	}
	return s.b.Expand(int64(n) * int64(s.o.Target.Size()))
}
