package forms_test

import (
	"context"
	"fmt"

	"github.com/anamnesis-go/anamnesis/convert/forms"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
)

// A folder of transformers gets the names and keys of llama.cpp.
func ExampleLlamaCPP_Model() {
	b := limits.Policy{}.Budget(context.Background())
	defer b.Close()
	folder, err := parser.Open(b, "../../testdata/mlx/model")
	if err != nil {
		fmt.Println(err)
		return
	}
	m, err := forms.LlamaCPP{TensorsAlone: true}.Model(b, folder)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer m.Close()
	for t := range m.Tensors() {
		fmt.Println(t.Name, t.DType, t.Shape)
		if t.Name == "blk.0.ffn_up_exps.weight" { // the experts of a layer, stacked
			break
		}
	}
	// Output:
	// output.weight BF16 [64 64]
	// token_embd.weight BF16 [64 64]
	// blk.0.attn_norm.weight F32 [64]
	// blk.0.ffn_down_exps.weight BF16 [2 64 64]
	// blk.0.ffn_gate_exps.weight BF16 [2 64 64]
	// blk.0.ffn_up_exps.weight BF16 [2 64 64]
}
