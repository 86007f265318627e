package ggml_test

import (
	"bytes"
	"context"
	"fmt"
	"os"

	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/ggml"
)

// The first tensors of a model of whisper.cpp, and what it says of itself.
func ExampleDecode() {
	data, err := os.ReadFile("../../corpus/valid/ggml/small.bin")
	if err != nil {
		fmt.Println(err)
		return
	}
	b := limits.Policy{}.Budget(context.Background())
	defer b.Close()
	f, err := ggml.Decode(b, bytes.NewReader(data), int64(len(data)))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer f.Close()
	for key, value := range f.Meta() {
		if key == "whisper.n_vocab" || key == "whisper.tokens" {
			fmt.Println(key, value)
		}
	}
	n := 0
	for i := range f.Tensors() {
		if n++; n > 3 {
			break
		}
		fmt.Printf("%s %v %v\n", i.Name, i.DType, i.Shape)
	}
	// Output:
	// whisper.n_vocab 20
	// whisper.tokens 20
	// encoder.positional_embedding F32 [4 8]
	// encoder.conv1.weight F16 [8 4 3]
	// encoder.conv1.bias F32 [8 1]
}
