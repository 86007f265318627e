package tensor

import (
	"errors"
	"io"
	"io/fs"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// A Handle is an opened regular file with random access.
type Handle struct {
	io.ReaderAt
	io.Closer
	Size int64
}

// Stat describes the open file.
func (h *Handle) Stat() (fs.FileInfo, error) {
	f, ok := h.Closer.(fs.File)
	if !ok {
		return nil, fs.ErrInvalid
	}
	return f.Stat()
}

// CloseAll closes files.
func CloseAll(files []*Handle) error {
	var errs []error
	for _, h := range files {
		errs = append(errs, h.Close())
	}
	return errors.Join(errs...)
}

// IsLocal reports whether a path stays in its folder. Unlike fs.ValidPath it accepts
// names that are not UTF-8, which most systems allow.
func IsLocal(name string) bool { return fs.ValidPath(strings.ToValidUTF8(name, "?")) }

// List lists the names in a folder, of a file system that has a method for that or describes its folders.
func List(fsys fs.FS, dir string) (names []string, err error) {
	if l, ok := fsys.(interface {
		List(string) ([]string, error)
	}); ok {
		return l.List(dir)
	}
	list, err := fs.ReadDir(fsys, dir)
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names, err
}

// OpenFile opens a regular file of a folder. A FIFO, a device or a folder is
// never opened: opening one may hang or have effects.
func OpenFile(fsys fs.FS, name string) (*Handle, error) {
	if !IsLocal(name) {
		return nil, wire.ErrForbidden.WithRule("file.path-escape").Errorf("path %s leaves its folder", wire.Quote(name))
	}
	before, err := fs.Stat(fsys, name)
	if err != nil {
		return nil, err
	}
	if !before.Mode().IsRegular() {
		return nil, wire.ErrUnsupported.WithRule("file.not-regular").Errorf("%s is not a regular file", wire.Quote(name))
	}
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	st, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, err
	}
	r, ok := f.(io.ReaderAt)
	if !ok || !st.Mode().IsRegular() {
		f.Close()
		return nil, wire.ErrUnsupported.WithRule("file.not-regular").Errorf("%s cannot be read at an offset", wire.Quote(name))
	}
	return &Handle{r, f, st.Size()}, nil
}
