package parser_test

import (
	"context"
	"fmt"
	"log"

	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
)

// The example of README.
func ExampleOpen() {
	const path = "../testdata/demo/model.safetensors"

	b := limits.Policy{MaxTotalBytes: 64 << 20}.Budget(context.Background())
	defer b.Close()
	m, err := parser.Open(b, path)
	if err != nil {
		log.Fatal(parser.ClassOf(err), ": ", err)
	}
	defer m.Close()
	for t := range m.Tensors() {
		fmt.Println(t.Name, t.DType, t.Shape)
	}
	// Unordered output:
	// position_ids I64 [32]
	// layers.0.attn.in_proj_bias F32 [48]
	// layers.0.attn.out_proj.bias F32 [16]
	// layers.0.down.bias F32 [16]
	// layers.0.norm.bias F32 [16]
	// layers.0.norm.weight F32 [16]
	// layers.0.up.bias F32 [64]
	// layers.1.attn.in_proj_bias F32 [48]
	// layers.1.attn.out_proj.bias F32 [16]
	// layers.1.down.bias F32 [16]
	// layers.1.norm.bias F32 [16]
	// layers.1.norm.weight F32 [16]
	// layers.1.up.bias F32 [64]
	// norm.bias F32 [16]
	// norm.weight F32 [16]
	// embed.weight BF16 [96 16]
	// layers.0.attn.in_proj_weight BF16 [48 16]
	// layers.0.attn.out_proj.weight BF16 [16 16]
	// layers.0.down.weight BF16 [16 64]
	// layers.0.up.weight BF16 [64 16]
	// layers.1.attn.in_proj_weight BF16 [48 16]
	// layers.1.attn.out_proj.weight BF16 [16 16]
	// layers.1.down.weight BF16 [16 64]
	// layers.1.up.weight BF16 [64 16]
}
