package quant_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant"
)

// A model from disk: its structure is known before any weight is read, and a single weight can be
// decoded.
func Example() {
	b := limits.Policy{}.Budget(context.Background())
	defer b.Close()
	m, err := parser.Open(b, "../testdata/demo/llama-fp8")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer m.Close()
	bound, err := quant.Plan(b, m, quant.Options{Target: quant.BF16})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(len(bound.Weights), "weights,", len(bound.Plain), "tensors as they are,", len(bound.LeftOut), "scales left out")
	w := bound.Weights[0]
	fmt.Println(w.Name, w.Shape, w.Scheme, w.Layout)
	for _, part := range w.Parts {
		fmt.Println(" ", part.Name, part.DType, part.Span.Len, "bytes")
	}
	data := make([]byte, w.Size(quant.BF16))
	if err := quant.Decode(b, m, w, data, quant.BF16); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(w.Stored(), "bytes became", len(data))
	// Output:
	// 14 weights, 7 tensors as they are, 0 scales left out
	// model.layers.0.mlp.down_proj.weight [32 48] FP8 F8_E4M3, 16x16 blocks, F32 scales
	//   model.layers.0.mlp.down_proj.weight F8_E4M3 1536 bytes
	//   model.layers.0.mlp.down_proj.weight_scale_inv F32 24 bytes
	// 1560 bytes became 3072
}

// All weights of a model, one after the other. The model is built by hand: FP8
// codes of 1, 2, -1 and 0.5, and one scale for all.
func ExampleBound_All() {
	codes := []byte{0x38, 0x40, 0xB8, 0x30}
	scale := binary.LittleEndian.AppendUint32(nil, math.Float32bits(0.25))
	m := &tensor.File{Name: "safetensors", Source: bytes.NewReader(append(codes, scale...)), Infos: []tensor.Info{
		{Name: "proj.weight", DType: tensor.F8E4M3, Shape: []int64{2, 2}, Span: tensor.Span{Len: 4}},
		{Name: "proj.weight_scale", DType: tensor.F32, Span: tensor.Span{Off: 4, Len: 4}},
	}}

	b := limits.Policy{}.Budget(context.Background())
	defer b.Close()
	b.Source(8)
	bound, err := quant.Plan(b, m, quant.Options{Target: quant.F32})
	if err != nil {
		fmt.Println(err)
		return
	}
	for n, err := range bound.All(b, m, quant.F32) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(n.Name, n.Shape, n.Scheme, n.Layout)
		for at := 0; at < len(n.Data); at += 4 {
			fmt.Println(math.Float32frombits(binary.LittleEndian.Uint32(n.Data[at:])))
		}
	}
	// Output:
	// proj.weight [2 2] FP8 F8_E4M3, one F32 scale
	// 0.25
	// 0.5
	// -0.25
	// 0.125
}
