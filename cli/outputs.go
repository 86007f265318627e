package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// An output is a file that a flag names to be written.
type output struct{ flag, path string }

// checkOutputs rejects an output that is also an input or another output, before anything
// is written.
func checkOutputs(outputs []output, inputs []string) error {
	for i, o := range outputs {
		if isOneOf(o.path, inputs) {
			return usage{fmt.Sprintf("%s %s: this file is an input", o.flag, showPath(o.path))}
		}
		for _, other := range outputs[:i] {
			if isOneOf(o.path, []string{other.path}) || resolved(o.path) == resolved(other.path) {
				return usage{fmt.Sprintf("%s and %s name the same file, %s", other.flag, o.flag, showPath(o.path))}
			}
		}
	}
	return nil
}

// isOneOf reports whether path names an existing file that one of names names too.
func isOneOf(path string, names []string) bool {
	info, err := os.Stat(path)
	return err == nil && slices.ContainsFunc(names, func(name string) bool {
		other, err := os.Stat(name)
		return err == nil && os.SameFile(info, other)
	})
}

// resolved returns the absolute path of a file that need not exist, without links to its
// folder.
func resolved(path string) string {
	if full, err := filepath.Abs(path); err == nil {
		path = full
	}
	dir, name := filepath.Split(path)
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	return filepath.Join(dir, name)
}
