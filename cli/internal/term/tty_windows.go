package term

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// RawMode sets a console to deliver keys as they are pressed, without echo, and to interpret
// control sequences. The returned function restores it.
func RawMode(in, out *os.File) (restore func(), err error) {
	var wasIn, wasOut uint32
	keys, screen := windows.Handle(in.Fd()), windows.Handle(out.Fd())
	if err := windows.GetConsoleMode(keys, &wasIn); err != nil {
		return nil, err
	}
	if err := windows.GetConsoleMode(screen, &wasOut); err != nil {
		return nil, err
	}
	const cooked = windows.ENABLE_ECHO_INPUT | windows.ENABLE_PROCESSED_INPUT | windows.ENABLE_LINE_INPUT
	restore = func() {
		_ = windows.SetConsoleMode(keys, wasIn)
		_ = windows.SetConsoleMode(screen, wasOut)
	}
	if err := windows.SetConsoleMode(keys, wasIn&^cooked|windows.ENABLE_VIRTUAL_TERMINAL_INPUT); err != nil {
		return nil, err
	}
	if err := windows.SetConsoleMode(screen, wasOut|windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING); err != nil {
		restore()
		return nil, err
	}
	return restore, nil
}

// Keyboard returns the console that keys come from.
func Keyboard(in *os.File) (*os.File, error) {
	var mode uint32
	if in == nil || windows.GetConsoleMode(windows.Handle(in.Fd()), &mode) != nil {
		return nil, errors.New("standard input is not a console")
	}
	return in, nil
}

// Size returns the columns and lines of a console.
func Size(f *os.File) (columns, lines int) {
	var info windows.ConsoleScreenBufferInfo
	if windows.GetConsoleScreenBufferInfo(windows.Handle(f.Fd()), &info) != nil {
		return 80, 24
	}
	return int(info.Window.Right-info.Window.Left) + 1, int(info.Window.Bottom-info.Window.Top) + 1
}

// Resized returns no channel: the loop asks for the size after each key.
func Resized() (changes <-chan os.Signal, stop func()) { return nil, func() {} }

func Suspend() {}
