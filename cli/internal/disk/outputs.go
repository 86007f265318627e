package disk

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/anamnesis-go/anamnesis/cli/internal/fault"
	"github.com/anamnesis-go/anamnesis/cli/internal/term"
	"github.com/anamnesis-go/anamnesis/internal/output"
)

// An Output is a file that a flag names to be written. Kind is a key of beginnings, or
// "page".
type Output struct{ Flag, Path, Kind string }

// Check rejects an output that is also an input or another output, before anything
// is written. An output in a folder of judged would not be judged, so it requires force.
func Check(outputs []Output, inputs, judged []string, force bool) error {
	for i, o := range outputs {
		if isOneOf(o.Path, inputs) {
			return fault.Usage(fmt.Sprintf("%s %s: this file is an input", o.Flag, term.Path(o.Path)))
		}
		for _, other := range outputs[:i] {
			if isOneOf(o.Path, []string{other.Path}) || Resolved(o.Path) == Resolved(other.Path) {
				return fault.Usage(fmt.Sprintf("%s and %s name the same file, %s", other.Flag, o.Flag, term.Path(o.Path)))
			}
		}
		for _, root := range judged {
			if !force && o.isBelow(root) {
				return fault.Usage(fmt.Sprintf("%s %s: this is in %s, which is judged: write to another folder, or add --force; then the file is listed as not judged, and the exit code is 5", o.Flag, term.Path(o.Path), term.Path(root)))
			}
		}
	}
	return nil
}

// isBelow reports whether the file is in a folder, or below it, by its path or once links are
// followed.
func (o Output) isBelow(root string) bool {
	info, err := os.Stat(root)
	if err != nil || !info.IsDir() {
		return false
	}
	whole, err := filepath.Abs(o.Path)
	if err != nil {
		return false
	}
	for _, path := range []string{whole, Resolved(o.Path)} {
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

// GuardOf returns the folders of paths, in which links may be a stranger's.
func GuardOf(paths []string) (list []string) {
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

// Own are the outputs of a run that lie in a judged folder.
type Own struct {
	Root string
	list []Output
}

func OutputsBelow(outputs []Output, root string) *Own {
	own := &Own{Root: root}
	for _, o := range outputs {
		if o.isBelow(root) {
			own.list = append(own.list, o)
		}
	}
	return own
}

// Has reports whether a name below the folder, with slashes, is that of an output, or its
// temporary name.
func (own *Own) Has(name string) bool {
	path := filepath.Join(own.Root, filepath.FromSlash(name))
	return slices.ContainsFunc(own.list, func(o Output) bool {
		whole := Resolved(o.Path)
		base := filepath.Base(path)
		name := filepath.Base(whole)
		return (base == name || base == output.Partial(name) || base == output.Mark(name)) && filepath.Dir(Resolved(path)) == filepath.Dir(whole)
	})
}

// Exclude returns a filter of names below the folder that also leaves out the outputs.
func (own *Own) Exclude(exclude func(string) bool) func(string) bool {
	if len(own.list) == 0 {
		return exclude
	}
	return func(name string) bool { return own.Has(name) || exclude != nil && exclude(name) }
}

// Names returns the outputs' names below the folder.
func (own *Own) Names() (list []string) {
	root, err := filepath.EvalSymlinks(own.Root)
	if err == nil {
		root, err = filepath.Abs(root)
	}
	for _, o := range own.list {
		name := filepath.Base(o.Path)
		if rel, relErr := filepath.Rel(root, Resolved(o.Path)); err == nil && relErr == nil && filepath.IsLocal(rel) {
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

// Resolved returns the absolute path of a file that need not exist, without links to its
// folder.
func Resolved(path string) string {
	if full, err := filepath.Abs(path); err == nil {
		path = full
	}
	dir, name := filepath.Split(path)
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	return filepath.Join(dir, name)
}
