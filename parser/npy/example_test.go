package npy_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log"

	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/npy"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// An array is written as by numpy, and read back: first the header, then the numbers.
func Example() {
	b := limits.Policy{}.Budget(context.Background())
	defer b.Close()

	var file bytes.Buffer
	info := tensor.Info{Shape: []int64{2, 3}, DType: tensor.U8, Span: tensor.Span{Len: 6}}
	if err := npy.Encode(b, &file, &info, bytes.NewReader([]byte{1, 2, 3, 4, 5, 6})); err != nil {
		log.Fatal(err)
	}

	f, err := npy.Decode(b, bytes.NewReader(file.Bytes()), int64(file.Len()))
	if err != nil {
		log.Fatal(err)
	}
	for t := range f.Tensors() {
		body, err := f.Body(b, t)
		if err != nil {
			log.Fatal(err)
		}
		defer body.Close()
		data, err := io.ReadAll(io.LimitReader(body, t.Span.Len))
		fmt.Println(t.DType, t.Shape, t.Span, data, err)
	}
	// Output:
	// U8 [2 3] {128 6} [1 2 3 4 5 6] <nil>
}
