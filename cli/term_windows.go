package cli

import (
	"os"

	"golang.org/x/sys/windows"
)

// columnsOf is the width of the terminal that f is, or 0.
func columnsOf(f *os.File) int {
	var info windows.ConsoleScreenBufferInfo
	if windows.GetConsoleScreenBufferInfo(windows.Handle(f.Fd()), &info) != nil {
		return 0
	}
	return int(info.Window.Right-info.Window.Left) + 1
}
