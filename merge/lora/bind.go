package lora

import (
	"errors"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/jsontree"
	"github.com/anamnesis-go/anamnesis/internal/loaders"
	"github.com/anamnesis-go/anamnesis/internal/model"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A binder assigns the tensors of adapters to those of the base.
type binder struct {
	b        *limits.Budget
	base     tensor.Model
	infos    []tensor.Info
	names    *wire.NameSet
	storages map[string]int  // number of tensors with this storage
	targets  map[int]*target // by the index of the base's tensor
	order    []int           // keys of targets, in the order in which they were bound
	added    []model.Tensor
	stacks   []loaders.Merge // of matrices that the base has one by one
	renamed  []loaders.Merge // of parameters that the base has under another name
	kind     string          // model_type of the base's configuration
	// The type of the text model in it, once an adapter needs it for its stacks.
	kindOfText string
	readTypes  bool
	class      string // the first of its architectures
	tokens     vocabulary
	apart      []string // tensors of the result that the base has under the name of another
	most       int      // largest number of products of a target
	// An adapter's product was added to a matrix that two modules have.
	changesTied bool
}

// A target is a tensor of the base that adapters change.
type target struct {
	whole    tensor.Info   // the tensor that replaces it first; the name is empty for none
	from     int           // the index of the adapter of whole
	copies   []tensor.Info // tensors of that adapter that must equal whole
	rows     []*rows       // rows that replace those of the base, or of whole
	products []*product
}

func newBinder(b *limits.Budget, base tensor.Model) (*binder, error) {
	x := &binder{b: b, base: base, storages: map[string]int{}, targets: map[int]*target{}}
	var err error
	if x.infos, err = limits.Make[tensor.Info](b, base.Len()); err != nil {
		return nil, err
	}
	x.infos = x.infos[:0]
	if x.names, err = wire.NewNameSet(b, base.Len(), func(i int) string { return x.infos[i].Name }); err != nil {
		return nil, err
	}
	for i := range base.Tensors() {
		x.infos = append(x.infos, i)
		if _, added, err := x.names.Add(len(x.infos) - 1); err != nil {
			return nil, err
		} else if !added {
			return nil, wire.ErrDuplicate.Errorf("tensor %s", wire.Quote(i.Name))
		}
		if err := b.Hold(64); err != nil { // its place among the storages
			return nil, err
		}
		if i.Storage != "" {
			x.storages[i.Storage]++
		}
	}
	return x, x.readVocabulary()
}

// A need is what an adapter changes: the base must have one of these tensors.
type need []string

// needed returns what an adapter changes of the base.
func (a *adapter) needed(b *limits.Budget) (list []need, err error) {
	add := func(names ...string) {
		for _, name := range names {
			err = errors.Join(err, b.Hold(int64(len(name))+32))
		}
		if err == nil {
			list, err = limits.Append(b, list, need(names))
		}
	}
	for _, m := range a.rows {
		if err := b.Step(1); err != nil {
			return nil, err
		}
		if !a.vocabulary.isOutput(m.module) {
			add(m.module + ".weight")
		}
	}
	for _, i := range a.whole {
		if err := b.Step(1); err != nil {
			return nil, err
		}
		if name := wholeName(strings.TrimPrefix(i.Name, prefix)); a.config != nil && a.vocabulary.isInput(moduleOf(name)) {
			add(name)
		}
	}
	for _, m := range a.modules {
		if err := b.Step(1); err != nil {
			return nil, err
		}
		if a.config == nil {
			add(m.name)
			continue
		}
		var could []string
		own := a.parametersOf(m.name)
		for _, name := range own {
			if err := b.Step(int64(1 + len(a.parameters))); err != nil {
				return nil, err
			}
			if a.namesModule(name) {
				add(name)
			} else {
				could = append(could, name) // of those that target_parameters names
			}
		}
		switch {
		case len(own) > len(could) || a.vocabulary.copies(m.name):
		case m.depth > 0:
			add(could...)
		default:
			add(append([]string{m.name + ".weight"}, could...)...)
		}
	}
	return list, err
}

// target returns the target of a tensor of the base, which it creates if necessary.
func (x *binder) target(i int) (*target, error) {
	t := x.targets[i]
	if t != nil {
		return t, nil
	}
	info := &x.infos[i]
	if !model.Computes(info.DType) {
		return nil, wire.ErrUnsupported.Errorf("tensor %s of the base is %s: adapters are merged into F32, F16 and BF16, so decode the base first", wire.Quote(info.Name), wire.Quote(info.TypeName()))
	}
	if info.Storage != "" && x.storages[info.Storage] > 1 {
		return nil, wire.ErrUnsupported.Errorf("tensor %s of the base shares its bytes with another, which would change too: write the base as safetensors first", wire.Quote(info.Name))
	}
	if err := x.b.Hold(512); err != nil { // the target, and its place in the map
		return nil, err
	}
	t = &target{}
	x.targets[i] = t
	var err error
	x.order, err = limits.Append(x.b, x.order, i)
	return t, err
}

func (x *binder) add(i, from int, list ...*product) error {
	t, err := x.target(i)
	if err != nil {
		return err
	}
	if len(t.rows) > 0 {
		return wire.ErrUnsupported.Errorf("rows of tensor %s of the base were trained one by one, which PEFT does not combine with matrices", wire.Quote(x.infos[i].Name))
	}
	for _, p := range list {
		// PEFT adds what is trained of either of two tied modules to their one matrix.
		if n := len(t.products); n > 0 && t.products[n-1].adapter == from && (p.ofCopy == t.products[n-1].ofCopy || p.magnitude.Name != "") {
			return wire.ErrDuplicate.Errorf("tensor %s of the base is adapted twice by one adapter", wire.Quote(x.infos[i].Name))
		}
		if infinite(p.scale) {
			return wire.ErrRange.Errorf("alpha divided by the rank, times the adapter's weight, is too large for float32")
		}
		p.adapter = from
		if t.products, err = limits.Append(x.b, t.products, p); err != nil {
			return err
		}
	}
	x.most = max(x.most, len(t.products))
	return nil
}

// bind binds all tensors of an adapter.
func (x *binder) bind(at int, a *adapter) error {
	if err := x.readStacks(a); err != nil {
		return err
	}
	r, err := x.renaming(a)
	if err == nil && a.changesEmbeddings() {
		err = x.checkTies()
	}
	if err != nil {
		return err
	}
	if one, err := x.savesOneOfTied(a); err != nil {
		return err
	} else if one {
		if err := x.untie(a); err != nil {
			return err
		}
	}
	if err := x.replaceAll(at, a, r); err != nil {
		return err
	}
	if err := x.bindRows(at, a, r); err != nil {
		return err
	}
	if err := x.checkVocabulary(); err != nil {
		return err
	}
	v := &layouts{}
	stacks := map[string][]*module{}
	// PEFT merges the input before the output layer.
	slices.SortStableFunc(a.modules, func(m, n *module) int { return last(a.vocabulary.copies(m.name)) - last(a.vocabulary.copies(n.name)) })
	for _, m := range a.modules {
		if err := x.b.Hold(128); err != nil { // a place in the map, and the product
			return err
		}
		if own := x.parametersOf(a, m.name, r); len(own) > 0 {
			stacks[m.name] = append(stacks[m.name], m)
			if err := x.bindParameters(at, a, m.name, stacks[m.name], r); err != nil {
				return m.in(err)
			}
			continue
		}
		if err := x.bindModule(at, a, m, v, r); err != nil {
			return m.in(err)
		}
	}
	if err := x.checkStacks(a, stacks, r); err != nil {
		return err
	}
	if err := x.checkWholeModules(at, a); err != nil || len(v.square) == 0 {
		return err
	}
	config, err := x.config()
	if err != nil {
		return err
	}
	return a.resolveSquare(x.b, v, config)
}

// checkStacks refuses a module of which the adapter has some parameters: the first by name, for the
// error to be the same each time.
func (x *binder) checkStacks(a *adapter, stacks map[string][]*module, r renaming) error {
	for _, name := range slices.Sorted(maps.Keys(stacks)) {
		if err := x.b.Step(1); err != nil {
			return err
		}
		wrappers := stacks[name]
		if own := x.parametersOf(a, name, r); len(wrappers) != len(own) {
			return wrappers[0].in(wire.ErrMissing.Errorf("target_parameters names %d of its parameters, the adapter has %d", len(own), len(wrappers)))
		}
	}
	return nil
}

func last(is bool) int {
	if is {
		return 1
	}
	return 0
}

// checkWholeModules rejects an adapter that lacks a tensor of a module in modules_to_save, as
// PEFT does.
func (x *binder) checkWholeModules(at int, a *adapter) error {
	if a.config == nil || len(a.saved) == 0 {
		return nil
	}
	for i := range x.infos {
		name := x.infos[i].Name
		if err := x.b.Step(int64(1+strings.Count(name, ".")) * int64(1+len(a.saved))); err != nil {
			return err
		}
		if t := x.targets[i]; a.within(x.inModel(moduleOf(name))) && (t == nil || t.whole.Name == "" || t.from != at) {
			return wire.ErrMissing.Errorf("the adapter has no tensor for %s, which modules_to_save says it has", wire.Quote(name))
		}
	}
	return nil
}

// config returns the base's config.json, or an empty value if there is none.
func (x *binder) config() (jsontree.Value, error) {
	v, err := jsontree.Read(x.b, x.base.Configs(), baseConfig, maxConfig)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return v, err
}

// bindModule binds a module with one adapted weight.
func (x *binder) bindModule(at int, a *adapter, m *module, v *layouts, r renaming) error {
	name := m.name
	if a.config != nil {
		name += ".weight"
	}
	if a.config != nil && a.parameters != nil { // check left it to the base
		steps := x.b.Steps()
		if err := a.checkTargeted(&steps, m); err != nil {
			return err
		}
	}
	i, w, err := 0, (*tensor.Info)(nil), error(nil)
	isCopy := a.config != nil && x.tokens.copies(m.name)
	if isCopy {
		i, err = x.inputTensor()
		w = &x.infos[i]
	} else {
		i, w, err = x.find(x.of(r, name))
	}
	if err != nil {
		return err
	}
	x.changesTied = x.changesTied || a.config != nil && x.tokens.tied && x.tokens.has(m.name)
	var p *product
	if a.config == nil {
		p, err = a.shapeGGUF(m, w)
	} else {
		p, err = a.shape(m, w, v)
	}
	if p != nil {
		p.ofCopy = isCopy
	}
	if err == nil {
		err = x.add(i, at, p)
	}
	if err != nil || m.part[partBias].Name == "" {
		return err
	}
	i, w, err = x.find(x.of(r, m.name+".bias"))
	if err != nil {
		return err
	}
	n := m.part[partBias].Elements()
	if len(w.Shape) != 1 || w.Shape[0] != n {
		return wire.ErrMismatch.Errorf("a bias of shape %v for one of shape %v", m.part[partBias].Shape, w.Shape)
	}
	return x.add(i, at, &product{b: m.part[partBias], kind: vector, batch: 1, rows: 1, cols: n, rank: 1, scale: p.scale})
}

// bindParameters binds the separately adapted parameters of a module, once all of its wrappers
// have been seen.
func (x *binder) bindParameters(at int, a *adapter, name string, wrappers []*module, r renaming) error {
	full := x.parametersOf(a, name, r)
	if len(wrappers) < len(full) {
		return nil
	}
	if a.dora || a.loraBias {
		return wire.ErrUnsupported.Errorf("target_parameters cannot be combined with use_dora or lora_bias")
	}
	var ws []parameter
	var places [][]int
	for _, f := range full {
		w, of, err := x.parameter(x.of(r, f))
		if err != nil {
			return err
		}
		w.rank, w.scale = a.rankFor(f), a.scale(f, a.Weight)
		ws, places = append(ws, w), append(places, of)
	}
	nesting, err := x.nestingOf(name, full)
	if err != nil {
		return err
	}
	list, err := a.assignParameters(wrappers, ws, nesting)
	if err != nil {
		return err
	}
	for k, p := range list {
		for n, i := range places[k] {
			part := p
			switch of := ws[k].experts; {
			case of > 0 && p.kind != experts: // the conversion of transformers says [experts, out, in]
				return errStackShapes
			case of > 0:
				part = p.cut(n, of, x.infos[i].Shape[0])
			}
			if err := x.add(i, at, part); err != nil {
				return err
			}
		}
	}
	return nil
}
