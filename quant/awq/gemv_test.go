package awq_test

import (
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/quanttest"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant"
)

// 128 inputs in groups of 64 have 16 words, and 16 padded scales: only the
// configuration tells them from GPTQ's.
func TestTheConfigurationDecidesForGEMVWithFewInputs(t *testing.T) {
	parts := []quanttest.Stored{quanttest.Zeros("m.qweight", tensor.I32, 24, 16), quanttest.Zeros("m.qzeros", tensor.I32, 24, 2), quanttest.Zeros("m.scales", tensor.F16, 24, 16)}
	bound, _, err := quanttest.Plan(t, quanttest.Model(quanttest.Method("awq", `,"bits":4,"group_size":64,"version":"gemv"`), parts...), quant.Options{})
	if err != nil || len(bound.Weights) != 1 || bound.Weights[0].Scheme != "AWQ GEMV" {
		t.Errorf("%v %v", bound, err)
	}
	if _, _, err := quanttest.Plan(t, quanttest.Model(quanttest.Method("awq", `,"bits":4,"group_size":64,"version":"gemm"`), parts...), quant.Options{}); wire.ClassOf(err) != wire.Malformed {
		t.Errorf("error %v", err)
	}
}
