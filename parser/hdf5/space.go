package hdf5

import (
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// A space is the shape of a dataset or an attribute.
type space struct {
	dims     []int64
	most     []uint64 // what the dimensions may grow to, or nil
	elements uint64
	null     bool // no element at all
}

// unlimited is a dimension that may grow without end.
const unlimited = ^uint64(0)

// maxRank is the largest number of dimensions that HDF5 has.
const maxRank = 32

// Kinds of shapes.
const (
	aScalar = 0
	anArray = 1
	aNull   = 2
)

// dimensions reads a shape: version 1, or 2 without what is reserved.
func (d *decoder) dimensions(m *wire.Cursor) (*space, error) {
	const where, grows = "shape", 1
	at := m.Off()
	f := fields{c: m}
	version, rank, flags, kind := f.u8(), f.u8(), f.u8(), f.u8()
	switch {
	case f.err != nil:
		return nil, f.err
	case version == 1:
		f.skip(4)
		kind = min(rank, anArray)
	case version != 2:
		return nil, d.fail(where, at, errFeature.Errorf("version %d", version))
	}
	if rank > maxRank || flags&^grows != 0 || kind > aNull || kind != anArray && rank > 0 {
		return nil, d.fail(where, at, errStructure.Errorf("%d dimensions, flags %#x, kind %d", rank, flags, kind))
	}
	s := &space{elements: 1}
	if kind == aNull {
		return &space{null: true}, nil
	}
	var err error
	if s.dims, err = limits.Make[int64](d.b, int(rank)); err != nil {
		return nil, d.fail(where, at, err)
	}
	for i := range s.dims {
		n, ok := f.u64(), false
		if s.elements, ok = wire.Mul(s.elements, n); !ok || n > 1<<62 || s.elements > 1<<62 {
			return nil, d.fail(where, at, errStructure.Errorf("more elements than 62 bits can count"))
		}
		s.dims[i] = int64(n)
	}
	if flags&grows == 0 || f.err != nil {
		return s, f.err
	}
	return s, d.growth(&f, s, at)
}

// growth reads what the dimensions may grow to.
func (d *decoder) growth(f *fields, s *space, at int64) (err error) {
	if s.most, err = limits.Make[uint64](d.b, len(s.dims)); err != nil {
		return d.fail("shape", at, err)
	}
	for i := range s.most {
		if s.most[i] = f.u64(); f.err == nil && s.most[i] < uint64(s.dims[i]) {
			return d.fail("shape", at, errStructure.Errorf("a dimension of %d that grows to %d at most", s.dims[i], s.most[i]))
		}
	}
	return f.err
}
