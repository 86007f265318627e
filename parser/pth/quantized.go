package pth

import (
	"encoding/binary"
	"math"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/vm"
)

// quantized reads a tensor of a quantized type: (storage, offset, size, stride,
// quantizer, grad, hooks). A single scale is metadata; scales per channel are tensors of
// their own.
func (w *walker) quantized(c call) error {
	if err := c.wantArgs(7, 7); err != nil {
		return err
	}
	q, err := c.arg(4, vm.KindTuple)
	if err != nil {
		return err
	}
	if q.Len() == 0 || q.At(0).Kind() != vm.KindGlobal || !q.At(0).Is(vm.TorchQScheme) {
		return c.fail(wire.ErrInternal.Errorf("a quantizer names no scheme"))
	}
	scheme := q.At(0).Global()
	w.yieldMeta("qscheme", scheme.String())
	channels := int64(-1)
	if w.yield == nil {
		d, err := w.dense(c)
		if err != nil {
			return err
		}
		if !d.scalar.quantized() {
			return c.fail(wire.ErrMismatch.WithRule("pth.quantizer-differs").Errorf("a quantizer for a tensor of %s", d.scalar.name))
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

// quantizer reads (scheme, scale, zero point), or scales per channel and their axis.
func (w *walker) quantizer(c *call, q vm.Value, scheme *vm.Global, channels int64) error {
	switch {
	case scheme.Name == "per_tensor_affine" && q.Len() == 3:
		return w.oneScale(c, q)
	case (scheme.Name == "per_channel_affine" || scheme.Name == "per_channel_affine_float_qparams") && q.Len() == 4:
		return w.scales(c, q, channels)
	default:
		return c.fail(wire.ErrUnsupported.WithRule("pth.quantizer-unknown").Errorf("quantizer %s of %d parts", scheme.Name, q.Len()))
	}
}

func channelAxis(q vm.Value) (int64, bool) {
	if q.Len() != 4 || q.At(3).Kind() != vm.KindInt {
		return 0, false
	}
	return q.At(3).Int()
}

// oneScale reads (scheme, scale, zero point).
func (w *walker) oneScale(c *call, q vm.Value) error {
	scale, zero := q.At(1), q.At(2)
	if scale.Kind() != vm.KindFloat && scale.Kind() != vm.KindInt || zero.Kind() != vm.KindInt {
		return c.fail(wire.ErrInternal.Errorf("scale is a %v, zero point a %v", scale.Kind(), zero.Kind()))
	}
	w.yieldMeta("scale", metaValue(scale))
	w.yieldMeta("zero_point", metaValue(zero))
	return nil
}

// The types of scales and zero points that torch keeps and writes. It converts others, so
// that its tensor has other numbers than the file.
var (
	channelTypes      = [2]string{"float64", "int64"}
	floatChannelTypes = [2]string{"float32", "float32"}
)

// channelKind returns the types of a quantizer's parts. For lists the scheme determines
// them; for tensors the scales do, since torch writes one scheme for both.
func (w *walker) channelKind(q vm.Value, at int) [2]string {
	isFloat := q.At(0).Global().Name != "per_channel_affine"
	if q.At(1).Kind() != vm.KindList && len(w.infos) > at {
		isFloat = w.infos[at].DType == tensor.F32
	}
	if isFloat {
		return floatChannelTypes
	}
	return channelTypes
}

// scales reads (scheme, scales, zero points, axis), one scale and zero point per channel.
// torch once wrote them as lists of numbers, and converts those to tensors.
func (w *walker) scales(c *call, q vm.Value, channels int64) error {
	axis, ok := channelAxis(q)
	switch {
	case !ok || w.yield == nil && channels < 0:
		return c.fail(wire.ErrRange.WithRule("pth.quantizer-axis").Errorf("axis of the channels"))
	case q.At(1).Kind() != q.At(2).Kind():
		return c.fail(wire.ErrMismatch.WithRule("pth.quantizer-differs").Errorf("scales are a %v, zero points a %v", q.At(1).Kind(), q.At(2).Kind()))
	}
	w.yieldMeta("axis", axis)
	first := len(w.infos)
	for i, name := range [...]string{"scales", "zero_points"} {
		v, at := q.At(i+1), len(w.infos)
		err := w.part(name, func() error {
			if v.Kind() == vm.KindList {
				return w.listVector(c, v, w.channelKind(q, first)[i])
			}
			return w.tensor(c, v)
		})
		if err != nil || w.done {
			return err
		}
		if !w.listing() {
			continue
		}
		types := w.channelKind(q, first)
		switch count := w.vector(at); {
		case count < 0:
			return c.fail(wire.ErrMismatch.WithRule("pth.quantizer-differs").Errorf("%s are not a vector", name))
		case count != channels:
			return c.fail(wire.ErrMismatch.WithRule("pth.quantizer-differs").Errorf("%d %s for %d channels", count, name, channels))
		case w.infos[at].Stored != torchDot+types[i]:
			return c.fail(wire.ErrMismatch.WithRule("pth.quantizer-differs").Errorf("%s of type %s, which torch converts to %s", name, w.infos[at].TypeName(), types[i]))
		case w.st.parts == legacyParts && count > 1 && w.infos[at].Strides != nil:
			// The storages of a legacy file are read after its pickle.
			return c.fail(wire.ErrMismatch.WithRule("pth.quantizer-differs").Errorf("%s that are not contiguous, which torch copies before it has read them", name))
		}
	}
	return nil
}

// vector returns the number of elements of the last tensor, whose index is at, or -1 if
// it is not a vector.
func (w *walker) vector(at int) int64 {
	if len(w.infos) == at+1 && len(w.infos[at].Shape) == 1 {
		return w.infos[at].Shape[0]
	}
	return -1
}

// listVector makes a vector of a list of numbers in the pickle.
func (w *walker) listVector(c *call, v vm.Value, dtype string) error {
	switch {
	case w.yield != nil:
		return nil
	case w.exact != nil:
		return w.rename()
	}
	to := findScalar(dtype)
	if err := w.b.Step(int64(v.Len())); err != nil {
		return c.fail(err)
	}
	data, err := limits.Make[byte](w.b, v.Len()*int(to.size))
	if err != nil {
		return c.fail(err)
	}
	for i := range v.Len() {
		n := v.At(i)
		if n.Kind() != vm.KindInt && (n.Kind() != vm.KindFloat || to.dtype == tensor.I64) {
			return c.fail(wire.ErrMismatch.WithRule("pth.quantizer-differs").Errorf("a %v in a list of %s", n.Kind(), dtype))
		}
		putNumber(data[i*int(to.size):], to.dtype, n)
	}
	body, err := limits.String(w.b, data)
	if err != nil {
		return c.fail(err)
	}
	shape, err := w.ints.take(w.b, 1)
	if err != nil {
		return c.fail(err)
	}
	info := tensor.Info{Stored: to.name, DType: to.dtype, Shape: append(shape, int64(v.Len()))}
	return w.emitMemory(c, &info, to, body)
}

// putNumber writes a number of the pickle as torch converts it.
func putNumber(dst []byte, to tensor.DType, n vm.Value) {
	switch to {
	case tensor.I64:
		k, _ := n.Int()
		binary.LittleEndian.PutUint64(dst, uint64(k))
	case tensor.F32:
		binary.LittleEndian.PutUint32(dst, math.Float32bits(float32(real64(n))))
	default:
		binary.LittleEndian.PutUint64(dst, math.Float64bits(real64(n)))
	}
}
