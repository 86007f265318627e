package convert

import (
	"cmp"
	_ "embed"
	"slices"
	"strings"
	"sync"

	"github.com/anamnesis-go/anamnesis/quant/scaled"
)

// breaksText lists, by the library whose format it is, the types of which transformers
// does not load the folders written here, with its error for one. Most are models whose
// weights it renames or joins when it loads them. crosscheck/targets.py generates it.
//
//go:embed breaks.txt
var breaksText string

var breakRows = sync.OnceValue(func() map[string]string { return rowsByType(breaksText) })

// libraryNames are those that rows are kept under.
var libraryNames = map[scaled.Library]string{scaled.CompressedTensors: "compressed-tensors", scaled.GPTQModel: "gptq", scaled.AutoAWQ: "awq"}

// packedRows is the library of rows of compressed-tensors' formats in which codes are packed.
const packedRows = "compressed-tensors-packed"

// takenApart are types whose stacked experts transformers 5.24 replaces by linear modules
// when it loads compressed-tensors (quantizers/base.py, MODULES_TO_PATCH_FOR_QUANTIZATION).
var takenApart = []string{"llama4", "llama4_text"}

// breaks notes that transformers does not load a library's format for this type, unless
// the model itself has a reason.
func (e *linearEncoder) breaks(library string) {
	if library == libraryNames[scaled.CompressedTensors] && slices.Contains(takenApart, e.Type) {
		e.BreaksAgain = "it builds the experts one by one in this format, finds none in the file, where they are stacked, and initializes them at random"
	}
	if strings.HasSuffix(e.format, "_asym") {
		e.BreaksAgain = cmp.Or(e.BreaksAgain, "it makes no room for packed zero points, unless its CompressedTensorsConfig has dequantize=True")
	}
	if e.BreaksAgain == "" {
		e.BreaksAgain = breakRows()[library+"/"+e.Type]
	}
}
