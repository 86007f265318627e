package fault

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/cli/internal/term"
	"github.com/anamnesis-go/anamnesis/internal/folder"
	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// ClassOf returns the class of an error. A file that was named and is not there is wrong usage,
// unless a parser has said more.
func ClassOf(err error) wire.Class {
	if c := wire.ClassOf(err); c != wire.Internal || !errors.Is(err, fs.ErrNotExist) {
		return c
	}
	return wire.Usage
}

// isMissing reports whether an error only says that the file at path does not exist.
func isMissing(path string, err error) bool {
	e, ok := errors.AsType[*fs.PathError](err)
	return ok && error(e) == err && errors.Is(e.Err, fs.ErrNotExist) && (e.Path == path || e.Path == filepath.Base(path))
}

// Missing returns a wrong usage in place of an error that says that the file at path is not
// there, with the name of one beside it that is. Other errors it returns as they are.
func Missing(path string, err error) error {
	if !isMissing(path, err) {
		return err
	}
	return wire.ErrUsage.WithRule("file.missing").Errorf("no such file or directory%s", nearestFile(path))
}

// stem returns a name without its extension, because equal extensions do not make two names
// similar.
func stem(name string) string { return strings.TrimSuffix(name, filepath.Ext(name)) }

// mostNames bounds the names of a folder that a mistyped one is compared with.
const mostNames = 10_000

// nearestFile returns a question whether a file beside the one that is missing was meant.
func nearestFile(path string) string {
	dir, name := filepath.Split(path)
	d, err := folder.Open(filepath.Clean(dir))
	if err != nil {
		return ""
	}
	defer d.Close()
	names, _ := d.Readdirnames(mostNames) // what was read of them will do
	names = slices.DeleteFunc(names, func(n string) bool { return nearestOf(stem(name), []string{stem(n)}) == "" })
	if found := nearestOf(name, names); found != "" {
		return fmt.Sprintf(", did you mean %q?", term.Path(filepath.Join(dir, found)))
	}
	return ""
}
