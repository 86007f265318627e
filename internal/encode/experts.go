package encode

import "github.com/anamnesis-go/anamnesis/internal/transformers"

// WithExperts reports whether a matrix that is kept as an expert is quantized all the same, as
// by llm-compressor, and notes what stops transformers from loading it. transformers 5.23 stacks
// experts from codes, and in most formats does not find experts that are not quantized.
// crosscheck/targets.py loads each.
func (e *Linear) WithExperts(why transformers.Reason) bool {
	if e.As.Experts == nil || why != transformers.Expert {
		return false
	}
	if stops := e.As.Experts.Stops; stops != "" {
		e.BreaksAgain = stops
	}
	return true
}
