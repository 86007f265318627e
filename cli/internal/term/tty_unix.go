//go:build unix

package term

import (
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// RawMode sets a terminal to deliver keys as they are pressed, without echo. The returned
// function restores it.
func RawMode(in, _ *os.File) (restore func(), err error) {
	fd := int(in.Fd())
	was, err := unix.IoctlGetTermios(fd, getTermios)
	if err != nil {
		return nil, err
	}
	raw := *was
	raw.Iflag &^= unix.IGNBRK | unix.BRKINT | unix.PARMRK | unix.ISTRIP | unix.INLCR | unix.IGNCR | unix.ICRNL | unix.IXON
	raw.Lflag &^= unix.ECHO | unix.ECHONL | unix.ICANON | unix.ISIG | unix.IEXTEN
	raw.Cflag = raw.Cflag&^(unix.CSIZE|unix.PARENB) | unix.CS8
	raw.Cc[unix.VMIN], raw.Cc[unix.VTIME] = 1, 0
	if err := unix.IoctlSetTermios(fd, setTermios, &raw); err != nil {
		return nil, err
	}
	return func() { _ = unix.IoctlSetTermios(fd, setTermios, was) }, nil
}

// Keyboard returns the terminal that keys come from: standard input, or /dev/tty if that is
// something else, such as a model.
func Keyboard(in *os.File) (*os.File, error) {
	if in != nil {
		if _, err := unix.IoctlGetTermios(int(in.Fd()), getTermios); err == nil {
			return in, nil
		}
	}
	return os.OpenFile("/dev/tty", os.O_RDWR, 0)
}

// Size returns the columns and lines of a terminal.
func Size(f *os.File) (columns, lines int) {
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil || size.Col == 0 || size.Row == 0 {
		return 80, 24
	}
	return int(size.Col), int(size.Row)
}

// Resized returns a channel that receives when the terminal's size changes.
func Resized() (changes <-chan os.Signal, stop func()) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, unix.SIGWINCH)
	return c, func() { signal.Stop(c) }
}

// Suspend stops the process group, as Ctrl-Z does, until the shell continues it.
func Suspend() { _ = syscall.Kill(0, syscall.SIGTSTP) }
