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

	rules "github.com/anamnesis-go/anamnesis/internal/folder"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// A tree is the file system of a repository. Its files are fetched when they are read.
type tree struct {
	c       *client
	names   rules.Names
	files   map[string]entry         // by path
	folders map[string][]fs.DirEntry // entries, by path

	mu   sync.Mutex
	open map[string]*file
}

// An entry is a file at an address, or one whose content is known already.
type entry struct {
	size   int64
	url    *url.URL
	text   []byte
	stated *digest // nil if the source states none
	md5    bool    // its ETag may be an MD5
}

func newTree(c *client) *tree {
	return &tree{c: c, files: map[string]entry{}, folders: map[string][]fs.DirEntry{".": nil}, open: map[string]*file{}}
}

// entryBytes is the memory of an entry besides its names: in all maps, and its address.
const entryBytes = 768

// add adds a file.
func (t *tree) add(name string, e entry) error {
	if err := t.c.b.Items(1); err != nil {
		return err
	}
	old, twice := t.files[name]
	if twice && (old.size != e.size || old.url == nil || e.url == nil || *old.url != *e.url) {
		return wire.ErrDuplicate.Errorf("%s is listed twice", wire.Quote(name)) // unless both are the same blob
	}
	// The entry, and five copies of its name: as a key, in the address as text and escaped, and in
	// two forms for comparisons. So the account stops a server that lists without end.
	if err := t.c.b.Hold(entryBytes + 5*int64(len(name))); err != nil {
		return err
	}
	if !twice {
		if err := t.names.AddListed(name); err != nil {
			return err
		}
	}
	if e.size < 0 {
		return wire.ErrRange.Errorf("%s has a negative size", wire.Quote(name))
	}
	if e.stated != nil && e.size == 0 && !e.stated.empty() { // it is never fetched
		return wire.ErrChecksum.Errorf("%s is listed as empty, with the digest of something else", wire.Quote(name))
	}
	t.files[name] = e
	return nil
}

// fillFolders fills the folders.
func (t *tree) fillFolders() error {
	for name, e := range t.files {
		entry := info{path.Base(name), e.size, 0o444}
		for {
			folder := path.Dir(name)
			list, known := t.folders[folder]
			t.folders[folder] = append(list, entry)
			if known {
				break
			}
			if _, also := t.files[folder]; also {
				return wire.ErrMismatch.Errorf("%s is a file and a folder", wire.Quote(folder))
			}
			if err := t.c.b.Items(1); err != nil {
				return err
			}
			name, entry = folder, info{path.Base(folder), 0, fs.ModeDir | 0o555}
		}
	}
	for _, list := range t.folders {
		slices.SortFunc(list, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	}
	return nil
}

// file returns the open file of a name.
func (t *tree) file(name string) *file {
	t.mu.Lock()
	defer t.mu.Unlock()
	f := t.open[name]
	if f == nil {
		f = newFile(t.c, t.files[name].url, t.files[name].size)
		f.tally.stated, f.md5 = t.files[name].stated, t.files[name].md5
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
		return &fetched{h, f}, nil
	}
	list, ok := t.folders[name]
	if !ok {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return &folder{info: info{path.Base(name), 0, fs.ModeDir | 0o555}, list: list}, nil
}

// info implements fs.FileInfo and fs.DirEntry.
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

// A fetched is an open file of a server. It implements tensor.Stated.
type fetched struct {
	*handle
	file *file
}

func (h *fetched) Verify(b *limits.Budget) error { return h.file.Verify(b) }
func (h *fetched) Verified() bool                { return h.file.Verified() }
func (h *fetched) Whole() bool                   { return h.file.Whole() }

// ContentName implements tensor.Named: the digest that the source states, or else a strong ETag. A
// weak ETag and the time of the last change do not identify the bytes.
func (h *fetched) ContentName() string {
	f := h.file
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.tally.stated != nil:
		return digestNames[f.tally.stated.kind] + " " + f.tally.stated.sum
	case f.mark.etag != "":
		return "ETag " + f.mark.etag
	}
	return ""
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
