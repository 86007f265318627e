// Package imatrix reads importance matrices, which llama-imatrix writes.
package imatrix

import (
	"encoding/binary"
	"errors"
	"io"
	"math"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/gguf"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant/ggml"
)

const importance = "importance matrix"

// A matrix is an importance matrix that is being read.
type matrix struct{ ggml.Importance }

// Read reads a matrix from r, in GGUF or in the older format.
func Read(b *limits.Budget, r io.ReaderAt, size int64) (*ggml.Importance, error) {
	var magic [4]byte
	if size >= int64(len(magic)) {
		if err := wire.ReadFull(r, magic[:], 0); err != nil {
			return nil, err
		}
	}
	m := &matrix{ggml.Importance{Columns: map[string][]float32{}}}
	read := m.readLegacy
	if string(magic[:]) == "GGUF" {
		read = m.readGGUF
	}
	if err := read(b, r, size); err != nil {
		return nil, wire.At(importance, "", wire.NoOffset, err)
	}
	return &m.Importance, nil
}

// add stores the columns of one weight: means of squares.
func (m *matrix) add(b *limits.Budget, name string, list []float32) error {
	if _, there := m.Columns[name]; there {
		return wire.ErrDuplicate.Errorf("tensor %s", wire.Quote(name))
	}
	if err := errors.Join(b.Step(int64(len(list))), b.Hold(64)); err != nil {
		return err
	}
	if err := squares(list); err != nil {
		return wire.At(importance, "tensor "+wire.Quote(name), wire.NoOffset, err)
	}
	m.Columns[name] = list
	return nil
}

// squares returns an error for a number that cannot be a sum of squares.
func squares(list []float32) error {
	for i, v := range list {
		if !(v >= 0) || v > math.MaxFloat32 {
			return wire.ErrRange.Errorf("element %d is %v, which cannot be a mean of squares", i, v)
		}
	}
	return nil
}

// readGGUF reads the sums of squares, NAME.in_sum2, and how many were added, NAME.counts:
// a number for each expert.
func (m *matrix) readGGUF(b *limits.Budget, r io.ReaderAt, size int64) error {
	f, err := gguf.Decode(b, r, size)
	if err != nil {
		return err
	}
	defer f.Close()
	if kind, _ := f.Get("general.type"); kind != "imatrix" {
		return wire.ErrMismatch.Errorf("general.type is %v, not imatrix", wire.Quote(textOf(kind)))
	}
	if v, ok := f.Get("imatrix.chunk_count"); ok {
		if n, ok := wire.Integer(v); ok && n >= 0 && n <= math.MaxInt32 {
			m.Chunks = n
		}
	}
	if v, ok := f.Get("imatrix.datasets"); ok {
		if a, ok := v.(gguf.Array); ok {
			for s, err := range a.Strings(b) {
				if err != nil {
					return err
				}
				m.Dataset = s
				break
			}
		}
	}
	byName := map[string]tensor.Info{} // 512 bytes each, with the map's buckets
	if err := b.Hold(int64(f.Len()) * 512); err != nil {
		return err
	}
	for i := range f.Tensors() {
		byName[i.Name] = i
	}
	for i := range f.Tensors() {
		name, ok := strings.CutSuffix(i.Name, ".in_sum2")
		if !ok {
			if _, other := byName[strings.TrimSuffix(i.Name, ".counts")+".in_sum2"]; !other {
				return wire.ErrMissing.Errorf("%s: its sums are missing", wire.Quote(i.Name))
			}
			continue
		}
		counts, ok := byName[name+".counts"]
		if !ok {
			return wire.ErrMissing.Errorf("%s: its counts are missing", wire.Quote(i.Name))
		}
		list, err := m.average(b, f, i, counts)
		if err != nil {
			return wire.At(importance, "tensor "+wire.Quote(i.Name), wire.NoOffset, err)
		}
		if err := m.add(b, name, list); err != nil {
			return err
		}
	}
	return nil
}

func textOf(v any) string { s, _ := v.(string); return s }

// average divides sums by counts. The importance of an expert that was never used is 1.
func (m *matrix) average(b *limits.Budget, f tensor.Model, sums, counts tensor.Info) ([]float32, error) {
	list, err := floatsOf(b, f, sums)
	if err != nil {
		return nil, err
	}
	n, err := floatsOf(b, f, counts)
	if err != nil {
		return nil, err
	}
	if len(n) == 0 || len(list)%len(n) != 0 {
		return nil, wire.ErrMismatch.Errorf("%d sums and %d counts", len(list), len(n))
	}
	if err := squares(n); err != nil {
		return nil, err
	}
	cols := len(list) / len(n)
	for j, v := range n {
		count := float32(math.Round(float64(v)))
		for i := range list[j*cols:][:cols] {
			if count > 0 {
				list[j*cols+i] /= count
			} else {
				list[j*cols+i] = 1
			}
		}
	}
	return list, nil
}

// floatsOf reads a tensor of float32.
func floatsOf(b *limits.Budget, f tensor.Model, i tensor.Info) ([]float32, error) {
	if i.DType != tensor.F32 {
		return nil, wire.ErrMismatch.Errorf("it is %s, not F32", i.TypeName())
	}
	n, ok := wire.Int(uint64(i.Span.Len), math.MaxInt32)
	if !ok {
		return nil, wire.ErrMismatch.Errorf("it is too large")
	}
	raw, err := limits.Make[byte](b, n)
	if err != nil {
		return nil, err
	}
	body, err := f.Body(b, i)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	if _, err := io.ReadFull(body, raw); err != nil {
		return nil, err
	}
	return floatsIn(b, raw, i.Order)
}

func floatsIn(b *limits.Budget, raw []byte, order tensor.Order) ([]float32, error) {
	list, err := limits.Make[float32](b, len(raw)/4)
	if err != nil {
		return nil, err
	}
	var from binary.ByteOrder = binary.LittleEndian
	if order == tensor.Big {
		from = binary.BigEndian
	}
	for i := range list {
		list[i] = math.Float32frombits(from.Uint32(raw[4*i:]))
	}
	return list, nil
}
