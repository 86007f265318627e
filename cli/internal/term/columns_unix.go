//go:build unix

package term

import (
	"os"

	"golang.org/x/sys/unix"
)

// Columns returns the width of the terminal f, 0 if f is not a terminal.
func Columns(f *os.File) int {
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	switch {
	case err != nil:
		return 0
	case size.Col == 0: // the terminal does not state its width
		return 80
	default:
		return int(size.Col)
	}
}
