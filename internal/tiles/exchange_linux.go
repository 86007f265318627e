package tiles

import "golang.org/x/sys/unix"

// Exchange swaps two names at once; an error says that the file system cannot.
func Exchange(a, b string) error {
	return unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
}
