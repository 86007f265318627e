package quant_test

import (
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/quanttest"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant"
)

// The number of scales does not decide which numbers a scale applies to: ModelOpt may have as many
// blocks as the weight has rows, and two blocks in a row may be 128 and a rest, or two halves.
func TestScalesOfBlocksAreNotTakenForScalesOfRows(t *testing.T) {
	const blocks = `{"quantization_config": {"quant_method": "compressed-tensors", "format": "float-quantized", "config_groups": {"group_0": {"targets": ["Linear"],
		"weights": {"num_bits": 8, "type": "float", "strategy": "block", "block_structure": [128, 128], "symmetric": true}}}}}`
	for _, c := range []struct {
		name, config string
		shape, scale []int64
		of           func(row, col int64) int64
	}{
		{"ModelOpt, as many blocks as rows", "", []int64{64, 8192}, []int64{1, 1, 64, 1}, func(_, c int64) int64 { return c / 128 }},
		{"ModelOpt, cut off at both edges", "", []int64{130, 200}, []int64{2, 1, 2, 1}, func(r, c int64) int64 { return r/128*2 + c/128 }},
		{"ModelOpt, fewer rows than a block", "", []int64{3, 256}, []int64{1, 1, 2, 1}, func(_, c int64) int64 { return c / 128 }},
		{"ModelOpt, one row", "", []int64{1, 200}, []int64{1, 1, 2, 1}, func(_, c int64) int64 { return c / 128 }},
		{"ModelOpt, a scale for each row", "", []int64{4, 200}, []int64{4, 1, 1, 1}, func(r, _ int64) int64 { return r }},
		{"compressed-tensors, one row", blocks, []int64{1, 200}, []int64{1, 2}, func(_, c int64) int64 { return c / 128 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			codes := make([]byte, c.shape[0]*c.shape[1])
			for i := range codes {
				codes[i] = 0x38 // 1
			}
			scales := make([]float32, product(c.scale))
			for i := range scales {
				scales[i] = float32(i + 2)
			}
			_, body := quanttest.Decoded(t, quanttest.Model(c.config, quanttest.Stored{Name: "m.weight", DType: tensor.F8E4M3, Shape: c.shape, Data: codes}, quanttest.Stored{Name: "m.weight_scale", DType: tensor.F32, Shape: c.scale, Data: quanttest.F32(scales...)}), quant.Options{Target: quant.F32})
			for i, got := range quanttest.Floats(body) {
				row, col := int64(i)/c.shape[1], int64(i)%c.shape[1]
				if want := scales[c.of(row, col)]; got != want {
					t.Fatalf("row %d, column %d is %v, want %v", row, col, got, want)
				}
			}
		})
	}
}

func product(shape []int64) int64 {
	n := int64(1)
	for _, d := range shape {
		n *= d
	}
	return n
}
