package flags

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/cli/internal/fault"
)

// Globs are patterns for tensor names; an empty list matches every name.
type Globs []string

// glob replaces slashes, which the wildcards of path.Match do not match.
func glob(s string) string { return strings.ReplaceAll(s, "/", "\x00") }

// Check rejects invalid patterns.
func (g Globs) Check() error {
	for _, p := range g {
		if _, err := path.Match(glob(p), ""); err != nil {
			return fault.Usage(fmt.Sprintf("--tensor: %q is not a pattern", p))
		}
	}
	return nil
}

func (g Globs) Match(name string) bool {
	return len(g) == 0 || slices.ContainsFunc(g, func(p string) bool {
		ok, _ := path.Match(glob(p), glob(name))
		return ok
	})
}
