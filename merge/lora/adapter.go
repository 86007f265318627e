package lora

import (
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// prefix is the prefix of an adapter's tensor names: PEFT's wrapper, and the model in it.
const prefix = "base_model.model."

// wrapped is part of the name of a module whose own tensors an adapter keeps, and once more
// for each further adapted parameter of the same module.
const wrapped = ".base_layer"

// original is part of the name of what modules_to_save replaces. PEFT saves its biases with all others.
const original = ".original_module."

// Parts of an adapted module, each of which is a tensor.
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

// A module is an adapted module.
type module struct {
	name      string // its name in the model, without wrappers
	depth     int    // number of wrappers around the one of these tensors
	embedding bool
	part      [parts]tensor.Info // the name is empty for a missing part
}

// in adds the name of the module to an error.
func (m *module) in(err error) error {
	return wire.At("adapter", "module "+wire.Quote(m.name), wire.NoOffset, err)
}

// An adapter holds what the files of one adapter state.
type adapter struct {
	Adapter
	*config
	vocabulary *vocabulary // of the base
	alphaF32   float32     // alpha of a GGUF file
	modules    []*module
	whole      []tensor.Info // tensors that replace those of the base, and copies of them
	rows       []moduleRows  // rows that replace those of the base
}

// sortTensors assigns each tensor to its module, or to the tensors that are saved whole.
func (a *adapter) sortTensors(b *limits.Budget) error {
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
			if err := a.addWhole(b, i, name); err != nil {
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
		if err := b.Step(a.cost(m.name)); err != nil {
			return err
		}
		if (a.usesExpressions || a.expressions > 0) && (!printable(m.name) || len(m.name) > maxName) {
			return m.in(wire.ErrUnsupported.Errorf("its name is too long, or has characters that Python's expressions may treat differently"))
		}
		if err := a.check(&steps, m); err != nil {
			return m.in(err)
		}
	}
	return nil
}

// addWhole adds a tensor that replaces one of the base, or rows of one.
func (a *adapter) addWhole(b *limits.Budget, i tensor.Info, name string) (err error) {
	if err := b.Step(int64(1+strings.Count(name, ".")) * int64(1+len(a.saved))); err != nil {
		return err
	}
	if stem, _, ok := strings.Cut(name, original); ok {
		if !a.within(stem) {
			return wire.ErrUnsupported.Errorf("tensor %s is the original of a module that modules_to_save does not name", wire.Quote(name))
		}
		return nil // the base's, which PEFT drops when it merges
	}
	if stem, ok := strings.CutSuffix(name, trainedRows); ok {
		a.rows, err = limits.Append(b, a.rows, moduleRows{stem, i})
		return err
	}
	if err := a.checkWhole(name); err != nil {
		return err
	}
	a.whole, err = limits.Append(b, a.whole, i)
	return err
}

// split splits a name before its ending; the index of the ending is -1 if it has none.
func split(name string) (stem string, ending int) {
	for k := range endings {
		if stem, ok := strings.CutSuffix(name, endings[k].text); ok {
			return stem, k
		}
	}
	return name, -1
}

// checkWhole rejects a tensor without a known role.
func (a *adapter) checkWhole(name string) error {
	owner := moduleOf(wholeName(name))
	if strings.Contains(name, savedCopy+".") && !listsModule(a.saved, owner) {
		return wire.ErrUnsupported.Errorf("tensor %s is a copy of a module that modules_to_save does not name", wire.Quote(name))
	}
	switch {
	case strings.Contains(name, "lora_"):
		return wire.ErrUnsupported.Errorf("tensor %s belongs to a method that is not supported, or contains an adapter's name", wire.Quote(name))
	case listsModule(a.saved, owner), a.within(owner), a.vocabulary.has(owner), a.biases && strings.HasSuffix(name, ".bias"):
		return nil
	}
	return wire.ErrUnsupported.Errorf("tensor %s has no known role: modules_to_save does not name its module", wire.Quote(name))
}

// within reports whether a module is saved whole, or is part of one that is.
func (c *config) within(owner string) bool {
	for ; owner != ""; owner = owner[:max(strings.LastIndexByte(owner, '.'), 0)] {
		if listsModule(c.saved, owner) {
			return true
		}
	}
	return false
}

// mayBeWithin is within, with the dots of a saved module's name matching any character, as when
// PEFT looks for modules to adapt.
func (c *config) mayBeWithin(module string) bool {
	for ; module != ""; module = module[:max(strings.LastIndexByte(module, '.'), 0)] {
		if slices.ContainsFunc(c.saved, func(n string) bool { return nameMatches(n, module) }) {
			return true
		}
	}
	return false
}

// cost returns the steps for a module, whose name is compared a few times with the lists of
// the configuration.
func (a *adapter) cost(name string) int64 {
	return int64(1+len(name)/32)*(int64(1+len(a.targets.names)+len(a.excludes.names)+(1+len(a.saved)+len(a.layerNames))*strings.Count(name, ".")+len(a.layers)+len(a.parameters)*len(a.parameters))+2*a.namePatterns) + int64(1+len(name))*a.expressions
}

// check rejects a module that lacks a part, or has a part that the configuration does not ask
// for.
func (a *adapter) check(steps *limits.Steps, m *module) error {
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
	case a.ensuresTies && (a.vocabulary.copies(m.name) || a.vocabulary.tied && listsModule(a.vocabulary.shared, m.name)):
		return wire.ErrUnsupported.Errorf("it has the matrix of another module, and ensure_weight_tying gave both the same adapter, which PEFT's merge_and_unload adds twice: its result is not the model that was trained, and none is written here. Keep the adapter beside the base")
	case a.parameters != nil:
		return nil // what the base has decides: see bindModule
	}
	return a.checkTargeted(steps, m)
}

// checkTargeted rejects a module that PEFT would not adapt.
func (a *adapter) checkTargeted(steps *limits.Steps, m *module) error {
	if why, err := a.whyLeftOut(steps, m); err != nil {
		return err
	} else if why != "" {
		return wire.ErrMismatch.Errorf("%s: PEFT would leave it out", why)
	}
	return nil
}
