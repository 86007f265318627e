package gptq_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/quanttest"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant"
)

// symmetric is a weight of GPTQ with 32 inputs whose zero points, one for each output
// of a group, are the given ones.
func symmetric(bits int64, zeros []uint64) tensor.Model {
	out := int64(len(zeros))
	packed := make([]byte, out*bits/8)
	for i, z := range zeros {
		for k := range bits {
			at := int64(i)*bits + k
			packed[at/8] |= byte(z>>k&1) << (at % 8)
		}
	}
	config := fmt.Sprintf(`{"quantization_config":{"quant_method":"gptq","bits":%d,"group_size":32,"sym":true,"checkpoint_format":"gptq_v2"}}`, bits)
	return quanttest.Model(config,
		quanttest.Stored{Name: "m.qweight", DType: tensor.I32, Shape: []int64{bits, out}, Data: make([]byte, 4*bits*out)},
		quanttest.Stored{Name: "m.qzeros", DType: tensor.I32, Shape: []int64{1, out * bits / 32}, Data: packed},
		quanttest.Stored{Name: "m.scales", DType: tensor.F16, Shape: []int64{1, out}, Data: bytes.Repeat([]byte{0, 0x3C}, int(out))})
}

// Every zero point of symmetric codes is the middle, and kernels do not read it: a zero point that
// differs is refused before the weight is decoded, at any position.
func TestEveryZeroPointOfSymmetricCodesIsTheMiddle(t *testing.T) {
	for _, bits := range []int64{2, 3, 4, 8} {
		for _, out := range []int64{32, 16 << 10} {
			zeros := make([]uint64, out)
			for i := range zeros {
				zeros[i] = 1 << (bits - 1)
			}
			for _, other := range []int64{-1, 0, out / 2, out - 1} {
				if other >= 0 {
					zeros[other]--
				}
				m := symmetric(bits, zeros)
				bound, b, err := quanttest.Plan(t, m, quant.Options{Target: quant.F32})
				if err == nil {
					w := bound.Weights[0]
					_, rows := quant.NewRows(b, m, w, quant.F32, 0)
					check := w.Check(b, m)
					err = quant.Decode(b, m, w, make([]byte, w.Size(quant.F32)), quant.F32)
					if (rows == nil) != (err == nil) || (check == nil) != (err == nil) {
						t.Errorf("%d bits, %d outputs: decoded %v, by rows %v, checked %v", bits, out, err, rows, check)
					}
				}
				if other < 0 && err != nil {
					t.Errorf("%d bits, %d outputs: %v", bits, out, err)
				}
				if other >= 0 && (wire.ClassOf(err) != wire.Unsupported || !strings.Contains(err.Error(), "sym true")) {
					t.Errorf("%d bits, zero point %d of %d: %v", bits, other, out, err)
				}
				if other >= 0 {
					zeros[other]++
				}
			}
		}
	}
}

// A few zero points are no rule by themselves, but what the configuration says of them
// is one.
func TestFewZeroPointsOfSymmetricCodes(t *testing.T) {
	m := quanttest.Model(quanttest.GPTQConfig("gptq", `,"sym":true`),
		quanttest.Stored{Name: "m.qweight", DType: tensor.I32, Shape: []int64{8, 8}, Data: quanttest.Words32(64, 0x88888888)},
		quanttest.Stored{Name: "m.qzeros", DType: tensor.I32, Shape: []int64{2, 1}, Data: binary.LittleEndian.AppendUint64(nil, 0x7777777777777776)},
		quanttest.Stored{Name: "m.scales", DType: tensor.F16, Shape: []int64{2, 8}, Data: bytes.Repeat([]byte{0, 0x3C}, 16)})
	if _, _, err := quanttest.Plan(t, m, quant.Options{Target: quant.F32}); wire.ClassOf(err) != wire.Unsupported {
		t.Error(err)
	}
}
