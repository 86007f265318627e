//go:build linux || darwin

package clamd_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/anamnesis-go/anamnesis/gate/clamd"
	"github.com/anamnesis-go/anamnesis/gate/host"
)

// socket serves on a Unix socket.
func socket(t *testing.T, s *clamd.Server) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "amn") // a short name: that of a socket is bounded
	if err != nil {
		t.Fatal(err)
	}
	h, err := host.New(host.Options{MaxFile: 1 << 20, Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	s.Host = h
	path := filepath.Join(dir, "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	answering(t, s, l)
	return path
}

// descriptors is how many are open in this process.
func descriptors(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/dev/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

// pass sends messages, each with descriptors, and returns the answers.
func pass(t *testing.T, path string, messages ...message) string {
	t.Helper()
	c, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, m := range messages {
		var rights []byte
		if len(m.fds) > 0 {
			rights = unix.UnixRights(m.fds...)
		}
		_, _, err := c.(*net.UnixConn).WriteMsgUnix([]byte(m.text), rights, nil)
		if errors.Is(err, unix.EPIPE) { // the server has cut it
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	_ = c.(*net.UnixConn).CloseWrite() // it may be cut
	if err := c.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	out, err := io.ReadAll(c)
	if err != nil && !errors.Is(err, unix.ECONNRESET) {
		t.Fatal(err)
	}
	return string(out)
}

type message struct {
	text string
	fds  []int
}

func TestFILDES(t *testing.T) {
	path := socket(t, &clamd.Server{Idle: time.Second})
	dir := t.TempDir()
	open := func(name, data string, flags int) int {
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
		fd, err := unix.Open(name, flags|unix.O_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { unix.Close(fd) })
		return fd
	}
	good, bad := open("good.safetensors", honest, unix.O_RDONLY), open("bad.safetensors", evil, unix.O_RDONLY)
	large := open("large", strings.Repeat("x", 1<<20+1), unix.O_RDONLY)
	both, write := open("both", honest, unix.O_RDWR), open("write", honest, unix.O_WRONLY)
	folder, err := unix.Open(dir, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(folder)
	var pipe [2]int
	if err := unix.Pipe(pipe[:]); err != nil {
		t.Fatal(err)
	}
	defer unix.Close(pipe[0])
	defer unix.Close(pipe[1])
	if _, err := unix.Seek(good, 5, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	const ask = "zFILDES\x00"
	before := descriptors(t)
	for _, c := range []struct {
		what string
		sent []message
		want string // a pattern
	}{
		{"an honest file", []message{{ask, nil}, {"\x00", []int{good}}}, `fd\[\d+\]: OK\x00`},
		{"a hostile one", []message{{ask, nil}, {"\x00", []int{bad}}}, `fd\[\d+\]: Anamnesis\.pickle\.global FOUND\x00`},
		{"in one message", []message{{ask + "\x00", []int{bad}}}, `fd\[\d+\]: Anamnesis\.pickle\.global FOUND\x00`},
		{"too large", []message{{ask, nil}, {"\x00", []int{large}}}, `fd\[\d+\]: Anamnesis\.limit\.file FOUND\x00`},
		{"none", []message{{ask, nil}, {"\x00", nil}}, `No file descriptor received\. ERROR\x00`},
		{"two", []message{{ask, nil}, {"\x00", []int{good, bad}}}, `One file descriptor is taken at a time\. ERROR\x00`},
		{"many", []message{{ask, nil}, {"\x00", []int{good, good, good, good, good, good, good, good}}}, `One file descriptor is taken at a time\. ERROR\x00`},
		{"a folder", []message{{ask, nil}, {"\x00", []int{folder}}}, `fd\[\d+\]: It is not a regular file\. ERROR\x00`},
		{"a pipe", []message{{ask, nil}, {"\x00", []int{pipe[0]}}}, `fd\[\d+\]: It is not a regular file\. ERROR\x00`},
		{"one that may be written", []message{{ask, nil}, {"\x00", []int{both}}}, `fd\[\d+\]: It is not open for reading only\. ERROR\x00`},
		{"one that may only be written", []message{{ask, nil}, {"\x00", []int{write}}}, `fd\[\d+\]: It is not open for reading only\. ERROR\x00`},
		{"the end instead", []message{{ask, nil}}, ``},
		{"beside another command", []message{{"zPING\x00", []int{good}}}, `PONG\x00`},
		{"before one that asks", []message{{"zIDSESSION\x00", []int{good}}, {"zPING\x00", []int{good}}, {"zEND\x00", nil}}, `(1: PONG\x00)?`},
		{"a session", []message{
			{"zIDSESSION\x00", nil}, {ask, nil}, {"\x00", []int{bad}}, {ask, nil}, {"\x00", []int{good}}, {ask, nil}, {"\x00", nil}, {"zPING\x00zEND\x00", nil},
		}, `1: fd\[\d+\]: Anamnesis\.pickle\.global FOUND\x002: fd\[\d+\]: OK\x003: No file descriptor received\. ERROR\x004: PONG\x00`},
	} {
		if got := pass(t, path, c.sent...); !regexp.MustCompile("^(?s:" + c.want + ")$").MatchString(got) {
			t.Errorf("%s: %q, not %q", c.what, got, c.want)
		}
	}
	for end := time.Now().Add(time.Minute); descriptors(t) > before; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d descriptors are open, %d were", descriptors(t), before)
		}
	}
	if at, err := unix.Seek(good, 0, io.SeekCurrent); err != nil || at != 5 {
		t.Errorf("the client's descriptor stands at %d, %v", at, err)
	}
}

func TestRELOAD(t *testing.T) {
	answers := make(chan error, 2)
	answers <- nil
	answers <- errors.New("the policy is broken")
	path := socket(t, &clamd.Server{Reload: func() error { return <-answers }})
	for _, want := range []string{"RELOADING\x00", "Not reloaded: the policy is broken. ERROR\x00"} {
		if got := pass(t, path, message{"zRELOAD\x00", nil}); got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
}

// A server that ends cuts a client that still sends, whose stream is never OK.
func TestAServerThatEndsCutsItsClients(t *testing.T) {
	h, err := host.New(host.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	l, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	s, done := clamd.Server{Host: h, Idle: time.Hour, MinRate: -1}, make(chan error)
	go func() { done <- s.Serve(ctx, l) }()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, "zINSTREAM\x00\x00\x00\x10\x00ab"); err != nil {
		t.Fatal(err)
	}
	for h.Load().Uploads == 0 {
		time.Sleep(time.Millisecond)
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if out, _ := io.ReadAll(c); strings.Contains(string(out), "OK") {
		t.Errorf("%q", out)
	}
}

// A failed read of a Unix socket does not return a negative count: a client that leaves, or stays
// silent, ends its connection without a panic.
func TestAFailedReadDoesNotPanic(t *testing.T) {
	var said heard
	path := socket(t, &clamd.Server{Idle: 100 * time.Millisecond, Log: slog.New(slog.NewTextHandler(&said, nil))})
	for what, text := range map[string]string{"half a command": "zPI", "half a stream": "zINSTREAM\x00\x00\x00\x00\x05ab", "no descriptor": "zFILDES\x00", "half a session": "zIDSESSION\x00zPING\x00zPI"} {
		c, err := net.Dial("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(c, text); err != nil {
			t.Fatal(err)
		}
		if err := c.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		if out, err := io.ReadAll(c); errors.Is(err, os.ErrDeadlineExceeded) || strings.Contains(string(out), "OK") {
			t.Errorf("%s: %q, %v", what, out, err)
		}
		c.Close()
	}
	if got := pass(t, path, message{"zPING\x00", nil}); got != "PONG\x00" {
		t.Errorf("after them: %q", got)
	}
	if got := said.String(); strings.Contains(got, "panic") {
		t.Error(got)
	}
}

// heard is a log that may be read while it is written.
type heard struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (h *heard) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.text.Write(p)
}

func (h *heard) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.text.String()
}

// A pipe in the place of a file does not block, even if it replaces the file after it was examined.
func TestAServiceDoesNotWaitForAPipe(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mkfifo(filepath.Join(dir, "model.gguf"), 0o600); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	f, err := clamd.Below(root).Open("model.gguf")
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	for _, name := range []string{"../x", "/model.gguf", ""} {
		if f, err := clamd.Below(root).Open(name); err == nil {
			f.Close()
			t.Errorf("%q is opened", name)
		}
	}
}
