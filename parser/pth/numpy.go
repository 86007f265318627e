package pth

import (
	"strconv"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// numpyTypes are NumPy's codes of the types that a tensor can be made from.
var numpyTypes = [...]struct{ code, name string }{
	{"b1", "bool"}, {"u1", "uint8"}, {"i1", "int8"}, {"u2", "uint16"}, {"i2", "int16"}, {"u4", "uint32"}, {"i4", "int32"},
	{"u8", "uint64"}, {"i8", "int64"}, {"f2", "float16"}, {"f4", "float32"}, {"f8", "float64"}, {"c8", "complex64"}, {"c16", "complex128"},
}

// fromNumpy reads a tensor of a device without storages, as PyTorch 1 pickled it: a NumPy
// array in the pickle itself, its type, device and grad.
func (w *walker) fromNumpy(c call) error {
	if err := c.wantArgs(4, 4); err != nil || w.yield != nil {
		return err
	}
	if w.exact != nil {
		return w.rename()
	}
	a, ok := numpyArray(c.args.At(0))
	if !ok {
		return c.fail(wire.ErrSyntax.WithRule("pth.numpy-array").Errorf("not a NumPy array"))
	}
	to, err := dtypeArg(&c, 1)
	if err != nil {
		return err
	}
	info := tensor.Info{Stored: to.name, DType: to.dtype}
	if a.DType != "" && a.DType[0] == '>' {
		info.Order = tensor.Big
	}
	switch from := numpyType(a.DType); {
	case from != to:
		return c.fail(wire.ErrUnsupported.WithRule("pth.numpy-form").Errorf("a cast from NumPy's %s to %s", wire.Quote(a.DType), to.name))
	case a.Fortran:
		return c.fail(wire.ErrUnsupported.WithRule("pth.numpy-form").Errorf("a NumPy array in Fortran order"))
	}
	if err := w.b.Alloc(int64(8 * len(a.Shape))); err != nil {
		return c.fail(err)
	}
	if err := c.device(2); err != nil {
		return err
	}
	info.Shape, w.made = a.Shape, to
	if err := w.emitMemory(&c, &info, to, a.Data); err != nil {
		return err
	}
	return w.grad(&c, 3)
}

// numpyType returns the element type of NumPy's code.
func numpyType(code string) *scalar {
	if code != "" && (code[0] == '<' || code[0] == '>' || code[0] == '|' || code[0] == '=') {
		code = code[1:]
	}
	for _, t := range numpyTypes {
		if t.code == code {
			return findScalar(t.name)
		}
	}
	return nil
}

// emitMemory lists a tensor whose bytes are in the pickle.
func (w *walker) emitMemory(c *call, info *tensor.Info, s *scalar, data string) error {
	n, ok := wire.Product(info.Shape)
	bytes, fits := wire.Mul(n, s.size)
	if !ok || !fits || bytes != uint64(len(data)) {
		return c.fail(wire.ErrInternal.Errorf("%d bytes for %d elements of %d bytes", len(data), n, s.size))
	}
	info.Span.Len, info.Order = int64(bytes), s.order(info.Order)
	if err := w.b.Expand(int64(bytes)); err != nil {
		return c.fail(err)
	}
	name, err := w.plainName()
	if err != nil {
		return c.fail(err)
	}
	if err := w.b.Alloc(int64(len(inPickle) + 20)); err != nil {
		return c.fail(err)
	}
	info.Name, info.Storage = name, inPickle+strconv.Itoa(len(w.memory))
	if err := grow(w, &w.memory, data); err != nil {
		return err
	}
	if err := w.b.Items(1); err != nil {
		return c.fail(err)
	}
	infos, err := limits.Append(w.b, w.infos, *info)
	if err != nil {
		return c.fail(err)
	}
	w.infos = infos
	return nil
}
