package onnx_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"strings"

	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/onnx"
)

// A model with one initializer, two bytes of raw data. Its program is not looked at.
func Example() {
	const model = "\x08\x08\x42\x02\x10\x11\x3a\x0d\x2a\x0b\x08\x02\x10\x02\x42\x01w\x4a\x02\x07\x08"
	b := limits.Policy{}.Budget(context.Background())
	defer b.Close()

	m, err := onnx.Decode(b, strings.NewReader(model), int64(len(model)))
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	for i := range m.Tensors() {
		body, err := m.Body(b, i)
		if err != nil {
			log.Fatal(err)
		}
		data, err := io.ReadAll(body)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(i.Name, i.DType, i.Shape, data)
	}
	// Output: w U8 [2] [7 8]
}
