package cli

import (
	"bufio"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// An atomicFile collects what is written in a temporary file, which commit puts in the
// place of path. A path that names a pipe or a device is written to directly. All methods
// accept a nil file, to which nothing is written.
type atomicFile struct {
	f      *os.File
	w      *bufio.Writer
	path   string
	direct bool
}

// createAtomic begins to write path. The caller calls commit once everything is written,
// and discard in any case.
func createAtomic(path string) (*atomicFile, error) {
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return nil, usage{"target " + wire.Quote(path) + ": it is a folder"}
	case err == nil && !info.Mode().IsRegular():
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return nil, err
		}
		return &atomicFile{f: f, w: bufio.NewWriter(f), path: path, direct: true}, nil
	case err == nil: // of a link the file is replaced, not the link
		if path, err = filepath.EvalSymlinks(path); err != nil {
			return nil, err
		}
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".amn-*")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, usage{"target " + wire.Quote(path) + ": its folder does not exist"}
	}
	if err != nil {
		return nil, err
	}
	return &atomicFile{f: f, w: bufio.NewWriter(f), path: path}, nil
}

// commit puts the file in its place.
func (a *atomicFile) commit() error {
	switch {
	case a == nil:
		return nil
	case a.direct:
		return errors.Join(a.w.Flush(), a.f.Close())
	}
	if err := errors.Join(a.w.Flush(), a.f.Chmod(0o644), a.f.Sync(), a.f.Close()); err != nil {
		return err
	}
	return os.Rename(a.f.Name(), a.path)
}

// discard removes the temporary file, unless it was committed.
func (a *atomicFile) discard() {
	if a == nil {
		return
	}
	a.f.Close()
	if !a.direct {
		_ = os.Remove(a.f.Name()) // gone after a commit
	}
}
