package tiles

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// Reserve gives an empty file its size. Where the file system can, the blocks
// are taken at once, so that a full disk is found before anything is written;
// what is not written reads as zero.
func Reserve(f *os.File, size int64) error {
	if size == 0 {
		return nil
	}
	err := control(f, func(fd int) error {
		for {
			if err := unix.Fallocate(fd, 0, 0, size); err != unix.EINTR {
				return err
			}
		}
	})
	switch {
	case errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EINVAL):
		return f.Truncate(size)
	case err != nil:
		return &os.PathError{Op: "reserve space in", Path: f.Name(), Err: err}
	}
	return nil
}
