package cli

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// globs are patterns for the names of tensors; none match all.
type globs []string

// glob lets the wildcards of path.Match match slashes too.
func glob(s string) string { return strings.ReplaceAll(s, "/", "\x00") }

// check refuses what is no pattern.
func (g globs) check() error {
	for _, p := range g {
		if _, err := path.Match(glob(p), ""); err != nil {
			return usage{fmt.Sprintf("--tensor: %q is not a pattern", p)}
		}
	}
	return nil
}

func (g globs) match(name string) bool {
	return len(g) == 0 || slices.ContainsFunc(g, func(p string) bool {
		ok, _ := path.Match(glob(p), glob(name))
		return ok
	})
}
