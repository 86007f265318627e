package family

import (
	"bytes"
	"io/fs"
	"slices"
	"strings"
	"time"
)

// memory is a folder of files that were made here, without subfolders.
type memory struct{ files []memoryFile }

type memoryFile struct {
	name string
	data []byte
}

// add adds a file, whose bytes the account has paid for.
func (m *memory) add(name string, data []byte) {
	m.files = append(m.files, memoryFile{name, data})
}

// Open implements [fs.FS].
func (m *memory) Open(name string) (fs.File, error) {
	if name == "." {
		return &memoryFolder{m: m}, nil
	}
	for i := range m.files {
		if f := &m.files[i]; f.name == name {
			return &memoryReader{bytes.NewReader(f.data), f}, nil
		}
	}
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}

// A memoryReader is an open file.
type memoryReader struct {
	*bytes.Reader
	f *memoryFile
}

func (r *memoryReader) Stat() (fs.FileInfo, error) { return r.f, nil }

func (r *memoryReader) Close() error { return nil }

// A memoryFile is its own description.

func (f *memoryFile) Name() string { return f.name }

func (f *memoryFile) Size() int64 { return int64(len(f.data)) }

func (f *memoryFile) Mode() fs.FileMode { return 0o444 }

func (f *memoryFile) ModTime() time.Time { return time.Time{} }

func (f *memoryFile) IsDir() bool { return false }

func (f *memoryFile) Sys() any { return nil }

func (f *memoryFile) Type() fs.FileMode { return 0 }

func (f *memoryFile) Info() (fs.FileInfo, error) { return f, nil }

// A memoryFolder is the folder itself, opened.
type memoryFolder struct {
	m  *memory
	at int
}

func (d *memoryFolder) Stat() (fs.FileInfo, error) { return rootInfo{}, nil }

func (d *memoryFolder) Close() error { return nil }

func (d *memoryFolder) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: ".", Err: fs.ErrInvalid}
}

// ReadDir implements [fs.ReadDirFile] for fs.ReadDir, which wants all entries at once.
func (d *memoryFolder) ReadDir(int) (list []fs.DirEntry, _ error) {
	for i := range d.m.files[d.at:] {
		list = append(list, &d.m.files[i])
	}
	d.at = len(d.m.files)
	slices.SortFunc(list, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return list, nil
}

// rootInfo describes the folder.
type rootInfo struct{}

func (rootInfo) Name() string { return "." }

func (rootInfo) Size() int64 { return 0 }

func (rootInfo) Mode() fs.FileMode { return fs.ModeDir | 0o555 }

func (rootInfo) ModTime() time.Time { return time.Time{} }

func (rootInfo) IsDir() bool { return true }

func (rootInfo) Sys() any { return nil }
