package onnx

import (
	"encoding/binary"
	"math"
	"slices"

	pb "github.com/anamnesis-go/anamnesis/internal/protobuf"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A segmentProto says that a tensor is in pieces.
type segmentProto struct{ pb.Ignore }

// A keyValue is an entry of a tensor's external data.
type keyValue struct {
	pb.Ignore

	key, value string
	long       bool
}

func (p *keyValue) Text(f uint64, s string) error {
	if f == 1 {
		p.key = s
	} else {
		p.value = s
	}
	return nil
}

func (p *keyValue) Bytes(uint64, wire.Cursor) error {
	p.long = true
	return nil
}

// A place is what a tensor's data are.
type place uint8

const (
	nowhere  place = iota // no elements
	inFile                // at the span, as in raw_data
	inField               // numbers of a field of the message at the span
	external              // in another file, at the span
	sparse                // values and their indices; all other elements are zero
)

// An entry is a tensor of the file.
type entry struct {
	at     int64 // of its message
	label  string
	scope  int32
	typ    uint8
	place  place
	file   int32 // of external data, in File.External
	span   tensor.Span
	shape  []int64
	values *[2]entry // of a sparse tensor: its values and their indices
}

// elements is the product of the shape, which is proven.
func (e *entry) elements() int64 {
	n, _ := wire.Product(e.shape)
	return int64(n)
}

func (e *entry) of() *elementType { return &types[e.typ] }

// direct reports whether the span holds the elements as they are read.
func (e *entry) direct() bool {
	return (e.place == inFile || e.place == external || e.place == nowhere) && !e.of().packed() && e.of().bits > 0
}

// info describes the tensor.
func (e *entry) info(name string) tensor.Info {
	t := e.of()
	i := tensor.Info{Name: name, Stored: t.name, Shape: e.shape, Span: e.span, DType: t.dtype}
	if !e.direct() && t.dtype != tensor.Unknown {
		i.Span.Len = i.Bytes()
	}
	if e.place == external {
		i.Part = e.file + 1
	}
	return i
}

// A tensorProto is a TensorProto.
type tensorProto struct {
	pb.Ignore

	d           *decoder
	e           entry
	name        string
	longName    bool
	dims        []int64
	tooManyDims bool // dimensions
	typ         int64
	raw         tensor.Span
	hasRaw      bool
	segmented   bool
	isExternal  bool
	location    string
	ranges      [2]string // offset and length, as they are written
	keys        []string
	badExternal bool // an entry of external data that is too long, or appears twice

	// Numbers of the typed fields.
	field    uint64 // which one; other is set if there are two
	other    bool
	numbers  int64
	min, max int64       // of numbers
	chunk    tensor.Span // of the field, if its numbers are of one size and in one piece
	chunks   int

	small []float64 // the numbers, if they are few
}

// maxKeys bounds the entries of external data of one tensor; ONNX defines five.
const maxKeys = 16

func newArray(d *decoder) *tensorProto { return &tensorProto{d: d, typ: -1} }

// maxDims bounds dimensions; NumPy allows 64.
const maxDims = 64

func (a *tensorProto) Number(f, v uint64) error {
	switch f {
	case fieldDims:
		if len(a.dims) < maxDims {
			a.dims = append(a.dims, int64(v))
		} else {
			a.tooManyDims = true
		}
	case fieldType:
		a.typ = int64(v)
	case fieldLocation:
		a.isExternal = v != 0
	case fieldFloats, fieldInt32s, fieldInt64s, fieldDoubles, fieldUint64s:
		if a.count(f, 1); a.numbers == 1 {
			a.min, a.max = int64(v), int64(v)
		}
		a.min, a.max = min(a.min, int64(v)), max(a.max, int64(v))
		a.chunks = 2 // not in one piece
		if len(a.small) < maxSmall && (f == fieldInt32s || f == fieldInt64s) {
			a.small = append(a.small, float64(int64(v)))
		}
	}
	return nil
}

// count counts numbers of a typed field.
func (a *tensorProto) count(f uint64, n int64) {
	a.other = a.other || a.field != 0 && a.field != f
	a.field, a.numbers = f, a.numbers+n
}

func (a *tensorProto) Text(f uint64, s string) error {
	switch f {
	case fieldName:
		a.name = s
	case fieldTexts:
		a.count(f, 1)
	}
	return nil
}

func (a *tensorProto) Bytes(f uint64, at wire.Cursor) error {
	span := tensor.Span{Off: at.Off(), Len: at.Left()}
	switch f {
	case fieldRaw:
		a.raw, a.hasRaw = span, true
	case fieldName:
		a.longName = true
	case fieldTexts:
		a.count(f, 1)
	case fieldFloats:
		a.count(f, span.Len/4)
		a.chunk, a.chunks = span, a.chunks+1
	case fieldDoubles:
		a.count(f, span.Len/8)
		a.chunk, a.chunks = span, a.chunks+1
	}
	return nil
}

func (a *tensorProto) Message(f uint64, of pb.Hook) error {
	p, ok := of.(*keyValue)
	if a.segmented = a.segmented || f == fieldSegment; !ok {
		return nil
	}
	// No more keys are kept of a tensor that is refused.
	if a.badExternal = a.badExternal || p.long || slices.Contains(a.keys, p.key) || len(a.keys) >= maxKeys; a.badExternal {
		return nil
	}
	a.keys = append(a.keys, p.key)
	switch p.key {
	case "location":
		a.location = p.value
	case "offset":
		a.ranges[0] = p.value
	case "length":
		a.ranges[1] = p.value
	}
	return nil
}

func (a *tensorProto) End(c *wire.Cursor, at int64) error {
	where, d := "tensor "+wire.Quote(a.name), a.d
	if err := d.b.Items(1); err != nil {
		return c.FailAt(where, at, err)
	}
	n, size, err := a.size()
	if err != nil {
		return c.FailAt(where, at, err)
	}
	a.e = entry{at: at, typ: uint8(a.typ), span: tensor.Span{Off: at, Len: c.Off() - at}}
	if a.e.shape, err = limits.Clone(d.b, a.dims); err != nil {
		return c.FailAt(where, at, err)
	}
	d.out.Elements, d.out.Stored = wire.AddCap(d.out.Elements, n), wire.AddCap(d.out.Stored, size)
	if a.isExternal || len(a.keys) > 0 {
		return a.checkExternal(c, where, at, size)
	}
	switch {
	case a.hasRaw:
		a.e.place, a.e.span = inFile, a.raw
	case a.numbers > 0 && a.chunks == 1:
		a.e.place, a.e.span = inFile, a.chunk
	case a.numbers > 0:
		a.e.place = inField
	default:
		a.e.span.Len = 0
	}
	if err := a.checkInline(n); err != nil {
		return c.FailAt(where, at, err)
	}
	return c.FailAt(where, at, a.readSmall(n))
}

// small are the types of numbers that are kept of a small constant.
var small = map[tensor.DType]func([]byte) float64{
	tensor.F32:  func(p []byte) float64 { return float64(math.Float32frombits(binary.LittleEndian.Uint32(p))) },
	tensor.F64:  func(p []byte) float64 { return math.Float64frombits(binary.LittleEndian.Uint64(p)) },
	tensor.I32:  func(p []byte) float64 { return float64(int32(binary.LittleEndian.Uint32(p))) },
	tensor.I64:  func(p []byte) float64 { return float64(int64(binary.LittleEndian.Uint64(p))) },
	tensor.U32:  func(p []byte) float64 { return float64(binary.LittleEndian.Uint32(p)) },
	tensor.U64:  func(p []byte) float64 { return float64(binary.LittleEndian.Uint64(p)) },
	tensor.U8:   func(p []byte) float64 { return float64(p[0]) },
	tensor.I8:   func(p []byte) float64 { return float64(int8(p[0])) },
	tensor.Bool: func(p []byte) float64 { return float64(p[0]) },
	tensor.I16:  func(p []byte) float64 { return float64(int16(binary.LittleEndian.Uint16(p))) },
	tensor.U16:  func(p []byte) float64 { return float64(binary.LittleEndian.Uint16(p)) },
}

// readSmall reads the numbers of a small constant; others have none.
func (a *tensorProto) readSmall(n int64) error {
	t := &types[a.typ]
	read := small[t.dtype]
	if n > maxSmall || read == nil || t.bits < 8 {
		a.small = nil
		return nil
	}
	if a.e.place != inFile {
		return nil
	}
	var raw [maxSmall * 8]byte
	width := t.bits / 8
	p := raw[:int(n)*int(width)]
	if err := wire.ReadFull(a.d.out.Source, p, a.e.span.Off); err != nil {
		return err
	}
	var err error
	if a.small, err = limits.Make[float64](a.d.b, int(n)); err != nil {
		return err
	}
	for i := range a.small {
		a.small[i] = read(p[i*int(width):])
	}
	return nil
}

// size returns how many elements the shape has, and how many bytes they take as raw data.
func (a *tensorProto) size() (elements, bytes int64, err error) {
	n, ok := wire.Product(a.dims)
	switch {
	case a.tooManyDims:
		return 0, 0, wire.ErrUnsupported.WithRule("onnx.dimensions").Errorf("more than %d dimensions", maxDims)
	case !ok:
		return 0, 0, wire.ErrOverflow.WithRule("onnx.shape-overflow").Errorf("the shape %v", a.dims)
	case a.typ < 1 || a.typ >= int64(len(types)):
		return 0, 0, wire.ErrUnsupported.WithRule("onnx.data-type").Errorf("data of type %d", a.typ)
	}
	t := &types[a.typ]
	if _, ok := wire.Mul(n, max(uint64(t.bits), 8)); !ok {
		return 0, 0, wire.ErrOverflow.WithRule("onnx.shape-overflow").Errorf("the shape %v", a.dims)
	}
	switch {
	case a.longName:
		return 0, 0, wire.ErrUnsupported.WithRule("onnx.name-long").Errorf("a name of more than 1,024 bytes")
	case a.segmented:
		return 0, 0, wire.ErrUnsupported.WithRule("onnx.segment").Errorf("a tensor in segments, which no reader joins")
	}
	size := t.stored(int64(n))
	if a.hasRaw && (a.raw.Len != size || t.bits == 0) {
		return 0, 0, wire.ErrMismatch.WithRule("onnx.data-size").Errorf("%d bytes of data, but shape and type need %d", a.raw.Len, size)
	}
	return int64(n), size, nil
}

// checkInline checks data in the message itself.
func (a *tensorProto) checkInline(n int64) error {
	t := &types[a.typ]
	switch {
	case a.hasRaw && a.numbers > 0, a.other:
		return wire.ErrMismatch.WithRule("onnx.data-twice").Errorf("its data is in two fields, and readers differ in which one they take")
	case a.hasRaw:
		return nil
	case a.numbers > 0 && a.field != t.field:
		return wire.ErrMismatch.WithRule("onnx.data-field").Errorf("data of type %s in field %d, and they belong in field %d", t.name, a.field, t.field)
	case a.numbers != t.numbers(n):
		return wire.ErrMismatch.WithRule("onnx.data-size").Errorf("%d numbers, but shape and type need %d", a.numbers, t.numbers(n))
	case a.e.place == inField && (t.field == fieldInt32s || t.field == fieldUint64s && t.bits < 64):
		if a.min < t.min || a.max > 0 && uint64(a.max) > t.max {
			return wire.ErrRange.WithRule("onnx.value-range").Errorf("numbers from %d to %d do not fit %s: readers truncate them in different ways", a.min, a.max, t.name)
		}
	}
	return nil
}

// A sparseProto is a SparseTensorProto.
type sparseProto struct {
	pb.Ignore

	d           *decoder
	e           entry
	name        string
	parts       [2]*tensorProto
	dims        []int64
	tooManyDims bool
}

func (s *sparseProto) Number(_, v uint64) error {
	if len(s.dims) < maxDims {
		s.dims = append(s.dims, int64(v))
	} else {
		s.tooManyDims = true
	}
	return nil
}

func (s *sparseProto) Message(f uint64, of pb.Hook) error {
	if t, ok := of.(*tensorProto); ok && f <= 2 {
		s.parts[f-1] = t
	}
	return nil
}

// End checks the parts, and charges the tensor that they are made into.
func (s *sparseProto) End(c *wire.Cursor, at int64) error {
	fail := func(err error) error { return c.FailAt("sparse tensor "+wire.Quote(s.name), at, err) }
	values, indices := s.parts[0], s.parts[1]
	if values == nil || indices == nil {
		return fail(wire.ErrMismatch.WithRule("onnx.sparse").Errorf("a sparse tensor without values, or without their places"))
	}
	s.name = values.name
	n, ok := wire.Product(s.dims)
	bytes, fits := wire.Mul(n, max(uint64(values.e.of().bits), 8))
	switch {
	case s.tooManyDims:
		return fail(wire.ErrUnsupported.WithRule("onnx.dimensions").Errorf("more than %d dimensions", maxDims))
	case !ok || !fits:
		return fail(wire.ErrOverflow.WithRule("onnx.shape-overflow").Errorf("the shape %v", s.dims))
	case values.e.of().bits < 8:
		return fail(wire.ErrUnsupported.WithRule("onnx.sparse-type").Errorf("sparse data of type %s", values.e.of().name))
	}
	count := values.e.elements()
	places := indices.e.shape
	linear := len(places) == 1 && places[0] == count
	byAxis := len(places) == 2 && places[0] == count && places[1] == int64(len(s.dims))
	if len(values.e.shape) != 1 || indices.e.of().dtype != tensor.I64 || !linear && !byAxis || uint64(count) > n {
		return fail(wire.ErrMismatch.WithRule("onnx.sparse").Errorf("values of shape %v and places of shape %v for a tensor of shape %v", values.e.shape, places, s.dims))
	}
	if err := s.d.b.Expand(int64(bytes / 8)); err != nil {
		return fail(err)
	}
	if err := s.d.b.Hold(2 * entryCost); err != nil {
		return fail(err)
	}
	shape, err := limits.Clone(s.d.b, s.dims)
	if err != nil {
		return fail(err)
	}
	s.e = entry{at: at, typ: values.e.typ, place: sparse, span: tensor.Span{Off: at, Len: c.Off() - at}, shape: shape, values: &[2]entry{values.e, indices.e}}
	return nil
}

// entryCost is the size of an entry in memory.
const entryCost = 128
