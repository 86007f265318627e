package edit_test

import (
	"context"
	"fmt"
	"log"

	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/gguf"
	"github.com/anamnesis-go/anamnesis/parser/gguf/edit"
)

func ExampleMetadata() {
	b := limits.Policy{}.Budget(context.Background())
	defer b.Close()
	file, err := edit.Metadata(b, `{"general.name": "mine", "llama.block_count": 2, "split.no": {"type": "u16", "value": 0}}`)
	if err != nil {
		log.Fatal(err)
	}
	name, err := edit.Pair(b, "general.name=ours")
	if err != nil {
		log.Fatal(err)
	}
	merged, err := edit.Merge(b, file, []gguf.Entry{name})
	if err != nil {
		log.Fatal(err)
	}
	for _, e := range merged {
		fmt.Printf("%s %T %v\n", e.Key, e.Value, e.Value)
	}
	// Output:
	// general.name string ours
	// llama.block_count uint32 2
	// split.no uint16 0
}
