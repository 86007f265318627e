package tfbundle

import (
	"math"
	"unicode/utf8"

	pb "github.com/anamnesis-go/anamnesis/internal/protobuf"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// An entry is a BundleEntryProto: a tensor, or a part of one.
type entry struct {
	name   string
	at     int64 // offset in the index
	dtype  uint64
	shape  []int64
	shard  int64
	off    int64
	size   int64
	sum    uint32
	slices []slice
	part   bool // of a variable, which has claimed it
}

// A slice is a TensorSliceProto: where a part begins in each dimension, and how long it is there.
type slice struct{ starts, lengths []int64 }

// full is the length of a part that has all of a dimension.
const full = -1

// maxDims bounds the dimensions of a tensor: those of TensorShape.
const maxDims = 254

// messages are the messages of the index.
type messages struct {
	reader                      *pb.Reader
	headerMessage, entryMessage *pb.Message
	entry                       entry    // the one that is being read
	number                      [2]int64 // of the dimension or the extent that is being read
}

func newMessages(d *decoder) (m messages) {
	m.reader = pb.NewReader(d.b, "TensorFlow 2.21", pb.Causes{
		Unknown: wire.ErrUnsupported.WithRule("tfbundle.field-unknown"),
		Twice:   wire.ErrDuplicate.WithRule("tfbundle.field-twice"),
		Type:    wire.ErrSyntax.WithRule("tfbundle.field-type"),
		Varint:  wire.ErrOverflow.WithRule("tfbundle.varint"),
	})
	version := &pb.Message{Name: "VersionDef", Fields: map[uint64]pb.Field{1: pb.Scalar, 2: pb.Scalar, 3: pb.Scalars}, Make: func() pb.Hook { return &versionHook{} }}
	m.headerMessage = &pb.Message{Name: "BundleHeaderProto", Fields: map[uint64]pb.Field{1: pb.Scalar, 2: pb.Scalar, 3: pb.One(version)}}
	dim := &pb.Message{Name: "Dim", Fields: map[uint64]pb.Field{1: pb.Scalar, 2: pb.Word}, Make: func() pb.Hook { return &pairHook{d: d} }}
	shape := &pb.Message{Name: "TensorShapeProto", Fields: map[uint64]pb.Field{2: pb.Many(dim), 3: pb.Scalar}, Make: func() pb.Hook { return &shapeHook{d: d} }}
	extent := &pb.Message{Name: "Extent", Fields: map[uint64]pb.Field{1: pb.Scalar, 2: pb.Scalar}, Make: func() pb.Hook { return &pairHook{d: d, extent: true} }}
	part := &pb.Message{Name: "TensorSliceProto", Fields: map[uint64]pb.Field{1: pb.Many(extent)}, Make: func() pb.Hook { return &sliceHook{d: d} }}
	m.entryMessage = &pb.Message{Name: "BundleEntryProto", Fields: map[uint64]pb.Field{
		1: pb.Scalar, 2: pb.One(shape), 3: pb.Scalar, 4: pb.Scalar, 5: pb.Scalar, 6: {Kind: pb.Fixed32}, 7: pb.Many(part),
	}}
	return m
}

// A versionHook reads a VersionDef.
type versionHook struct {
	pb.Ignore

	producer, consumer int64
	bad                bool // a version of the reader is named as one that cannot read it
}

// version is what this package reads as, kTensorBundleVersion of TensorFlow.
const version = 1

func (h *versionHook) Number(f, v uint64) error {
	switch f {
	case 1:
		h.producer = int64(v)
	case 2:
		h.consumer = int64(v)
	default:
		h.bad = h.bad || uint32(v) == version
	}
	return nil
}

// A headerHook reads the BundleHeaderProto.
type headerHook struct {
	pb.Ignore

	shards, order uint64
	of            versionHook
}

func (h *headerHook) Number(f, v uint64) error {
	if f == 1 {
		h.shards = v
	} else {
		h.order = v
	}
	return nil
}

func (h *headerHook) Message(_ uint64, of pb.Hook) error {
	h.of = *of.(*versionHook)
	return nil
}

// header reads how many files there are, their byte order, and who can read them.
func (d *decoder) header(value *wire.Cursor) error {
	at := value.Off()
	var h headerHook
	if _, err := d.reader.Message(value, d.headerMessage, &h); err != nil {
		return err
	}
	switch {
	case h.order > 1:
		return fail("header", at, errVersion.Errorf("byte order %d", h.order))
	case h.of.consumer > version || h.of.consumer < 0 || h.of.producer < 0 || h.of.producer > math.MaxInt32 || h.of.bad:
		return fail("header", at, errVersion.Errorf("version %d, which readers of version %d and later read", h.of.producer, h.of.consumer))
	case h.shards == 0 || h.shards > tensor.MaxShards:
		return fail("header", at, errShards.Errorf("%d files, of at most %d", h.shards, tensor.MaxShards))
	}
	d.shards, d.order = int64(h.shards), tensor.Order(h.order)
	d.out.producer = h.of.producer
	return nil
}

// An entryHook reads a BundleEntryProto into [messages.entry].
type entryHook struct {
	pb.Ignore

	d *decoder
}

func (h *entryHook) Number(f, v uint64) error {
	e := &h.d.entry
	switch f {
	case 1:
		e.dtype = v
	case 3:
		e.shard = int64(v)
	case 4:
		e.off = int64(v)
	case 5:
		e.size = int64(v)
	default:
		e.sum = uint32(v)
	}
	return nil
}

// A shapeHook reads a TensorShapeProto.
type shapeHook struct {
	pb.Ignore

	d *decoder
}

func (h *shapeHook) Number(uint64, uint64) error {
	return errShape.Errorf("a shape of unknown rank")
}

func (h *shapeHook) Message(_ uint64, _ pb.Hook) (err error) {
	e := &h.d.entry
	if len(e.shape) == maxDims {
		return errShape.Errorf("more than %d dimensions", maxDims)
	}
	e.shape, err = limits.Append(h.d.b, e.shape, h.d.number[0])
	return err
}

// A pairHook reads the size of a dimension, or the extent of a part in one.
type pairHook struct {
	pb.Ignore

	d      *decoder
	extent bool
	value  [2]int64
	ends   bool // it has the second number, a length
}

func (h *pairHook) Number(f, v uint64) error {
	h.value[f-1] = int64(v)
	h.ends = h.ends || f == 2
	return nil
}

func (h *pairHook) End(*wire.Cursor, int64) error {
	switch {
	case !h.extent:
	case !h.ends:
		h.value[1] = full
	case h.value[1] < 0:
		return errSlice.Errorf("a part of %d indices", h.value[1])
	}
	h.d.number = h.value
	return nil
}

// A sliceHook reads a TensorSliceProto.
type sliceHook struct {
	pb.Ignore

	d   *decoder
	own slice
}

func (h *sliceHook) Message(_ uint64, _ pb.Hook) (err error) {
	if len(h.own.starts) == maxDims {
		return errSlice.Errorf("a part of more than %d dimensions", maxDims)
	}
	if h.own.starts, err = limits.Append(h.d.b, h.own.starts, h.d.number[0]); err != nil {
		return err
	}
	h.own.lengths, err = limits.Append(h.d.b, h.own.lengths, h.d.number[1])
	return err
}

func (h *sliceHook) End(*wire.Cursor, int64) (err error) {
	if err := h.d.hold(partCost); err != nil {
		return err
	}
	h.d.entry.slices, err = limits.Append(h.d.b, h.d.entry.slices, h.own)
	return err
}

// check proves what an entry says alone: type, shape and size.
func (d *decoder) check(e *entry) error {
	if !utf8.ValidString(e.name) && !isPartKey(e.name) {
		return errName.Errorf("the name is not UTF-8")
	}
	if e.dtype >= uint64(len(types)) || types[e.dtype].name == "" {
		return errType.Errorf("%s", typeName(e.dtype))
	}
	count, ok := wire.Product(e.shape)
	if !ok {
		for _, n := range e.shape {
			if n < 0 {
				return errShape.Errorf("shape %v", e.shape)
			}
		}
		return errOverflow.Errorf("shape %v", e.shape)
	}
	t := &types[e.dtype]
	size, ok := wire.Mul(count, uint64(max(t.width, 1)))
	if !ok {
		return errOverflow.Errorf("shape %v of %s", e.shape, t.name)
	}
	switch {
	case len(e.slices) > 0 && (e.size != 0 || e.off != 0 || e.shard != 0 || e.sum != 0):
		return errSlice.Errorf("a variable in %d parts that has numbers of its own", len(e.slices))
	case len(e.slices) > 0:
		return nil
	case e.shard < 0 || e.shard >= d.shards:
		return errPlace.Errorf("in file %d of %d", e.shard, d.shards)
	case e.off < 0 || e.size < 0 || e.size > wire.MaxSize-e.off:
		return errPlace.Errorf("%d bytes at offset %d", e.size, e.off)
	case t.width > 0 && uint64(e.size) != size:
		return errSize.Errorf("%d bytes, and shape %v of %s has %d", e.size, e.shape, t.name, size)
	case t.width == 0 && (e.size < sumLen || uint64(e.size-sumLen) < count):
		return errSize.Errorf("%d bytes of %d texts", e.size, count)
	}
	return nil
}
