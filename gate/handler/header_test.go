package handler_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/gate/handler"
)

// What is judged is the whole of what is stored: a body that is encoded, or a part of
// a larger one, is refused, wherever the header says so.
func TestBodiesThatAreNoWholeFile(t *testing.T) {
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
