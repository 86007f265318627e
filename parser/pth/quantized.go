package pth

import (
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/vm"
)

// quantized is a tensor of a quantized type: (storage, offset, size, stride,
// quantizer, grad, hooks). One scale for all stands in the metadata, scales per
// channel are tensors beside it.
func (w *walker) quantized(c call) error {
	if err := c.want(7, 7); err != nil {
		return err
	}
	q, err := c.arg(4, vm.KindTuple)
	if err != nil {
		return err
	}
	if q.Len() == 0 || q.At(0).Kind() != vm.KindGlobal || !q.At(0).Is(vm.TorchQScheme) {
		return c.fail(wire.ErrSyntax.With("a quantizer names no scheme"))
	}
	scheme := q.At(0).Global()
	w.say("qscheme", scheme.String())
	channels := int64(-1)
	if w.yield == nil {
		d, err := w.dense(c)
		if err != nil {
			return err
		}
		if !d.scalar.quantized() {
			return c.fail(wire.ErrMismatch.With("a quantizer for a tensor of %s", d.scalar.name))
		}
		if err := w.emit(&d); err != nil {
			return err
		}
		if axis, ok := channelAxis(q); ok && axis >= 0 && axis < int64(len(d.view.shape)) {
			channels = d.view.shape[axis]
		}
	}
	made := w.made
	if err := w.quantizer(&c, q, scheme, channels); err != nil {
		return err
	}
	w.made = made
	return w.grad(&c, 5)
}

// quantizer is (scheme, scale, zero point), or scales of channels and their axis.
func (w *walker) quantizer(c *call, q vm.Value, scheme *vm.Global, channels int64) error {
	switch {
	case scheme.Name == "per_tensor_affine" && q.Len() == 3:
		return w.oneScale(c, q)
	case (scheme.Name == "per_channel_affine" || scheme.Name == "per_channel_affine_float_qparams") && q.Len() == 4:
		return w.scales(c, q, channels)
	default:
		return c.fail(wire.ErrUnsupported.With("quantizer %s of %d parts", scheme.Name, q.Len()))
	}
}

func channelAxis(q vm.Value) (int64, bool) {
	if q.Len() != 4 || q.At(3).Kind() != vm.KindInt {
		return 0, false
	}
	return q.At(3).Int()
}

// oneScale is (scheme, scale, zero point).
func (w *walker) oneScale(c *call, q vm.Value) error {
	scale, zero := q.At(1), q.At(2)
	if scale.Kind() != vm.KindFloat && scale.Kind() != vm.KindInt || zero.Kind() != vm.KindInt {
		return c.fail(wire.ErrSyntax.With("scale is a %v, zero point a %v", scale.Kind(), zero.Kind()))
	}
	w.say("scale", metaValue(scale))
	w.say("zero_point", metaValue(zero))
	return nil
}

// isFloat reports the types that torch takes for scales.
func isFloat(t tensor.DType) bool {
	return t == tensor.F64 || t == tensor.F32 || t == tensor.F16 || t == tensor.BF16
}

// scales is (scheme, scales, zero points, axis): one each for the channels.
func (w *walker) scales(c *call, q vm.Value, channels int64) error {
	axis, ok := channelAxis(q)
	switch {
	case !ok || w.yield == nil && channels < 0:
		return c.fail(wire.ErrRange.With("axis of the channels"))
	case q.At(1).Kind() != q.At(2).Kind():
		return c.fail(wire.ErrMismatch.With("scales are a %v, zero points a %v", q.At(1).Kind(), q.At(2).Kind()))
	}
	w.say("axis", axis)
	for i, name := range [...]string{"scales", "zero_points"} {
		v, at := q.At(i+1), len(w.infos)
		err := w.part(name, func() error {
			if v.Kind() == vm.KindList {
				return w.value(v)
			}
			return w.tensor(c, v)
		})
		if err != nil || w.done {
			return err
		}
		if w.yield != nil || w.exact != nil {
			continue
		}
		switch count := w.vector(v, at); {
		case count < 0:
			return c.fail(wire.ErrMismatch.With("%s are no vector", name))
		case count != channels:
			return c.fail(wire.ErrMismatch.With("%d %s for %d channels", count, name, channels))
		}
		if i == 0 && v.Kind() != vm.KindList && !isFloat(w.infos[at].DType) {
			return c.fail(wire.ErrMismatch.With("scales of type %s", w.infos[at].TypeName()))
		}
	}
	return nil
}

// vector is how many numbers a list has, or a vector that is the tensor at this
// place; -1 if it is none.
func (w *walker) vector(v vm.Value, at int) int64 {
	switch {
	case v.Kind() == vm.KindList:
		return int64(v.Len())
	case len(w.infos) == at+1 && len(w.infos[at].Shape) == 1:
		return w.infos[at].Shape[0]
	}
	return -1
}
