package pth

import (
	"strconv"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/vm"
)

// object walks what a call of a global stands for.
func (w *walker) object(v vm.Value) error {
	if !isTensor(v.Global().ID) {
		if v.Is(vm.Namespace) {
			return w.state(v)
		}
		return w.leaf(v)
	}
	c := callOf(v)
	state, has := v.State()
	if v.Is(vm.TorchTensor) || v.Is(vm.TorchParameter) {
		return w.stated(c, state, has)
	}
	if err := w.call(c); err != nil || w.done {
		return err
	}
	if has {
		return w.attributes(state)
	}
	return nil
}

// isTensor reports the globals whose calls are tensors.
func isTensor(id vm.ID) bool {
	return id >= vm.RebuildTensor && id <= vm.TorchTensor
}

// call walks a tensor by the function that rebuilds it.
func (w *walker) call(c call) error {
	switch c.global.ID {
	case vm.RebuildTensor:
		return w.strided(c, 4, 4)
	case vm.RebuildTensorV2:
		return w.strided(c, 6, 7)
	case vm.RebuildTensorV3:
		return w.strided(c, 7, 8)
	case vm.RebuildParameter:
		return w.parameter(c, 3)
	case vm.RebuildParameterWithState:
		return w.parameter(c, 4)
	case vm.RebuildFromType:
		return w.subclass(c)
	case vm.RebuildQTensor:
		return w.quantized(c)
	case vm.RebuildSparseTensor, vm.RebuildSparseCSR:
		return w.sparseTensor(c)
	case vm.RebuildNestedTensor:
		return w.nested(c)
	case vm.RebuildMetaTensor, vm.RebuildWrapperSubclass:
		return w.hollow(c)
	case vm.RebuildDeviceFromCPU:
		return w.moved(c)
	case vm.RebuildDeviceFromNumpy:
		return w.fromNumpy(c)
	default:
		return c.fail(wire.ErrSyntax.With("does not make a tensor"))
	}
}

// strided is a dense tensor: storage, offset, size, stride, then what does not
// matter here (grad, hooks), the type of a storage without one, and flags.
func (w *walker) strided(c call, low, high int) error {
	if err := c.want(low, high); err != nil || w.yield != nil {
		return err
	}
	d, err := w.dense(c)
	if err != nil {
		return err
	}
	next := 6
	if c.global.ID == vm.RebuildTensorV3 {
		if err := d.typed(&c); err != nil {
			return err
		}
		next = 7
	}
	if d.scalar.quantized() {
		return c.fail(wire.ErrMissing.With("a tensor of %s has no quantizer", d.scalar.name))
	}
	if c.args.Len() > next {
		if err := d.flags(&c, next); err != nil {
			return err
		}
	}
	if err := w.emit(&d); err != nil || low == 4 {
		return err
	}
	return w.grad(&c, 4)
}

// typed reads the element type of a storage that has none of its own. Where the
// file is in another byte order, torch turns around elements of the storage's type,
// which must be as wide.
func (d *dense) typed(c *call) error {
	stored := d.scalar
	var err error
	if d.scalar, err = dtypeArg(c, 6); err != nil {
		return err
	}
	if d.order == tensor.Big && d.scalar.swapped() != stored.swapped() {
		return c.fail(wire.ErrUnsupported.With("%s in a big endian storage of %s: torch swaps the bytes of the storage's type", d.scalar.name, stored.name))
	}
	if grad := c.args.At(4); grad.Kind() == vm.KindBool && grad.Bool() {
		return c.fail(wire.ErrUnsupported.With("a tensor that requires a gradient before it has a storage, which torch refuses"))
	}
	return nil
}

// grad asks that the tensor just made can require a gradient if argument i says so.
func (w *walker) grad(c *call, i int) error {
	v := c.args.At(i)
	if !w.listing() || v.Kind() != vm.KindBool || !v.Bool() {
		return nil
	}
	return w.differentiable(c)
}

func (w *walker) differentiable(c *call) error {
	if !w.listing() || w.made.differentiable() {
		return nil
	}
	return c.fail(wire.ErrMismatch.With("a tensor of %s that requires a gradient", w.made.name))
}

// listing reports the walk that proves tensors and lists them.
func (w *walker) listing() bool { return w.yield == nil && w.exact == nil }

// A dense is a strided tensor as the pickle describes it.
type dense struct {
	c         call
	span      tensor.Span
	storage   string
	scalar    *scalar
	order     tensor.Order
	view      view
	conj, neg bool
}

// dense reads storage, offset, size and stride.
func (w *walker) dense(c call) (dense, error) {
	d := dense{c: c}
	v, err := c.arg(0, vm.KindPersistent)
	if err != nil {
		return d, err
	}
	ref, err := w.st.ref(v)
	if err != nil {
		return d, err
	}
	d.scalar, d.span, d.storage, d.order = ref.scalar, w.st.span(ref.store), w.st.list[ref.store].name, w.st.order
	if d.view.offset, err = c.int(1); err != nil {
		return d, err
	}
	if d.view.shape, err = w.dims(&c, c.args.At(2)); err != nil {
		return d, err
	}
	d.view.strides, err = w.dims(&c, c.args.At(3))
	return d, err
}

// dims reads a tuple of integers.
func (w *walker) dims(c *call, v vm.Value) ([]int64, error) {
	n, ok := v.Dims()
	if !ok || n > maxDims {
		return nil, c.fail(wire.ErrRange.With("dimensions are no tuple of at most %d integers", maxDims))
	}
	dst, err := w.ints.take(w.b, n)
	if err != nil {
		return nil, c.fail(err)
	}
	if dst, ok = v.Ints(dst); !ok {
		return nil, c.fail(wire.ErrRange.With("dimensions are no integers of 64 bits"))
	}
	return dst, nil
}

// dtypeArg reads argument i as an element type.
func dtypeArg(c *call, i int) (*scalar, error) {
	v, err := c.arg(i, vm.KindGlobal)
	if err != nil {
		return nil, err
	}
	if v.Is(vm.TorchDType) {
		if s := findScalar(v.Global().Name); s != nil {
			return s, nil
		}
	}
	return nil, c.fail(wire.ErrUnsupported.With("element type %s", wire.Quote(v.Global().String())))
}

// flags reads the dict that says whether a view is to be conjugated or negated.
// torch looks for the names alone and writes True beside each: with False it
// would negate all the same.
func (d *dense) flags(c *call, i int) error {
	v, err := c.arg(i, vm.KindDict, vm.KindNone)
	if err != nil {
		return err
	}
	for k, value := range v.Entries() {
		isText := k.Kind() == vm.KindText
		switch {
		case value.Kind() != vm.KindBool || !value.Bool():
			return c.fail(wire.ErrUnsupported.With("tensor metadata %s that is not True", wire.Quote(repr(k))))
		case isText && k.Text() == "conj" && d.scalar.complex():
			d.conj = true
		case isText && k.Text() == "conj":
			return c.fail(wire.ErrMismatch.With("conjugate view of %s", d.scalar.name))
		case isText && k.Text() == "neg":
			d.neg = true
		default:
			return c.fail(wire.ErrUnsupported.With("tensor metadata %s", wire.Quote(repr(k))))
		}
	}
	return nil
}

// emit proves a tensor and lists it.
func (w *walker) emit(d *dense) error {
	if w.exact != nil {
		return w.rename()
	}
	info := tensor.Info{Stored: d.scalar.name, DType: d.scalar.dtype, Order: d.scalar.order(d.order), Storage: d.storage}
	n, err := d.place(&info)
	if err != nil {
		return d.c.fail(err)
	}
	if err := w.b.Expand(int64(n)); err != nil {
		return d.c.fail(err)
	}
	if info.Storage, err = d.resolved(w.b, &info); err != nil {
		return d.c.fail(err)
	}
	if info.Name, err = w.plain(); err != nil {
		return d.c.fail(err)
	}
	if err := w.visit(1); err != nil {
		return err
	}
	infos, err := limits.Append(w.b, w.infos, info)
	if err != nil {
		return d.c.fail(err)
	}
	w.infos, w.made = infos, d.scalar
	return nil
}

// rename gives the next tensor its exact name if it needs one.
func (w *walker) rename() error {
	i := w.at
	w.at++
	if !w.exact[i] {
		return nil
	}
	name, err := w.exactly()
	if err != nil {
		return fail("tensor "+strconv.Itoa(i), wire.NoOffset, err)
	}
	w.infos[i].Name = name
	return nil
}

// place proves that the view lies in its storage and fills in where. It
// returns the bytes of the tensor's own elements.
func (d *dense) place(info *tensor.Info) (uint64, error) {
	g, known := d.scalar.dtype.Geometry()
	if known && g.Elems > 1 && d.scalar.dtype != tensor.F4 {
		return d.packed(info, uint64(g.Elems))
	}
	n, err := d.view.elements(uint64(d.span.Len) / d.scalar.size)
	if err != nil {
		return 0, err
	}
	bytes, ok := wire.Mul(n, d.scalar.size)
	if !ok {
		return 0, wire.ErrOverflow.With("%d elements of %d bytes", n, d.scalar.size)
	}
	info.Shape = d.view.shape
	switch size := int64(d.scalar.size); {
	case n == 0:
		info.Span = tensor.Span{Off: d.span.Off}
	case d.view.rowMajor():
		info.Span = tensor.Span{Off: d.span.Off + d.view.offset*size, Len: int64(bytes)}
	default:
		info.Span, info.Strides, info.Offset = d.span, d.view.strides, d.view.offset
	}
	if d.scalar.dtype == tensor.F4 {
		return bytes, d.pairs(info)
	}
	return bytes, nil
}

// pairs turns torch's pairs of 4-bit floats into elements. A view whose pairs
// do not lie side by side has no such description; it is listed as torch's type.
func (d *dense) pairs(info *tensor.Info) error {
	last := len(info.Shape) - 1
	if last < 0 {
		info.Shape = []int64{2}
		return nil
	}
	if info.Strides != nil && info.Strides[last] != 1 && info.Shape[last] != 1 {
		info.DType = tensor.Unknown
		return nil
	}
	if info.Shape[last] >= 1<<62 {
		return wire.ErrOverflow.With("%d pairs", info.Shape[last])
	}
	info.Shape[last] *= 2
	if info.Strides == nil {
		return nil
	}
	info.Offset *= 2
	for i, size := range info.Shape {
		if size == 1 {
			info.Strides[i] = 0 // anything may stand there, and would overflow
		}
		info.Strides[i] *= 2
	}
	info.Strides[last] = 1
	return nil
}

// packed is a tensor whose rows are packed, several elements in a byte. Only
// whole storages are written so; rows that do not fill their last byte have no
// description as elements.
func (d *dense) packed(info *tensor.Info, per uint64) (uint64, error) {
	if err := d.view.check(); err != nil {
		return 0, err
	}
	if d.view.offset != 0 || !d.view.rowMajor() || len(d.view.shape) == 0 {
		return 0, wire.ErrUnsupported.With("view of a packed type")
	}
	last := len(d.view.shape) - 1
	row := uint64(d.view.shape[last])
	rows, ok := wire.Product(d.view.shape[:last])
	if ok {
		rows, ok = wire.Mul(rows, row/per+min(row%per, 1))
	}
	if _, fits := wire.Product(d.view.shape); !ok || !fits {
		return 0, wire.ErrOverflow.With("shape of more than 2^63-1 bytes")
	}
	if rows != uint64(d.span.Len) {
		return 0, wire.ErrMismatch.With("%d bytes for a storage of %d", rows, d.span.Len)
	}
	info.Shape, info.Span = d.view.shape, d.span
	if row%per != 0 {
		info.DType = tensor.Unknown
	}
	return rows, nil
}

// bare is a storage that stands in the checkpoint without a tensor: a vector.
func (w *walker) bare(v vm.Value) error {
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

// parameter is a tensor in a Parameter, with attributes or without.
func (w *walker) parameter(c call, args int) error {
	if err := c.want(args, args); err != nil {
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

// subclass is a function, the class of its result, its arguments and state.
func (w *walker) subclass(c call) error {
	if err := c.want(4, 4); err != nil {
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
		return inner.fail(wire.ErrSyntax.With("does not make a tensor of no class"))
	}
	state := c.args.At(3)
	if c.global.Name == "_rebuild_from_type" { // of PyTorch 1.7 to 1.10
		if state.Kind() != vm.KindDict || c.args.At(1).Is(vm.TorchTensor) && state.Len() > 0 {
			return c.fail(wire.ErrUnsupported.With("attributes that torch does not set"))
		}
	}
	if err := w.call(inner); err != nil || w.done {
		return err
	}
	return w.attributes(state)
}

// tensor walks an argument that must be a tensor, and no more: what is made of it
// does not have its attributes.
func (w *walker) tensor(c *call, v vm.Value) error {
	if v.Kind() != vm.KindObject || !isTensor(v.Global().ID) {
		return c.fail(wire.ErrSyntax.With("a tensor is wanted, this is a %v", v.Kind()))
	}
	if v.Is(vm.RebuildParameterWithState) || v.Is(vm.RebuildFromType) {
		if args := v.Args(); args.Len() == 4 && !stateless(args.At(3)) {
			return c.fail(wire.ErrUnsupported.With("a tensor with attributes as an argument: loaders drop them"))
		}
	}
	return w.value(v)
}

// stated is a tensor or parameter as PyTorch 0.x pickled them: a class, and
// BUILD with (storage, offset, size, stride) or, for variables, with a tensor
// first. A Parameter may have its tensor as argument. Each has one origin: a state
// after an argument says only what gradients there are.
func (w *walker) stated(c call, state vm.Value, has bool) error {
	isParameter := c.global.ID == vm.TorchParameter
	parts := 0
	if has {
		parts = state.Len()
	}
	switch {
	case has && state.Kind() != vm.KindTuple:
		return c.fail(wire.ErrSyntax.With("state is a %v", state.Kind()))
	case isParameter && c.args.Len() > 0 && (parts == 0 || parts == 3):
		return w.wrapped(c, state, parts)
	case c.args.Len() > 0:
		return c.fail(wire.ErrDuplicate.With("a tensor as argument, and another one as state"))
	case parts == 4 && isParameter:
		return c.fail(wire.ErrMismatch.With("a Parameter that gets a storage, which torch refuses: it requires a gradient"))
	case parts == 4:
		return w.set(c, state)
	case parts == 5 && isParameter:
		if err := w.tensor(&c, state.At(0)); err != nil {
			return err
		}
		return w.differentiable(&c) // it requires one until the state is read
	default:
		return c.fail(wire.ErrMissing.With("state of a tensor"))
	}
}

// wrapped is a Parameter of a tensor: (tensor[, requires_grad]), and perhaps a
// state of three parts, whose first is requires_grad.
func (w *walker) wrapped(c call, state vm.Value, parts int) error {
	if err := c.want(1, 2); err != nil {
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

// set gives an empty tensor its storage, which must be of the same type and on the
// CPU or a GPU as the class is.
func (w *walker) set(c call, state vm.Value) error {
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
			return c.fail(wire.ErrMismatch.With("a storage of %s", d.scalar.name))
		}
	}
	return w.strided(c, 4, 4)
}

// nested is a list of tensors of different shapes in one buffer.
func (w *walker) nested(c call) error {
	if err := c.want(4, 4); err != nil {
		return err
	}
	first, listing := len(w.infos), w.listing()
	for i, name := range [...]string{"buffer", "sizes", "strides", "offsets"} {
		if err := w.part(name, func() error { return w.tensor(&c, c.args.At(i)) }); err != nil {
			return err
		}
		if listing && len(w.infos) != first+i+1 { // one without data, or of several parts
			return c.fail(wire.ErrMismatch.With("%s of a nested tensor: a dense tensor is wanted", name))
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

// nestedParts holds the shapes of buffer, sizes, strides and offsets against
// each other, as torch does: one row of sizes and of strides, and one offset, for
// each tensor of the list. Of an empty list torch writes sizes that are a number.
func nestedParts(parts []tensor.Info) error {
	if len(parts[0].Shape) != 1 {
		return wire.ErrMismatch.With("the buffer of a nested tensor has %d dimensions", len(parts[0].Shape))
	}
	sizes, strides, offsets := &parts[1], &parts[2], &parts[3]
	count := int64(0)
	if len(sizes.Shape) > 0 {
		count = sizes.Shape[0]
		for _, p := range parts[1:] {
			if p.DType != tensor.I64 || p.Strides != nil {
				return wire.ErrMismatch.With("sizes, strides or offsets are of type %s, or not row-major", p.TypeName())
			}
		}
	}
	if len(sizes.Shape)|2 != 2 || !same(sizes.Shape, strides.Shape) || offsets.Elements() != count {
		return wire.ErrMismatch.With("sizes of shape %v, strides of %v, offsets of %v", sizes.Shape, strides.Shape, offsets.Shape)
	}
	return nil
}

// moved is a tensor of a device without storages, brought to the CPU and cast.
func (w *walker) moved(c call) error {
	if err := c.want(4, 4); err != nil {
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
			return c.fail(wire.ErrUnsupported.With("a cast from %s to %s", w.infos[i].Stored, to.name))
		}
	}
	if w.made != to { // one without data
		return c.fail(wire.ErrUnsupported.With("a cast from %s to %s", w.made.name, to.name))
	}
	return w.grad(&c, 3)
}
