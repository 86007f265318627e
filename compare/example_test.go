package compare_test

import (
	"context"
	"fmt"

	"github.com/anamnesis-go/anamnesis/compare"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
)

// A folder of shards holds what a file holds.
func ExampleModels() {
	b := limits.Policy{}.Budget(context.Background())
	defer b.Close()
	first, err := parser.Open(b, "../testdata/demo/model.safetensors")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer first.Close()
	second, err := parser.Open(b, "../testdata/demo/sharded")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer second.Close()
	r, err := compare.Models(b, first, second, compare.Options{}, func(d *compare.Difference) error {
		fmt.Println(d.Name, d.Kind)
		return nil
	})
	fmt.Println(r.Equal, "equal,", r.Different, "different,", err)
	// Output: 24 equal, 0 different, <nil>
}
