package compare

import (
	"github.com/anamnesis-go/anamnesis/internal/elements"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant"
)

// open returns a source of a tensor's elements.
func open(b *limits.Budget, m tensor.Model, t *Tensor) (elements.Source, error) {
	if t.weight != nil {
		return newWeight(b, m, t.weight)
	}
	return elements.Open(b, m, t.info)
}

// A weight is decoded to F32 when it is read.
type weight struct {
	rows   *quant.Rows
	n      int64
	ready  []byte // decoded but unread bytes
	buffer []byte
}

func newWeight(b *limits.Budget, m tensor.Model, w *quant.Weight) (elements.Source, error) {
	rows, err := quant.NewRows(b, m, w, quant.F32, 0)
	if err != nil {
		return nil, err
	}
	s := &weight{rows: rows, n: w.Rows() * w.Cols()}
	s.buffer, err = limits.Make[byte](b, int(rows.Most()))
	return s, err
}

func (s *weight) DType() tensor.DType { return tensor.F32 }
func (s *weight) Elements() int64     { return s.n }
func (s *weight) Close()              { s.rows.Close() }

func (s *weight) Read(p []byte) error {
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
