package gate

import (
	"io/fs"
	"os"
	"path/filepath"

	"github.com/anamnesis-go/anamnesis/internal/folder"
	"github.com/anamnesis-go/anamnesis/internal/stamp"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// dir is a folder as a file system. Unlike os.DirFS it opens files whose names are not
// UTF-8.
type dir string

func (d dir) join(name string) string { return filepath.Join(string(d), name) }

// Open and Stat follow links; the caller has checked where they lead.
func (d dir) Open(name string) (fs.File, error)     { return folder.Open(d.join(name)) }
func (d dir) Stat(name string) (fs.FileInfo, error) { return os.Stat(d.join(name)) }

// watchPath watches an open file and the path that led to it, at which another file may
// have been put.
func watchPath(path string, h *tensor.Handle) watch {
	open := watchOpen(h)
	was, err := h.Stat()
	if err != nil {
		return open
	}
	return func() error {
		if err := open(); err != nil {
			return err
		}
		now, err := os.Stat(path)
		switch {
		case err != nil:
			return changed("it was removed")
		case stamp.Replaced(was, now):
			return changed("another file was put in its place")
		}
		return nil
	}
}

// storedAt returns the path at which the file is stored, with all links resolved,
// including those of its folders.
func storedAt(path string) string {
	if info, err := os.Lstat(path); err == nil && info.Mode()&os.ModeSymlink != 0 {
		if to, err := filepath.EvalSymlinks(path); err == nil {
			path = to
		}
	}
	if len(filepath.Base(path)) < 40 {
		return path
	}
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}

// whyNotOpened returns a function that says why a loader, which follows links, should not
// open a file that a model names: it is outside the walked folder or not a regular file.
// A missing file is harmless.
func (w *walk) whyNotOpened(path string) func(string) error {
	in := filepath.Dir(path)
	root := w.root
	if root == path || w.g.Beside {
		root = in
	}
	return func(name string) error {
		at := filepath.Join(in, filepath.FromSlash(name))
		if _, err := os.Stat(at); err != nil {
			return nil
		}
		mode, _, why := folder.Follow(root, at)
		if why != "" {
			return wire.ErrForbidden.WithRule("file.link-outside").Errorf("%s: %s", wire.Quote(name), why)
		}
		return checkRegular(name, mode)
	}
}

// checkRegular refuses what a model names as its data and is no regular file.
func checkRegular(name string, mode fs.FileMode) error {
	if mode.IsRegular() {
		return nil
	}
	return wire.ErrUnsupported.WithRule("file.not-regular").Errorf("%s is not a regular file", wire.Quote(name))
}
