package remote

import (
	"context"
	"io"
	"io/fs"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/anamnesis-go/anamnesis/limits"
)

// A tree is the files of a repository, as a file system whose files are fetched when
// they are read. Its folders are not looked into.
type tree struct {
	ctx   context.Context
	b     *limits.Budget
	c     *client
	files map[string]int64 // sizes, by path
	at    func(name string) *url.URL
	open  map[string]*file
}

// Open implements fs.FS.
func (t *tree) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	if size, ok := t.files[name]; ok {
		f := t.open[name]
		if f == nil {
			f = newFile(t.ctx, t.b, t.c, t.at(name), size)
			t.open[name] = f
		}
		return &handle{file: f, info: info{path.Base(name), size, 0o444}}, nil
	}
	list := t.list(name)
	if name != "." && len(list) == 0 {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return &folder{info: info{path.Base(name), 0, fs.ModeDir | 0o555}, list: list}, nil
}

// list is what lies in a folder.
func (t *tree) list(name string) []fs.DirEntry {
	prefix := ""
	if name != "." {
		prefix = name + "/"
	}
	found := map[string]info{}
	for file, size := range t.files {
		rest, ok := strings.CutPrefix(file, prefix)
		if !ok {
			continue
		}
		first, _, deeper := strings.Cut(rest, "/")
		if deeper {
			found[first] = info{first, 0, fs.ModeDir | 0o555}
		} else {
			found[first] = info{first, size, 0o444}
		}
	}
	var list []fs.DirEntry
	for _, i := range found {
		list = append(list, i)
	}
	slices.SortFunc(list, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return list
}

// info describes a file or a folder, and is its entry.
type info struct {
	name string
	size int64
	mode fs.FileMode
}

func (i info) Name() string               { return i.name }
func (i info) Size() int64                { return i.size }
func (i info) Mode() fs.FileMode          { return i.mode }
func (i info) Type() fs.FileMode          { return i.mode.Type() }
func (i info) ModTime() time.Time         { return time.Time{} }
func (i info) IsDir() bool                { return i.mode.IsDir() }
func (i info) Sys() any                   { return nil }
func (i info) Info() (fs.FileInfo, error) { return i, nil }

// A handle is an open file.
type handle struct {
	*file
	info info
	pos  int64
}

func (h *handle) Stat() (fs.FileInfo, error) { return h.info, nil }
func (h *handle) Close() error               { return nil }

// Read implements io.Reader.
func (h *handle) Read(p []byte) (int, error) {
	if h.pos >= h.info.size {
		return 0, io.EOF
	}
	p = p[:min(int64(len(p)), h.info.size-h.pos)]
	n, err := h.ReadAt(p, h.pos)
	h.pos += int64(n)
	return n, err
}

type folder struct {
	info info
	list []fs.DirEntry
}

func (d *folder) Stat() (fs.FileInfo, error) { return d.info, nil }
func (d *folder) Close() error               { return nil }
func (d *folder) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: d.info.name, Err: fs.ErrInvalid}
}

// ReadDir implements fs.ReadDirFile.
func (d *folder) ReadDir(n int) ([]fs.DirEntry, error) {
	if n <= 0 {
		list := d.list
		d.list = nil
		return list, nil
	}
	if len(d.list) == 0 {
		return nil, io.EOF
	}
	n = min(n, len(d.list))
	list := d.list[:n]
	d.list = d.list[n:]
	return list, nil
}
