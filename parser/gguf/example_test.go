package gguf_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/gguf"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

func ExampleDecode() {
	r, err := os.Open("../../corpus/valid/gguf/llama.gguf")
	if err != nil {
		log.Fatal(err)
	}
	defer r.Close()
	st, err := r.Stat()
	if err != nil {
		log.Fatal(err)
	}
	b := limits.Policy{}.Budget(context.Background())
	defer b.Close()
	f, err := gguf.Decode(b, r, st.Size())
	if err != nil {
		log.Fatal(err)
	}
	for i := range f.Tensors() {
		if i.DType == tensor.F32 {
			fmt.Println(i.Name, i.Shape, i.Span.Len)
		}
	}
	tokens, _ := f.Get("tokenizer.ggml.tokens")
	for s, err := range tokens.(gguf.Array).Strings(b) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(tokens, s)
		break
	}
	// Output:
	// output_norm.weight [32] 128
	// blk.0.attn_norm.weight [32] 128
	// blk.0.ffn_norm.weight [32] 128
	// arr[str,262] <unk>
}

// Sizes are enough to lay out a file; the data is written after the header in any order.
func ExampleLayout() {
	b := limits.Policy{}.Budget(context.Background())
	defer b.Close()
	infos := []tensor.Info{{Name: "a", DType: tensor.U8}, {Name: "b", DType: tensor.I8, Shape: []int64{2, 3}}}
	if _, err := gguf.Layout(b, infos, nil, gguf.Options{}); err != nil {
		fmt.Println(err)
	}
	infos[0].DType = tensor.I8
	meta := []gguf.Entry{{Key: "general.name", Value: "two"}, {Key: "words", Value: []string{"x", "y"}}}
	plan, err := gguf.Layout(b, infos, meta, gguf.Options{Alignment: 16})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(plan.Header), plan.Offsets, plan.Sizes, plan.Size)
	file := append(plan.Header, make([]byte, plan.Size-int64(len(plan.Header)))...)
	f, err := gguf.Decode(b, bytes.NewReader(file), int64(len(file)))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(f.Len(), f.Alignment())
	// Output:
	// gguf: tensor 0 "a": not supported: GGUF has no type U8
	// 208 [208 224] [1 6] 240
	// 2 16
}

func ExampleEncode() {
	b := limits.Policy{}.Budget(context.Background())
	defer b.Close()
	data, err := os.ReadFile("../../corpus/valid/gguf/plain-align-8.gguf")
	if err != nil {
		log.Fatal(err)
	}
	f, err := gguf.Decode(b, bytes.NewReader(data), int64(len(data)))
	if err != nil {
		log.Fatal(err)
	}
	err = gguf.Encode(b, io.Discard, f, gguf.Options{Alignment: 64})
	fmt.Println(err)
	// Output:
	// <nil>
}
