package handler_test

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/gate/handler"
)

// The judged bytes are the stored bytes: an encoded body, or a part of a larger one, is refused,
// whichever header says so.
func TestPartialAndEncodedBodiesAreRefused(t *testing.T) {
	stored := 0
	h, err := handler.New(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { stored++ }), handler.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	for _, c := range []struct {
		header []string
		status int
	}{
		{[]string{"Content-Encoding", "identity"}, 200},
		{[]string{"Content-Encoding", "gzip"}, 415},
		{[]string{"Content-Encoding", "identity", "Content-Encoding", "gzip"}, 415},
		{[]string{"Content-Encoding", "", "Content-Encoding", "br"}, 415},
		{[]string{"Content-Range", "bytes 0-9/20"}, 400},
		{[]string{"Content-Range", ""}, 400},
	} {
		r := httptest.NewRequest(http.MethodPut, "/m.safetensors", strings.NewReader("\x02\x00\x00\x00\x00\x00\x00\x00{}"))
		for i := 0; i < len(c.header); i += 2 {
			r.Header.Add(c.header[i], c.header[i+1])
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != c.status {
			t.Errorf("%q: %d %s", c.header, w.Code, w.Body)
		}
	}
	if stored != 1 {
		t.Errorf("%d files were handed on", stored)
	}
}

// Malformed chunks are errors of the client, not of the server.
func TestMalformedChunksAreErrorsOfTheClient(t *testing.T) {
	h, err := handler.New(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("handed on") }), handler.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	s := httptest.NewServer(h)
	defer s.Close()
	for _, chunks := range []string{"-a\r\n", "\r\n", "a\r\n0123456789xx", "11111111111111111\r\n", "x\r\n", "a\r\n01234"} {
		c, err := net.Dial("tcp", s.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		_, err = io.WriteString(c, "PUT /m HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"+chunks)
		if err == nil {
			err = c.(*net.TCPConn).CloseWrite()
		}
		if err != nil {
			t.Fatal(err)
		}
		out, _ := io.ReadAll(c) // the server may close with bytes unread
		c.Close()
		if !strings.HasPrefix(string(out), "HTTP/1.1 400 ") {
			t.Errorf("%q: %q", chunks, out)
		}
	}
}
