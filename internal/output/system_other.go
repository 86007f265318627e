//go:build !unix

package output

import (
	"io/fs"
	"os"
)

// nonblock has no meaning here.
const nonblock = 0

// renamesOpen says that a file may be renamed and removed while it is open.
const renamesOpen = false

// lock lets everybody have the file: one that is open cannot be removed here.
func lock(*os.File) (taken bool, err error) { return true, nil }

// Writable knows of nothing against it.
func (p *Place) Writable() error { return nil }

// syncFolder does nothing: names last without it.
func syncFolder(*os.File) error { return nil }

// identityOf is not known here: a mark says that there is something of an earlier run.
func identityOf(fs.FileInfo) string { return "" }

// keepOwner does nothing: a new file has the owner of its folder.
func keepOwner(*os.File, fs.FileInfo, fs.FileInfo) error { return nil }

// OnlyOurs is not known here.
func OnlyOurs(fs.FileInfo) bool { return true }
