package fuzz_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/fuzz"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant/ggml/mix"
	"github.com/google/go-cmp/cmp"
)

// archs are the architectures that the rules name, and one that they do not.
var archs = []string{"llama", "falcon", "qwen2", "deci", "jais2", "glm5-next", "bailingmoe3", "", "unheard-of"}

// FuzzMix chooses types for models whose tensors are lines of text, with two numbers for
// the shape. A type must fit the columns, the order of tensors must not matter unless it
// is requested, and a pure mix must have one type except where it does not fit.
// quant/ggml/mix compares with llama-quantize.
func FuzzMix(f *testing.F) {
	for i, name := range []string{"blk.0.attn_v.weight", "blk.3.ffn_down_exps.weight\noutput.weight", "token_embd.weight\nblk.x.ffn_up.weight", "blk.1.hc_a.weight\nblk.-1.attn_k.weight\n\n"} {
		f.Add(name, uint8(i), uint8(i), uint16(8*i), uint8(i))
	}
	f.Fuzz(func(t *testing.T, names string, which, arch uint8, layers uint16, how uint8) {
		all := mix.All()
		x := all[int(which)%len(all)]
		m := mix.Model{Arch: archs[int(arch)%len(archs)], Layers: int(layers), Heads: 8, KVShare: int(how % 9), Experts: int(how % 17), Matrix: how&1 != 0}
		var list []mix.Tensor
		for i, name := range strings.Split(names, "\n") {
			if i == 64 || slices.ContainsFunc(list, func(o mix.Tensor) bool { return o.Name == name }) {
				break
			}
			shape := [][]int64{{256}, {8, 256}, {4, 8, 512}, {8, 288}, {1, 1, 80}, {3, 33}, {2, 2, 2, 1024}}[(len(name)+i+int(how))%7]
			list = append(list, mix.Tensor{Name: name, Shape: shape, From: tensor.F16})
		}
		choose := func(o mix.Options, list []mix.Tensor) ([]mix.Tensor, error) {
			b := fuzz.Ceilings.Budget(context.Background())
			defer b.Close()
			err := mix.Choose(b, x, m, o, list)
			return list, err
		}
		reversed := slices.Clone(list)
		slices.Reverse(reversed)
		one, err := choose(mix.Options{}, slices.Clone(list))
		other, otherErr := choose(mix.Options{}, reversed)
		if (err == nil) != (otherErr == nil) || err == nil && !cmp.Equal(one, other) {
			t.Fatalf("%s: the order of the list shows:\n%v, %v\n%v, %v", x.Name, one, err, other, otherErr)
		}
		pure, pureErr := choose(mix.Options{Pure: true}, slices.Clone(list))
		for i := range list {
			if err == nil {
				fitsColumns(t, &one[i])
			}
			if pureErr == nil {
				fitsColumns(t, &pure[i])
				if c := &pure[i]; c.To != c.From && c.To != x.Base && c.Fallback == tensor.Unknown {
					t.Fatalf("pure %s: %s is %v", x.Name, c.Name, c.To)
				}
			}
		}
	})
}

func fitsColumns(t *testing.T, c *mix.Tensor) {
	t.Helper()
	g, ok := c.To.Geometry()
	if !ok || c.To != c.From && c.Shape[len(c.Shape)-1]%max(1, int64(g.Elems)) != 0 {
		t.Fatalf("%s %v is to be %v", c.Name, c.Shape, c.To)
	}
}
