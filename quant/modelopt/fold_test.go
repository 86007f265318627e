package modelopt_test

import (
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/quanttest"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant"
	"github.com/google/go-cmp/cmp"
)

func TestInputsThatAreMultipliedAreFoldedOrNamed(t *testing.T) {
	m := quanttest.Model(quanttest.Method("modelopt", ""),
		quanttest.Stored{Name: "m.weight", DType: tensor.U8, Shape: []int64{1, 2}, Data: []byte{0x21, 0x43}}, quanttest.Stored{Name: "m.weight_scale", DType: tensor.F32, Shape: []int64{2, 1}, Data: quanttest.F32(1, 10)},
		quanttest.Stored{Name: "m.pre_quant_scale", DType: tensor.F32, Shape: []int64{2}, Data: quanttest.F32(2, 0.5)})
	_, _, err := quanttest.Plan(t, m, quant.Options{})
	if wire.ClassOf(err) != wire.Unsupported || !strings.Contains(err.Error(), "quant.Options.FoldPreQuant") {
		t.Error(err)
	}
	w, got := quanttest.Decoded(t, m, quant.Options{Target: quant.F32, FoldPreQuant: true})
	// Rows are packed in pairs, the even one in the low nibble: 1 3 and 2 4.
	if diff := cmp.Diff([]float32{1 * 2, 3 * 0.5, 20 * 2, 40 * 0.5}, quanttest.Floats(got)); diff != "" {
		t.Error(diff)
	}
	if len(w.Parts) != 3 {
		t.Errorf("%d parts", len(w.Parts))
	}
}
