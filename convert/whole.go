package convert

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/loaders"
	"github.com/anamnesis-go/anamnesis/internal/transformers"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/quant/scaled"
)

// Loaders read groups: vLLM and SGLang fuse the projections of attention and the two
// inputs of a feed-forward layer, and all loaders join the experts of a layer. A group is
// quantized whole or kept whole. So all tensors are decided about before one is planned,
// and a group of which one matrix must be kept is kept.

// fusedAlways are groups that vLLM fuses in classes of transformers that it has no class
// of its own for, and in text models inside others.
var fusedAlways = [][]string{{"q_proj", "k_proj", "v_proj"}, {"gate_proj", "up_proj"}, {"w1", "w3"}, {"q_a_proj", "kv_a_proj_with_mqa"}}

// fusedNames tells which group a module belongs to.
type fusedNames struct {
	// members are the suffixes of modules by their last part, with the number of their
	// group. Groups that share a member are one.
	members map[string][]fusedMember
}

type fusedMember struct {
	suffix string
	group  int
}

// fusedIn returns the groups of a model's classes.
func fusedIn(architectures []string) *fusedNames {
	groups := slices.Clone(fusedAlways)
	for _, l := range []loaders.Library{loaders.VLLM, loaders.SGLang} {
		for _, a := range architectures[:min(len(architectures), transformers.MostInside)] {
			more, _ := l.Fused(a)
			groups = append(groups, more...)
		}
	}
	number := map[string]int{}
	for i, g := range groups {
		for _, m := range g {
			if was, ok := number[m]; ok {
				for k, n := range number {
					if n == was {
						number[k] = i
					}
				}
			}
			number[m] = i
		}
	}
	f := &fusedNames{map[string][]fusedMember{}}
	for m, n := range number {
		_, last, _ := transformers.CutLast(m)
		f.members[last] = append(f.members[last], fusedMember{m, n})
	}
	return f
}

// A fusedKey is a group of one model: what stands before its members' names, and the
// group's number, -1 for the experts of a layer.
type fusedKey struct {
	before string
	group  int
}

// of returns the group of a weight; ok is false if it is in none.
func (f *fusedNames) of(name string) (key fusedKey, ok bool) {
	module, isWeight := strings.CutSuffix(name, ".weight")
	if f == nil || !isWeight {
		return key, false
	}
	if at := expertsEnd(module); at > 0 {
		return fusedKey{module[:at], -1}, true
	}
	_, last, _ := transformers.CutLast(module)
	for _, m := range f.members[last] {
		if before, ok := strings.CutSuffix(module, m.suffix); ok && (before == "" || before[len(before)-1] == '.') {
			return fusedKey{before, m.group}, true
		}
	}
	return key, false
}

// expertsEnd returns where the list of experts ends in the name of a module of one expert, 0 for
// other modules: "model.layers.0.mlp.experts" of "model.layers.0.mlp.experts.3.up_proj".
func expertsEnd(module string) int {
	parts := strings.Split(module, ".")
	if !transformers.IsExpert(parts) {
		return 0
	}
	for i, at := 0, 0; i < len(parts)-2; i++ {
		at += len(parts[i])
		if parts[i] == "experts" && strings.Trim(parts[i+1], "0123456789") == "" {
			return at
		}
		at++
	}
	return 0
}

// A fusedGroup is what was decided about the members of a group.
type fusedGroup struct {
	taken, kept string // the first of each, "" for none
	shape       []int64
	says        string // why the kept one is
	asked       bool   // the caller chose or excluded a member by name
}

// groupsDecided are the groups of a model, by what was decided about their members.
type groupsDecided struct {
	e      *linearEncoder
	groups map[fusedKey]*fusedGroup
}

// linears returns the part of an encoder that knows of groups.
func (e *linearEncoder) linears() *linearEncoder { return e }

// decide asks the encoder about every tensor that will be written, and makes the verdicts
// about the members of each group one.
func (p *Plan) decide(picks []pick) error {
	l, ok := p.encoder.(interface{ linears() *linearEncoder })
	if !ok {
		return nil
	}
	d := &groupsDecided{l.linears(), map[fusedKey]*fusedGroup{}}
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
		if k.verdict, err = p.encoder.takes(k.name(), k.shape()); err != nil {
			return err
		}
		k.decided = true
		return d.note(k, d.e.Kept[before:])
	}
}

// note adds a verdict to the group of a weight; kept has the weight if it is a matrix that
// is left alone.
func (d *groupsDecided) note(k *pick, kept []KeptMatrix) error {
	key, ok := d.e.fused.of(k.name())
	if !ok || k.verdict != encodeIt && len(kept) == 0 {
		return nil
	}
	g := d.groups[key]
	if g == nil {
		if err := d.e.b.Hold(int64(len(key.before)) + 256); err != nil {
			return err
		}
		g = &fusedGroup{}
		d.groups[key] = g
	}
	g.asked = g.asked || d.e.rule.Chosen(k.name())
	switch {
	case k.verdict == encodeIt:
		g.taken = cmp.Or(g.taken, k.name())
	case g.kept == "" || kept[0].reason == transformers.Excluded:
		g.kept, g.says, g.shape = k.name(), kept[0].Why, k.shape()
		g.asked = g.asked || kept[0].reason == transformers.Excluded
	}
	return nil
}

// wholeExperts refuses experts that cannot all be quantized, in a format of which
// transformers finds no others: it would initialize them at random.
func (d *groupsDecided) wholeExperts(k *pick) error {
	key, ok := d.e.fused.of(k.name())
	if !ok || key.group >= 0 || !d.e.losesExperts {
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
		for _, f := range []string{"fp8_dynamic", "mxfp4"} {
			if g, ok := scaled.FindGroups(f); len(k.shape()) == 2 && (!ok || g.Fits(d.groups[key].shape[0], d.groups[key].shape[1])) && f != d.e.format {
				fit += [2]string{"", ", "}[min(len(fit), 1)] + f
			}
		}
		return wire.ErrUnsupported.Errorf("the experts of %s cannot all be stored as %s (%s %v: %s), and transformers %s, which joins the experts of a layer, would initialize at random those that are left alone. Choose a format that fits (%s), or leave all experts alone (%s), which vLLM loads",
			wire.Quote(key.before), d.e.Layout, wire.Quote(g.kept), g.shape, g.says, loaders.Transformers.Version(), fit, wire.OptionExclude)
	}
}

// settle keeps a weight whose group is not quantized whole.
func (d *groupsDecided) settle(k *pick) error {
	key, ok := d.e.fused.of(k.name())
	if !ok || k.verdict != encodeIt {
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
	k.verdict = decodeIt
	if key.group < 0 {
		return d.e.keepExpert(k.name(), "expert: the experts of a layer are joined, and of one "+g.says)
	}
	return d.e.keepFor(k.name(), "loaders fuse it with a matrix that is left alone")
}

// stillWhole refuses a group of which a matrix could not be encoded after all, because of
// its numbers or their type.
func (p *Plan) stillWhole(picks []pick) error {
	l, ok := p.encoder.(interface{ linears() *linearEncoder })
	if !ok {
		return nil
	}
	encoded := map[fusedKey]string{}
	for _, done := range [...]bool{true, false} {
		for i := range picks {
			k := &picks[i]
			key, ok := l.linears().fused.of(k.name())
			switch {
			case !ok || !k.decided || k.verdict != encodeIt || k.encoded != done:
			case done:
				if err := p.b.Hold(int64(len(key.before)) + 64); err != nil {
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

// keepExpert notes an expert that is left alone with all others of its layer.
func (e *linearEncoder) keepExpert(name, why string) (err error) {
	e.Kept, err = limits.Append(e.b, e.Kept, KeptMatrix{name, why, transformers.Expert})
	return err
}
