package convert_test

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/anamnesis-go/anamnesis/convert"
	"github.com/anamnesis-go/anamnesis/internal/converttest"
	"github.com/anamnesis-go/anamnesis/internal/effort"
	"github.com/anamnesis-go/anamnesis/parser/safetensors"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant"
)

// Packed, transposed weights that are too large to hold: read in strips, they give the same bytes.
func TestStripsOfColumnsGiveTheBytesOfTheWhole(t *testing.T) {
	if effort.Race || testing.Short() {
		t.Skip("much arithmetic")
	}
	const in, groups = 1024, 8
	for _, c := range []struct {
		name  string
		out   int64
		infos []tensor.Info
	}{
		{"GPTQ", 40032, []tensor.Info{
			{Name: "l.qweight", DType: tensor.I32, Shape: []int64{in / 8, 40032}},
			{Name: "l.scales", DType: tensor.F16, Shape: []int64{groups, 40032}},
			{Name: "l.qzeros", DType: tensor.I32, Shape: []int64{groups, 40032 / 8}},
		}},
		{"AWQ", 40032, []tensor.Info{
			{Name: "l.qweight", DType: tensor.I32, Shape: []int64{in, 40032 / 8}},
			{Name: "l.scales", DType: tensor.F16, Shape: []int64{groups, 40032}},
			{Name: "l.qzeros", DType: tensor.I32, Shape: []int64{groups, 40032 / 8}},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := converttest.Account(t)
			p, err := safetensors.Layout(b, c.infos, nil)
			if err != nil {
				t.Fatal(err)
			}
			file := make([]byte, p.Size)
			rand.NewChaCha8([32]byte{7}).Read(file)
			copy(file, p.Header)
			m, err := safetensors.Decode(b, bytes.NewReader(file), int64(len(file)))
			if err != nil {
				t.Fatal(err)
			}
			for _, threads := range []int{1, 3} {
				plan, err := convert.NewPlan(b, m, convert.Options{Threads: threads})
				if err != nil {
					t.Fatal(err)
				}
				out := converttest.NewMemory(plan.Size)
				if _, err := plan.Stream(out); err != nil {
					t.Fatal(err)
				}
				want := make([]byte, 2*in*c.out)
				if err := quant.Decode(b, m, plan.Weights[0], want, quant.BF16); err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(want, out.Bytes[int64(len(out.Bytes))-2*in*c.out:]) {
					t.Errorf("%d workers: other bytes", threads)
				}
			}
		})
	}
}
