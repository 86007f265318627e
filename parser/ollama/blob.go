package ollama

import (
	"io/fs"
	"strings"

	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A blob reads from its open file, or opens the file for each read.
type blob struct {
	store fs.FS
	layer Layer
	open  *tensor.Handle // nil if it is not kept open
}

func (r *blob) ReadAt(p []byte, off int64) (int, error) {
	if r.open != nil {
		return r.open.ReadAt(p, off)
	}
	h, err := Blob(r.store, r.layer)
	if err != nil {
		return 0, err
	}
	defer h.Close()
	return h.ReadAt(p, off)
}

func (r *blob) Close() error {
	if r.open == nil {
		return nil
	}
	return r.open.Close()
}

// configs are the model's configuration files by name.
type configs map[string]file

type file struct {
	store fs.FS
	layer Layer
}

func (c configs) Open(name string) (fs.File, error) {
	f, ok := c[name]
	if !ok || !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	h, err := Blob(f.store, f.layer)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	h.Close()
	path := f.layer.Path()
	if _, err := fs.Stat(f.store, path); err != nil {
		path = f.layer.oldPath()
	}
	opened, err := f.store.Open(path)
	if err != nil {
		return nil, err
	}
	return renamed{opened, name[strings.LastIndexByte(name, '/')+1:]}, nil
}

// renamed is a blob whose Stat returns another name.
type renamed struct {
	fs.File
	name string
}

func (r renamed) Stat() (fs.FileInfo, error) {
	info, err := r.File.Stat()
	return renamedInfo{info, r.name}, err
}

type renamedInfo struct {
	fs.FileInfo
	name string
}

func (r renamedInfo) Name() string { return r.name }
