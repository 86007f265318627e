// Dequantize decodes each quantized weight of a model by itself, bit for bit what the
// library that quantized it computes.
//
//	go run ./examples/dequantize testdata/demo/llama-fp8
package main

import (
	"context"
	"fmt"
	"hash/crc32"
	"log"
	"os"

	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/quant"
)

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: dequantize MODEL")
	}
	b := limits.Policy{}.Budget(context.Background())
	defer b.Close()
	m, err := parser.Open(b, os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	plan, err := quant.Plan(b, m, quant.Options{Target: quant.BF16})
	if err != nil {
		log.Fatal(err)
	}
	for _, w := range plan.Weights {
		data, err := limits.Make[byte](b, int(w.Size(quant.BF16)))
		if err != nil {
			log.Fatal(err)
		}
		if err := quant.Decode(b, m, w, data, quant.BF16); err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%q %v from %s: %d bytes, CRC %08x\n", w.Name, w.Shape, w.Scheme, len(data), crc32.ChecksumIEEE(data))
		b.Drop(int64(len(data)))
	}
}
