package output

import (
	"os"

	"golang.org/x/sys/unix"
)

// needsHold says that a process can lock itself, so that it creates no more files.
const needsHold = true

// exchange swaps two names of a folder at once; an error says that the file system cannot.
func exchange(dir *os.File, a, b string) error { return renameat2(dir, a, b, unix.RENAME_EXCHANGE) }

// renameNoReplace renames a file of a folder to a name that nothing has.
func renameNoReplace(dir *os.File, from, to string) error {
	return renameat2(dir, from, to, unix.RENAME_NOREPLACE)
}

func renameat2(dir *os.File, from, to string, flags uint) error {
	return control(dir, func(fd int) error {
		for {
			if err := unix.Renameat2(fd, from, fd, to, flags); err != unix.EINTR {
				return err
			}
		}
	})
}
