package transformers

import (
	_ "embed"
	"strings"
	"sync"
)

// Three tables have linear modules whose numbers a class needs, so that it fails or computes
// with codes once they are quantized. crosscheck/linears/typed.py generates them from the sources.
var (
	// typedText lists modules to whose weight's type numbers are converted, without asking
	// whether that is a type of numbers.
	//
	//go:embed typed.txt
	typedText string

	// readText lists modules whose weight is read itself, as a table or a matrix of its own.
	//
	//go:embed read.txt
	readText string

	// heldText lists modules that a class keeps in a list of its own, so that it does not run a
	// replacement.
	//
	//go:embed held.txt
	heldText string
)

var numbersRows = sync.OnceValue(func() map[Reason]map[string]string {
	return map[Reason]map[string]string{Typed: rowsByType(typedText), Read: rowsByType(readText), Held: rowsByType(heldText)}
})

// Needs returns why the model, or one inside it, needs the numbers of a module's weight: [Typed],
// [Read], [Held], or [None].
func (r *Rule) Needs(module string) Reason {
	for _, why := range []Reason{Typed, Read, Held} {
		rows := numbersRows()[why]
		for _, kind := range r.ModelTypes[:min(len(r.ModelTypes), MostInside)] {
			for end := range strings.FieldsSeq(rows[kind]) {
				if endsWith(module, end) {
					return why
				}
			}
		}
	}
	return None
}

// endsWith reports whether a name has the segments of an end as its last, of which * is any.
func endsWith(name, end string) bool {
	for end != "" {
		if name == "" {
			return false
		}
		var is, want string
		name, is, _ = CutLast(name)
		if end, want, _ = CutLast(end); want != "*" && want != is {
			return false
		}
	}
	return true
}
