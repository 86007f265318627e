package quant_test

import (
	"errors"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/quanttest"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant"
)

// A model that a program makes itself may have what no file has: rows that do not fill whole
// blocks, and a buffer of another length than its weight.
func TestModelsOfAProgramAreCheckedAsThoseOfFiles(t *testing.T) {
	if _, _, err := quanttest.Plan(t, quanttest.Model("", quanttest.Stored{Name: "m.weight", DType: tensor.Q4_0, Shape: []int64{2, 33}, Data: make([]byte, 36)}), quant.Options{}); !errors.Is(err, wire.ErrMismatch) {
		t.Errorf("rows of 33: %v", err)
	}
	m := quanttest.Model("", quanttest.Stored{Name: "m.weight", DType: tensor.Q4_0, Shape: []int64{2, 32}, Data: make([]byte, 36)})
	bound, b, err := quanttest.Plan(t, m, quant.Options{})
	if err != nil {
		t.Fatal(err)
	}
	w := bound.Weights[0]
	size := w.Size(quant.F32)
	for _, n := range []int64{0, size - 1, size, size + 1} {
		if err := quant.Decode(b, m, w, make([]byte, n), quant.F32); (err == nil) != (n == size) || err != nil && wire.ClassOf(err) != wire.Usage {
			t.Errorf("%d bytes for a weight of %d: %v", n, size, err)
		}
	}
}
