package mlx_test

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/quanttest"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant"
	"github.com/google/go-cmp/cmp"
)

func TestStacksOfMLXAreSplitInFolders(t *testing.T) {
	for stack, want := range map[string][]string{
		"model.layers.0.mlp.switch_mlp.gate_proj":              {"model.layers.0.mlp.experts.0.gate_proj.weight", "model.layers.0.mlp.experts.1.gate_proj.weight"},
		"model.layers.0.block_sparse_moe.switch_mlp.down_proj": {"model.layers.0.block_sparse_moe.experts.0.w2.weight", "model.layers.0.block_sparse_moe.experts.1.w2.weight"},
		"model.layers.0.block_sparse_moe.switch_mlp.up_proj":   {"model.layers.0.block_sparse_moe.experts.0.w3.weight", "model.layers.0.block_sparse_moe.experts.1.w3.weight"},
	} {
		m := mlxStack(stack)
		bound, b, err := quanttest.Plan(t, m, quant.Options{Target: quant.F32, Folder: true})
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		var numbers []float32
		for n, err := range bound.All(b, m, quant.F32) {
			if err != nil {
				t.Fatal(err)
			}
			names, numbers = append(names, n.Name), append(numbers, quanttest.Floats(n.Data)...)
			if diff := cmp.Diff([]int64{2, 32}, n.Shape); diff != "" || n.Stored() != 64+8+8 {
				t.Error(diff, n.Stored())
			}
		}
		if diff := cmp.Diff(want, names); diff != "" {
			t.Error(diff)
		}
		for i, got := range numbers {
			if want := float32(i) * float32(i/32+1); got != want {
				t.Fatalf("number %d is %v, want %v", i, got, want)
			}
		}
	}
	_, _, err := quanttest.Plan(t, mlxStack("model.layers.0.mlp.experts.gate_proj"), quant.Options{Folder: true})
	if wire.ClassOf(err) != wire.Unsupported {
		t.Error(err)
	}
}

// Two stacked experts of two rows, whose codes count up.
func mlxStack(name string) tensor.Model {
	w, s, b := quanttest.Zeros(name+".weight", tensor.U32, 2, 2, 8), quanttest.Zeros(name+".scales", tensor.F32, 2, 2, 1), quanttest.Zeros(name+".biases", tensor.F32, 2, 2, 1)
	for i := range w.Data {
		w.Data[i] = byte(i)
	}
	for r := range 4 {
		binary.LittleEndian.PutUint32(s.Data[4*r:], math.Float32bits(float32(r+1)))
	}
	return quanttest.Model(`{"quantization":{"bits":8,"group_size":32}}`, w, s, b)
}
