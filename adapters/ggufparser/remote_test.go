package gguf_parser_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	gguf_parser "github.com/anamnesis-go/anamnesis/adapters/ggufparser"
	"github.com/anamnesis-go/anamnesis/remote"
)

func TestARemoteFileIsTheLocalOne(t *testing.T) {
	for name, path := range models(t) {
		want, err := gguf_parser.ParseGGUFFile(path)
		if err != nil {
			continue // gguf-parser-go panics for it
		}
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "Bearer secret" {
				http.Error(w, "no token", http.StatusUnauthorized)
				return
			}
			w.Header().Set("ETag", `"1"`)
			http.ServeFile(w, r, path)
		}))
		address := server.URL + "/blobs/" + filepath.Base(path)
		got, err := gguf_parser.ParseGGUFFileRemote(t.Context(), address, gguf_parser.AllowPrivate(), gguf_parser.UseBearerAuth("secret"))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else {
			compare(t, name, want, got)
		}
		if _, err := gguf_parser.ParseGGUFFileRemote(t.Context(), address, gguf_parser.AllowPrivate()); err == nil {
			t.Errorf("%s: read without its token", name)
		}
		server.Close()
	}
}

func TestAnAddressInsideIsRefused(t *testing.T) {
	_, err := gguf_parser.ParseGGUFFileRemote(t.Context(), "https://127.0.0.1:1/model.gguf", gguf_parser.UseBearerAuth("secret"))
	if !errors.Is(err, remote.ErrForbidden) {
		t.Errorf("error %v, want one that is forbidden", err)
	}
}
