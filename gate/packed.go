package gate

import (
	"slices"
	"sync"

	"github.com/anamnesis-go/anamnesis/internal/unpack"
	"github.com/anamnesis-go/anamnesis/parser"
)

// kindsOnce is the list of kinds, which is looked into for each member of an archive.
var kindsOnce = sync.OnceValue(parser.Kinds)

// packedFormats lists the formats that pack models, and those of which only the structure
// is judged. A policy that lists formats allows these only by name.
func packedFormats() (list []string) {
	for _, k := range kindsOnce() {
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
	for _, of := range kindsOnce() {
		if of.Name == named && slices.Contains(of.Of, k.Name) {
			return named
		}
	}
	return k.Name
}
