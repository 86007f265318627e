package transformers

import (
	_ "embed"
	"strconv"
	"strings"
	"sync"
)

// classesText says of every type of transformers which classes it has, and where one of them
// says of a name what the type's row of linears.txt does not: a head that one class leaves alone
// and another quantizes. crosscheck/Linears makes it.
//
//go:embed classes.txt
var classesText string

var classRows = sync.OnceValue(func() map[string]string { return rowsByType(classesText) })

// classOf finds the class that a folder's architectures name, and what it says of names: the
// first that the type has, as transformers takes it. "" and nil for none.
func classOf(modelType string, architectures []string) (string, *node) {
	var classes node
	p := parser{text: classRows()[modelType]}
	p.list(&classes)
	for _, name := range architectures[:min(len(architectures), MostInside)] {
		if n := classes.next[name]; n != nil {
			return name, n
		}
	}
	return "", nil
}

// KnowsClasses reports whether the classes of a type are known.
func KnowsClasses(modelType string) bool {
	_, ok := classRows()[modelType]
	return ok
}

// mostApart is how far the numbers of two members of a list may be apart in which others have
// no weights: a linear module, an activation, dropout, and the next linear module.
const mostApart = 4

// inLastLayer reports a module of which no later layer has one: transformers leaves that alone
// which has the last parameter of a model.
func (r *Rule) inLastLayer(module string) bool {
	parts := strings.Split(module, ".")
	for at, part := range parts {
		n, err := strconv.Atoi(part)
		if err != nil {
			continue
		}
		for i := 1; i <= mostApart; i++ {
			parts[at] = strconv.Itoa(n + i)
			if r.HasTensor(strings.Join(parts, ".") + ".weight") {
				return false
			}
		}
		return true
	}
	return true
}
