package mix_test

import (
	"context"
	"fmt"

	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant/ggml/mix"
)

// The types of a small model under Q4_K_M.
func ExampleChoose() {
	b := limits.Policy{}.Budget(context.Background())
	defer b.Close()
	list := []mix.Tensor{
		{Name: "output.weight", Shape: []int64{32000, 4096}, From: tensor.F16},
		{Name: "blk.0.attn_v.weight", Shape: []int64{4096, 4096}, From: tensor.F16},
		{Name: "blk.1.attn_v.weight", Shape: []int64{4096, 4096}, From: tensor.F16},
		{Name: "blk.1.ffn_up.weight", Shape: []int64{11008, 4000}, From: tensor.F16},
		{Name: "output_norm.weight", Shape: []int64{4096}, From: tensor.F32},
	}
	x, _ := mix.Find("q4_k_m")
	if err := mix.Choose(b, x, mix.Model{Arch: "llama", Layers: 32, Heads: 32, KVShare: 1}, mix.Options{}, list); err != nil {
		fmt.Println(err)
		return
	}
	for _, t := range list {
		fmt.Println(t.Name, t.To)
	}
	// Output:
	// output.weight Q6_K
	// output_norm.weight F32
	// blk.0.attn_v.weight Q4_K
	// blk.1.attn_v.weight Q6_K
	// blk.1.ffn_up.weight Q5_0
}
