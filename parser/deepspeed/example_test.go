package deepspeed_test

import (
	"bytes"
	"context"
	"fmt"
	"os"

	"github.com/anamnesis-go/anamnesis/internal/unpack"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/deepspeed"
)

// The float32 weights that two processes wrote; the folder is in an archive here.
func ExampleOpen() {
	archive, err := os.ReadFile("../../corpus/valid/deepspeed/two-three.zip")
	if err != nil {
		fmt.Println(err)
		return
	}
	b := limits.Policy{}.Budget(context.Background())
	defer b.Close()
	files, err := unpack.Named("zip").Files(b, bytes.NewReader(archive), int64(len(archive)), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	m, err := deepspeed.Open(b, files, "latest")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer m.Close()
	for weight := range m.Tensors() {
		fmt.Println(weight.Name, weight.DType, weight.Shape)
	}
	// Output:
	// mean F32 [3 2]
	// halves F32 [4]
	// mask BOOL [2]
	// position I64 [4]
	// scale F32 [1]
	// embed.weight F32 [7 6]
	// body.0.weight F32 [5 6]
	// body.0.bias F32 [5]
	// body.1.weight F32 [6 5]
	// norm.weight F32 [6]
	// norm.bias F32 [6]
	// head.weight F32 [7 6]
}
