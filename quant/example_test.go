package quant_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant"
)

// A model comes from parser.Open; here it is built by hand: FP8 codes of 1, 2,
// -1 and 0.5, and one scale for all.
func Example() {
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
	// proj.weight [2 2] FP8 F8_E4M3, one scale, F32 scales
	// 0.25
	// 0.5
	// -0.25
	// 0.125
}
