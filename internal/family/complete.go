package family

import (
	"cmp"
	"maps"
	"slices"

	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// checkComplete refuses a model that lacks a tensor.
func (p *planner) checkComplete(names *wire.NameSet) error {
	for _, n := range slices.Sorted(maps.Values(p.stacks)) { // in an order, for the error to be the same each time
		for e := range p.Tensors[n].Parts {
			if err := p.b.Step(1); err != nil {
				return err
			}
			if p.Tensors[n].Parts[e].Info.Name == "" {
				return wire.At(p.m.Format(), "", wire.NoOffset, wire.ErrMissing.Errorf("expert %d of %s", e, wire.Quote(p.Tensors[n].Name)))
			}
		}
	}
	if err := p.checkParts(); err != nil {
		return err
	}
	want := func(at location) error {
		if err := p.b.Step(1); err != nil || at.name.optional || !at.exists(p.c) {
			return err
		}
		if at.name.key != "" {
			if !p.hasNumber(&at) {
				return wire.At(p.m.Format(), "", wire.NoOffset, wire.ErrMissing.Errorf("layer %d has no %s, which the configuration requires", at.layer, wire.Quote(at.name.hf)))
			}
			return nil
		}
		if at.name.gguf == "output" && (p.c.tied() || p.madeRankHead || p.c.headless()) {
			return nil
		}
		if p.asIs && p.isLeftOut(&at) {
			return nil
		}
		for at.view = range max(1, len(at.name.views)) {
			name := p.nameOf(&at)
			if _, ok := names.Find(name); !ok {
				return wire.At(p.m.Format(), "", wire.NoOffset, wire.ErrMissing.Errorf("no tensor for %s, which the configuration requires", wire.Quote(name)))
			}
		}
		return p.checkBias(names, at)
	}
	for i := range p.c.row.outer {
		if err := want(location{name: &p.c.row.outer[i], outer: true}); err != nil {
			return err
		}
	}
	for l := range p.c.layers() {
		if left, err := p.leavesOutMTP(names, l); err != nil {
			return err
		} else if left {
			continue
		}
		for i := range p.c.row.layers() {
			if err := want(location{name: &p.c.row.layers()[i], layer: l}); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkParts refuses a tensor of which a part is missing.
func (p *planner) checkParts() error {
	for _, key := range p.partialKeys() {
		have := p.partial[key]
		known, missing := "", false
		for i := range have {
			if err := p.b.Step(1); err != nil {
				return err
			}
			missing = missing || have[i].Name == ""
			known = cmp.Or(known, have[i].Name)
		}
		if missing {
			return wire.At(p.m.Format(), "tensor "+wire.Quote(known), wire.NoOffset, wire.ErrMissing.Errorf("the other parts of its tensor"))
		}
	}
	return nil
}

// partialKeys returns the keys of partial in order, for errors to be the same each time.
func (p *planner) partialKeys() []stackKey {
	return slices.SortedFunc(maps.Keys(p.partial), func(x, y stackKey) int {
		return cmp.Or(cmp.Compare(x.layer, y.layer), cmp.Compare(x.name, y.name), cmp.Compare(btoi(x.bias), btoi(y.bias)))
	})
}

// checkBias refuses a tensor without the bias that llama.cpp requires.
func (p *planner) checkBias(names *wire.NameSet, at location) error {
	own := at.name.gguf
	if len(at.name.views) == 1 {
		own = at.name.views[0].gguf
	}
	if at.bias = true; p.asIs || !slices.Contains(p.c.row.biased, own) {
		return nil
	}
	if _, ok := names.Find(p.nameOf(&at)); !ok {
		return wire.At(p.m.Format(), "", wire.NoOffset, wire.ErrMissing.Errorf("no tensor for %s, without which llama.cpp does not load the file", wire.Quote(p.nameOf(&at))))
	}
	return nil
}

// headless reports a class without a head, as embedding models are saved.
func (c *config) headless() bool {
	list := c.root.Get("architectures").List()
	return len(list) == 1 && slices.Contains(c.row.naming.headless, list[0].String())
}

// isLeftOut reports a tensor that is not written for mlx-lm. A tensor that mlx-lm does not
// split is a single tensor from here on.
func (p *planner) isLeftOut(at *location) bool {
	if p.skips != nil && p.skips(at) {
		return true
	}
	if !p.isSplit(at) {
		whole := *at.name
		whole.views = whole.views[:min(1, len(whole.views))]
		at.name = &whole
	}
	return false
}
