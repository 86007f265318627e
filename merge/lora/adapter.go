package lora

import (
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// prefix begins the names of an adapter's tensors: PEFT's wrapper, and the model in it.
const prefix = "base_model.model."

// wrapped stands in the name of a module whose own tensors an adapter keeps, and for
// each parameter of one module that is adapted beyond the first.
const wrapped = ".base_layer"

// Endings of the tensors of one adapted module.
const (
	partA = iota
	partB
	partBias
	partMagnitude
	parts
)

var endings = []struct {
	text      string
	part      int
	embedding bool
}{
	{".lora_A.weight", partA, false},
	{".lora_B.weight", partB, false},
	{".lora_B.bias", partBias, false},
	{".lora_embedding_A", partA, true},
	{".lora_embedding_B", partB, true},
	{".lora_magnitude_vector", partMagnitude, false},
	{".lora_magnitude_vector.weight", partMagnitude, false},
}

// A module is one that an adapter adapts.
type module struct {
	name      string // in the model, without wrappers
	depth     int    // of the wrapper, from the outermost
	embedding bool
	part      [parts]tensor.Info // without a name where there is none
}

// in names the module in an error.
func (m *module) in(err error) error {
	return wire.At("adapter", "module "+wire.Quote(m.name), wire.NoOffset, err)
}

// An adapter is what one adapter's files say.
type adapter struct {
	Adapter
	*config
	alphaF32 float32 // of a GGUF file
	modules  []*module
	whole    []tensor.Info // tensors that replace those of the base
}

// sort finds what each tensor is for.
func (a *adapter) sort(b *limits.Budget) error {
	at := map[string]*module{}
	for i := range a.Model.Tensors() {
		if err := b.Items(1); err != nil {
			return err
		}
		name, ok := strings.CutPrefix(i.Name, prefix)
		if !ok {
			return wire.ErrUnsupported.Errorf("tensor %s: PEFT's names begin with %s", wire.Quote(i.Name), prefix)
		}
		stem, ending := split(name)
		if ending < 0 {
			if err := b.Step(int64(1+strings.Count(name, ".")) * int64(1+len(a.saved))); err != nil {
				return err
			}
			if err := a.admit(name); err != nil {
				return err
			}
			var err error
			if a.whole, err = limits.Append(b, a.whole, i); err != nil {
				return err
			}
			continue
		}
		m := at[stem]
		if m == nil {
			if err := b.Hold(int64(len(stem)) + 1024); err != nil { // the module, and its place in the map
				return err
			}
			m = &module{name: strings.ReplaceAll(stem, wrapped, ""), depth: strings.Count(stem, wrapped)}
			at[stem] = m
			a.modules = append(a.modules, m)
		}
		e := &endings[ending]
		if m.part[e.part].Name != "" {
			return m.in(wire.ErrDuplicate.Errorf("tensor %s appears a second time", wire.Quote(i.Name)))
		}
		m.part[e.part], m.embedding = i, m.embedding || e.embedding
	}
	steps := b.Steps()
	for _, m := range a.modules {
		if err := b.Step(a.work(m.name)); err != nil {
			return err
		}
		if (a.asks || a.expressions > 0) && (!printable(m.name) || len(m.name) > maxName) {
			return m.in(wire.ErrUnsupported.Errorf("its name is too long, or has other characters than those that Python's expressions and these read alike"))
		}
		if err := a.complete(&steps, m); err != nil {
			return m.in(err)
		}
	}
	return nil
}

// split cuts the ending off a name; -1 where it has none.
func split(name string) (stem string, ending int) {
	for k := range endings {
		if stem, ok := strings.CutSuffix(name, endings[k].text); ok {
			return stem, k
		}
	}
	return name, -1
}

// embeddings are the modules that PEFT saves whole where the vocabulary was trained.
var embeddings = []string{"embed_tokens", "lm_head"}

// admit refuses a tensor that nothing says why it is there.
func (a *adapter) admit(name string) error {
	at := strings.LastIndexByte(name, '.')
	owner := strings.TrimSuffix(name[:max(at, 0)], wrapped)
	switch {
	case strings.Contains(name, "lora_"):
		return wire.ErrUnsupported.Errorf("tensor %s belongs to a method that is not supported, or contains an adapter's name", wire.Quote(name))
	case ends(a.saved, owner), a.within(owner), ends(embeddings, owner), a.biases && name[at+1:] == "bias":
		return nil
	}
	return wire.ErrUnsupported.Errorf("tensor %s: modules_to_save does not name its module, and nothing else says what it is for", wire.Quote(name))
}

// within reports a module that is saved whole, or inside of one.
func (c *config) within(owner string) bool {
	for ; owner != ""; owner = owner[:max(strings.LastIndexByte(owner, '.'), 0)] {
		if ends(c.saved, owner) {
			return true
		}
	}
	return false
}

// mayBeWithin is within for what takes the dots of a saved module for any character, as
// PEFT does where it looks for modules to adapt.
func (c *config) mayBeWithin(module string) bool {
	for ; module != ""; module = module[:max(strings.LastIndexByte(module, '.'), 0)] {
		if slices.ContainsFunc(c.saved, func(n string) bool { return isNamed(n, module) }) {
			return true
		}
	}
	return false
}

// work is the steps that a module costs: the lists of the configuration are held
// against its name a few times.
func (a *adapter) work(name string) int64 {
	return int64(1+len(name)/32)*(int64(1+len(a.targets.names)+len(a.excludes.names)+(1+len(a.saved)+len(a.layerNames))*strings.Count(name, ".")+len(a.layers)+len(a.parameters)*len(a.parameters))+2*a.plain) + int64(1+len(name))*a.expressions
}

// complete refuses a module that lacks a part, or has one that nothing asks for.
func (a *adapter) complete(steps *limits.Steps, m *module) error {
	has := func(p int) bool { return m.part[p].Name != "" }
	switch {
	case !has(partA) || !has(partB):
		return wire.ErrMissing.Errorf("one of the two matrices")
	case has(partMagnitude) != a.dora:
		return wire.ErrMismatch.Errorf("magnitudes and use_dora need each other")
	case has(partBias) != (a.loraBias && !m.embedding):
		return wire.ErrMismatch.Errorf("a bias of lora_B and lora_bias need each other")
	case m.depth > 0 && a.parametersOf(m.name) == nil:
		return wire.ErrMismatch.Errorf("several parameters of one module are adapted, and target_parameters names none")
	case a.parameters != nil:
		return nil
	}
	if why, err := a.leftOut(steps, m); err != nil {
		return err
	} else if why != "" {
		return wire.ErrMismatch.Errorf("%s: PEFT would leave it out", why)
	}
	return nil
}
