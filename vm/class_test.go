package vm

import (
	"slices"
	"strings"
	"testing"
)

// A set is read when a name asks for it, so the names must say of which set they are.
func TestEachClassOfASetIsFoundByItsName(t *testing.T) {
	n := 0
	files := slices.Concat(dataFiles(), grantedFiles())
	for _, f := range files {
		for name, c := range f.read().byName {
			n++
			if root := rootOf(name); !f.roots[root] {
				t.Errorf("%s is not among the names of its set, which begin with %v", name, f.roots)
			}
			module, last, _ := strings.Cut(name, ".")
			if got := classIn(files, module, last); got == nil || got.set == c.set && got != c {
				t.Errorf("%s is not found", name)
			}
		}
	}
	if n < 400 {
		t.Errorf("%d names in all sets", n)
	}
}
