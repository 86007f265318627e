package spool

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// ReadOnly returns f if it is open to read only, and else opens it again, to read: for a
// process that is trusted with no more. The caller closes what it returns, if that is not f.
// It asks /proc, since the file may have no name. A file that a client passed, open to
// read, may be one that this process could not open itself.
func ReadOnly(f *os.File) (*os.File, error) {
	raw, err := f.SyscallConn()
	if err != nil {
		return nil, err
	}
	again := f
	var opened error
	err = raw.Control(func(fd uintptr) {
		var flags int
		if flags, opened = unix.FcntlInt(fd, unix.F_GETFL, 0); opened == nil && flags&unix.O_ACCMODE != unix.O_RDONLY {
			again, opened = os.Open(fmt.Sprintf("/proc/self/fd/%d", fd))
		}
	})
	if err != nil {
		return nil, err
	}
	if opened != nil {
		return nil, fmt.Errorf("cannot open the file again to read only, for which /proc is needed: %w", opened)
	}
	if again == f {
		return f, nil
	}
	was, err := f.Stat()
	now, errNow := again.Stat()
	if err = errors.Join(err, errNow); err == nil && !os.SameFile(was, now) {
		err = errors.New("/proc opened another file")
	}
	if err != nil {
		return nil, errors.Join(err, again.Close())
	}
	return again, nil
}
