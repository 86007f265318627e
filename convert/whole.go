package convert

import (
	"cmp"
	"errors"

	"github.com/anamnesis-go/anamnesis/internal/encode"
	"github.com/anamnesis-go/anamnesis/internal/loaders"
	"github.com/anamnesis-go/anamnesis/internal/transformers"
	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// Loaders read groups: vLLM and SGLang fuse the projections of attention and the two
// inputs of a feed-forward layer, and all loaders join the experts of a layer. A group is
// quantized whole or kept whole. So all tensors are decided about before one is planned,
// and a group of which one matrix must be kept is kept.

// A fusedGroup is what was decided about the members of a group.
type fusedGroup struct {
	taken, kept string // the first of each, "" for none
	shape       []int64
	says        string // why the kept one is
	asked       bool   // the caller chose or excluded a member by name
}

// groupsDecided are the groups of a model, by what was decided about their members.
type groupsDecided struct {
	e      *encode.Linear
	groups map[encode.FusedKey]*fusedGroup
}

// decide asks the encoder about every tensor that will be written, and makes the verdicts
// about the members of each group one.
func (p *Plan) decide(picks []pick) error {
	l, ok := p.encoder.(interface{ Linears() *encode.Linear })
	if !ok {
		return nil
	}
	d := &groupsDecided{l.Linears(), map[encode.FusedKey]*fusedGroup{}}
	steps := [...]func(k *pick) error{p.ask(d), d.wholeExperts, d.settle}
	for _, step := range steps {
		for i := range picks {
			if err := errors.Join(p.b.Step(1), step(&picks[i])); err != nil {
				return wire.At("convert", "tensor "+wire.Quote(picks[i].name()), wire.NoOffset, err)
			}
		}
	}
	return nil
}

// ask returns the step that asks about a tensor, and notes the answer in its group.
func (p *Plan) ask(d *groupsDecided) func(k *pick) error {
	return func(k *pick) (err error) {
		if p.o.Keep != nil && !p.o.Keep(k.name()) {
			return nil
		}
		before := len(d.e.Kept)
		if k.verdict, err = p.encoder.Takes(k.name(), k.shape()); err != nil {
			return err
		}
		k.decided = true
		return d.note(k, d.e.Kept[before:])
	}
}

// note adds a verdict to the group of a weight; kept has the weight if it is a matrix that
// is left alone.
func (d *groupsDecided) note(k *pick, kept []encode.KeptMatrix) error {
	key, ok := d.e.Fused.Of(k.name())
	if !ok || k.verdict != encode.EncodeIt && len(kept) == 0 {
		return nil
	}
	g := d.groups[key]
	if g == nil {
		if err := d.e.Budget.Hold(int64(len(key.Before)) + 256); err != nil {
			return err
		}
		g = &fusedGroup{}
		d.groups[key] = g
	}
	g.asked = g.asked || d.e.Rule.Chosen(k.name())
	switch {
	case k.verdict == encode.EncodeIt:
		g.taken = cmp.Or(g.taken, k.name())
	case g.kept == "" || kept[0].Reason == transformers.Excluded:
		g.kept, g.says, g.shape = k.name(), kept[0].Why, k.shape()
		g.asked = g.asked || kept[0].Reason == transformers.Excluded
	}
	return nil
}

// wholeExperts refuses experts that cannot all be quantized, in a format of which
// transformers finds no others: it would initialize them at random.
func (d *groupsDecided) wholeExperts(k *pick) error {
	key, ok := d.e.Fused.Of(k.name())
	if !ok || key.Group >= 0 || !d.e.LosesExperts {
		return nil
	}
	switch g := d.groups[key]; {
	case g == nil || g.kept == "":
		return nil
	case g.asked && g.taken == "":
		d.e.BreaksAgain = "it joins the experts of a layer, and in this format finds none that are not quantized"
		return nil
	case g.asked:
		return nil // settle refuses it
	default:
		fit := ""
		for _, other := range d.e.As.Experts.Others {
			if shape := d.groups[key].shape; len(k.shape()) == 2 && (other.Fits == nil || other.Fits(shape[0], shape[1])) && other.Name != d.e.As.Name {
				fit += [2]string{"", ", "}[min(len(fit), 1)] + other.Name
			}
		}
		return wire.ErrUnsupported.Errorf("the experts of %s cannot all be stored as %s (%s %v: %s), and transformers %s, which joins the experts of a layer, would initialize at random those that are left alone. Choose a format that fits (%s), or leave all experts alone (%s), which vLLM loads",
			wire.Quote(key.Before), d.e.Layout, wire.Quote(g.kept), g.shape, g.says, loaders.Transformers.Version(), fit, wire.OptionExclude)
	}
}

// settle keeps a weight whose group is not quantized whole.
func (d *groupsDecided) settle(k *pick) error {
	key, ok := d.e.Fused.Of(k.name())
	if !ok || k.verdict != encode.EncodeIt {
		return nil
	}
	g := d.groups[key]
	switch {
	case g.kept == "":
		return nil
	case g.asked:
		return wire.ErrUsage.Errorf("it would be quantized, and %s would not (%s): loaders fuse the two, and read both in one format. %s and %s must name all matrices of such a group, or none",
			wire.Quote(g.kept), g.says, wire.OptionInclude, wire.OptionExclude)
	}
	k.verdict = encode.DecodeIt
	if key.Group < 0 {
		return d.e.KeepExpert(k.name(), "expert: the experts of a layer are joined, and of one "+g.says)
	}
	return d.e.KeepFor(k.name(), "loaders fuse it with a matrix that is left alone")
}

// stillWhole refuses a group of which a matrix could not be encoded after all, because of
// its numbers or their type.
func (p *Plan) stillWhole(picks []pick) error {
	l, ok := p.encoder.(interface{ Linears() *encode.Linear })
	if !ok {
		return nil
	}
	encoded := map[encode.FusedKey]string{}
	for _, done := range [...]bool{true, false} {
		for i := range picks {
			k := &picks[i]
			key, ok := l.Linears().Fused.Of(k.name())
			switch {
			case !ok || !k.decided || k.verdict != encode.EncodeIt || k.encoded != done:
			case done:
				if err := p.b.Hold(int64(len(key.Before)) + 64); err != nil {
					return err
				}
				encoded[key] = k.name()
			case encoded[key] != "":
				return wire.At("convert", "tensor "+wire.Quote(k.name()), wire.NoOffset, wire.ErrUnsupported.Errorf("its numbers are left alone, and those of %s are quantized: loaders fuse the two, and read both in one format. Leave both alone (%s)",
					wire.Quote(encoded[key]), wire.OptionExclude))
			}
		}
	}
	return nil
}
