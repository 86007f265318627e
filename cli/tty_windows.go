package cli

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// rawMode takes keys as they are pressed, unseen, and lets sequences act on the
// console, until the function that it gives puts both back.
func rawMode(in, out *os.File) (restore func(), err error) {
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

// keyboard is where keys come from.
func keyboard(in *os.File) (*os.File, error) {
	var mode uint32
	if in == nil || windows.GetConsoleMode(windows.Handle(in.Fd()), &mode) != nil {
		return nil, errors.New("standard input is not a console")
	}
	return in, nil
}

// sizeOf is how many columns and lines a console has.
func sizeOf(f *os.File) (columns, lines int) {
	var info windows.ConsoleScreenBufferInfo
	if windows.GetConsoleScreenBufferInfo(windows.Handle(f.Fd()), &info) != nil {
		return 80, 24
	}
	return int(info.Window.Right-info.Window.Left) + 1, int(info.Window.Bottom-info.Window.Top) + 1
}

// resized is never said here: the size is asked for with each key.
func resized() (changes <-chan os.Signal, stop func()) { return nil, func() {} }

func suspend() {}
