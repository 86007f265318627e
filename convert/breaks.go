package convert

import (
	_ "embed"
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

// breaks notes that transformers does not load a library's format for this type, unless
// the model itself has a reason.
func (e *linearEncoder) breaks(library string) {
	if e.BreaksAgain == "" {
		e.BreaksAgain = breakRows()[library+"/"+e.Type]
	}
}
