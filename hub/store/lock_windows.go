package store

import (
	"fmt"
	"os"

	"golang.org/x/sys/windows"
)

// lockFile keeps other processes from a file, under whatever name they open it, until it is
// unlocked, or the process ends. It makes the file for its owner alone.
func lockFile(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	// A byte beyond all that the database reads and locks.
	if err := windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &windows.Overlapped{OffsetHigh: 1 << 30}); err != nil {
		f.Close()
		return nil, fmt.Errorf("store: another process has %s: a file is for one process, and postgres:// for many", path)
	}
	return func() { f.Close() }, nil
}
