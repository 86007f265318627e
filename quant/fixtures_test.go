package quant_test

import (
	"bytes"
	"encoding/binary"
	"path"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/fixtures"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant"
)

// ggmlIDs are the type numbers that the slices carry: ggml.h, enum ggml_type.
var ggmlIDs = map[uint32]tensor.DType{
	2: tensor.Q4_0, 3: tensor.Q4_1, 7: tensor.Q5_1, 8: tensor.Q8_0, 12: tensor.Q4_K, 13: tensor.Q5_K, 16: tensor.IQ2_XXS,
	18: tensor.IQ3_XXS, 19: tensor.IQ1_S, 20: tensor.IQ4_NL, 34: tensor.TQ1_0, 39: tensor.MXFP4,
}

// Slices of real models with the BF16 that gguf-py gives.
func TestSlicesOfRealModelsDecodeAsTheReferenceDoes(t *testing.T) {
	for _, name := range []string{
		"mistral_7b_iq1_s", "mistral_7b_iq2_xxs", "mistral_7b_iq3_xxs", "smollm2_iq4_nl", "smollm2_q4_0", "smollm2_q4_1",
		"smollm2_q4_k", "smollm2_q5_1", "smollm2_q5_k", "smollm2_q8_0", "synthetic_mxfp4", "synthetic_tq1_0",
	} {
		t.Run(name, func(t *testing.T) {
			file := fixtures.Read(t, path.Join("gguf", name+".bin"))
			id, n := binary.LittleEndian.Uint32(file), binary.LittleEndian.Uint32(file[4:])
			rawLen, wantLen := binary.LittleEndian.Uint32(file[8:]), binary.LittleEndian.Uint32(file[12:])
			raw, want := file[16:16+rawLen], file[16+rawLen:16+rawLen+wantLen]
			codec, ok := quant.CodecOf(ggmlIDs[id])
			if !ok {
				t.Fatalf("type %d has no codec", id)
			}
			numbers := make([]float32, n)
			codec.Decode(numbers, raw)
			got := make([]byte, 2*n)
			quant.BF16.Put(got, numbers)
			if !bytes.Equal(want, got) {
				t.Error("differs")
			}
		})
	}
}
