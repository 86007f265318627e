package compare

import (
	"io"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant"
)

// A source gives the elements of one tensor in order, row-major and
// little-endian.
type source interface {
	dtype() tensor.DType
	elements() int64
	read(p []byte) error
	close()
}

// open begins to read a tensor.
func open(b *limits.Budget, m tensor.Model, t *Tensor) (source, error) {
	if t.weight != nil {
		return newWeight(b, m, t.weight)
	}
	if t.info.Strides != nil {
		return newStrided(b, m, t.info)
	}
	body, err := m.Body(b, t.info)
	if err != nil {
		return nil, err
	}
	return &dense{info: t.info, body: body}, nil
}

// sizeOf is the bytes of n elements that begin a block.
func sizeOf(t tensor.DType, n int64) int64 {
	g, _ := t.Geometry()
	return (n + int64(g.Elems) - 1) / int64(g.Elems) * int64(g.Bytes)
}

// dense is read as it lies.
type dense struct {
	info tensor.Info
	body io.ReadCloser
}

func (s *dense) dtype() tensor.DType { return s.info.DType }
func (s *dense) elements() int64     { return s.info.Elements() }
func (s *dense) close()              { s.body.Close() }

func (s *dense) read(p []byte) error {
	if _, err := io.ReadFull(s.body, p); err != nil {
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			return wire.ErrTruncated
		}
		return err
	}
	little(p, &s.info)
	return nil
}

// little turns big-endian numbers round. Those of complex types are their halves.
func little(p []byte, i *tensor.Info) {
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

func newStrided(b *limits.Budget, m tensor.Model, i tensor.Info) (source, error) {
	g, ok := i.DType.Geometry()
	if !ok || g.Elems != 1 {
		return nil, wire.ErrUnsupported.With("%s with strides", wire.Quote(i.TypeName()))
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

func (s *strided) dtype() tensor.DType { return s.info.DType }
func (s *strided) elements() int64     { return s.info.Elements() }
func (s *strided) close()              {}

func (s *strided) read(p []byte) error {
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
	little(p, &s.info)
	return nil
}

// weight is decoded to F32 as it is read.
type weight struct {
	rows   *quant.Rows
	n      int64
	ready  []byte // decoded and not yet read
	buffer []byte
}

func newWeight(b *limits.Budget, m tensor.Model, w *quant.Weight) (source, error) {
	rows, err := quant.NewRows(b, m, w, quant.F32, 0)
	if err != nil {
		return nil, err
	}
	s := &weight{rows: rows, n: w.Rows() * w.Cols()}
	s.buffer, err = limits.Make[byte](b, int(rows.Most()))
	return s, err
}

func (s *weight) dtype() tensor.DType { return tensor.F32 }
func (s *weight) elements() int64     { return s.n }
func (s *weight) close()              { s.rows.Close() }

func (s *weight) read(p []byte) error {
	for len(p) > 0 {
		if len(s.ready) == 0 {
			n, err := s.rows.Next(s.buffer)
			if err != nil {
				return err
			}
			s.ready = s.buffer[:n]
		}
		n := copy(p, s.ready)
		p, s.ready = p[n:], s.ready[n:]
	}
	return nil
}
