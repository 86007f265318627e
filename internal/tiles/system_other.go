//go:build !unix

package tiles

import "os"

// NoFollow has no meaning here.
const NoFollow = 0

// RenamesOpen says that a file may be renamed and removed while it is open.
const RenamesOpen = false

// Lock lets everybody have the file: one that is open cannot be removed here.
func Lock(*os.File) (taken bool, err error) { return true, nil }

// Writable knows of nothing against it.
func Writable(string) error { return nil }

// SyncFolder does nothing: names last without it.
func SyncFolder(string) error { return nil }
