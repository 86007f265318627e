// Tensors lists what a model holds, from its header alone, within 64 MiB.
//
//	go run ./examples/tensors testdata/demo/tiny.gguf
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
)

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: tensors MODEL")
	}
	b := limits.Policy{MaxTotalBytes: 64 << 20}.Budget(context.Background())
	defer b.Close()
	m, err := parser.Open(b, os.Args[1])
	if err != nil {
		log.Fatal(parser.ClassOf(err), ": ", err)
	}
	defer m.Close()
	for t := range m.Tensors() {
		fmt.Printf("%q %s %v\n", t.Name, t.TypeName(), t.Shape)
	}
}
