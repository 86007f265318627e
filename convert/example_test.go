package convert_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/anamnesis-go/anamnesis/convert"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/quant"
	"github.com/anamnesis-go/anamnesis/quant/bnb"
)

// A GGUF file becomes a safetensors file, its blocks decoded to float16.
func Example() {
	b := limits.Policy{Timeout: limits.NoTimeout}.Budget(context.Background())
	defer b.Close()
	m, err := parser.Open(b, "../corpus/valid/gguf/types.gguf")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer m.Close()
	p, err := convert.NewPlan(b, m, convert.Options{Quant: quant.Options{Target: quant.F16}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(len(p.Weights), "weights are decoded,", p.Copied.Tensors, "tensors copied")

	dir, _ := os.MkdirTemp("", "")
	defer os.RemoveAll(dir)
	r, err := p.Write(filepath.Join(dir, "types.safetensors"), false)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(r.Bytes, "bytes")
	// Output:
	// 25 weights are decoded, 8 tensors copied
	// 43992 bytes
}

// A safetensors file is quantized as by bitsandbytes, and the loss is reported.
func Example_quantize() {
	b := limits.Policy{Timeout: limits.NoTimeout}.Budget(context.Background())
	defer b.Close()
	m, err := parser.Open(b, "../testdata/demo/model.safetensors")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer m.Close()
	p, err := convert.NewPlan(b, m, convert.Options{Quantize: bnb.Layout{Type: bnb.NF4, Measure: true}})
	if err != nil {
		fmt.Println(err)
		return
	}
	dir, _ := os.MkdirTemp("", "")
	defer os.RemoveAll(dir)
	if _, err := p.Write(filepath.Join(dir, "nf4.safetensors"), false); err != nil {
		fmt.Println(err)
		return
	}
	lost := p.Quantized.Lost()
	fmt.Printf("%d weights as %s, relative error %.2f\n", len(p.Quantized.Weights), p.Quantized.Layout, lost.RelativeRMSE())
	// Output:
	// 4 weights as NF4, blocks of 64, relative error 0.09
}
