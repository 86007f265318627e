//go:build unix

package output

import (
	"errors"
	"io/fs"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// nonblock keeps an open from waiting for the other end of a pipe.
const nonblock = unix.O_NONBLOCK

// renamesOpen says that a file may be renamed and removed while it is open.
const renamesOpen = true

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

// lock takes the file for this process, or says that another one has it. It is given up when
// the file is closed, however the process ends. A file system without locks lets everybody
// have it.
func lock(f *os.File) (taken bool, err error) {
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

// Writable returns why files cannot be created in a folder, as far as the system tells
// without creating one.
func (p *Place) Writable() error {
	err := unix.Access(p.folder, unix.W_OK|unix.X_OK)
	if errors.Is(err, fs.ErrPermission) {
		return p.refuse("no file can be created in its folder: %v", err)
	}
	if err != nil {
		return &os.PathError{Op: "write to", Path: p.folder, Err: err}
	}
	return nil
}

// syncFolder makes the names of a folder last.
func syncFolder(f *os.File) error {
	err := f.Sync()
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.EOPNOTSUPP) {
		err = nil // a file system that keeps no folders
	}
	return err
}

// identityOf tells a file or folder from all others of this machine.
func identityOf(info fs.FileInfo) string {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	return strconv.FormatUint(uint64(s.Dev), 10) + " " + strconv.FormatUint(uint64(s.Ino), 10)
}

// keepOwner gives a file the owner of another one.
func keepOwner(f *os.File, from, now fs.FileInfo) error {
	want, ok := from.Sys().(*syscall.Stat_t)
	have, also := now.Sys().(*syscall.Stat_t)
	if !ok || !also || want.Uid == have.Uid && want.Gid == have.Gid {
		return nil
	}
	return f.Chown(int(want.Uid), int(want.Gid))
}

// OnlyOurs reports whether a file belongs to this user and has no other name.
func OnlyOurs(info fs.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && s.Nlink == 1 && int(s.Uid) == os.Geteuid()
}
