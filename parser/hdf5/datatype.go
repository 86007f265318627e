package hdf5

import (
	"bytes"
	"fmt"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A datatype is the type of an element.
type datatype struct {
	class  byte
	size   uint64
	stored string       // what people call it
	dtype  tensor.DType // of a number, or Unknown
	order  tensor.Order
	dims   []int64 // that an array type adds to the shape
	text   bool    // a text of a fixed or of a variable length
}

// Classes of types.
const (
	classInteger   = 0
	classFloat     = 1
	classTime      = 2
	classText      = 3
	classBits      = 4
	classOpaque    = 5
	classCompound  = 6
	classReference = 7
	classEnum      = 8
	classVariable  = 9
	classArray     = 10
	classComplex   = 11
)

// datatype reads a type: class and version, 24 bits of the class, u32 size, then what the class
// has.
func (d *decoder) datatype(m *wire.Cursor) (*datatype, error) {
	const where = "type"
	at := m.Off()
	if err := d.steps.Step(); err != nil {
		return nil, d.fail(where, at, err)
	}
	if err := d.b.Enter(); err != nil {
		return nil, d.fail(where, at, err)
	}
	defer d.b.Leave()
	f := fields{c: m}
	first, bits := f.u8(), uint32(f.u(3))
	t := &datatype{class: first & 15, size: f.u(4)}
	version := first >> 4
	if f.err != nil {
		return nil, f.err
	}
	if version < 1 || version > 5 || t.size == 0 {
		return nil, d.fail(where, at, errFeature.Errorf("version %d of a type of %d bytes", version, t.size))
	}
	return t, wire.At(Format, where, at, d.classOf(m, t, bits, version))
}

// classOf reads what the class of a type has.
func (d *decoder) classOf(m *wire.Cursor, t *datatype, bits uint32, version byte) error {
	switch t.class {
	case classInteger, classBits:
		return d.integer(m, t, bits)
	case classFloat:
		return d.float(m, t, bits)
	case classText:
		t.stored, t.text = "text", true
		return nil
	case classOpaque:
		return d.opaque(m, t, bits)
	case classCompound:
		return d.compound(m, t, bits, version)
	case classReference:
		t.stored = "reference"
		return nil
	case classEnum:
		return d.enumeration(m, t, bits, version)
	case classVariable:
		return d.variable(m, t, bits)
	case classArray:
		return d.array(m, t, version)
	case classComplex:
		return d.complexNumber(m, t)
	}
	return errFeature.Errorf("a type of class %d", t.class)
}

// ints are the integers by size, unsigned and signed.
var ints = map[uint64][2]tensor.DType{
	1: {tensor.U8, tensor.I8}, 2: {tensor.U16, tensor.I16}, 4: {tensor.U32, tensor.I32}, 8: {tensor.U64, tensor.I64},
}

// integer reads u16 offset of the lowest bit and u16 number of bits. A number that fills its bytes
// has a type of NumPy.
func (d *decoder) integer(m *wire.Cursor, t *datatype, bits uint32) error {
	const big, signed = 1, 8
	p, err := m.View(4)
	if err != nil {
		return err
	}
	first, n := m.Order.Uint16(p), m.Order.Uint16(p[2:])
	t.stored = fmt.Sprintf("integer of %d bits", n)
	if known, ok := ints[t.size]; ok && first == 0 && uint64(n) == 8*t.size {
		t.dtype = known[bits&signed/signed]
	}
	t.setOrder(bits&big != 0)
	return m.Skip(4)
}

// setOrder notes the order of bytes, which a single byte does not have.
func (t *datatype) setOrder(big bool) {
	if big && t.size > 1 {
		t.order = tensor.Big
	}
}

// A floatForm says where the parts of a float are: its bytes, the sign's place, place and size of
// exponent and mantissa, and the bias.
type floatForm struct {
	size                                              uint64
	sign, exponent, exponentSize, mantissa, fractions byte
	bias                                              uint32
}

// floats are the forms with a type of their own.
var floats = map[floatForm]tensor.DType{
	{2, 15, 10, 5, 0, 10, 15}:    tensor.F16,
	{2, 15, 7, 8, 0, 7, 127}:     tensor.BF16,
	{4, 31, 23, 8, 0, 23, 127}:   tensor.F32,
	{8, 63, 52, 11, 0, 52, 1023}: tensor.F64,
}

// float reads u16 offset, u16 bits, places and sizes of the parts, u32 bias.
func (d *decoder) float(m *wire.Cursor, t *datatype, bits uint32) error {
	const big, vax, implied = 1, 64, 2
	p, err := m.View(12)
	if err != nil {
		return err
	}
	n := m.Order.Uint16(p[2:])
	t.stored = fmt.Sprintf("float of %d bits", n)
	form := floatForm{t.size, byte(bits >> 8), p[4], p[5], p[6], p[7], m.Order.Uint32(p[8:])}
	if m.Order.Uint16(p) == 0 && uint64(n) == 8*t.size && bits>>4&3 == implied && bits&vax == 0 {
		t.dtype = floats[form]
	}
	t.setOrder(bits&big != 0)
	return m.Skip(12)
}

// opaque reads a name, filled up to a multiple of 8 bytes. Keras stores bfloat16 so, and says in
// an attribute what it is.
func (d *decoder) opaque(m *wire.Cursor, t *datatype, bits uint32) error {
	n := uint64(bits&255+7) / 8 * 8
	p, err := m.View(int(n))
	if err != nil {
		return err
	}
	t.stored = "bytes " + wire.Quote(beforeNUL(p))
	return m.Skip(n)
}

// compound reads members: name, offset, type. Version 1 has dimensions for each member, and in
// version 3 an offset has only the bytes that the whole size needs. Two equal floats r and i are a
// complex number of h5py.
func (d *decoder) compound(m *wire.Cursor, t *datatype, bits uint32, version byte) error {
	t.stored = "compound"
	count := bits & 0xffff
	var parts [2]*datatype
	isComplex := count == 2
	end := uint64(0)
	for i := range count {
		name, off, of, err := d.member(m, t, version)
		if err != nil {
			return err
		}
		if off > t.size || of.size > t.size-off || version > 2 && off < end {
			return errStructure.Errorf("a member of %d bytes at %d of %d", of.size, off, t.size)
		}
		end = off + of.size
		if isComplex {
			parts[i] = of
			isComplex = name == "ri"[i:i+1] && of.class == classFloat && off == uint64(i)*t.size/2 && of.size*2 == t.size
		}
	}
	if isComplex && parts[0].dtype == parts[1].dtype && parts[0].order == parts[1].order {
		t.dtype, t.order = complexes[parts[0].dtype], parts[0].order
	}
	return nil
}

// member reads a member of a compound type.
func (d *decoder) member(m *wire.Cursor, in *datatype, version byte) (name string, off uint64, of *datatype, err error) {
	if name, err = d.memberName(m, version); err != nil {
		return "", 0, nil, err
	}
	f := fields{c: m}
	width := 4
	if version >= 3 {
		width = bytesFor(in.size)
	}
	if off = f.u(width); version == 1 {
		f.skip(28)
	}
	if f.err != nil {
		return "", 0, nil, f.err
	}
	of, err = d.datatype(m)
	return name, off, of, err
}

// complexes are the complex types by that of their parts.
var complexes = map[tensor.DType]tensor.DType{tensor.F16: tensor.C32, tensor.F32: tensor.C64, tensor.F64: tensor.C128}

// memberName reads a name that ends with a zero; before version 3 it is filled up to a multiple
// of 8 bytes.
func (d *decoder) memberName(m *wire.Cursor, version byte) (string, error) {
	p, err := m.View(int(min(m.Left(), maxName)))
	if err != nil {
		return "", err
	}
	n := bytes.IndexByte(p, 0)
	if n < 0 {
		return "", errStructure.Errorf("the name of a member has no end")
	}
	name, err := limits.String(d.b, p[:n])
	if err != nil {
		return "", err
	}
	skip := uint64(n) + 1
	if version < 3 {
		skip = (skip + 7) / 8 * 8
	}
	return name, m.Skip(skip)
}

// enumeration reads a type, names, and a value for each. One of h5py with FALSE and TRUE is a
// boolean.
func (d *decoder) enumeration(m *wire.Cursor, t *datatype, bits uint32, version byte) error {
	of, err := d.datatype(m)
	if err != nil {
		return err
	}
	if of.class != classInteger || of.size != t.size {
		return errStructure.Errorf("an enumeration of %d bytes of a type of %d", t.size, of.size)
	}
	t.stored, t.dtype, t.order = "enumeration", of.dtype, of.order
	count := bits & 0xffff
	isBool := count == 2 && of.dtype == tensor.I8
	for i := range count {
		if err := d.steps.Step(); err != nil {
			return err
		}
		name, err := d.memberName(m, version)
		if err != nil {
			return err
		}
		isBool = isBool && name == [2]string{"FALSE", "TRUE"}[i]
	}
	for i := range count {
		v, err := m.View(int(min(t.size, 8)))
		if err != nil {
			return err
		}
		isBool = isBool && v[0] == byte(i)
		if err := m.Skip(t.size); err != nil {
			return err
		}
	}
	if isBool {
		t.dtype = tensor.Bool
	}
	return nil
}

// variable reads the type of a list or a text whose elements are in a heap.
func (d *decoder) variable(m *wire.Cursor, t *datatype, bits uint32) error {
	const aText = 1
	of, err := d.datatype(m)
	if err != nil {
		return err
	}
	t.text, t.stored = bits&15 == aText, "list of "+of.name()
	if t.text {
		t.stored = "text"
	}
	if bits&15 > aText || t.size != 16 {
		return errFeature.Errorf("a list of kind %d of %d bytes", bits&15, t.size)
	}
	return nil
}

// name is what people call a type.
func (t *datatype) name() string {
	if t.dtype != tensor.Unknown {
		return t.dtype.String()
	}
	return t.stored
}

// array reads dimensions, in version 2 with permutations, and a type.
func (d *decoder) array(m *wire.Cursor, t *datatype, version byte) error {
	f := fields{c: m}
	rank := f.u8()
	if rank > maxRank {
		return errStructure.Errorf("%d dimensions", rank)
	}
	padding := uint64(0)
	if version < 3 {
		f.skip(3)
		padding = 4 * uint64(rank)
	}
	elements, ok := uint64(1), true
	var own [maxRank]int64
	for i := range rank {
		n := f.u(4)
		own[i] = int64(n)
		if elements, ok = wire.Mul(elements, n); !ok {
			return errStructure.Errorf("more elements than 64 bits can count")
		}
	}
	if f.skip(padding); f.err != nil {
		return f.err
	}
	of, err := d.datatype(m)
	if err != nil {
		return err
	}
	if all, ok := wire.Mul(elements, of.size); !ok || all != t.size {
		return errStructure.Errorf("an array of %d bytes of %d elements of %d", t.size, elements, of.size)
	}
	t.stored = "array of " + of.name()
	if t.dtype, t.order = of.dtype, of.order; t.dtype == tensor.Unknown {
		return nil
	}
	if t.dims, err = limits.Make[int64](d.b, int(rank)+len(of.dims)); err == nil {
		copy(t.dims, own[:rank])
		copy(t.dims[rank:], of.dims)
	}
	return err
}

// complexNumber reads the type of the two parts of a complex number.
func (d *decoder) complexNumber(m *wire.Cursor, t *datatype) error {
	of, err := d.datatype(m)
	if err != nil {
		return err
	}
	if of.size*2 != t.size {
		return errStructure.Errorf("a complex number of %d bytes of parts of %d", t.size, of.size)
	}
	t.stored, t.dtype, t.order = "complex", complexes[of.dtype], of.order
	return nil
}
