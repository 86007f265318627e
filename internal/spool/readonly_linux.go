package spool

import (
	"errors"
	"fmt"
	"os"
)

// ReadOnly opens an open file again, to read: for a process that is trusted with no more.
// The caller closes what it returns, if that is not f. It asks /proc, since the file may
// have no name.
func ReadOnly(f *os.File) (*os.File, error) {
	raw, err := f.SyscallConn()
	if err != nil {
		return nil, err
	}
	var again *os.File
	var opened error
	if err := raw.Control(func(fd uintptr) { again, opened = os.Open(fmt.Sprintf("/proc/self/fd/%d", fd)) }); err != nil {
		return nil, err
	}
	if opened != nil {
		return nil, fmt.Errorf("cannot open the file again to read only, for which /proc is needed: %w", opened)
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
