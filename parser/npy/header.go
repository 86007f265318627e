package npy

import (
	"encoding/binary"
	"io"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

const (
	magic   = "\x93NUMPY"
	prefix1 = 10 // magic, version and length of version 1
	prefix2 = 12 // the same of versions 2 and 3

	// firstRead is enough for most headers: NumPy pads to a multiple of 64.
	firstRead = 128
	// maxHeader is our own ceiling, enough for the header of 10,000 fields.
	maxHeader = 1 << 20
	// numpyHeader is the longest header that numpy.load reads by default.
	numpyHeader = 10_000
	// maxDims is NPY_MAXDIMS of NumPy 2.
	maxDims = 64
	// maxItem is the largest element that NumPy can describe.
	maxItem = 1<<31 - 1
)

// A Header is the part of an array file before the data.
type Header struct {
	Type    Type
	Shape   []int64 // outermost first
	Fortran bool    // the first index runs fastest
	Version int     // 1, 2 or 3
	Len     int64   // bytes before the data
	Bytes   int64   // bytes of data

	python2 bool // a number was written 3L
	shapeAt int  // offset of the shape in the dictionary
}

// A Reader reads headers one after another into one buffer. fail places a cause at an
// offset from the array's first byte. short is the cause for an array that is longer than
// its bytes, which depends on who stated their number.
type Reader struct {
	Fail  func(off int64, cause error) error
	Short *wire.Cause

	b     *limits.Budget
	buf   []byte
	lit   literal
	src   io.Reader
	size  int64
	stage stage
	head  Header
}

type stage uint8

const (
	stMagic  stage = iota // magic and version
	stLength              // length of the dictionary
	stDict                // the dictionary
	stSize                // size of the data
	stDone
)

// NewReader returns a Reader that charges b.
func NewReader(b *limits.Budget, short *wire.Cause, fail func(off int64, cause error) error) *Reader {
	return &Reader{Fail: fail, Short: short, b: b}
}

// Read reads the header of an array of size bytes, header and data, and proves
// that size. No data is read beyond the first 128 bytes.
func (r *Reader) Read(src io.Reader, size int64) (Header, error) {
	r.src, r.size, r.stage, r.head = src, size, stMagic, Header{}
	for r.stage != stDone {
		if err := r.step(); err != nil {
			return Header{}, err
		}
	}
	return r.head, nil
}

func (r *Reader) step() error {
	switch r.stage {
	case stMagic:
		return r.magic()
	case stLength:
		return r.length()
	case stDict:
		return r.dict()
	case stSize:
		return r.data()
	default:
		panic("internal error: stage out of range")
	}
}

func (r *Reader) magic() error {
	r.buf = r.buf[:0]
	if err := r.fill(min(r.size, prefix1), min(r.size, firstRead)); err != nil {
		return err
	}
	n := min(len(r.buf), len(magic))
	if string(r.buf[:n]) != magic[:n] {
		return r.Fail(0, wire.ErrMagic.WithRule("npy.foreign-magic").Errorf(`an array begins with \x93NUMPY`))
	}
	if len(r.buf) < len(magic)+2 {
		return r.Fail(r.size, r.Short.Errorf("%d bytes are too few for a header", r.size))
	}
	major, minor := r.buf[len(magic)], r.buf[len(magic)+1]
	if major < 1 || major > 3 || minor != 0 {
		return r.Fail(int64(len(magic)), wire.ErrUnsupported.WithRule("npy.version").Errorf("version %d.%d of the format", major, minor))
	}
	r.head.Version = int(major)
	r.stage = stLength
	return nil
}

// prefix returns the number of bytes before the dictionary.
func (r *Reader) prefix() int64 {
	if r.head.Version == 1 {
		return prefix1
	}
	return prefix2
}

func (r *Reader) length() error {
	at := r.prefix()
	if r.size < at {
		return r.Fail(r.size, r.Short.Errorf("%d bytes are too few for a header", r.size))
	}
	if err := r.fill(at, max(at, int64(len(r.buf)))); err != nil {
		return err
	}
	n := int64(binary.LittleEndian.Uint16(r.buf[8:]))
	if r.head.Version > 1 {
		n = int64(binary.LittleEndian.Uint32(r.buf[8:]))
	}
	switch left := r.size - at; {
	case n > left:
		return r.Fail(8, r.Short.Errorf("header of %d bytes, %d left", n, left))
	case n > maxHeader:
		return r.Fail(8, wire.ErrUnsupported.WithRule("npy.header-size").Errorf("header of %d bytes, at most %d are read", n, int64(maxHeader)))
	}
	r.head.Len = at + n
	r.stage = stDict
	return nil
}

func (r *Reader) dict() error {
	if err := r.fill(r.head.Len, r.head.Len); err != nil {
		return err
	}
	if err := r.b.Step(r.head.Len/8 + 1); err != nil {
		return r.Fail(0, err)
	}
	at := r.prefix()
	r.lit = literal{p: r.buf[at:r.head.Len], b: r.b, utf8: r.head.Version == 3, buf: r.lit.buf}
	if err := r.lit.header(&r.head); err != nil {
		return r.Fail(at+int64(r.lit.at), err)
	}
	r.stage = stSize
	return nil
}

// data proves that shape times element size is the number of bytes after the header.
func (r *Reader) data() error {
	h := &r.head
	at := r.prefix() + int64(h.shapeAt)
	want, ok := extent(h.Shape, h.Type.Size)
	if !ok {
		return r.Fail(at, wire.ErrOverflow.WithRule("npy.shape-overflow").Errorf("elements of %d bytes need more than a file can hold", h.Type.Size))
	}
	have := uint64(r.size - h.Len)
	switch {
	case want > have:
		return r.Fail(h.Len, r.Short.Errorf("%d bytes of data wanted, %d left", want, have))
	case want < have:
		return r.Fail(h.Len+int64(want), wire.ErrTrailing.WithRule("npy.data-trailing").Errorf("%d bytes", have-want))
	}
	h.Bytes = int64(want)
	r.stage = stDone
	return nil
}

// extent returns the size of an array. Like NumPy it refuses dimensions whose product
// overflows even if another dimension is zero, since the strides could not be computed.
func extent(shape []int64, item int64) (uint64, bool) {
	n, ok, empty := uint64(max(item, 1)), true, item == 0
	for _, d := range shape {
		if empty = empty || d == 0; d > 0 && ok {
			n, ok = wire.Mul(n, uint64(d))
		}
	}
	if empty {
		return 0, ok
	}
	return n, ok
}

// fill reads until the buffer holds at least the first least bytes, and at most the first
// most. An error beyond least is not reported here.
func (r *Reader) fill(least, most int64) error {
	have := len(r.buf)
	if int64(cap(r.buf)) < most {
		buf, err := limits.Make[byte](r.b, int(max(most, 2*int64(cap(r.buf)), firstRead)))
		if err != nil {
			return r.Fail(0, err)
		}
		copy(buf, r.buf)
		r.buf = buf
	}
	for idle := 0; int64(have) < least; {
		n, err := r.src.Read(r.buf[have:most])
		have += n
		switch {
		case int64(have) >= least:
		case err == io.EOF:
			return r.Fail(int64(have), wire.ErrTruncated.Errorf("%d bytes missing", least-int64(have)))
		case err != nil:
			return r.Fail(int64(have), err)
		case n > 0:
			idle = 0
		default:
			if idle++; idle == 100 {
				return r.Fail(int64(have), io.ErrNoProgress)
			}
		}
	}
	r.buf = r.buf[:have]
	return nil
}

// Info describes the array as a tensor whose data begins at off.
func (h *Header) Info(b *limits.Budget, name string, off int64) (tensor.Info, error) {
	i := tensor.Info{
		Name: name, Stored: h.Type.Descr, DType: h.Type.DType, Order: h.Type.Order,
		Shape: h.Shape, Span: tensor.Span{Off: off, Len: h.Bytes},
	}
	if !h.columns() {
		return i, nil
	}
	strides, err := limits.Make[int64](b, len(h.Shape))
	if err != nil {
		return i, err
	}
	step := int64(1)
	for k, n := range h.Shape {
		strides[k] = step
		step *= n
	}
	i.Strides = strides
	return i, nil
}

// columns reports whether the Fortran order differs from C order: at least two dimensions
// are longer than one, and none is zero.
func (h *Header) columns() bool {
	long := 0
	for _, n := range h.Shape {
		if n == 0 {
			return false
		}
		if n > 1 {
			long++
		}
	}
	return h.Fortran && long > 1
}
