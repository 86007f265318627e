package host_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"io/fs"
	"log"
	"mime/multipart"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/gate/clamd"
	"github.com/anamnesis-go/anamnesis/gate/handler"
	"github.com/anamnesis-go/anamnesis/gate/host"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// The minima are the points that were found when a surface was added, in pieces of four
// bytes: a change that makes the harness blind for some fails.
var surfaces = []surface{
	{"HTTP 1.1", overHTTP(oneFile(false), false), 28},
	{"HTTP 1.1 in chunks", overHTTP(oneFile(true), false), 40},
	{"HTTP 1.1, a form", overHTTP(form, false), 126},
	{"HTTP 2", overHTTP(oneFile(true), true), 38},
	{"handler.Handler", direct, 15},
	{"clamd INSTREAM", overClamd(func(_, data string) string {
		return "zINSTREAM\x00" + string(binary.BigEndian.AppendUint32(nil, uint32(len(data)))) + data + "\x00\x00\x00\x00"
	}), 19},
	{"clamd SCAN", overClamd(func(name, _ string) string { return "zSCAN " + name + "\x00" }), 16},
	{"Stream", stream, 3},
	{"CheckFS", checkFS, 8},
	{"CheckPath", checkPath, 3},
	{"in a child", inChild, 40},
}

// oneConn is a listener of one connection.
type oneConn struct {
	conn chan net.Conn
	once sync.Once
}

func (o *oneConn) Accept() (net.Conn, error) {
	if c, ok := <-o.conn; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}
func (o *oneConn) Close() error   { o.once.Do(func() { close(o.conn) }); return nil }
func (o *oneConn) Addr() net.Addr { return &net.TCPAddr{} }

func listener(c net.Conn) *oneConn {
	l := &oneConn{conn: make(chan net.Conn, 1)}
	l.conn <- c
	return l
}

// oneFile is a request with a file as its body.
func oneFile(chunked bool) func(name, data string) (http.Header, string) {
	return func(name, data string) (http.Header, string) {
		if !chunked {
			return http.Header{"Content-Length": {fmt.Sprint(len(data))}, "X-Name": {name}}, data
		}
		return http.Header{"Transfer-Encoding": {"chunked"}, "X-Name": {name}}, fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(data), data)
	}
}

// form is a request with the file in a form, as one of a folder.
func form(name, data string) (http.Header, string) {
	var body bytes.Buffer
	m := multipart.NewWriter(&body)
	_ = m.SetBoundary("x")
	for _, f := range [][2]string{{"first.safetensors", sent["honest.safetensors"]}, {"sub/" + name, data}, {"config.json", "{}"}} {
		w, _ := m.CreateFormFile("f", f[0])
		_, _ = io.WriteString(w, f[1])
	}
	_ = m.Close()
	return http.Header{"Content-Length": {fmt.Sprint(body.Len())}, "Content-Type": {"multipart/form-data; boundary=x"}, "X-Name": {name}}, body.String()
}

// A status records the status of a handler: the one it writes, or 200 if it returns without
// writing.
type status struct {
	http.ResponseWriter
	code int
}

func (w *status) WriteHeader(code int) {
	if w.code == 0 {
		w.code = code
	}
	w.ResponseWriter.WriteHeader(code)
}

func (w *status) Write(p []byte) (int, error) {
	if w.code == 0 {
		w.code = http.StatusOK
	}
	return w.ResponseWriter.Write(p)
}
func (w *status) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// gated returns a handler with points, and what it passes on.
func gated(t *testing.T, s *script, name string) (h *handler.Handler, called *bool) {
	t.Helper()
	called = new(bool)
	next := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*called = true
		for _, u := range handler.Uploads(r.Context()) {
			if a, ok := u.Acceptance(); !ok || a.Size() != u.Size {
				t.Errorf("%s reached the next handler without an acceptance", u.Name)
			}
		}
		fmt.Fprint(w, "stored")
	})
	h, err := handler.New(next, handler.Options{Options: host.Options{
		Dir: spoolDir(t), Memory: s.room, Slots: 1, Judge: s.judge, Gate: gate.Gate{Seen: func(*limits.Budget, tensor.Model) error { s.point("judge"); return nil }},
	}, NameOf: func(*http.Request) string { return name }, DiscardTime: -1})
	if err != nil {
		t.Fatal(err)
	}
	s.spools(h.Host())
	return h, called
}

// overHTTP sends a request over a connection.
func overHTTP(request func(name, data string) (http.Header, string), two bool) func(*testing.T, *script, string, string, int) bool {
	return func(t *testing.T, s *script, name, data string, piece int) bool {
		h, called := gated(t, s, name)
		codes, answers := []int{}, make(chan struct{}, 1)
		var mu sync.Mutex
		noted := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			n := &status{ResponseWriter: w}
			defer func() {
				p := recover()
				mu.Lock()
				if n.code == 0 && p == nil {
					n.code = http.StatusOK // as net/http answers
				}
				codes = append(codes, n.code)
				mu.Unlock()
				answers <- struct{}{}
				if p != nil {
					panic(http.ErrAbortHandler)
				}
			}()
			h.ServeHTTP(n, r)
		})
		header, body := request(name, data)
		text := "PUT / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
		if header.Get("Content-Type") != "" {
			text = strings.Replace(text, "PUT", "POST", 1)
		}
		var head bytes.Buffer
		_ = header.Write(&head)
		text += head.String() + "\r\n" + body
		if two {
			text, piece = frames(data), 4*piece
		}
		w := s.wire(text, piece)
		ctx, stop := context.WithCancel(t.Context())
		server := &http.Server{Handler: noted, BaseContext: func(net.Listener) context.Context { return ctx }, ErrorLog: log.New(io.Discard, "", 0), ReadHeaderTimeout: time.Hour, Protocols: new(http.Protocols)}
		server.Protocols.SetHTTP1(!two)
		server.Protocols.SetUnencryptedHTTP2(two)
		s.do = map[fault]func(){cancel: stop, deadline: w.Pass, shutdown: h.Drain}
		n := meet(t, s, h.Host())
		l := listener(w)
		served := make(chan struct{})
		go func() { defer close(served); _ = server.Serve(l) }()
		ends := w.Done()
		if two { // the connection would wait for the next stream
			select {
			case <-answers:
				_ = server.Close()
			case <-w.Done():
			case <-time.After(20 * time.Second):
				t.Error("a request hangs")
			}
		}
		select {
		case <-ends:
		case <-time.After(20 * time.Second):
			t.Errorf("a request hangs: %s, %s at point %d", name, faultNames[s.what], s.at)
		}
		stop()
		_ = server.Close()
		<-served
		n.leave(t, s)
		h.Close()
		if err := held(h.Host()); err != nil {
			t.Errorf("%s, %s at point %d: %v", name, faultNames[s.what], s.at, err)
		}
		mu.Lock()
		defer mu.Unlock()
		accepted := *called
		for _, code := range codes {
			accepted = accepted || code != 0 && code < 400
		}
		if !two && strings.HasPrefix(w.Answered(), "HTTP/1.1 ") {
			accepted = accepted || w.Answered()[9] < '4'
		}
		return accepted
	}
}

// frames is a request of HTTP/2 as a client writes it: preface, settings, and a stream with
// the file. The header is a block of literals that are not indexed.
func frames(data string) string {
	frame := func(kind, flags byte, stream uint32, payload string) string {
		n := len(payload)
		return string([]byte{byte(n >> 16), byte(n >> 8), byte(n), kind, flags}) + string(binary.BigEndian.AppendUint32(nil, stream)) + payload
	}
	block := ""
	for _, h := range [][2]string{{":method", "PUT"}, {":scheme", "http"}, {":path", "/"}, {":authority", "x"}} {
		block += "\x00" + string([]byte{byte(len(h[0]))}) + h[0] + string([]byte{byte(len(h[1]))}) + h[1]
	}
	text := "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0, "") + frame(1, 4, 1, block)
	for i := range len(data) { // a frame for each byte
		end := byte(0)
		if i == len(data)-1 {
			end = 1
		}
		text += frame(0, end, 1, data[i:i+1])
	}
	return text
}

// A countedContext has a point at each check whether it has ended.
type countedContext struct {
	context.Context
	s *script
}

func (c countedContext) Err() error {
	c.s.point("ctx")
	return c.Context.Err()
}

// A badBody is a body with points.
type badBody struct {
	s     *script
	r     io.Reader
	piece int
}

func (b *badBody) Read(p []byte) (int, error) {
	switch b.s.point("body") {
	case halfClose:
		return 0, io.ErrUnexpectedEOF
	case reset:
		return 0, syscall.ECONNRESET
	}
	return b.r.Read(p[:min(len(p), b.piece)])
}

// direct calls the handler without a server.
func direct(t *testing.T, s *script, name, data string, piece int) (accepted bool) {
	h, called := gated(t, s, name)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	s.do = map[fault]func(){cancel: stop, shutdown: h.Drain}
	n := meet(t, s, h.Host())
	w := httptest.NewRecorder()
	func() {
		defer func() {
			if p := recover(); p == nil {
				accepted = w.Code < 400 // of a recorder, 200 if nothing was written
			}
		}()
		r := httptest.NewRequestWithContext(countedContext{ctx, s}, http.MethodPut, "/", &badBody{s, strings.NewReader(data), piece})
		h.ServeHTTP(w, r)
	}()
	n.leave(t, s)
	h.Close()
	if err := held(h.Host()); err != nil {
		t.Errorf("%s, %s at point %d: %v", name, faultNames[s.what], s.at, err)
	}
	return accepted || *called
}

// A badFS has points at what is opened, and read.
type badFS struct {
	fs.FS
	s *script
}

func (b badFS) Open(name string) (fs.File, error) {
	switch b.s.point("file") {
	case noFiles:
		return nil, &fs.PathError{Op: "open", Path: name, Err: syscall.EMFILE}
	case unreadable:
		return nil, &fs.PathError{Op: "open", Path: name, Err: syscall.EIO}
	}
	f, err := b.FS.Open(name)
	if r, ok := f.(io.ReaderAt); ok && err == nil {
		return &badOpen{f, r, b.s}, nil
	}
	return f, err
}

type badOpen struct {
	fs.File
	r io.ReaderAt
	s *script
}

func (b *badOpen) ReadAt(p []byte, off int64) (int, error) {
	if b.s.point("file") == unreadable {
		return 0, syscall.EIO
	}
	return b.r.ReadAt(p, off)
}

// overClamd sends a command of clamd's protocol.
func overClamd(command func(name, data string) string) func(*testing.T, *script, string, string, int) bool {
	return func(t *testing.T, s *script, name, data string, piece int) bool {
		h, err := host.New(host.Options{Dir: spoolDir(t), Memory: s.room, Slots: 1, Gate: gate.Gate{Seen: func(*limits.Budget, tensor.Model) error { s.point("judge"); return nil }}})
		if err != nil {
			t.Fatal(err)
		}
		s.spools(h)
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		w := s.wire(command(name, data), piece)
		w.End()
		server := clamd.Server{Host: h, Root: badFS{fstest.MapFS{name: {Data: []byte(data), Mode: 0o600}}, s}, Dir: "/root"}
		s.do = map[fault]func(){cancel: stop, shutdown: stop, deadline: w.Pass}
		n := meet(t, s, h)
		l := listener(w)
		served := make(chan error, 1)
		go func() { served <- server.Serve(ctx, l) }()
		select {
		case <-w.Done():
		case <-time.After(20 * time.Second):
			t.Errorf("a command hangs: %s, %s at point %d", name, faultNames[s.what], s.at)
		}
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
		n.leave(t, s)
		h.Close()
		if err := held(h); err != nil {
			t.Errorf("%s, %s at point %d: %v", name, faultNames[s.what], s.at, err)
		}
		return strings.Contains(w.Answered(), "OK")
	}
}
