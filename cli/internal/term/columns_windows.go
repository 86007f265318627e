package term

import (
	"os"

	"golang.org/x/sys/windows"
)

// Columns returns the width of the console f, 0 if f is not a console.
func Columns(f *os.File) int {
	var info windows.ConsoleScreenBufferInfo
	if windows.GetConsoleScreenBufferInfo(windows.Handle(f.Fd()), &info) != nil {
		return 0
	}
	return int(info.Window.Right-info.Window.Left) + 1
}
