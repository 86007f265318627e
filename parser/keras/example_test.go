package keras_test

import (
	"bytes"
	"context"
	"fmt"
	"os"

	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/keras"
)

// The weights of a model that Keras saved, where they lie in its archive.
func ExampleDecode() {
	data, err := os.ReadFile("../../corpus/valid/keras/model.keras")
	if err != nil {
		fmt.Println(err)
		return
	}
	b := limits.Policy{}.Budget(context.Background())
	defer b.Close()
	f, err := keras.Decode(b, bytes.NewReader(data), int64(len(data)))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer f.Close()
	for i := range f.Tensors() {
		fmt.Printf("%s %v %v, %d bytes at %#x\n", i.Name, i.DType, i.Shape, i.Span.Len, i.Span.Off)
	}
	// Output:
	// layers/batch_normalization/vars/0 F32 [3], 12 bytes at 0x3c20
	// layers/batch_normalization/vars/1 F32 [3], 12 bytes at 0x3e84
	// layers/batch_normalization/vars/2 F32 [3], 12 bytes at 0x3fa0
	// layers/batch_normalization/vars/3 F32 [3], 12 bytes at 0x40bc
	// layers/dense/vars/0 F32 [4 3], 48 bytes at 0x3154
	// layers/dense/vars/1 F32 [3], 12 bytes at 0x33dc
	// layers/dense_1/vars/0 F32 [3 2], 24 bytes at 0x4900
	// layers/dense_1/vars/1 F32 [2], 8 bytes at 0x4b70
}
