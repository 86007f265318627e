package encode

import "github.com/anamnesis-go/anamnesis/internal/transformers"

// Breaks notes that transformers does not load a library's format for this type, unless
// the model itself has a reason. Tables have the names of libraries.
func (e *Linear) Breaks(library string) {
	if e.BreaksAgain == "" {
		e.BreaksAgain = transformers.Breaks(library, e.Type)
	}
}
