//go:build unix

package cli_test

import (
	"bytes"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// serve does not replace a name that is in use: by a socket of any type, listening or not, or by a
// file.
func TestServeTakesNoSocketNameThatIsInUse(t *testing.T) {
	dir := shortDir(t)
	path := func(name string) string { return filepath.Join(dir, name) }
	held := func(name string, kind int) {
		fd, err := unix.Socket(unix.AF_UNIX, kind, 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { unix.Close(fd) })
		if err := unix.Bind(fd, &unix.SockaddrUnix{Name: path(name)}); err != nil {
			t.Fatal(err)
		}
	}
	held("datagrams", unix.SOCK_DGRAM)
	held("bound", unix.SOCK_STREAM)
	l, err := net.Listen("unix", path("listens"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	write(t, path("file"), "thesis")
	if err := syscall.Mkfifo(path("pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("listens", path("link")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"datagrams", "bound", "listens", "file", "pipe", "link"} {
		before, err := os.Lstat(path(name))
		if err != nil {
			t.Fatal(err)
		}
		for _, flag := range []string{"--listen", "--clamd"} {
			var errs bytes.Buffer
			if code := run(t, nil, io.Discard, &errs, "serve", flag, "unix:"+path(name)); code != 2 || !strings.Contains(errs.String(), "a killed service left") {
				t.Errorf("%s %s: exit %d, %s", flag, name, code, &errs)
			}
		}
		if after, err := os.Lstat(path(name)); err != nil || !os.SameFile(before, after) {
			t.Errorf("%s was replaced: %v", name, err)
		}
	}
}

// A service that ends removes the name of its own socket, but not if another service has taken the
// name meanwhile.
func TestServeRemovesOnlyItsOwnSocket(t *testing.T) {
	path := filepath.Join(shortDir(t), "s")
	s := startService(t, "--clamd", "unix:"+path)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	other, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if err := s.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := s.Wait(); err != nil {
		t.Error(err)
	}
	if c, err := net.Dial("unix", path); err != nil {
		t.Errorf("the socket of another service is gone: %v", err)
	} else {
		c.Close()
	}
}

// shortDir is a folder for sockets, the length of whose names is bounded.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "amn")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}
