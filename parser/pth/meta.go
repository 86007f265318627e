package pth

import (
	"encoding/binary"
	"iter"
	"math"
	"strconv"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/vm"
)

// Hollow is the metadata of a tensor without data, on the device "meta".
type Hollow struct {
	Class string // "torch.Tensor"
	DType string // "torch.float32"
	Shape []int64
}

// Array is the metadata of a NumPy array, or of a NumPy scalar that is not a number. Data
// are bytes of the pickle itself.
type Array struct {
	DType   string // NumPy's code: "<f4"
	Shape   []int64
	Fortran bool
	Data    string
}

// Bytes is the metadata of a bytes object.
type Bytes string

// Meta lists everything that is not a tensor, under the dotted path to it, in the order
// of the pickle. Attributes of dicts and lists, where torch keeps the versions of its
// modules, are left out. Values are nil, bool, int64, float64, complex128, string (text;
// names of types and classes; integers of more than 64 bits in decimal), [Bytes], []any
// of integers (a torch.Size) or empty (an empty container), [Array], [Hollow] and
// [Sparse]. Two entries may have the same name.
func (f *File) Meta() iter.Seq2[string, any] {
	return func(yield func(string, any) bool) {
		w := &walker{yield: yield, tensorsOnly: f.only}
		// Decode has made the same walk, so it cannot fail.
		_ = w.value(f.graph.Root())
	}
}

// metaValue returns the Go value of a leaf.
func metaValue(v vm.Value) any {
	switch v.Kind() {
	case vm.KindNone:
		return nil
	case vm.KindBool:
		return v.Bool()
	case vm.KindInt:
		if n, ok := v.Int(); ok {
			return n
		}
		return integerText(v)
	case vm.KindFloat:
		return v.Float()
	case vm.KindText:
		return v.Text()
	case vm.KindBytes:
		return Bytes(v.Text())
	case vm.KindGlobal:
		return v.Global().String()
	case vm.KindObject:
		return metaObject(v)
	default:
		return []any{}
	}
}

func metaObject(v vm.Value) any {
	args := v.Args()
	switch v.ID() {
	case vm.TorchSize:
		out := []any{}
		dims, _ := v.Ints(nil)
		for _, n := range dims {
			out = append(out, n)
		}
		return out
	case vm.TorchDevice:
		if args.Len() == 2 && args.At(0).Kind() == vm.KindText && args.At(1).Kind() == vm.KindInt {
			return args.At(0).Text() + ":" + integerText(args.At(1))
		}
		if args.Len() == 1 && args.At(0).Kind() == vm.KindText {
			return args.At(0).Text()
		}
	case vm.TorchLayout:
		if args.Len() == 1 {
			return args.At(0).Text()
		}
	case vm.Complex:
		if args.Len() == 2 {
			return complex(real64(args.At(0)), real64(args.At(1)))
		}
	case vm.NumpyDType:
		return numpyCode(v)
	case vm.NumpyScalar:
		if args.Len() == 2 {
			return numpyScalar(numpyCode(args.At(0)), args.At(1).Text())
		}
	case vm.NumpyReconstruct, vm.NumpyFromBuffer:
		if a, ok := numpyArray(v); ok {
			return a
		}
	}
	return className(v)
}

func real64(v vm.Value) float64 {
	if n, ok := v.Int(); v.Kind() == vm.KindInt && ok {
		return float64(n)
	}
	return v.Float()
}

// numpyCode returns the code of a dtype: byte order, kind and size.
func numpyCode(v vm.Value) string {
	if v.Kind() != vm.KindObject || !v.Is(vm.NumpyDType) || v.Args().Len() == 0 {
		return ""
	}
	code, order := v.Args().At(0).Text(), ""
	if s, has := v.State(); has && s.Kind() == vm.KindTuple && s.Len() > 1 {
		order = s.At(1).Text()
	}
	return order + code
}

// numpyArray reads the state of an array, (version, shape, dtype, fortran, data), or the
// arguments of _frombuffer, (data, dtype, shape, order).
func numpyArray(v vm.Value) (a Array, ok bool) {
	var data, dtype, shape vm.Value
	if args := v.Args(); v.Is(vm.NumpyFromBuffer) && args.Len() == 4 {
		data, dtype, shape = args.At(0), args.At(1), args.At(2)
		a.Fortran = args.At(3).Text() == "F"
	} else {
		s, has := v.State()
		if !has || s.Kind() != vm.KindTuple || s.Len() != 5 {
			return a, false
		}
		data, dtype, shape = s.At(4), s.At(2), s.At(1)
		a.Fortran = s.At(3).Kind() == vm.KindBool && s.At(3).Bool()
	}
	if n, dims := shape.Dims(); !dims || n > maxDims || data.Kind() != vm.KindBytes {
		return a, false
	}
	a.DType, a.Data = numpyCode(dtype), data.Text()
	a.Shape, ok = shape.Ints(nil)
	return a, ok
}

// numpyScalar converts the bytes of a scalar to a number, or returns nil.
func numpyScalar(code, data string) any {
	order := binary.ByteOrder(binary.LittleEndian)
	kind := code
	if len(code) > 0 {
		switch code[0] {
		case '>':
			order, kind = binary.BigEndian, code[1:]
		case '<', '|', '=':
			kind = code[1:]
		}
	}
	if len(kind) != 2 || strconv.Itoa(len(data)) != kind[1:] {
		return Array{DType: code, Data: data}
	}
	var p [8]byte
	copy(p[:], data)
	switch kind {
	case "b1":
		return p[0] != 0
	case "f4":
		return float64(math.Float32frombits(order.Uint32(p[:])))
	case "f8":
		return math.Float64frombits(order.Uint64(p[:]))
	}
	if n := numpyInteger(kind, p[:], order); n != nil {
		return n
	}
	return Array{DType: code, Data: data}
}

// numpyInteger returns an int64, or the decimal text of an integer that may not fit; nil
// if the kind is not an integer.
func numpyInteger(kind string, p []byte, order binary.ByteOrder) any {
	switch kind {
	case "i1":
		return int64(int8(p[0]))
	case "u1":
		return int64(p[0])
	case "i2":
		return int64(int16(order.Uint16(p)))
	case "u2":
		return int64(order.Uint16(p))
	case "i4":
		return int64(int32(order.Uint32(p)))
	case "u4":
		return int64(order.Uint32(p))
	case "i8":
		return int64(order.Uint64(p))
	case "u8":
		return strconv.FormatUint(order.Uint64(p), 10)
	default:
		return nil
	}
}

// hollow reads a tensor without data: (dtype, size, stride, grad). A wrapper around other
// tensors has no data either, but torch has no class that would rebuild one.
func (w *walker) hollow(c call) error {
	if c.global.ID == vm.RebuildWrapperSubclass {
		return c.fail(wire.ErrUnsupported.WithRule("pth.wrapper-tensor").Errorf("a wrapper around other tensors, of a class that torch does not have"))
	}
	if err := c.wantArgs(4, 4); err != nil {
		return err
	}
	s, err := dtypeArg(&c, 0)
	if err != nil {
		return err
	}
	if s.quantized() {
		return c.fail(wire.ErrInternal.Errorf("a tensor of %s without data", s.name))
	}
	w.made = s
	if w.yield == nil {
		if err := w.hollowFits(&c); err != nil {
			return err
		}
		return w.grad(&c, 3)
	}
	h := Hollow{Class: "torch.Tensor", DType: s.name}
	h.Shape, _ = c.args.At(1).Ints(nil)
	w.yieldMeta("", h)
	return nil
}

// hollowFits checks the geometry of a tensor without data, since torch computes the size
// of its storage.
func (w *walker) hollowFits(c *call) error {
	var v view
	var err error
	if v.shape, err = w.dims(c, c.args.At(1)); err != nil {
		return err
	}
	if v.strides, err = w.dims(c, c.args.At(2)); err != nil {
		return err
	}
	if _, err := v.elements(1<<63 - 1); err != nil {
		return c.fail(err)
	}
	return w.visit(1)
}
