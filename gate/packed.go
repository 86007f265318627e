package gate

import (
	"slices"

	"github.com/anamnesis-go/anamnesis/internal/unpack"
	"github.com/anamnesis-go/anamnesis/parser"
)

// packedFormats lists the formats that pack models, and those of which only the structure
// is judged. A policy that lists formats allows these only by name.
func packedFormats() (list []string) {
	for _, k := range parser.Kinds() {
		if k.Opens == parser.AsPacked || k.Opens == parser.AsGraph {
			list = append(list, k.Name)
		}
	}
	slices.Sort(list)
	return list
}

// packed returns the format under which a policy allows a wrapper: that of the library
// whose archives have this name, else the wrapper's own.
func packed(named string, k *unpack.Kind) string {
	for _, of := range parser.Kinds() {
		if of.Name == named && slices.Contains(of.Of, k.Name) {
			return named
		}
	}
	return k.Name
}
