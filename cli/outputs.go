package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/anamnesis-go/anamnesis/cli/internal/term"
	"github.com/anamnesis-go/anamnesis/internal/output"
)

// An outFile is a file that a flag names to be written. kind is a key of beginnings, or
// "page".
type outFile struct{ flag, path, kind string }

// notJudged is why an output that --force allows in a judged folder has no verdict.
const notJudged = "an output of this run, so it was not judged"

// checkOutputs rejects an output that is also an input or another output, before anything
// is written. An output in a folder of judged would not be judged: it takes force.
func checkOutputs(outputs []outFile, inputs, judged []string, force bool) error {
	for i, o := range outputs {
		if isOneOf(o.path, inputs) {
			return usage{fmt.Sprintf("%s %s: this file is an input", o.flag, term.Path(o.path))}
		}
		for _, other := range outputs[:i] {
			if isOneOf(o.path, []string{other.path}) || resolved(o.path) == resolved(other.path) {
				return usage{fmt.Sprintf("%s and %s name the same file, %s", other.flag, o.flag, term.Path(o.path))}
			}
		}
		for _, root := range judged {
			if !force && o.isBelow(root) {
				return usage{fmt.Sprintf("%s %s: this is in %s, which is judged: write to another folder, or add --force; then the file is listed as not judged, and the exit code is 5", o.flag, term.Path(o.path), term.Path(root))}
			}
		}
	}
	return nil
}

// isBelow reports whether the file is in a folder, or below it, by its path or once links are
// followed.
func (o outFile) isBelow(root string) bool {
	info, err := os.Stat(root)
	if err != nil || !info.IsDir() {
		return false
	}
	whole, err := filepath.Abs(o.path)
	if err != nil {
		return false
	}
	for _, path := range []string{whole, resolved(o.path)} {
		for at := filepath.Dir(path); ; at = filepath.Dir(at) {
			if above, err := os.Stat(at); err == nil && os.SameFile(info, above) {
				return true
			}
			if at == filepath.Dir(at) {
				break
			}
		}
	}
	return false
}

// guardOf returns the folders of paths, in which links may be a stranger's.
func guardOf(paths []string) (list []string) {
	for _, path := range paths {
		switch info, err := os.Stat(path); {
		case err != nil: // standard input, a name of a store, or an address
		case info.IsDir():
			list = append(list, path)
		default:
			list = append(list, filepath.Dir(path))
		}
	}
	return list
}

// ownOutputs are the outputs of a run that lie in a judged folder.
type ownOutputs struct {
	root string
	list []outFile
}

func outputsBelow(outputs []outFile, root string) *ownOutputs {
	own := &ownOutputs{root: root}
	for _, o := range outputs {
		if o.isBelow(root) {
			own.list = append(own.list, o)
		}
	}
	return own
}

// has reports whether a name below the folder, with slashes, is that of an output, or its
// temporary name.
func (own *ownOutputs) has(name string) bool {
	path := filepath.Join(own.root, filepath.FromSlash(name))
	return slices.ContainsFunc(own.list, func(o outFile) bool {
		whole := resolved(o.path)
		base := filepath.Base(path)
		return (base == filepath.Base(whole) || base == output.Partial(filepath.Base(whole))) && filepath.Dir(resolved(path)) == filepath.Dir(whole)
	})
}

// exclude extends a filter of names below the folder by the outputs.
func (own *ownOutputs) exclude(exclude func(string) bool) func(string) bool {
	if len(own.list) == 0 {
		return exclude
	}
	return func(name string) bool { return own.has(name) || exclude != nil && exclude(name) }
}

// names returns the outputs' names below the folder.
func (own *ownOutputs) names() (list []string) {
	root, err := filepath.EvalSymlinks(own.root)
	if err == nil {
		root, err = filepath.Abs(root)
	}
	for _, o := range own.list {
		name := filepath.Base(o.path)
		if rel, relErr := filepath.Rel(root, resolved(o.path)); err == nil && relErr == nil && filepath.IsLocal(rel) {
			name = filepath.ToSlash(rel)
		}
		list = append(list, name)
	}
	return list
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
