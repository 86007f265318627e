package deepspeed_test

import (
	"context"
	"fmt"
	"os"

	"github.com/anamnesis-go/anamnesis/internal/unpack"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/deepspeed"
)

// Some weights of a checkpoint that two processes wrote at stage 3, put together; it is in an archive here.
func ExampleOpen() {
	file, err := os.Open("../../corpus/valid/deepspeed/three-two.zip")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		fmt.Println(err)
		return
	}
	b := limits.Policy{}.Budget(context.Background())
	defer b.Close()
	folder, err := unpack.Named("zip").Files(b, file, info.Size(), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	m, err := deepspeed.Open(b, folder, deepspeed.Latest)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer m.Close()
	for i := range m.Tensors() {
		if len(i.Shape) == 2 {
			fmt.Println(i.Name, i.DType, i.Shape)
		}
	}
	// Output:
	// mean F32 [3 2]
	// embed.weight BF16 [7 6]
	// body.0.weight F32 [5 6]
	// body.1.weight F32 [6 5]
	// head.weight F32 [7 6]
}
