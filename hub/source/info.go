package source

import (
	"io/fs"
	"time"
)

// folderInfo describes a folder of a listing.
type folderInfo struct{ name string }

func (f folderInfo) Name() string     { return f.name }
func (folderInfo) Size() int64        { return 0 }
func (folderInfo) Mode() fs.FileMode  { return fs.ModeDir | 0o555 }
func (folderInfo) ModTime() time.Time { return time.Time{} }
func (folderInfo) IsDir() bool        { return true }
func (folderInfo) Sys() any           { return nil }
