//go:build linux || darwin

package host_test

import (
	"context"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/gate/clamd"
	"github.com/anamnesis-go/anamnesis/gate/host"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// systemSurfaces need what not every system has.
var systemSurfaces = []surface{{"clamd FILDES", fildes, 4}}

// fildes passes a descriptor over a Unix socket: points are what the client sends, and the
// judgement. The socket is the system's, so a client that falls silent is cut in real time.
func fildes(t *testing.T, s *script, name, data string, _ int) bool {
	h, err := host.New(host.Options{Dir: spoolDir(t), Memory: s.room, Slots: 1, Gate: gate.Gate{Seen: func(*limits.Budget, tensor.Model) error { s.point("judge"); return nil }}})
	if err != nil {
		t.Fatal(err)
	}
	s.spools(h)
	dir, err := os.MkdirTemp("", "amn") // a short name: that of a socket is bounded
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte(data), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	server := clamd.Server{Host: h, Idle: time.Minute}
	if s.what == stall || s.what == deadline {
		server.Idle = 20 * time.Millisecond
	}
	s.do = map[fault]func(){cancel: stop, shutdown: stop}
	n := meet(t, s, h)
	served := make(chan error, 1)
	go func() { served <- server.Serve(ctx, l) }()
	answer := pass(t, s, filepath.Join(dir, "s"), file)
	stop()
	if err := <-served; err != nil {
		t.Error(err)
	}
	n.leave(t, s)
	h.Close()
	if err := held(h); err != nil {
		t.Errorf("%s, %s at point %d: %v", name, faultNames[s.what], s.at, err)
	}
	return strings.Contains(answer, "OK")
}

// pass is the client: it sends the command and the descriptor in pieces, with a point before
// each, and returns what is answered.
func pass(t *testing.T, s *script, socket, file string) string {
	conn, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	c := conn.(*net.UnixConn)
	fd, err := unix.Open(file, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(&fs.PathError{Op: "open", Path: file, Err: err})
	}
	defer unix.Close(fd)
	for _, piece := range []string{"zFIL", "DES\x00", "\x00"} {
		switch s.point("read") {
		case halfClose:
			_ = c.CloseWrite()
		case reset:
			return ""
		case none:
			var rights []byte
			if piece == "\x00" {
				rights = unix.UnixRights(fd)
			}
			if _, _, err := c.WriteMsgUnix([]byte(piece), rights, nil); err != nil { // the server has cut it
				return ""
			}
			continue
		}
		break // the client sends no more
	}
	if err := c.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 512)
	k, err := io.ReadAtLeast(c, got, 1)
	if e, ok := err.(net.Error); ok && e.Timeout() {
		t.Errorf("a command hangs: %s at point %d", faultNames[s.what], s.at)
	}
	return string(got[:k])
}
