package folder

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// Open opens a file to read it. If it is a FIFO, it waits for no writer.
func Open(path string) (*os.File, error) { return os.OpenFile(path, os.O_RDONLY|nonblock, 0) }

// OpenRegular opens a regular file to read it, or fails. A FIFO would keep the program waiting
// for ever, and the opening of a device may have effects: so the file is examined before, and
// again once it is open, in case that another one was put in its place.
func OpenRegular(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if failed, ok := errors.AsType[*fs.PathError](err); ok {
		failed.Op = "open" // which fails for the same reason
	}
	if err == nil {
		err = regular(path, info)
	}
	if err != nil {
		return nil, err
	}
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	if info, err = f.Stat(); err == nil {
		err = regular(path, info)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func regular(path string, info fs.FileInfo) error {
	switch {
	case info.Mode().IsRegular():
		return nil
	case info.IsDir():
		return wire.ErrUnsupported.WithRule("file.not-regular").Errorf("%s is a folder, not a file", wire.Quote(path))
	}
	return wire.ErrUnsupported.WithRule("file.not-regular").Errorf("%s is not a regular file but a pipe or a device, which may never end", wire.Quote(path))
}

// Below returns the files below a folder. Opening never blocks, whatever kind of file it is:
// examine the opened file.
func Below(root *os.Root) fs.FS { return below{root} }

type below struct{ root *os.Root }

func (b below) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) || b.root == nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	f, err := b.root.OpenFile(filepath.FromSlash(name), os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, err // and not a file that is nil
	}
	return f, nil
}

func (b below) Stat(name string) (fs.FileInfo, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "stat", Path: name, Err: fs.ErrInvalid}
	}
	return b.root.Stat(filepath.FromSlash(name))
}
