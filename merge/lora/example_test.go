package lora_test

import (
	"context"
	"fmt"
	"log"

	"github.com/anamnesis-go/anamnesis/convert"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/merge/lora"
	"github.com/anamnesis-go/anamnesis/parser"
)

func ExampleMerge() {
	b := limits.Policy{}.Budget(context.Background())
	defer b.Close()
	base, err := parser.Open(b, "../../testdata/demo/sharded")
	if err != nil {
		log.Fatal(err)
	}
	adapter, err := parser.Open(b, "../../testdata/demo/adapter")
	if err != nil {
		log.Fatal(err)
	}
	merged, err := lora.Merge(b, base, []lora.Adapter{{Model: adapter, Weight: 1}})
	if err != nil {
		log.Fatal(err)
	}
	defer merged.Close()
	plan, err := convert.NewPlan(b, merged, convert.Options{AsIs: true, Sink: merged.Sink()})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d of %d tensors, %d bytes to write\n", merged.Adapted, merged.Len(), plan.Size)
	// Output: 3 of 24 tensors, 19120 bytes to write
}
