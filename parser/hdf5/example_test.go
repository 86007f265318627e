package hdf5_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"

	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/hdf5"
)

// The weights of a Keras model, under the paths that h5py gives them.
func ExampleDecode() {
	data, err := os.ReadFile("../../corpus/valid/hdf5/keras.weights.h5")
	if err != nil {
		fmt.Println(err)
		return
	}
	b := limits.Policy{}.Budget(context.Background())
	defer b.Close()
	f, err := hdf5.Decode(b, bytes.NewReader(data), int64(len(data)))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer f.Close()
	for i := range f.Tensors() {
		r, err := f.Body(b, i)
		if err != nil {
			fmt.Println(err)
			return
		}
		p, err := io.ReadAll(r)
		r.Close()
		fmt.Println(i.Name, i.DType, i.Shape, len(p), "bytes", err)
	}
	// Output:
	// layers/dense/vars/0 F32 [3 2] 24 bytes <nil>
	// layers/dense/vars/1 F32 [2] 8 bytes <nil>
}
