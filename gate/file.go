package gate

import (
	"io"
	"io/fs"
	"path/filepath"
)

// alias is a name that promises the same, and belongs to no set of shards: each
// file is judged alone.
func (j *judgement) alias() string { return "file" + filepath.Ext(j.hint.Name) }

// oneFile is a file system of the one file that is judged, so that opening it by
// name gives the findings that belong to names.
type oneFile struct{ j *judgement }

func (f oneFile) Open(name string) (fs.File, error) {
	if name != f.j.alias() {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return &openFile{io.NewSectionReader(f.j.r, 0, f.j.Size), f.j}, nil
}

// openFile is an fs.File over what is open already; closing it leaves that open.
type openFile struct {
	*io.SectionReader

	j *judgement
}

func (o *openFile) Stat() (fs.FileInfo, error) { return fileInfo{o.j, nil}, nil }
func (o *openFile) Close() error               { return nil }

// fileInfo is a regular file's. The embedded FileInfo has the methods that are never called.
type fileInfo struct {
	j *judgement
	fs.FileInfo
}

func (i fileInfo) Name() string      { return i.j.alias() }
func (i fileInfo) Size() int64       { return i.j.Size }
func (i fileInfo) Mode() fs.FileMode { return 0o444 }
func (i fileInfo) IsDir() bool       { return false }
