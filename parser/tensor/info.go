package tensor

import (
	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// Order is the byte order of stored numbers.
type Order uint8

// The byte orders. Single-byte types are Little.
const (
	Little Order = iota
	Big
)

func (o Order) String() string {
	if o == Big {
		return "big"
	}
	return "little"
}

// A Span is a range of bytes.
type Span struct {
	Off, Len int64
}

// End is the first byte after the span.
func (s Span) End() int64 { return s.Off + s.Len }

// Info describes one stored tensor. The slices belong to the Model; do not
// change them.
type Info struct {
	Name string
	// Stored is the container's own name of the type: "F8_E4M3", "<f4",
	// "torch.float32". It is what is shown when DType is Unknown.
	Stored string
	// Storage names the bytes that the tensor is a view of. Tensors of one
	// model with the same non-empty Storage share bytes.
	Storage string
	// Shape is outermost dimension first, whatever the container writes.
	Shape []int64
	// Strides are in elements, one per dimension; nil means row-major.
	Strides []int64
	// Offset is the first element's position in the storage, in elements. It is
	// zero where Strides is nil.
	Offset int64
	// Span is where the bytes lie: in the file of [Info.Part], or in the
	// inflated member where [Model.At] says false.
	Span Span
	// Part is the index of the file in a sharded model.
	Part  int32
	DType DType
	Order Order
}

// Elements is the product of the shape, which the parser has proven to fit.
func (i *Info) Elements() int64 {
	n, _ := wire.Product(i.Shape)
	return int64(n)
}

// Bytes is what the tensor's own elements take when stored densely; for a type
// without known geometry it is the span's length.
func (i *Info) Bytes() int64 {
	g, ok := i.DType.Geometry()
	if !ok {
		return i.Span.Len
	}
	n := uint64(i.Elements())
	size, ok := wire.Mul((n+uint64(g.Elems)-1)/uint64(g.Elems), uint64(g.Bytes))
	if !ok {
		return i.Span.Len
	}
	return int64(size)
}

// TypeName is the type as people read it: the known name, else the container's.
func (i *Info) TypeName() string {
	if i.DType == Unknown && i.Stored != "" {
		return i.Stored
	}
	return i.DType.String()
}
