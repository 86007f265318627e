package pth

import (
	"encoding/binary"
	"io"
	"strconv"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// Prefixes of Info.Storage. Bytes that differ from those of the file have a storage of
// their own: a view that is conjugated or negated when read, or an array in the pickle
// itself.
const (
	inLegacy  = "storage/"
	inPickle  = "pickle:"
	asConj    = "conj:"
	asNeg     = "neg:"
	asConjNeg = "conj+neg:"
)

// plainStorage reports whether the bytes are those of the file.
func plainStorage(name string) bool {
	return strings.HasPrefix(name, recData) || strings.HasPrefix(name, recConstantsData) || strings.HasPrefix(name, inLegacy)
}

// resolved returns the storage name of a tensor whose bytes change when read.
func (d *dense) resolved(b *limits.Budget, info *tensor.Info) (string, error) {
	prefix := ""
	switch {
	case d.conj && d.neg:
		prefix = asConjNeg
	case d.conj:
		prefix = asConj
	case d.neg:
		prefix = asNeg
	default:
		return info.Storage, nil
	}
	if d.conj && !isComplex(info.DType) {
		return "", wire.ErrMismatch.WithRule("pth.conjugate").Errorf("conjugate view of %s", info.Stored)
	}
	_, _, ok := signs(prefix, info.DType, info.Order)
	if !ok && !isNegated(info.DType) || d.conj && d.neg && info.DType == tensor.C32 {
		return "", wire.ErrUnsupported.WithRule("pth.negative-view").Errorf("negative view of %s", info.Stored)
	}
	if err := b.Alloc(int64(len(prefix) + len(info.Storage))); err != nil {
		return "", err
	}
	return prefix + info.Storage, nil
}

func isComplex(t tensor.DType) bool {
	return t == tensor.C32 || t == tensor.C64 || t == tensor.C128
}

// isNegated reports whether torch negates integers of this type.
func isNegated(t tensor.DType) bool {
	switch t {
	case tensor.U8, tensor.I8, tensor.I16, tensor.I32, tensor.I64:
		return true
	}
	return false
}

// signs returns the bits to flip in each element to resolve the view.
func signs(prefix string, t tensor.DType, order tensor.Order) (mask [16]byte, size int, ok bool) {
	part := 0 // bytes of one number
	switch t {
	case tensor.F16, tensor.BF16, tensor.F32, tensor.F64:
		g, _ := t.Geometry()
		part, size = int(g.Bytes), int(g.Bytes)
	case tensor.C32, tensor.C64, tensor.C128:
		g, _ := t.Geometry()
		part, size = int(g.Bytes)/2, int(g.Bytes)
	default:
		return mask, 0, false
	}
	for at := 0; at < size; at += part {
		imaginary := at > 0
		flip := prefix == asNeg || prefix == asConj && imaginary || prefix == asConjNeg && !imaginary
		if !flip {
			continue
		}
		if order == tensor.Big {
			mask[at] = 0x80
		} else {
			mask[at+part-1] = 0x80
		}
	}
	return mask, size, true
}

// At returns random access to a tensor's bytes; ok is false for the few whose bytes are
// not those of the file.
func (f *File) At(i tensor.Info) (io.ReaderAt, bool) {
	if !plainStorage(i.Storage) {
		return nil, false
	}
	return f.File.At(i)
}

// Body reads a tensor's bytes in order. Conjugate and negative views are resolved.
func (f *File) Body(b *limits.Budget, i tensor.Info) (io.ReadCloser, error) {
	prefix, rest, found := strings.Cut(i.Storage, ":")
	if plainStorage(i.Storage) || !found {
		return f.File.Body(b, i)
	}
	if prefix+":" == inPickle {
		if n, err := strconv.Atoi(rest); err == nil && n < len(f.memory) {
			return io.NopCloser(strings.NewReader(f.memory[n])), nil
		}
	}
	raw, err := f.File.Body(b, i)
	if err != nil {
		return nil, err
	}
	release, err := b.Lease(resolveBuf)
	if err != nil {
		raw.Close()
		return nil, fail("tensor "+wire.Quote(i.Name), i.Span.Off, err)
	}
	out := &signFlipper{raw: raw, release: release, order: binary.LittleEndian}
	if i.Order == tensor.Big {
		out.order = binary.BigEndian
	}
	mask, size, ok := signs(prefix+":", i.DType, i.Order)
	if !ok {
		g, _ := i.DType.Geometry()
		size = int(g.Bytes)
	}
	out.mask, out.size, out.integer = mask, size, !ok
	return out, nil
}

// resolveBuf is a multiple of every element size.
const resolveBuf = 4 << 10

// A resolver flips the signs of elements as they are read.
type signFlipper struct {
	raw     io.ReadCloser
	release func()
	order   binary.ByteOrder
	mask    [16]byte
	size    int
	integer bool
	ready   []byte // the part of buf that is resolved and not yet read
	err     error
	buf     [resolveBuf]byte
}

func (r *signFlipper) Read(p []byte) (int, error) {
	if len(r.ready) == 0 && r.err == nil {
		r.fill()
	}
	if len(r.ready) == 0 {
		return 0, r.err
	}
	n := copy(p, r.ready)
	r.ready = r.ready[n:]
	return n, nil
}

func (r *signFlipper) fill() {
	n, err := io.ReadFull(r.raw, r.buf[:])
	if err == io.ErrUnexpectedEOF {
		err = io.EOF
	}
	r.ready, r.err = r.buf[:n], err
	if !r.integer {
		for i := range r.ready {
			r.ready[i] ^= r.mask[i%r.size]
		}
		return
	}
	for at := 0; at+r.size <= n; at += r.size {
		switch p := r.ready[at:]; r.size {
		case 1:
			p[0] = -p[0]
		case 2:
			r.order.PutUint16(p, -r.order.Uint16(p))
		case 4:
			r.order.PutUint32(p, -r.order.Uint32(p))
		default:
			r.order.PutUint64(p, -r.order.Uint64(p))
		}
	}
}

func (r *signFlipper) Close() error {
	r.release()
	return r.raw.Close()
}
