// Package elements reads the elements of one tensor in order: row-major and
// little-endian, however the file stores them.
//
// A strided tensor's storage is held in memory while it is read, under the account.
package elements

import (
	"io"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A Source gives the elements of one tensor.
type Source interface {
	DType() tensor.DType
	Elements() int64
	// Read fills p with what comes next.
	Read(p []byte) error
	Close()
}

// Open begins to read a tensor.
func Open(b *limits.Budget, m tensor.Model, i tensor.Info) (Source, error) {
	if i.Strides != nil {
		return newStrided(b, m, i)
	}
	body, err := m.Body(b, i)
	if err != nil {
		return nil, err
	}
	return &dense{info: i, body: body}, nil
}

// Size is the bytes of n elements that begin a block.
func Size(t tensor.DType, n int64) int64 {
	g, _ := t.Geometry()
	return (n + int64(g.Elems) - 1) / int64(g.Elems) * int64(g.Bytes)
}

// dense is read as it lies.
type dense struct {
	info tensor.Info
	body io.ReadCloser
}

func (s *dense) DType() tensor.DType { return s.info.DType }
func (s *dense) Elements() int64     { return s.info.Elements() }
func (s *dense) Close()              { s.body.Close() }

func (s *dense) Read(p []byte) error {
	if _, err := io.ReadFull(s.body, p); err != nil {
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			return wire.ErrTruncated
		}
		return err
	}
	toLittleEndian(p, &s.info)
	return nil
}

// toLittleEndian reverses the bytes of big-endian numbers. Those of complex types are their halves.
func toLittleEndian(p []byte, i *tensor.Info) {
	if i.Order != tensor.Big {
		return
	}
	g, _ := i.DType.Geometry()
	size := int(g.Bytes)
	switch i.DType {
	case tensor.C32, tensor.C64, tensor.C128:
		size /= 2
	}
	for ; len(p) >= size && size > 1; p = p[size:] {
		for a, z := 0, size-1; a < z; a, z = a+1, z-1 {
			p[a], p[z] = p[z], p[a]
		}
	}
}

// strided is gathered from its storage, which is held in memory.
type strided struct {
	info    tensor.Info
	storage []byte
	size    int64
	at      []int64 // index of the next element
}

func newStrided(b *limits.Budget, m tensor.Model, i tensor.Info) (Source, error) {
	g, ok := i.DType.Geometry()
	if !ok || g.Elems != 1 {
		return nil, wire.ErrUnsupported.Errorf("%s with strides", wire.Quote(i.TypeName()))
	}
	n, ok := wire.Int(uint64(i.Span.Len), wire.MaxSize)
	if !ok {
		return nil, &limits.Error{Axis: limits.SingleAlloc, Want: i.Span.Len, Left: b.Policy().Limit(limits.SingleAlloc)}
	}
	storage, err := limits.Make[byte](b, n)
	if err != nil {
		return nil, err
	}
	s := &strided{info: i, storage: storage, size: int64(g.Bytes)}
	if s.at, err = limits.Make[int64](b, len(i.Shape)); err != nil {
		return nil, err
	}
	body, err := m.Body(b, i)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	_, err = io.ReadFull(body, storage)
	return s, err
}

func (s *strided) DType() tensor.DType { return s.info.DType }
func (s *strided) Elements() int64     { return s.info.Elements() }
func (s *strided) Close()              {}

func (s *strided) Read(p []byte) error {
	for to := p; len(to) > 0; to = to[s.size:] {
		from := s.info.Offset
		for k, i := range s.at {
			from += i * s.info.Strides[k]
		}
		copy(to[:s.size], s.storage[from*s.size:])
		for k := len(s.at) - 1; k >= 0; k-- {
			if s.at[k]++; s.at[k] < s.info.Shape[k] {
				break
			}
			s.at[k] = 0
		}
	}
	toLittleEndian(p, &s.info)
	return nil
}
