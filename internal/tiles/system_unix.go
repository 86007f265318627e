//go:build unix

package tiles

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// NoFollow keeps an open from following a link at the end of its path.
const NoFollow = unix.O_NOFOLLOW

// RenamesOpen says that a file may be renamed and removed while it is open.
const RenamesOpen = true

func control(f *os.File, call func(fd int) error) error {
	c, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var inner error
	if err := c.Control(func(fd uintptr) { inner = call(int(fd)) }); err != nil {
		return err
	}
	return inner
}

// Lock takes the file for this process, or says that another one has it. It is
// given up when the file is closed, however the process ends. A file system
// without locks lets everybody have it.
func Lock(f *os.File) (taken bool, err error) {
	err = control(f, func(fd int) error { return unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB) })
	switch {
	case err == nil, errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.ENOLCK), errors.Is(err, unix.EINVAL):
		return true, nil
	case errors.Is(err, unix.EWOULDBLOCK):
		return false, nil
	default:
		return false, err
	}
}

// Writable says why files cannot be made in a folder, as far as the system tells
// without making one.
func Writable(dir string) error {
	if err := unix.Access(dir, unix.W_OK|unix.X_OK); err != nil {
		return &os.PathError{Op: "write to", Path: dir, Err: err}
	}
	return nil
}

// SyncFolder makes the names of a folder last.
func SyncFolder(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = f.Sync()
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.EOPNOTSUPP) {
		err = nil // a file system that keeps no folders
	}
	return errors.Join(err, f.Close())
}
