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

// Stored is the source of a tensor as the file has it.
type Stored interface {
	Source
	// Skip skips n elements, which are whole blocks.
	Skip(b *limits.Budget, n int64) error
}

// Open begins to read a tensor.
func Open(b *limits.Budget, m tensor.Model, i tensor.Info) (Stored, error) {
	if i.Strides != nil {
		return newStrided(b, m, i)
	}
	body, err := m.Body(b, i)
	if err != nil {
		return nil, err
	}
	at, _ := m.At(i)
	return &dense{info: i, body: body, at: at}, nil
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
	// at reads at any offset, nil for a member that must be inflated in order. off is how much
	// has been skipped or read: from then on, at is read in place of body.
	at     io.ReaderAt
	off    int64
	jumped bool
}

func (s *dense) DType() tensor.DType { return s.info.DType }
func (s *dense) Elements() int64     { return s.info.Elements() }
func (s *dense) Close()              { s.body.Close() }

func (s *dense) Read(p []byte) error {
	var err error
	if s.jumped {
		_, err = io.ReadFull(io.NewSectionReader(s.at, s.off, int64(len(p))), p)
	} else {
		_, err = io.ReadFull(s.body, p)
	}
	if err != nil {
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			return wire.ErrTruncated
		}
		return err
	}
	s.off += int64(len(p))
	toLittleEndian(p, &s.info)
	return nil
}

func (s *dense) Skip(b *limits.Budget, n int64) error {
	size := Size(s.info.DType, n)
	if s.at != nil {
		s.off += size
		s.jumped = s.jumped || size > 0
		return nil
	}
	for size > 0 {
		if err := b.Step(1); err != nil {
			return err
		}
		piece := min(size, skipBytes)
		if _, err := io.CopyN(io.Discard, s.body, piece); err == io.EOF {
			return wire.ErrTruncated
		} else if err != nil {
			return err
		}
		size -= piece
	}
	return nil
}

// skipBytes are inflated between two looks at the account.
const skipBytes = 64 << 10

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

func newStrided(b *limits.Budget, m tensor.Model, i tensor.Info) (Stored, error) {
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

func (s *strided) Skip(_ *limits.Budget, n int64) error {
	for k := len(s.at) - 1; k >= 0 && n > 0; k-- {
		n += s.at[k]
		s.at[k], n = n%s.info.Shape[k], n/s.info.Shape[k]
	}
	return nil
}
