package encode

import (
	"cmp"
	_ "embed"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/transformers"
	"github.com/anamnesis-go/anamnesis/quant/scaled"
)

// LibraryNames are those that rows are kept under.
var LibraryNames = map[scaled.Library]string{scaled.CompressedTensors: "compressed-tensors", scaled.GPTQModel: "gptq", scaled.AutoAWQ: "awq"}

// Breaks notes that transformers does not load a library's format for this type, unless
// the model itself has a reason.
func (e *Linear) Breaks(library string) {
	if library == LibraryNames[scaled.CompressedTensors] && transformers.TakesApart(e.Type) {
		e.BreaksAgain = "it builds the experts one by one in this format, finds none in the file, where they are stacked, and initializes them at random"
	}
	if strings.HasSuffix(e.Format, "_asym") {
		e.BreaksAgain = cmp.Or(e.BreaksAgain, "it makes no room for packed zero points, unless its CompressedTensorsConfig has dequantize=True")
	}
	if e.BreaksAgain == "" {
		e.BreaksAgain = transformers.Breaks(library, e.Type)
	}
}
