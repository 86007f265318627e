//go:build unix

package cli

import (
	"os"

	"golang.org/x/sys/unix"
)

// columnsOf is the width of the terminal that f is, or 0.
func columnsOf(f *os.File) int {
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	switch {
	case err != nil:
		return 0
	case size.Col == 0: // a terminal that does not know
		return 80
	default:
		return int(size.Col)
	}
}
