//go:build unix

package cli

import (
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// rawMode takes keys as they are pressed, unseen, until the function that it gives
// puts the terminal back.
func rawMode(in, _ *os.File) (restore func(), err error) {
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

// keyboard is where keys come from: standard input, or the terminal itself where that
// is a model.
func keyboard(in *os.File) (*os.File, error) {
	if in != nil {
		if _, err := unix.IoctlGetTermios(int(in.Fd()), getTermios); err == nil {
			return in, nil
		}
	}
	return os.OpenFile("/dev/tty", os.O_RDWR, 0)
}

// sizeOf is how many columns and lines a terminal has.
func sizeOf(f *os.File) (columns, lines int) {
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil || size.Col == 0 || size.Row == 0 {
		return 80, 24
	}
	return int(size.Col), int(size.Row)
}

// resized says when the terminal's size changes.
func resized() (changes <-chan os.Signal, stop func()) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, unix.SIGWINCH)
	return c, func() { signal.Stop(c) }
}

// suspend stops this program as Ctrl-Z does any other, until the shell goes on with it.
func suspend() { _ = syscall.Kill(0, syscall.SIGTSTP) }
