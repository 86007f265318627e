package tflite_test

import (
	"bytes"
	"context"
	"fmt"
	"os"

	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tflite"
)

// The weights of a model whose data are behind its FlatBuffers.
func ExampleDecode() {
	data, err := os.ReadFile("../../corpus/valid/tflite/behind.tflite")
	if err != nil {
		fmt.Println(err)
		return
	}
	b := limits.Policy{}.Budget(context.Background())
	defer b.Close()
	f, err := tflite.Decode(b, bytes.NewReader(data), int64(len(data)))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer f.Close()
	for i := range f.Tensors() {
		fmt.Printf("%s %v %v, %d bytes at %#x\n", i.Name, i.DType, i.Shape, i.Span.Len, i.Span.Off)
	}
	// Output:
	// w F32 [2], 8 bytes at 0x1d0
	// v I8 [3], 3 bytes at 0x1e0
}
