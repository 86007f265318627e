package transformers

import (
	_ "embed"
	"strconv"
	"strings"
	"sync"
)

// classesText lists the classes of every type of transformers, and the names for which a class
// differs from the type's row of linears.txt, such as a head that one class quantizes and another
// does not. crosscheck/Linears generates it.
//
//go:embed classes.txt
var classesText string

var classRows = sync.OnceValue(func() map[string]string { return rowsByType(classesText) })

// classOf finds the class that a folder's architectures name, and its names: the first one that the
// type has, as in transformers. It returns "" and nil if there is none.
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

// inLastLayer reports whether no later layer has such a module: transformers does not quantize the
// module with the last parameter of a model.
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
