package pth

import (
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/vm"
)

// object walks the result of calling a global.
func (w *walker) object(v vm.Value) error {
	if w.tensorsOnly && isUnknown(v) {
		return w.unknown(v)
	}
	if !isTensor(v.Global().ID) {
		if v.Is(vm.Namespace) {
			return w.state(v)
		}
		return w.leaf(v)
	}
	c := callOf(v)
	state, has := v.State()
	if v.Is(vm.TorchTensor) || v.Is(vm.TorchParameter) {
		return w.statefulTensor(c, state, has)
	}
	if err := w.call(c); err != nil || w.done {
		return err
	}
	if has {
		return w.attributes(state)
	}
	return nil
}

// isTensor reports whether calls of a global are tensors.
func isTensor(id vm.ID) bool {
	return id >= vm.RebuildTensor && id <= vm.TorchTensor
}

// call walks a tensor according to the function that rebuilds it.
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
		return w.movedTensor(c)
	case vm.RebuildDeviceFromNumpy:
		return w.fromNumpy(c)
	default:
		return c.fail(wire.ErrInternal.Errorf("does not make a tensor"))
	}
}

// strided reads a dense tensor: storage, offset, size, stride, then arguments that do not
// matter here (grad, hooks), the type for an untyped storage, and flags.
func (w *walker) strided(c call, low, high int) error {
	if err := c.wantArgs(low, high); err != nil || w.yield != nil {
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
		return c.fail(wire.ErrMissing.WithRule("pth.quantizer-missing").Errorf("a tensor of %s has no quantizer", d.scalar.name))
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

// grad checks that the last tensor can require a gradient if argument i says that it
// does.
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
	return c.fail(wire.ErrMismatch.WithRule("pth.gradient-type").Errorf("a tensor of %s that requires a gradient", w.made.name))
}

// listing reports whether this walk proves and lists tensors.
func (w *walker) listing() bool { return w.yield == nil && w.exact == nil }
