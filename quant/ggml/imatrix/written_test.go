package imatrix_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/convert"
	"github.com/anamnesis-go/anamnesis/internal/converttest"
	"github.com/anamnesis-go/anamnesis/internal/effort"
	"github.com/anamnesis-go/anamnesis/internal/fixtures"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/gguf"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant/ggml"
	"github.com/anamnesis-go/anamnesis/quant/ggml/imatrix"
)

// newMatrix is one in GGUF.
func newMatrix(t *testing.T, b *limits.Budget, kind string, tensors map[string][]float32) []byte {
	t.Helper()
	var infos []tensor.Info
	for name, list := range tensors {
		infos = append(infos, tensor.Info{Name: name, DType: tensor.F32, Shape: []int64{int64(len(list))}})
	}
	return converttest.GGUFBytes(t, b, infos, []gguf.Entry{{Key: "general.type", Value: kind}}, func(i tensor.Info) []float32 { return tensors[i.Name] })
}

// Matrices that do not say how important each column is are refused by class, before
// anything is written.
func TestMatricesThatAreRefused(t *testing.T) {
	b := limits.Policy{Timeout: limits.NoTimeout}.Budget(t.Context())
	defer b.Close()
	b.Source(1 << 30)
	m := converttest.TinyLlama(t, b, 2, 256)
	all := []string{"output.weight", "blk.0.attn_v.weight", "blk.0.ffn_down.weight", "blk.1.attn_v.weight", "blk.1.ffn_down.weight", "token_embd.weight"}
	good := fixtures.LegacyMatrix(256, 2, all...)
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	sums := func(v float32) []float32 { return converttest.Times(v, slicesOf(256)) }
	for _, c := range []struct {
		name, mix, text string
		data            []byte
		class           wire.Class
	}{
		{"good", "iq2_xs", "", good, wire.OK},
		{"another model's", "q4_k_m", "none of the 1 weights", fixtures.LegacyMatrix(256, 2, "blk.7.attn_v.weight"), wire.Malformed},
		{"other columns", "q4_k_m", "it belongs to another model", fixtures.LegacyMatrix(512, 2, all...), wire.Malformed},
		{"too few weights", "iq2_xs", "needs an importance matrix", fixtures.LegacyMatrix(256, 2, all[:2]...), wire.Unsupported},
		{"too few weights for what needs none", "q4_k_m", "", fixtures.LegacyMatrix(256, 2, all[:2]...), wire.OK},
		{"NaN", "q4_k_m", "element 0 is NaN", fixtures.LegacyMatrix(256, nan, all...), wire.Malformed},
		{"infinity", "q4_k_m", "element 0 is +Inf", fixtures.LegacyMatrix(256, inf, all...), wire.Malformed},
		{"a negative square", "q4_k_m", "element 0 is -0.333", fixtures.LegacyMatrix(256, -1, all...), wire.Malformed},
		{"calls below zero", "q4_k_m", "called -1 times", append(append(binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(nil, 1), 1), 'a'), []byte("\xff\xff\xff\xff\x01\x00\x00\x00\x00\x00\x00\x00")...), wire.Malformed},
		{"a weight twice", "q4_k_m", "output.weight", fixtures.LegacyMatrix(256, 2, all[0], all[0]), wire.Malformed},
		{"cut off", "q4_k_m", "", good[:len(good)-1], wire.Truncated},
		{"cut off in a name", "q4_k_m", "", good[:1070], wire.Truncated},
		{"fewer bytes than entries", "q4_k_m", "it is not an importance matrix", good[:10], wire.Malformed},
		{"empty", "q4_k_m", "", nil, wire.Truncated},
		{"a million entries in four bytes", "q4_k_m", "it is not an importance matrix", binary.LittleEndian.AppendUint32(nil, 1_000_000), wire.Malformed},
		{"two thousand million columns", "q4_k_m", "", append(fixtures.LegacyMatrix(0, 0, "a")[:13], 0xff, 0xff, 0xff, 0x7f), wire.Truncated},
		{"GGUF", "q4_k_m", "", newMatrix(t, b, "imatrix", map[string][]float32{"output.weight.in_sum2": sums(3), "output.weight.counts": {7}}), wire.OK},
		{"GGUF of a model", "q4_k_m", "not imatrix", newMatrix(t, b, "model", map[string][]float32{"output.weight.in_sum2": sums(3), "output.weight.counts": {7}}), wire.Malformed},
		{"GGUF without counts", "q4_k_m", "its counts are missing", newMatrix(t, b, "imatrix", map[string][]float32{"output.weight.in_sum2": sums(3)}), wire.Malformed},
		{"GGUF without sums", "q4_k_m", "its sums are missing", newMatrix(t, b, "imatrix", map[string][]float32{"output.weight.counts": {7}}), wire.Malformed},
		{"GGUF with NaN counts", "q4_k_m", "NaN", newMatrix(t, b, "imatrix", map[string][]float32{"output.weight.in_sum2": sums(3), "output.weight.counts": {nan}}), wire.Malformed},
		{"GGUF with counts that do not divide", "q4_k_m", "256 sums and 3 counts", newMatrix(t, b, "imatrix", map[string][]float32{"output.weight.in_sum2": sums(3), "output.weight.counts": {1, 1, 1}}), wire.Malformed},
	} {
		t.Run(c.name, func(t *testing.T) {
			matrix, err := imatrix.Read(b, bytes.NewReader(c.data), int64(len(c.data)))
			if err == nil {
				_, err = convert.NewPlan(b, m, convert.Options{Sink: convert.GGUF{RawNames: true}, Quantize: ggml.Quantizer{Mix: converttest.Mix(t, c.mix), Matrix: matrix}})
			}
			if wire.ClassOf(err) != c.class || err != nil && !strings.Contains(err.Error(), c.text) {
				t.Errorf("%v: %v, want %v with %q", wire.ClassOf(err), err, c.class, c.text)
			}
		})
	}
}

func slicesOf(n int) []float32 {
	list := make([]float32, n)
	for i := range list {
		list[i] = 1
	}
	return list
}

// A matrix of a million weights is read, or refused by the account, in bounded time.
func TestAMatrixOfAMillionEntries(t *testing.T) {
	names := make([]string, effort.Of(100_000, 1_000_000))
	for i := range names {
		names[i] = fmt.Sprintf("blk.%d.ffn_down.weight", i)
	}
	data := fixtures.LegacyMatrix(1, 1, names...)
	for tight, policy := range []limits.Policy{{}, {MaxTotalBytes: int64(32 * len(names))}, {MaxSteps: 1000}} {
		b := policy.Budget(t.Context())
		m, err := imatrix.Read(b, bytes.NewReader(data), int64(len(data)))
		if (tight > 0) != (wire.ClassOf(err) == wire.Limit) || tight == 0 && m.Len() != len(names) {
			t.Errorf("%+v: %v", policy, err)
		}
		b.Close()
	}
}
