// Read prints the first bytes of one tensor, wherever the file has it.
//
//	go run ./examples/read testdata/demo/model.safetensors embed.weight
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
)

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: read MODEL TENSOR")
	}
	b := limits.Policy{}.Budget(context.Background())
	defer b.Close()
	m, err := parser.Open(b, os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	for t := range m.Tensors() {
		if t.Name != os.Args[2] {
			continue
		}
		body, err := m.Body(b, t) // inflated where the file is compressed
		if err != nil {
			log.Fatal(err)
		}
		defer body.Close()
		first := make([]byte, min(16, t.Span.Len))
		if _, err := io.ReadFull(body, first); err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s %v: % x\n", t.DType, t.Shape, first)
		return
	}
	log.Fatal("no such tensor")
}
