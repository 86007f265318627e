package npz_test

import (
	"archive/zip"
	"bytes"
	"context"
	"fmt"
	"io"
	"log"

	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/npy"
	"github.com/anamnesis-go/anamnesis/parser/npz"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// Archives of other writers are read; this one is from the standard library. Decode reads directory
// and headers, Body inflates.
func Example() {
	b := limits.Policy{}.Budget(context.Background())
	defer b.Close()

	var file bytes.Buffer
	archive := zip.NewWriter(&file)
	member, err := archive.Create("bias.npy")
	if err != nil {
		log.Fatal(err)
	}
	info := tensor.Info{Shape: []int64{4}, DType: tensor.U8, Span: tensor.Span{Len: 4}}
	if err := npy.Encode(b, member, &info, bytes.NewReader([]byte{7, 7, 7, 8})); err != nil {
		log.Fatal(err)
	}
	if err := archive.Close(); err != nil {
		log.Fatal(err)
	}

	f, err := npz.Decode(b, bytes.NewReader(file.Bytes()), int64(file.Len()))
	if err != nil {
		log.Fatal(err)
	}
	for t := range f.Tensors() {
		_, direct := f.At(t)
		body, err := f.Body(b, t)
		if err != nil {
			log.Fatal(err)
		}
		defer body.Close()
		data, err := io.ReadAll(io.LimitReader(body, t.Span.Len))
		fmt.Println(t.Name, t.DType, t.Shape, "random access:", direct, data, err)
	}
	// Output:
	// bias U8 [4] random access: false [7 7 7 8] <nil>
}
