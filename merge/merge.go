package merge

import (
	"bytes"
	"io"
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/inputs"
	"github.com/anamnesis-go/anamnesis/internal/model"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/safetensors"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A Merged is the result of a recipe.
type Merged struct {
	*model.Model
	Computed int   // tensors that are computed from several, or scaled
	Layers   int64 // layers of the result, 0 without slices
}

// Merge returns the model that a recipe describes. It calls open once for each model, with
// its name in the recipe. Closing the result closes the models.
func Merge(b *limits.Budget, r *Recipe, open func(name string) (tensor.Model, error)) (*Merged, error) {
	x := &merger{b: b, r: r, rooms: model.NewRooms[float32](b, model.PieceElements), out: &Merged{}}
	err := x.open(open)
	if err == nil {
		err = x.plan()
	}
	if err == nil {
		err = x.finish()
	}
	if err != nil {
		for _, m := range x.opened {
			m.Close()
		}
		return nil, wire.At("merge", "", wire.NoOffset, err)
	}
	return x.out, nil
}

// A merger builds the result of a recipe.
type merger struct {
	b       *limits.Budget
	r       *Recipe
	opened  []tensor.Model
	models  []*operand
	rooms   *model.Rooms[float32]
	held    *model.Held[*work]
	groups  []*group // by the index of their work in held
	tensors []model.Tensor
	out     *Merged
}

func (x *merger) open(open func(name string) (tensor.Model, error)) error {
	for _, name := range x.r.models {
		m, err := open(name)
		if err != nil {
			return err
		}
		x.opened = append(x.opened, m)
		one := &operand{name: name, m: model.NewStraight(x.b, m)}
		switch {
		case m.Format() == x.opened[0].Format() && (m.Format() == safetensors.Format || m.Format() == "pth"):
		default:
			return wire.At("merge", "model "+wire.Quote(name), wire.NoOffset, wire.ErrUnsupported.Errorf("its format is %s: all models must be safetensors, or all PyTorch checkpoints", m.Format()))
		}
		err = inputs.Plain(x.b, m)
		if err == nil {
			err = inputs.Whole(x.b, m)
		}
		if err == nil {
			err = one.list(x.b)
		}
		if err != nil {
			return wire.At("merge", "model "+wire.Quote(name), wire.NoOffset, err)
		}
		x.models = append(x.models, one)
	}
	x.held = model.NewHeld(x.b, 2, func(b *limits.Budget, i int) (*work, error) {
		g := x.groups[i]
		keep, err := limits.Make[selection](b, len(g.inputs))
		if err != nil {
			return nil, err
		}
		w := &work{keep: keep, runner: newPhaseRunner(g.elements), b: b}
		w.runner.phases, err = g.method.prepare(g, w)
		return w, err
	})
	return nil
}

func (x *merger) model(name string) *operand {
	return x.models[slices.IndexFunc(x.models, func(m *operand) bool { return m.name == name })]
}

// plan lists the tensors of the result.
func (x *merger) plan() error {
	first := x.models[0]
	if x.r.whole {
		s := &x.r.slices[0]
		if err := x.checkNames(s); err != nil {
			return err
		}
		for i := range first.infos {
			name := first.infos[i].Name
			if err := x.add(s, name, first.position(name), func(source) string { return name }); err != nil {
				return err
			}
		}
		return nil
	}
	return x.planSlices(first)
}

// checkNames rejects models with tensors that the first model does not have.
func (x *merger) checkNames(s *slice) error {
	for _, one := range s.sources {
		m := x.model(one.model)
		for i := range m.infos {
			if err := x.b.Step(1); err != nil {
				return err
			}
			if _, ok := x.models[0].names.Find(m.infos[i].Name); !ok {
				return wire.ErrMismatch.Errorf("model %s has the tensor %s, model %s does not", wire.Quote(m.name), wire.Quote(m.infos[i].Name), wire.Quote(x.models[0].name))
			}
		}
	}
	return nil
}

// planSlices lists the tensors of the layers of slices, and those outside of layers.
func (x *merger) planSlices(first *operand) error {
	if first.layers < 1 {
		return wire.ErrUnsupported.Errorf("model %s has no layers, or several stacks of them, so slices have no meaning", wire.Quote(first.name))
	}
	all := x.r.slices
	for i := range first.infos {
		name := first.infos[i].Name
		if _, _, _, ok := layerOf(name); ok {
			continue
		}
		s := &all[len(all)-1]
		if isEmbedding(name) {
			s = &all[0]
		}
		if err := x.add(s, name, 0, func(source) string { return name }); err != nil {
			return err
		}
	}
	for k := range all {
		s := &all[k]
		n := s.sources[0].to - s.sources[0].from
		for _, one := range s.sources {
			if m := x.model(one.model); one.to > m.layers || m.stack != first.stack {
				return wire.ErrMismatch.Errorf("model %s has the layers 0 to %d of %s, not up to %d", wire.Quote(m.name), m.layers-1, wire.Quote(m.stack), one.to-1)
			}
		}
		for at := range n {
			t := 1.0
			if n > 1 {
				t = float64(at) / float64(n-1)
			}
			if err := x.addLayer(s, at, t); err != nil {
				return err
			}
			x.out.Layers++
		}
	}
	return nil
}

// addLayer plans the tensors of one layer of a slice.
func (x *merger) addLayer(s *slice, at int64, t float64) error {
	lead := x.model(s.sources[0].model)
	for i := range lead.infos {
		stack, n, after, ok := layerOf(lead.infos[i].Name)
		if err := x.b.Step(1); err != nil {
			return err
		}
		if !ok || n != s.sources[0].from+at {
			continue
		}
		name := layerName(stack, x.out.Layers, after)
		if err := x.b.Hold(int64(len(name))); err != nil {
			return err
		}
		if err := x.add(s, name, t, func(one source) string { return layerName(stack, one.from+at, after) }); err != nil {
			return err
		}
	}
	return nil
}

// add plans one tensor of the result.
func (x *merger) add(s *slice, name string, t float64, of func(source) string) error {
	err := x.b.Items(1)
	if err == nil {
		err = x.b.Step(int64(1+len(s.sources)) * x.r.cost)
	}
	if err == nil {
		err = x.b.Hold(512 + 128*int64(len(s.sources)))
	}
	if err == nil {
		err = x.planTensor(s, name, t, of)
	}
	return wire.At("merge", "tensor "+wire.Quote(name), wire.NoOffset, err)
}

func (x *merger) planTensor(s *slice, name string, t float64, of func(source) string) error {
	g := &group{method: x.r.method, dtype: x.r.dtype, base: -1, rooms: x.rooms, held: x.held, shared: map[string]float64{}}
	var lead tensor.Info
	var infos []tensor.Info
	var from []*operand
	for k, one := range s.sources {
		m := x.model(one.model)
		at, ok := m.names.Find(of(one))
		if !ok {
			return wire.ErrMissing.Errorf("model %s has no tensor %s", wire.Quote(m.name), wire.Quote(of(one)))
		}
		info := m.infos[at]
		if k == 0 || one.model == s.base {
			lead = info
		}
		if one.model == s.base && g.method.needsBase {
			g.base = k
		}
		if k > 0 && !slices.Equal(info.Shape, infos[0].Shape) {
			return wire.ErrMismatch.Errorf("its shape is %v in model %s, %v in model %s", infos[0].Shape, wire.Quote(from[0].name), info.Shape, wire.Quote(m.name))
		}
		infos, from = append(infos, info), append(from, m)
	}
	if slices.ContainsFunc(infos, func(i tensor.Info) bool { return !model.Computes(i.DType) }) {
		if err := x.checkEqual(from, infos); err != nil {
			return err
		}
		x.tensors = append(x.tensors, model.Same(from[0].m, infos[0], name))
		return nil
	}
	out := x.r.out
	if out == tensor.Unknown {
		out = lead.DType
	}
	for k := range s.sources {
		numbers, err := model.NewNumbers(from[k].m, infos[k])
		if err != nil {
			return err
		}
		g.inputs = append(g.inputs, input{numbers: numbers, rounded: g.needsRounding(infos[k].DType), model: from[k].name, key: keyOf(x.r.seed, from[k].name+"\x00"+name)})
	}
	if err := x.setParameters(g, s, name, t); err != nil {
		return err
	}
	if len(g.inputs) == 1 && g.method.name == "passthrough" && g.inputs[0].scale == 1 && out == lead.DType && !g.needsRounding(out) {
		x.tensors = append(x.tensors, model.Same(x.opened[slices.Index(x.models, from[0])], infos[0], name))
		return nil
	}
	made := model.Made(name, out, lead.Shape, g)
	g.info, g.elements, g.index = made.Info, made.Elements(), len(x.groups)
	x.groups, x.tensors = append(x.groups, g), append(x.tensors, made)
	x.out.Computed++
	return nil
}

// setParameters sets the parameters of one tensor.
func (x *merger) setParameters(g *group, s *slice, name string, t float64) error {
	value := func(p *parameter, own params) (float64, error) {
		for _, given := range []params{own, s.params, x.r.params} {
			if f, ok := given[p.name].at(name, t); ok {
				return f, nil
			}
		}
		if p.required {
			return 0, wire.ErrMissing.Errorf("parameter %s", p.name)
		}
		return p.fallback, nil
	}
	var total float32
	for _, p := range g.method.params {
		if p.shared {
			f, err := value(&p, nil)
			if err != nil {
				return err
			}
			g.shared[p.name] = f
			continue
		}
		for k := range g.inputs {
			if k == g.base && g.method.needsBase {
				continue
			}
			f, err := value(&p, s.sources[k].params)
			if err != nil {
				return err
			}
			switch p.name {
			case "weight":
				g.inputs[k].weight = float32(f)
				total += float32(f)
			case "density":
				g.inputs[k].density = f
			case "scale":
				g.inputs[k].scale = float32(f)
			}
		}
	}
	if g.method.name == "linear" && g.shared["normalize"] != 0 && total == 0 {
		return wire.ErrRange.Errorf("its weights add up to 0, so they cannot be normalized")
	}
	return nil
}

// checkEqual rejects tensors that are not floating-point numbers, and so cannot be computed,
// unless they are equal in all models.
func (x *merger) checkEqual(from []*operand, infos []tensor.Info) error {
	for k := range infos {
		if infos[k].DType != infos[0].DType {
			return wire.ErrMismatch.Errorf("it is %s in one model and %s in another", wire.Quote(infos[0].TypeName()), wire.Quote(infos[k].TypeName()))
		}
		if k == 0 || slices.Contains(from[:k], from[k]) {
			continue
		}
		same, err := x.sameBytes(from[0].m, infos[0], from[k].m, infos[k])
		if err != nil {
			return err
		}
		if !same {
			return wire.ErrUnsupported.Errorf("it is %s, which is not merged, and differs between models %s and %s", wire.Quote(infos[0].TypeName()), wire.Quote(from[0].name), wire.Quote(from[k].name))
		}
	}
	return nil
}

func (x *merger) sameBytes(m tensor.Model, i tensor.Info, n tensor.Model, j tensor.Info) (bool, error) {
	first, err := m.Body(x.b, i)
	if err != nil {
		return false, err
	}
	defer first.Close()
	second, err := n.Body(x.b, j)
	if err != nil {
		return false, err
	}
	defer second.Close()
	var a, c [4096]byte
	for {
		if err := x.b.Step(1); err != nil {
			return false, err
		}
		k, err := readFull(first, a[:])
		if err != nil {
			return false, err
		}
		l, err := readFull(second, c[:])
		if err != nil || !bytes.Equal(a[:k], c[:l]) {
			return false, err
		}
		if k < len(a) {
			return true, nil
		}
	}
}

// readFull is io.ReadFull without an error at the end.
func readFull(r io.Reader, p []byte) (int, error) {
	n, err := io.ReadFull(r, p)
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		err = nil
	}
	return n, err
}

// finish creates the resulting model.
func (x *merger) finish() error {
	m, err := model.New(x.b, len(x.tensors), x.opened[0], x.opened[1:]...)
	if err != nil {
		return err
	}
	for i := range x.tensors {
		if err := x.b.Items(1); err != nil {
			return err
		}
		if err := m.Add(x.b, x.tensors[i]); err != nil {
			return err
		}
	}
	m.Also = x.held
	x.out.Model = m
	text, err := x.config()
	if text != "" {
		m.Siblings = model.Overlay{FS: x.opened[0].Configs(), Name: configName, Text: strings.Clone(text)}
	}
	return err
}
