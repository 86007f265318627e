package model

import (
	"io/fs"
	"strings"
	"time"
)

// Overlay is a folder in which one file has another text.
type Overlay struct {
	fs.FS
	Name, Text string
}

// Open implements [fs.FS].
func (o Overlay) Open(name string) (fs.File, error) {
	if name != o.Name {
		return o.FS.Open(name)
	}
	return textFile{strings.NewReader(o.Text), textInfo{name, int64(len(o.Text))}}, nil
}

// Stat implements [fs.StatFS].
func (o Overlay) Stat(name string) (fs.FileInfo, error) {
	if name == o.Name {
		return textInfo{name, int64(len(o.Text))}, nil
	}
	return fs.Stat(o.FS, name)
}

// ReadDir implements [fs.ReadDirFS].
func (o Overlay) ReadDir(name string) ([]fs.DirEntry, error) { return fs.ReadDir(o.FS, name) }

// ReadLink implements [fs.ReadLinkFS].
func (o Overlay) ReadLink(name string) (string, error) { return fs.ReadLink(o.FS, name) }

// Lstat implements [fs.ReadLinkFS].
func (o Overlay) Lstat(name string) (fs.FileInfo, error) {
	if name == o.Name {
		return o.Stat(name)
	}
	return fs.Lstat(o.FS, name)
}

type textFile struct {
	*strings.Reader
	info textInfo
}

func (f textFile) Stat() (fs.FileInfo, error) { return f.info, nil }
func (textFile) Close() error                 { return nil }

type textInfo struct {
	name string
	size int64
}

func (i textInfo) Name() string     { return i.name }
func (i textInfo) Size() int64      { return i.size }
func (textInfo) Mode() fs.FileMode  { return 0o444 }
func (textInfo) ModTime() time.Time { return time.Time{} }
func (textInfo) IsDir() bool        { return false }
func (textInfo) Sys() any           { return nil }
