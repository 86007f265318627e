package convert

import (
	_ "embed"
	"sync"

	"github.com/anamnesis-go/anamnesis/quant/scaled"
)

// breaksText says of which types transformers does not load the folders that are written here, by
// the library whose format they have, with what it says of one: most are models whose weights it
// renames or joins when it loads them. crosscheck/targets.py makes it of what it loaded.
//
//go:embed breaks.txt
var breaksText string

var breakRows = sync.OnceValue(func() map[string]string { return rowsByType(breaksText) })

// libraryNames are those that rows are kept under.
var libraryNames = map[scaled.Library]string{scaled.CompressedTensors: "compressed-tensors", scaled.GPTQModel: "gptq", scaled.AutoAWQ: "awq"}

// breaks notes that transformers does not load a library's format of this type. A reason that
// is found in the model itself goes before.
func (e *linearEncoder) breaks(library string) {
	if e.BreaksAgain == "" {
		e.BreaksAgain = breakRows()[library+"/"+e.Type]
	}
}
