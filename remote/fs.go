package remote

import (
	"bytes"
	"io"
	"io/fs"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"
	"time"
)

// A tree is the files of a repository, as a file system whose files are fetched when
// they are read.
type tree struct {
	c     *client
	files map[string]entry // by path

	mu   sync.Mutex
	open map[string]*file
}

// An entry is a file at an address, or one whose text is known already.
type entry struct {
	size int64
	url  *url.URL
	text []byte
}

func newTree(c *client) *tree {
	return &tree{c: c, files: map[string]entry{}, open: map[string]*file{}}
}

// add takes a file whose name can be one.
func (t *tree) add(name string, e entry) error {
	if err := t.c.b.Items(1); err != nil {
		return err
	}
	if fs.ValidPath(name) && name != "." && e.size >= 0 {
		t.files[name] = e
	}
	return nil
}

// file is the one at an address.
func (t *tree) file(name string) *file {
	t.mu.Lock()
	defer t.mu.Unlock()
	f := t.open[name]
	if f == nil {
		f = newFile(t.c, t.files[name].url, t.files[name].size)
		t.open[name] = f
	}
	return f
}

// Open implements fs.FS.
func (t *tree) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	if e, ok := t.files[name]; ok {
		h := &handle{info: info{path.Base(name), e.size, 0o444}}
		if e.url == nil {
			h.ReaderAt, h.done = bytes.NewReader(e.text), func() {}
			return h, nil
		}
		f := t.file(name)
		f.hold()
		h.ReaderAt, h.done = f, sync.OnceFunc(f.release)
		return h, nil
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
	for file, e := range t.files {
		rest, ok := strings.CutPrefix(file, prefix)
		if !ok {
			continue
		}
		first, _, deeper := strings.Cut(rest, "/")
		if deeper {
			found[first] = info{first, 0, fs.ModeDir | 0o555}
		} else {
			found[first] = info{first, e.size, 0o444}
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
	io.ReaderAt
	info info
	pos  int64
	done func()
}

func (h *handle) Stat() (fs.FileInfo, error) { return h.info, nil }

func (h *handle) Close() error {
	h.done()
	return nil
}

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
