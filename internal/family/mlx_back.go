package family

import (
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/jsontree"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// Otherwise reports a model whose tensors differ between mlx-lm and transformers. The
// caller knows that the folder is mlx-lm's.
func Otherwise(b *limits.Budget, m tensor.Model) bool {
	root, err := jsontree.Read(b, m.Configs(), configName, maxConfig)
	if err != nil {
		return false
	}
	c, err := configOf(root)
	return err == nil && c.row.mlx.form != nil
}

// Stacked reports a model with mlx-lm's experts: one tensor for all experts of a layer.
func Stacked(m tensor.Model) bool {
	if !Stated(m.Configs()) {
		return false
	}
	for i := range m.Tensors() {
		if strings.Contains(i.Name, ".switch_mlp.") {
			return true
		}
	}
	return false
}

// FromMLX plans the inverse of [ToMLX]: single experts, and transformers' tensors. Others
// are unchanged.
func FromMLX(b *limits.Budget, m tensor.Model) ([]Tensor, error) {
	p, err := reading(b, m, Options{})
	if err != nil {
		return nil, err
	}
	p.asIs, p.form = true, p.c.row.mlx.form
	if p.form != nil && p.form.lossy {
		return nil, wire.At(configName, "", wire.NoOffset, wire.ErrUnsupported.Errorf("%s of transformers cannot be restored: mlx-lm leaves out tensors that it needs", p.c.row.names[0]))
	}
	for i := range m.Tensors() {
		if err := b.Step(1); err != nil {
			return nil, err
		}
		if err := p.fromMLX(&i); err != nil {
			return nil, wire.At(m.Format(), "tensor "+wire.Quote(i.Name), i.Span.Off, err)
		}
	}
	if err := p.checkParts(); err != nil {
		return nil, err
	}
	return p.Tensors, p.c.checkMembers()
}

// fromMLX plans one tensor.
func (p *planner) fromMLX(i *tensor.Info) error {
	at, ok := p.locateMLX(i.Name)
	switch {
	case !ok && strings.Contains(i.Name, ".switch_mlp."):
		return wire.ErrUnsupported.Errorf("%s of transformers has no experts of that name", wire.Quote(p.c.row.names[0]))
	case !ok:
		name := i.Name
		if p.form != nil {
			name = strings.TrimPrefix(name, p.form.visionPrefix)
		}
		return p.add(Tensor{Name: name, DType: i.DType, Shape: i.Shape, Parts: []Part{{Info: *i}}})
	case len(at.name.views) > 0 && p.form.viewsOf(at.name) != nil:
		return p.joinViews(i, &at)
	}
	shape, err := p.shape(&at)
	if err != nil {
		return err
	}
	want := p.form.shape(p.c, &at, shape)
	if at.name.op == stack {
		want = append([]int64{p.c.experts()}, shape...)
	}
	if err := sameShape(i.Shape, want); err != nil {
		return err
	}
	if at.name.op == stack {
		return p.unstack(i, &at, shape)
	}
	t := Tensor{Name: at.hfName(p.c), DType: i.DType, Shape: shape, Parts: []Part{{Info: *i}}}
	if at.name.op == addOne && !at.bias && p.form != nil && p.form.normsPlusOne {
		t.Add = -1
	}
	return p.add(t)
}

// locateMLX returns the location of a name of mlx-lm, or of the view with that name.
func (p *planner) locateMLX(full string) (location, bool) {
	if p.form != nil {
		full = strings.TrimPrefix(full, p.form.visionPrefix)
	}
	at := location{expert: -1, outer: true}
	list, rest := p.c.row.outer, full
	if n, tail, ok := numbered(full, p.c.row.layer); ok {
		at.outer, at.layer, list, rest = false, n, p.c.row.layers(), tail
	}
	for k := range list {
		one := at
		one.name, one.index = &list[k], k
		if !one.outer && one.layer >= p.c.layers() || !one.exists(p.c) {
			continue
		}
		apart := p.isSplit(&one)
		for one.view = range max(1, len(one.name.views)) {
			for _, one.bias = range []bool{false, true} {
				if (!one.bias || !one.name.noSuffix) && p.inLayer(&one) == rest {
					return one, true
				}
			}
			if !apart {
				break // one name for the whole
			}
		}
	}
	return location{}, false
}

// inLayer returns mlx-lm's name of a tensor within its layer.
func (p *planner) inLayer(at *location) string {
	name := p.form.nameOf(p.c, at)
	if p.form != nil {
		name = strings.TrimPrefix(name, p.form.visionPrefix)
	}
	if _, rest, ok := numbered(name, p.c.row.layer); ok && !at.outer {
		return rest
	}
	return name
}
