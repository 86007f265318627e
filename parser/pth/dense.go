package pth

import (
	"strconv"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/vm"
)

// typed reads the element type of an untyped storage. In a file of the other byte order,
// torch swaps elements of the storage's type, which must have the same width.
func (d *dense) typed(c *call) error {
	stored := d.scalar
	var err error
	if d.scalar, err = dtypeArg(c, 6); err != nil {
		return err
	}
	if d.order == tensor.Big && d.scalar.swapped() != stored.swapped() {
		return c.fail(wire.ErrUnsupported.WithRule("pth.big-endian-view").Errorf("%s in a big endian storage of %s: torch swaps the bytes of the storage's type", d.scalar.name, stored.name))
	}
	if grad := c.args.At(4); grad.Kind() == vm.KindBool && grad.Bool() {
		return c.fail(wire.ErrUnsupported.WithRule("pth.gradient-first").Errorf("a tensor that requires a gradient before it has a storage, which torch refuses"))
	}
	return nil
}

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
		return nil, c.fail(wire.ErrRange.WithRule("pth.dimensions").Errorf("the dimensions are not a tuple of at most %d integers", maxDims))
	}
	dst, err := w.ints.take(w.b, n)
	if err != nil {
		return nil, c.fail(err)
	}
	if dst, ok = v.Ints(dst); !ok {
		return nil, c.fail(wire.ErrInternal.Errorf("the dimensions are not 64-bit integers"))
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
	return nil, c.fail(wire.ErrInternal.Errorf("element type %s", wire.Quote(v.Global().String())))
}

// flags reads the dict that says whether a view is conjugated or negated. torch only
// looks for the names and writes True for each: it would negate for False too, so False
// is refused.
func (d *dense) flags(c *call, i int) error {
	v, err := c.arg(i, vm.KindDict, vm.KindNone)
	if err != nil {
		return err
	}
	for k, value := range v.Entries() {
		isText := k.Kind() == vm.KindText
		switch {
		case value.Kind() != vm.KindBool || !value.Bool():
			return c.fail(wire.ErrUnsupported.WithRule("pth.metadata").Errorf("tensor metadata %s that is not True", wire.Quote(repr(k))))
		case isText && k.Text() == "conj" && d.scalar.complex():
			d.conj = true
		case isText && k.Text() == "conj":
			return c.fail(wire.ErrMismatch.WithRule("pth.conjugate").Errorf("conjugate view of %s", d.scalar.name))
		case isText && k.Text() == "neg":
			d.neg = true
		default:
			return c.fail(wire.ErrUnsupported.WithRule("pth.metadata").Errorf("tensor metadata %s", wire.Quote(repr(k))))
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
	if info.Name, err = w.plainName(); err != nil {
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
	last := len(d.view.strides) - 1
	w.packs = last < 0 || d.view.strides[last] == 1
	return nil
}

// rename gives the next tensor its exact name if its plain name is shared.
func (w *walker) rename() error {
	i := w.at
	w.at++
	if !w.exact[i] {
		return nil
	}
	name, err := w.exactName()
	if err != nil {
		return fail("tensor "+strconv.Itoa(i), wire.NoOffset, err)
	}
	w.infos[i].Name = name
	return nil
}

// place proves that the view lies in its storage and sets span, strides and storage. It
// returns the number of bytes of the tensor's own elements.
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
		return 0, wire.ErrOverflow.WithRule("pth.shape-overflow").Errorf("%d elements of %d bytes", n, d.scalar.size)
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

// pairs converts torch's pairs of 4-bit floats to elements. A view whose pairs are not
// adjacent cannot be described that way, and is listed with torch's type.
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
		return wire.ErrOverflow.WithRule("pth.shape-overflow").Errorf("%d pairs", info.Shape[last])
	}
	info.Shape[last] *= 2
	if info.Strides == nil {
		return nil
	}
	info.Offset *= 2
	for i, size := range info.Shape {
		if size == 1 {
			info.Strides[i] = 0 // may be any value, which would overflow
		}
		info.Strides[i] *= 2
	}
	info.Strides[last] = 1
	return nil
}

// packed describes a tensor with several elements per byte, packed by rows. Only whole
// storages are written so. Rows that do not fill their last byte cannot be described as
// elements.
func (d *dense) packed(info *tensor.Info, per uint64) (uint64, error) {
	if err := d.view.check(); err != nil {
		return 0, err
	}
	if d.view.offset != 0 || !d.view.rowMajor() || len(d.view.shape) == 0 {
		return 0, wire.ErrUnsupported.WithRule("pth.packed-view").Errorf("view of a packed type")
	}
	last := len(d.view.shape) - 1
	row := uint64(d.view.shape[last])
	rows, ok := wire.Product(d.view.shape[:last])
	if ok {
		rows, ok = wire.Mul(rows, row/per+min(row%per, 1))
	}
	if _, fits := wire.Product(d.view.shape); !ok || !fits {
		return 0, wire.ErrOverflow.WithRule("pth.shape-overflow").Errorf("shape of more than 2^63-1 bytes")
	}
	if rows != uint64(d.span.Len) {
		return 0, wire.ErrMismatch.WithRule("pth.packed-size").Errorf("%d bytes for a storage of %d", rows, d.span.Len)
	}
	info.Shape, info.Span = d.view.shape, d.span
	if row%per != 0 {
		info.DType = tensor.Unknown
	}
	return rows, nil
}
