// Convert writes any model as safetensors, its quantized weights decoded, in memory that
// does not grow with the model.
//
//	go run ./examples/convert testdata/demo/tiny.gguf tiny.safetensors
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/anamnesis-go/anamnesis/convert"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
)

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: convert MODEL TARGET")
	}
	b := limits.Policy{}.Budget(context.Background())
	defer b.Close()
	m, err := parser.Open(b, os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	plan, err := convert.NewPlan(b, m, convert.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer plan.Close()
	result, err := plan.Write(os.Args[2], false) // the whole file, or what was there before
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Bytes, "bytes")
}
