package transformers

import (
	_ "embed"
	"slices"
	"sync"
)

// breaksText lists, by the library whose format it is, the types of which transformers
// does not load the folders written here, with its error for one. Most are models whose
// weights it renames or joins when it loads them. crosscheck/targets.py generates it.
//
//go:embed breaks.txt
var breaksText string

var breakRows = sync.OnceValue(func() map[string]string { return rowsByType(breaksText) })

// PackedRows is the library of rows of compressed-tensors' formats in which codes are packed.
const PackedRows = "compressed-tensors-packed"

// Breaks returns why transformers does not load a library's format of a type, "" if it does.
func Breaks(library, modelType string) string { return breakRows()[library+"/"+modelType] }

// takenApart are types whose stacked experts transformers 5.24 replaces by linear modules
// when it loads compressed-tensors (quantizers/base.py, MODULES_TO_PATCH_FOR_QUANTIZATION).
var takenApart = []string{"llama4", "llama4_text"}

// TakesApart reports whether transformers builds the stacked experts of a type one by one.
func TakesApart(modelType string) bool { return slices.Contains(takenApart, modelType) }
