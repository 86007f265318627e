package corpus_test

import (
	"fmt"

	"github.com/anamnesis-go/anamnesis/corpus"
)

// A recipe is text; Bytes builds its file. Any loader can be held against it.
func ExampleHostile() {
	for _, r := range corpus.Hostile("safetensors") {
		if r.Name == "gap" {
			fmt.Println(r.Expect, "at", r.Offset)
			fmt.Printf("%.40q\n", r.Bytes())
		}
	}
	// Output:
	// malformed at 106
	// "j\x00\x00\x00\x00\x00\x00\x00{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\""
}
