package deepspeed

import (
	"slices"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/vm"
)

// The members of a file of the module that matter here.
const (
	moduleKey    = "module"
	buffersKey   = "buffer_names"
	shapesKey    = "param_shapes"
	frozenKey    = "frozen_param_shapes"
	fragmentsKey = "frozen_param_fragments"
	sharedKey    = "shared_params"
)

// states are what the files of the module say.
type states struct {
	buffers []weight
	frozen  []weight
	groups  [][]weight // trained weights, by group
	shared  [][2]string
	step    [2]int64 // steps and samples, -1 where they are not stated
}

// A weight is a tensor of the model.
type weight struct {
	name  string
	shape []int64
	count int64
	info  tensor.Info // of one that a file of the module has
	parts []piece     // of one that is not trained, by process
}

// modules reads the files of the module, by process.
func (d *decoder) modules() error {
	want := 1
	if d.zero == 3 {
		want = len(d.optim)
	}
	if d.zero < 3 && d.module[0] != "mp_rank_00"+moduleEnd || len(d.module) != want {
		return errCount.Errorf("%d files of the module, the first is %s; stage %d of %d processes has %d", len(d.module), wire.Quote(d.module[0]), d.zero, len(d.optim), want)
	}
	for rank, name := range d.module {
		if err := d.steps.Step(); err != nil {
			return err
		}
		if err := d.read(name, func(p *part) error { return p.ofModule(rank) }); err != nil {
			return err
		}
	}
	return nil
}

// ofModule reads the file of one process: the first says what there is, and the others say the same.
func (p *part) ofModule(rank int) error {
	s := &states{}
	if err := p.counters(s); err != nil {
		return err
	}
	if err := p.trained(s); err != nil {
		return err
	}
	if err := p.notTrained(s); err != nil {
		return err
	}
	if rank > 0 {
		return p.d.sameStates(s)
	}
	if err := p.buffersOf(s); err != nil {
		return err
	}
	if err := p.sharedOf(s); err != nil {
		return err
	}
	p.d.first = s
	return p.d.statesOf(p, s)
}

// statesOf keeps what the first process says of the checkpoint.
func (d *decoder) statesOf(p *part, s *states) error {
	if s.step[0] >= 0 {
		if err := d.says("global_steps", s.step[0]); err != nil {
			return err
		}
	}
	version, ok, err := p.member(p.root, "ds_version")
	if err != nil || !ok || version.Kind() != vm.KindText {
		return err
	}
	text, err := limits.String(d.b, []byte(version.Text()))
	if err != nil {
		return err
	}
	return d.says("ds_version", text)
}

// counters reads how far the training was.
func (p *part) counters(s *states) error {
	for i, key := range [...]string{"global_steps", "global_samples"} {
		s.step[i] = -1
		v, ok, err := p.member(p.root, key)
		if err != nil {
			return err
		}
		if !ok || v.Kind() != vm.KindInt {
			continue
		}
		if n, whole := v.Int(); whole && n >= 0 {
			s.step[i] = n
		}
	}
	return nil
}

// trained reads the names and shapes of the trained weights: a list of dicts, one a group.
func (p *part) trained(s *states) error {
	list, err := p.must(p.root, shapesKey, vm.KindList)
	if err != nil {
		return err
	}
	for v := range list.Elems() {
		group, err := p.shapes(v)
		if err != nil {
			return err
		}
		if s.groups, err = limits.Append(p.d.b, s.groups, group); err != nil {
			return err
		}
	}
	return nil
}

// shapes reads a dict of shapes by name.
func (p *part) shapes(v vm.Value) (list []weight, err error) {
	if v.Kind() != vm.KindDict {
		return nil, fail("", errState.Errorf("a %s in place of a dict of shapes", v.Kind()))
	}
	for key, value := range v.Entries() {
		if err := p.d.hold(placeCost); err != nil {
			return nil, err
		}
		var w weight
		if w.name, err = p.name(key); err != nil {
			return nil, err
		}
		if w.shape, w.count, err = p.d.shape(value); err != nil {
			return nil, fail(whereOf(w.name), err)
		}
		if list, err = limits.Append(p.d.b, list, w); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// name keeps the name of a tensor.
func (p *part) name(v vm.Value) (string, error) {
	if err := p.d.steps.Step(); err != nil {
		return "", err
	}
	if v.Kind() != vm.KindText {
		return "", fail("", errState.Errorf("a %s in place of the name of a tensor", v.Kind()))
	}
	return limits.String(p.d.b, []byte(v.Text()))
}

// maxDims bounds the rank of a tensor: torch's kernels take no more.
const maxDims = 64

// shape reads a torch.Size.
func (d *decoder) shape(v vm.Value) (list []int64, count int64, err error) {
	n, ok := v.Dims()
	if !ok || !v.Is(vm.TorchSize) && v.Kind() != vm.KindTuple {
		return nil, 0, errState.Errorf("a %s in place of a shape", v.Kind())
	}
	if n > maxDims {
		return nil, 0, errNumel.Errorf("%d dimensions, more than %d", n, maxDims)
	}
	if list, err = limits.Make[int64](d.b, n); err != nil {
		return nil, 0, err
	}
	list, ok = v.Ints(list[:0])
	if !ok || slices.ContainsFunc(list, func(n int64) bool { return n < 0 }) {
		return nil, 0, errState.Errorf("a shape of other things than sizes")
	}
	product, ok := wire.Product(list)
	if !ok || product > 1<<60 {
		return nil, 0, errNumel.Errorf("shape %v", list)
	}
	return list, int64(product), d.steps.Take(1 + int64(n))
}

// notTrained reads the weights that are not trained: whole at stages 1 and 2, a part a process at stage 3.
func (p *part) notTrained(s *states) (err error) {
	shapes, ok, err := p.member(p.root, frozenKey)
	if err != nil || !ok {
		return err
	}
	if s.frozen, err = p.shapes(shapes); err != nil {
		return err
	}
	for i := range s.frozen {
		w := &s.frozen[i]
		if w.info, err = p.stored(fragmentsKey + "." + w.name); err != nil {
			return err
		}
		if p.d.zero < 3 && !slices.Equal(w.info.Shape, w.shape) || p.d.zero == 3 && len(w.info.Shape) != 1 {
			return fail(whereOf(w.name), errShape.Errorf("a weight of shape %v is stored with shape %v", w.shape, w.info.Shape))
		}
		if err := p.keep(w); err != nil {
			return err
		}
	}
	return nil
}

// keep keeps where a tensor of the file is.
func (p *part) keep(w *weight) (err error) {
	w.info.Name, w.info.Storage, w.info.Shape = w.name, "", w.shape
	if w.info.Stored, err = limits.String(p.d.b, []byte(w.info.Stored)); err != nil {
		return err
	}
	w.parts, err = p.d.join(w.parts, p.span(w), p.file)
	return err
}

// span is where a tensor is, as a row of elements.
func (p *part) span(w *weight) tensor.Info {
	i := w.info
	g, _ := i.DType.Geometry()
	i.Shape = []int64{i.Span.Len / int64(g.Bytes)}
	return i
}

// buffersOf reads the buffers, in the order of the module.
func (p *part) buffersOf(s *states) error {
	module, err := p.must(p.root, moduleKey, vm.KindDict)
	if err != nil {
		return err
	}
	list, err := p.must(p.root, buffersKey, vm.KindList)
	if err != nil {
		return err
	}
	names := map[string]bool{}
	for v := range list.Elems() {
		if err := p.d.hold(placeCost); err != nil {
			return err
		}
		names[v.Text()] = true
	}
	for key := range module.Entries() {
		if err := p.d.steps.Step(); err != nil {
			return err
		}
		if !names[key.Text()] || key.Kind() != vm.KindText {
			continue
		}
		if err := p.buffer(s, key); err != nil {
			return err
		}
	}
	return p.sameShapes(s)
}

// buffer reads one buffer of the module.
func (p *part) buffer(s *states, key vm.Value) (err error) {
	var w weight
	if w.name, err = p.name(key); err != nil {
		return err
	}
	if w.info, err = p.stored(moduleKey + "." + w.name); err != nil {
		return err
	}
	if w.shape, err = limits.Clone(p.d.b, w.info.Shape); err != nil {
		return err
	}
	if w.count = w.info.Elements(); isFloat(w.info.Stored) && widenings[w.info.DType] == nil {
		return fail(whereOf(w.name), errForm.Errorf("a buffer of type %s, which is not made float32 here", wire.Quote(w.info.Stored)))
	}
	if err := p.keep(&w); err != nil {
		return err
	}
	s.buffers, err = limits.Append(p.d.b, s.buffers, w)
	return err
}

// sameShapes proves that the module has the trained weights in the shapes that are stated. At stage 3
// it has none of them.
func (p *part) sameShapes(s *states) error {
	for _, group := range s.groups {
		for i := range group {
			if err := p.d.steps.Step(); err != nil {
				return err
			}
			w := &group[i]
			info, ok := p.find(moduleKey + "." + w.name)
			if p.d.zero < 3 && !ok || ok && !slices.Equal(info.Shape, w.shape) && !(p.d.zero == 3 && info.Elements() == 0) {
				return fail(whereOf(w.name), errShape.Errorf("shape %v is stated, and the module has %v", w.shape, info.Shape))
			}
		}
	}
	return nil
}

// sharedOf reads which names are of one weight.
func (p *part) sharedOf(s *states) error {
	v, err := p.must(p.root, sharedKey, vm.KindDict)
	if err != nil {
		return err
	}
	for key, value := range v.Entries() {
		if err := p.d.hold(placeCost); err != nil {
			return err
		}
		name, err := p.name(key)
		if err != nil {
			return err
		}
		of, err := p.name(value)
		if err != nil {
			return err
		}
		if s.shared, err = limits.Append(p.d.b, s.shared, [2]string{name, of}); err != nil {
			return err
		}
	}
	return nil
}

// sameStates proves that another process says the same, and adds its parts of what is not trained.
func (d *decoder) sameStates(s *states) error {
	if s.step != d.first.step {
		return fail("", errStep.Errorf("%d steps of %d samples, and the first process has %d of %d", s.step[0], s.step[1], d.first.step[0], d.first.step[1]))
	}
	if len(s.groups) != len(d.first.groups) {
		return fail("", errAltered.Errorf("%d groups of weights, and the first process has %d", len(s.groups), len(d.first.groups)))
	}
	for g := range s.groups {
		if err := d.sameWeights(s.groups[g], d.first.groups[g]); err != nil {
			return err
		}
	}
	if err := d.sameWeights(s.frozen, d.first.frozen); err != nil {
		return err
	}
	for i := range s.frozen {
		w, first := &s.frozen[i], &d.first.frozen[i]
		if w.info.DType != first.info.DType {
			return fail(whereOf(w.name), errAltered.Errorf("type %s, and the first process has %s", wire.Quote(w.info.Stored), wire.Quote(first.info.Stored)))
		}
		var err error
		if first.parts, err = limits.Append(d.b, first.parts, w.parts[0]); err != nil {
			return err
		}
	}
	return nil
}

// sameWeights proves that two processes have the same names and shapes.
func (d *decoder) sameWeights(list, first []weight) error {
	if len(list) != len(first) {
		return fail("", errAltered.Errorf("%d weights, and the first process has %d", len(list), len(first)))
	}
	for i := range list {
		if err := d.steps.Step(); err != nil {
			return err
		}
		if list[i].name != first[i].name || !slices.Equal(list[i].shape, first[i].shape) {
			return fail(whereOf(list[i].name), errAltered.Errorf("shape %v, and the first process has %s with %v in its place", list[i].shape, wire.Quote(first[i].name), first[i].shape))
		}
	}
	return nil
}
