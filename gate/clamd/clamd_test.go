package clamd_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/anamnesis-go/anamnesis/gate/clamd"
	"github.com/anamnesis-go/anamnesis/gate/host"
)

const (
	evil   = "cos\nsystem\n(S'id'\ntR."
	honest = "\x02\x00\x00\x00\x00\x00\x00\x00{}"
)

// serve answers on a loopback port; the client's time is short.
func serve(t *testing.T, dir string) string {
	t.Helper()
	h, err := host.New(host.Options{MaxFile: 1 << 20, Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	s := clamd.Server{Host: h, Version: "anamnesis test", MaxConns: 8, Idle: time.Second}
	if dir != "" {
		root, err := os.OpenRoot(dir)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { root.Close() })
		s.Root, s.Dir = clamd.Below(root), filepath.ToSlash(dir)
	}
	l, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		t.Fatal(err)
	}
	answering(t, &s, l)
	return l.Addr().String()
}

// answering serves until the test ends, when nothing is left of the host.
func answering(t *testing.T, s *clamd.Server, l net.Listener) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- s.Serve(ctx, l) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if l := s.Host.Load(); l != (host.Load{}) {
			t.Errorf("left behind: %+v", l)
		}
		s.Host.Close()
	})
}

// say sends all and reads to the end.
func say(t *testing.T, addr, text string) string {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
	if err := c.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	out, err := io.ReadAll(c)
	if err != nil {
		t.Fatalf("after %q: %v", out, err)
	}
	return string(out)
}

// body is a stream in pieces of n bytes.
func body(data string, n int) string {
	var out bytes.Buffer
	for len(data) > 0 {
		p := data[:min(n, len(data))]
		data = data[len(p):]
		out.Write(binary.BigEndian.AppendUint32(nil, uint32(len(p))))
		out.WriteString(p)
	}
	return out.String() + "\x00\x00\x00\x00"
}

func TestCommands(t *testing.T) {
	addr := serve(t, "")
	for _, tc := range []struct{ what, sent, answer string }{
		{"ping", "nPING\n", "PONG\n"},
		{"ping with zeros", "zPING\x00", "PONG\x00"},
		{"ping of old", "PING\n", "PONG\n"},
		{"version", "nVERSION\n", "anamnesis test\n"},
		{"an unknown one", "nSHUTDOWN\n", "UNKNOWN COMMAND ERROR\n"},
		{"a reload of nothing", "nRELOAD\n", "There is nothing to reload. ERROR\n"},
		{"a descriptor over TCP", "nFILDES\n", "FILDES needs a Unix socket. ERROR\n"},
		{"a path without a root", "nSCAN /etc/passwd\n", "/etc/passwd: No path below the root. ERROR\n"},
		{"honest", "zINSTREAM\x00" + body(honest, 3), "stream: OK\x00"},
		{"text", "zINSTREAM\x00" + body("hello", 3), "stream: OK\x00"},
		{"evil", "nINSTREAM\n" + body(evil, 7), "stream: Anamnesis.pickle.global FOUND\n"},
		{"packed", "nINSTREAM\n" + body("\x1f\x8b\x08\x00\x00\x00\x00\x00", 7), "stream: Anamnesis.gzip.truncated FOUND\n"},
		{"too large", "nINSTREAM\n" + body(strings.Repeat("x", 1<<20+1), 64<<10), "stream: Anamnesis.limit.file FOUND\n"},
		{"a session", "zIDSESSION\x00zPING\x00zINSTREAM\x00" + body(evil, 100) + "zINSTREAM\x00" + body(honest, 100) + "zEND\x00", "1: PONG\x002: stream: Anamnesis.pickle.global FOUND\x003: stream: OK\x00"},
		{"a long command", "n" + strings.Repeat("P", 9000), "The command is too long. ERROR\n"},
	} {
		if got := say(t, addr, tc.sent); got != tc.answer {
			t.Errorf("%s: %q, not %q", tc.what, got, tc.answer)
		}
	}
	if got := say(t, addr, "nSTATS\n"); !strings.HasPrefix(got, "POOLS: 1") || !strings.HasSuffix(got, "END\n") {
		t.Errorf("stats: %q", got)
	}
}

// A stream that ends without its last piece was cut, and gets no verdict.
func TestAStreamThatIsCutGetsNoVerdict(t *testing.T) {
	addr, whole := serve(t, ""), "zINSTREAM\x00"+body(honest, len(honest))
	for cut := len("zINSTREAM\x00"); cut < len(whole); cut++ {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(c, whole[:cut]); err != nil {
			t.Fatal(err)
		}
		if err := c.(*net.TCPConn).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		out, err := io.ReadAll(c)
		c.Close()
		if err != nil || strings.Contains(string(out), "OK") || strings.Contains(string(out), "FOUND") {
			t.Errorf("%d of %d bytes: %q, %v", cut, len(whole), out, err)
		}
	}
}

func TestPathsStayBelowTheRoot(t *testing.T) {
	dir := t.TempDir()
	root := filepath.Join(dir, "root")
	for name, data := range map[string]string{
		"root/a.safetensors": honest, "root/b/evil.pkl": evil, "root/b/c.txt": "text", "outside.pkl": evil, "root/n\nx: OK/m.pkl": evil,
	} {
		p := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(data), 0o644); err != nil {
			t.Skipf("this system has no such names: %v", err)
		}
	}
	if err := os.Symlink(filepath.Join(dir, "outside.pkl"), filepath.Join(root, "link")); err != nil {
		t.Fatal(err)
	}
	addr, slash := serve(t, root), filepath.ToSlash(root)
	for _, tc := range []struct{ sent, answer string }{
		{"SCAN /a.safetensors", "/a.safetensors: OK\n"},
		{"SCAN /b", "/b/evil.pkl: Anamnesis.pickle.global FOUND\n"},
		{"SCAN /link", "/link: No such file. ERROR\n"},
		{"SCAN /../outside.pkl", "/../outside.pkl: No path below the root. ERROR\n"},
		{"SCAN /none", "/none: No such file. ERROR\n"},
		{"CONTSCAN ", "/b/evil.pkl: Anamnesis.pickle.global FOUND\n%[1]s/link: No regular file below the root. ERROR\n%[1]s/n\\u{a}x: OK/m.pkl: Anamnesis.pickle.global FOUND\n"},
	} {
		name, path, _ := strings.Cut(tc.sent, " ")
		want := slash + tc.answer
		if strings.Contains(want, "%[1]s") {
			want = fmt.Sprintf(want, slash)
		}
		if got := say(t, addr, "n"+name+" "+slash+path+"\n"); got != want {
			t.Errorf("%s: %q, not %q", tc.sent, got, want)
		}
	}
}

// Silent clients hold a connection for a limited time, and only as many as the limit allows.
func TestSilentClientsAreDisconnected(t *testing.T) {
	addr := serve(t, "")
	var silent []net.Conn
	for range 8 {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		silent = append(silent, c)
	}
	for _, c := range silent {
		if err := c.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
			t.Fatal(err)
		}
		if n, err := c.Read(make([]byte, 1)); n > 0 || err == nil || os.IsTimeout(err) {
			t.Errorf("a silent client: %d, %v", n, err)
		}
	}
	if got := say(t, addr, "nPING\n"); got != "PONG\n" {
		t.Errorf("after the silent ones: %q", got)
	}
}
