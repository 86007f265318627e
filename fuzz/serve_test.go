package fuzz_test

import (
	"bytes"
	"context"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anamnesis-go/anamnesis/gate/clamd"
	"github.com/anamnesis-go/anamnesis/gate/handler"
	"github.com/anamnesis-go/anamnesis/gate/host"
)

// A oneConn is a listener with a single connection.
type oneConn struct {
	conn chan net.Conn
	once sync.Once
}

func (o *oneConn) Accept() (net.Conn, error) {
	c, ok := <-o.conn
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}
func (o *oneConn) Close() error   { o.once.Do(func() { close(o.conn) }); return nil }
func (o *oneConn) Addr() net.Addr { return &net.TCPAddr{} }

// FuzzClamd sends any bytes as commands: each answer must be one of the protocol's, and
// the host must hold nothing afterwards.
func FuzzClamd(f *testing.F) {
	const evil = "cos\nsystem\n(S'id'\ntR."
	for _, seed := range []string{
		"nPING\n", "zPING\x00", "PING\n", "nVERSION\n", "nSTATS\n", "nSCAN /etc/passwd\n", "zCONTSCAN a\x00", "nINSTREAM\n\x00\x00\x00\x16" + evil + "\x00\x00\x00\x00",
		"zIDSESSION\x00zINSTREAM\x00\x00\x00\x00\x02ab\x00\x00\x00\x00zPING\x00zEND\x00", "nINSTREAM\n\xff\xff\xff\xff", "n\n", "nSCAN ../../x\n", "nSCAN a\rb\n", "zEND\x00",
	} {
		f.Add([]byte(seed))
	}
	root, err := os.OpenRoot(f.TempDir())
	if err != nil {
		f.Fatal(err)
	}
	defer root.Close()
	f.Fuzz(func(t *testing.T, sent []byte) {
		h, err := host.New(host.Options{MaxFile: 4096, Dir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		s := clamd.Server{Host: h, Root: root.FS(), Dir: "/root", Version: "anamnesis", Idle: 5 * time.Second}
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		l := &oneConn{conn: make(chan net.Conn, 1)}
		ours, theirs := net.Pipe()
		l.conn <- theirs
		done := make(chan error)
		go func() { done <- s.Serve(ctx, l) }()
		go func() {
			_, _ = ours.Write(sent) // the server may have left
			time.Sleep(time.Millisecond)
			ours.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
		}()
		text, _ := io.ReadAll(ours) // to the deadline, at the latest
		ours.Close()
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
		for _, line := range strings.FieldsFunc(string(text), func(r rune) bool { return r == '\n' || r == 0 }) {
			if !answerLine(line) {
				t.Errorf("%q is no answer of the protocol; all: %q", line, text)
			}
		}
		h.Close()
		if l := h.Load(); l.Uploads != 0 || l.Spooled != 0 || l.Judging != 0 {
			t.Errorf("held: %+v", l)
		}
	})
}

func answerLine(line string) bool {
	for _, end := range []string{"PONG", "OK", "FOUND", "ERROR", "anamnesis", "END"} {
		if strings.HasSuffix(line, end) {
			return true
		}
	}
	for _, begin := range []string{"POOLS:", "STATE:", "THREADS:", "QUEUE:", "\tSTATS", "MEMSTATS:"} {
		if strings.Contains(line, begin) {
			return true
		}
	}
	return strings.Contains(line, "| COMMANDS:")
}

// FuzzUpload sends any body as a form: the next handler must get only accepted files, and
// the same that Go's form reader finds.
func FuzzUpload(f *testing.F) {
	const honest = "\x02\x00\x00\x00\x00\x00\x00\x00{}"
	part := func(header, data string) string { return "--x\r\n" + header + "\r\n\r\n" + data + "\r\n" }
	file := `Content-Disposition: form-data; name="f"; filename="m.safetensors"`
	for _, seed := range []string{
		part(file, honest) + "--x--\r\n", part(`Content-Disposition: form-data; name="a"`, "1") + part(file, honest) + "--x--", part(file, "cos\nsystem\n(S'id'\ntR.") + "--x--",
		part(file+"\r\nContent-Transfer-Encoding: quoted-printable", honest) + "--x--", part(file, honest), "--x", part("A: b", honest) + "--x--", part(file, "--x--"),
		part(file, honest) + part(`Content-Disposition: form-data; name="f"; filename="sub/config.json"`, "{}") + "--x--", part(file, honest) + part(file, honest) + "--x--",
		part(`Content-Disposition: form-data; name="f"; filename="config.json"`, "{}") + part(file, honest) + part(`Content-Disposition: form-data; name="f"; filename="M.safetensors"`, honest) + "--x--",
		part(file, honest+"\n--x\r\n"+file+"\r\n\r\n"+honest) + "--x--", part(file, honest+"\r--x\r") + "--x--", part(file, honest+"\r\n--x \r\n") + "--x--", part(file, honest+"\n--x--\n") + "--x--",
		part(file+"\r\nContent-Transfer-Encoding: 7bit\r\nContent-Transfer-Encoding: base64", honest) + "--x--", part(file+"\n\n", honest) + "--x--", part(file+"\r\nContent-Length: 3", honest) + "--x--",
		part(file+"\r\nContent-Type: text/plain; name=\"e.bin\"", honest) + "--x--", part(file+"\r\nContent-Length: 10\r\nContent-Transfer-Encoding: binary", honest) + "--x--\r\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		got := map[string]string{}
		next := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			for _, u := range handler.Uploads(r.Context()) {
				for _, f := range u.Files() {
					data, err := io.ReadAll(f.Reader())
					if err != nil || !u.Verdict.Accepted() {
						t.Errorf("%s reached the handler: %v, %v", f.Name, err, u.Verdict.Err)
					}
					got[string(data)] = path.Base(f.Name)
				}
				if len(u.Files()) > 0 {
					continue
				}
				data, err := io.ReadAll(u.Reader())
				if err != nil || !u.Verdict.Accepted() {
					t.Errorf("%s reached the handler: %v, %v", u.Name, err, u.Verdict.Err)
				}
				got[string(data)] = u.Name
			}
		})
		h, err := handler.New(next, handler.Options{Options: host.Options{MaxFile: 1 << 16, Dir: t.TempDir()}})
		if err != nil {
			t.Fatal(err)
		}
		r := httptest.NewRequestWithContext(t.Context(), "POST", "/", bytes.NewReader(body))
		r.Header.Set("Content-Type", "multipart/form-data; boundary=x")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != 200 && w.Header().Get("Content-Type") != "application/problem+json" || w.Code == 500 {
			t.Errorf("%d, %s", w.Code, w.Body)
		}
		if w.Code == 200 {
			sameForm(t, body, got)
		}
		h.Close()
		if l := h.Host().Load(); l.Uploads != 0 || l.Spooled != 0 {
			t.Errorf("held: %+v", l)
		}
	})
}

// sameForm tests that Go's reader, without our bounds, finds the same files.
func sameForm(t *testing.T, body []byte, got map[string]string) {
	t.Helper()
	form, err := multipart.NewReader(bytes.NewReader(body), "x").ReadForm(1 << 20)
	if err != nil {
		t.Errorf("taken, and Go's reader says %v", err)
		return
	}
	defer form.RemoveAll()
	for _, list := range form.File {
		for _, fh := range list {
			file, err := fh.Open()
			if err != nil {
				t.Fatal(err)
			}
			data, err := io.ReadAll(file)
			file.Close()
			if _, ok := got[string(data)]; err != nil || !ok {
				t.Errorf("file %q was not judged: %v", fh.Filename, err)
			}
		}
	}
}
