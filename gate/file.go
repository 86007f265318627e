package gate

import (
	"io"
	"io/fs"
	"path/filepath"
	"time"
)

// alias returns a file name with the same extension that belongs to no set of shards,
// since each file is judged alone.
func (j *judgement) alias() string { return "file" + filepath.Ext(j.hint.Name) }

// oneFile is a file system that holds only the file being judged. Opening it by name
// gives the findings that depend on the name.
type oneFile struct{ j *judgement }

func (f oneFile) Open(name string) (fs.File, error) {
	if name != f.j.alias() {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return &openFile{io.NewSectionReader(f.j.r, 0, f.j.Size), f.j}, nil
}

// openFile is an fs.File over a reader that is already open, and that Close leaves open.
type openFile struct {
	*io.SectionReader

	j *judgement
}

func (o *openFile) Stat() (fs.FileInfo, error) { return fileInfo{o.j, nil}, nil }
func (o *openFile) Close() error               { return nil }

// fileInfo describes a regular file. The methods of the embedded nil FileInfo are never
// called.
type fileInfo struct {
	j *judgement
	fs.FileInfo
}

func (i fileInfo) Name() string       { return i.j.alias() }
func (i fileInfo) Size() int64        { return i.j.Size }
func (i fileInfo) Mode() fs.FileMode  { return 0o444 }
func (i fileInfo) IsDir() bool        { return false }
func (i fileInfo) ModTime() time.Time { return time.Time{} }
func (i fileInfo) Sys() any           { return nil }
