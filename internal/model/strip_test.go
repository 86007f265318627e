package model

import (
	"bytes"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// oneTensor is a model of one tensor in memory.
type oneTensor struct {
	tensor.Model
	data []byte
}

func (s *oneTensor) At(tensor.Info) (io.ReaderAt, bool) { return bytes.NewReader(s.data), true }
func (s *oneTensor) Body(*limits.Budget, tensor.Info) (io.ReadCloser, error) {
	return io.NopCloser(bytes.NewReader(s.data)), nil
}

// A transposed stack of two matrices is the same whether a matrix is held or read in
// strips, and strips take less memory than a matrix.
func TestLargeMatricesAreReadInStrips(t *testing.T) {
	const rows, cols = 2200, 9001
	data := make([]byte, 2*rows*cols*2)
	rand.NewChaCha8([32]byte{}).Read(data)
	i := tensor.Info{Name: "x", DType: tensor.BF16, Shape: []int64{2, cols, rows}, Strides: []int64{rows * cols, 1, cols}}
	i.Span.Len = int64(len(data))
	read := func(most int64) (body io.ReadCloser, all []byte) {
		defer func(was int64) { mostHeld = was }(mostHeld)
		mostHeld = most
		b := limits.Policy{}.Budget(t.Context())
		defer b.Close()
		body, err := NewStraight(b, &oneTensor{data: data}).Body(b, i)
		if err != nil {
			t.Fatal(err)
		}
		out := make([]byte, 0, len(data))
		piece := make([]byte, 70_001)
		for {
			n, err := body.Read(piece)
			out = append(out, piece[:n]...)
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		return body, out
	}
	held, want := read(1 << 40)
	strips, got := read(1 << 20)
	h, is := held.(*heldBody)
	s, are := strips.(*stripBody)
	if !is || !are {
		t.Fatalf("a small matrix is read by %T, a large one by %T", held, strips)
	}
	if whole, less := cap(h.storage), cap(s.strip)+cap(s.scratch); less >= whole {
		t.Errorf("strips take %d bytes, a matrix %d", less, whole)
	}
	if !bytes.Equal(got, want) {
		t.Error("strips differ from what is held")
	}
	for _, at := range []int{0, 1, rows*cols - 1, rows * cols, rows*cols + 12345} {
		m, c, row := at/(rows*cols), at%(rows*cols)/rows, at%rows
		if from := 2 * (m*rows*cols + row*cols + c); !bytes.Equal(got[2*at:2*at+2], data[from:from+2]) {
			t.Errorf("element %d is not that of the storage", at)
		}
	}
}
