package pth

import (
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/vm"
)

// bareStorage lists a storage without a tensor as a vector.
func (w *walker) bareStorage(v vm.Value) error {
	if w.yield != nil {
		return nil
	}
	ref, err := w.st.ref(v)
	if err != nil {
		return err
	}
	shape, err := w.ints.take(w.b, 2)
	if err != nil {
		return fail(pickleName, v.Off(), err)
	}
	c := call{global: v.PID().At(1).Global(), off: v.Off()}
	d := dense{c: c, scalar: ref.scalar, span: w.st.span(ref.store), storage: w.st.list[ref.store].name, order: w.st.order}
	n := d.span.Len / int64(ref.scalar.size)
	if g, _ := ref.scalar.dtype.Geometry(); g.Elems > 1 {
		n *= int64(g.Elems)
	}
	shape = append(shape, n, 1)
	d.view.shape, d.view.strides = shape[:1:1], shape[1:2:2]
	return w.emit(&d)
}

// parameter reads a tensor in a Parameter, with or without attributes.
func (w *walker) parameter(c call, args int) error {
	if err := c.wantArgs(args, args); err != nil {
		return err
	}
	if err := w.tensor(&c, c.args.At(0)); err != nil || w.done {
		return err
	}
	if err := w.grad(&c, 1); err != nil || args == 3 {
		return err
	}
	return w.attributes(c.args.At(3))
}

// subclass reads a function, the class of its result, its arguments and its state.
func (w *walker) subclass(c call) error {
	if err := c.wantArgs(4, 4); err != nil {
		return err
	}
	f, err := c.arg(0, vm.KindGlobal)
	if err != nil {
		return err
	}
	args, err := c.arg(2, vm.KindTuple)
	if err != nil {
		return err
	}
	if err := c.isClass(1, "torch.Tensor", "torch.nn.parameter.Parameter"); err != nil {
		return err
	}
	inner := call{f.Global(), args, c.off}
	switch id := inner.global.ID; {
	case !isTensor(id), id == vm.RebuildFromType, id == vm.RebuildParameter, id == vm.RebuildParameterWithState:
		return inner.fail(wire.ErrSyntax.WithRule("pth.no-tensor").Errorf("does not make a tensor of no class"))
	}
	state := c.args.At(3)
	if c.global.Name == "_rebuild_from_type" { // PyTorch 1.7 to 1.10
		if state.Kind() != vm.KindDict || c.args.At(1).Is(vm.TorchTensor) && state.Len() > 0 {
			return c.fail(wire.ErrUnsupported.WithRule("pth.attributes").Errorf("attributes that torch does not set"))
		}
	}
	if err := w.call(inner); err != nil || w.done {
		return err
	}
	return w.attributes(state)
}

// tensor walks an argument that must be a tensor without attributes, since the result
// would not keep them.
func (w *walker) tensor(c *call, v vm.Value) error {
	if v.Kind() != vm.KindObject || !isTensor(v.ID()) {
		return c.fail(wire.ErrInternal.Errorf("expected a tensor, got a %v", v.Kind()))
	}
	if v.Is(vm.RebuildParameterWithState) || v.Is(vm.RebuildFromType) {
		if args := v.Args(); args.Len() == 4 && !isEmptyState(args.At(3)) {
			return c.fail(wire.ErrUnsupported.WithRule("pth.attributes").Errorf("a tensor with attributes as an argument: loaders drop them"))
		}
	}
	return w.value(v)
}

// statefulTensor reads a tensor or parameter as PyTorch 0.x pickled them: a class, and BUILD with
// (storage, offset, size, stride) or, for variables, with a tensor first. A Parameter may
// have its tensor as argument. There is one origin: a state after an argument only says
// which gradients there are.
func (w *walker) statefulTensor(c call, state vm.Value, has bool) error {
	isParameter := c.global.ID == vm.TorchParameter
	parts := 0
	if has {
		parts = state.Len()
	}
	switch {
	case has && state.Kind() != vm.KindTuple:
		return c.fail(wire.ErrInternal.Errorf("state is a %v", state.Kind()))
	case isParameter && c.args.Len() > 0 && (parts == 0 || parts == 3):
		return w.parameterOf(c, state, parts)
	case c.args.Len() > 0:
		return c.fail(wire.ErrDuplicate.WithRule("pth.state-twice").Errorf("one tensor as argument and another as state"))
	case parts == 4 && isParameter:
		return c.fail(wire.ErrMismatch.WithRule("pth.parameter-storage").Errorf("a Parameter that gets a storage, which torch refuses: it requires a gradient"))
	case parts == 4:
		return w.setStorage(c, state)
	case parts == 5 && isParameter:
		if err := w.tensor(&c, state.At(0)); err != nil {
			return err
		}
		return w.differentiable(&c) // it requires a gradient until the state is read
	default:
		return c.fail(wire.ErrMissing.WithRule("pth.state-missing").Errorf("state of a tensor"))
	}
}

// parameterOf reads a Parameter of a tensor: (tensor[, requires_grad]), possibly with a state
// of three parts, the first of which is requires_grad.
func (w *walker) parameterOf(c call, state vm.Value, parts int) error {
	if err := c.wantArgs(1, 2); err != nil {
		return err
	}
	if err := w.tensor(&c, c.args.At(0)); err != nil {
		return err
	}
	if c.args.Len() == 1 {
		return w.differentiable(&c)
	}
	if err := w.grad(&c, 1); err != nil || parts == 0 {
		return err
	}
	c.args = state
	return w.grad(&c, 0)
}

// setStorage gives an empty tensor its storage, which must have the type of its class and be on
// the CPU or a GPU, as the class says.
func (w *walker) setStorage(c call, state vm.Value) error {
	class := c.global
	name := class.Name
	if name == "Tensor" {
		name = "FloatTensor"
	}
	want := findStorageClass(strings.TrimSuffix(name, "Tensor") + "Storage")
	c.args = state
	if w.listing() {
		d, err := w.dense(c)
		if err != nil {
			return err
		}
		if want != d.scalar || strings.Contains(class.Module, "sparse") {
			return c.fail(wire.ErrMismatch.WithRule("pth.storage-differs").Errorf("a storage of %s", d.scalar.name))
		}
	}
	return w.strided(c, 4, 4)
}

// nested reads a list of tensors of different shapes in one buffer.
func (w *walker) nested(c call) error {
	if err := c.wantArgs(4, 4); err != nil {
		return err
	}
	first, listing := len(w.infos), w.listing()
	for i, name := range [...]string{"buffer", "sizes", "strides", "offsets"} {
		if err := w.part(name, func() error { return w.tensor(&c, c.args.At(i)) }); err != nil {
			return err
		}
		if listing && len(w.infos) != first+i+1 { // a part without data, or with several tensors
			return c.fail(wire.ErrMismatch.WithRule("pth.nested-tensor").Errorf("%s of a nested tensor: a dense tensor is wanted", name))
		}
	}
	if !listing {
		return nil
	}
	w.made = findScalar(strings.TrimPrefix(w.infos[first].Stored, torchDot))
	if err := nestedParts(w.infos[first:]); err != nil {
		return c.fail(err)
	}
	return nil
}

// nestedParts compares the shapes of buffer, sizes, strides and offsets as torch does:
// one row of sizes and of strides, and one offset, for each tensor of the list. For an
// empty list torch writes sizes that are a scalar.
func nestedParts(parts []tensor.Info) error {
	if len(parts[0].Shape) != 1 {
		return wire.ErrMismatch.WithRule("pth.nested-tensor").Errorf("the buffer of a nested tensor has %d dimensions, expected 1", len(parts[0].Shape))
	}
	sizes, strides, offsets := &parts[1], &parts[2], &parts[3]
	count := int64(0)
	if len(sizes.Shape) > 0 {
		count = sizes.Shape[0]
		for _, p := range parts[1:] {
			if p.DType != tensor.I64 || p.Strides != nil {
				return wire.ErrMismatch.WithRule("pth.nested-tensor").Errorf("sizes, strides or offsets are of type %s, or not row-major", p.TypeName())
			}
		}
	}
	if len(sizes.Shape)|2 != 2 || !same(sizes.Shape, strides.Shape) || offsets.Elements() != count {
		return wire.ErrMismatch.WithRule("pth.nested-tensor").Errorf("sizes of shape %v, strides of %v, offsets of %v", sizes.Shape, strides.Shape, offsets.Shape)
	}
	return nil
}

// movedTensor reads a tensor of a device without storages, copied to the CPU and cast.
func (w *walker) movedTensor(c call) error {
	if err := c.wantArgs(4, 4); err != nil {
		return err
	}
	to, err := dtypeArg(&c, 1)
	if err != nil {
		return err
	}
	if err := c.device(2); err != nil {
		return err
	}
	from := len(w.infos)
	if err := w.tensor(&c, c.args.At(0)); err != nil || !w.listing() {
		return err
	}
	for i := from; i < len(w.infos); i++ {
		if w.infos[i].Stored != to.name {
			return c.fail(wire.ErrUnsupported.WithRule("pth.cast").Errorf("a cast from %s to %s", w.infos[i].Stored, to.name))
		}
	}
	if w.made != to { // a tensor without data
		return c.fail(wire.ErrUnsupported.WithRule("pth.cast").Errorf("a cast from %s to %s", w.made.name, to.name))
	}
	return w.grad(&c, 3)
}
