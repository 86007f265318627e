package tfbundle_test

import (
	"context"
	"fmt"
	"os"

	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tfbundle"
)

// The weights that a file called checkpoint names, of three processes. The archive of the corpus is unpacked first.
func ExampleOpen() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	if err := unpackTo(dir, "shards"); err != nil {
		fmt.Println(err)
		return
	}
	b := limits.Policy{}.Budget(context.Background())
	defer b.Close()
	m, err := tfbundle.Open(b, os.DirFS(dir), "checkpoint")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer m.Close()
	for weight := range m.Tensors() {
		fmt.Println(weight.Name, weight.DType, weight.Shape)
	}
	// Output:
	// a F32 [5]
	// b F64 []
	// c I32 [1 2]
	// d/bias F16 [3]
	// d/kernel F16 [3 3]
}
