package merge_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/anamnesis-go/anamnesis/convert"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/merge"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

func ExampleMerge() {
	b := limits.Policy{}.Budget(context.Background())
	defer b.Close()
	const folder = "../testdata/demo/"
	text, err := os.ReadFile(folder + "recipe.json")
	if err != nil {
		log.Fatal(err)
	}
	recipe, err := merge.ReadRecipe(b, string(text))
	if err != nil {
		log.Fatal(err)
	}
	merged, err := merge.Merge(b, recipe, func(name string) (tensor.Model, error) { return parser.Open(b, folder+name) })
	if err != nil {
		log.Fatal(err)
	}
	defer merged.Close()
	plan, err := convert.NewPlan(b, merged, convert.Options{AsIs: true})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d of %d tensors of %q, %d bytes to write\n", merged.Computed, merged.Len(), recipe.Models(), plan.Size)
	// Output: 23 of 24 tensors of ["sharded" "model.safetensors"], 19120 bytes to write
}
