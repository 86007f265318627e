package fuzz_test

import (
	"io"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/ollama"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// FuzzOllama tests that no name and no manifest leads out of the store, and that every
// refusal has a class.
func FuzzOllama(f *testing.F) {
	digest := strings.Repeat("0a", 32)
	f.Add("ollama:m", []byte(`{"schemaVersion":2,"layers":[{"mediaType":"application/vnd.ollama.image.model","digest":"sha256:`+digest+`","size":3}]}`))
	f.Add("ollama:hf.co/a/b:c", []byte(`{"schemaVersion":2,"layers":[{"mediaType":"application/vnd.ollama.image.tensor","digest":"sha256:`+digest+`","size":3,"name":"x"}]}`))
	f.Add("ollama:../m", []byte(`{"layers":[{"digest":"sha256:../../x"}]}`))
	f.Fuzz(func(t *testing.T, name string, manifest []byte) {
		n, err := ollama.ParseName(name)
		if err != nil {
			if wire.ClassOf(err) != wire.Usage {
				t.Fatalf("class %v: %v", wire.ClassOf(err), err)
			}
			return
		}
		if !fs.ValidPath(n.Path()) || strings.Count(n.Path(), "/") != 4 {
			t.Fatalf("%q leads to %q", name, n.Path())
		}
		store := confined{t, fstest.MapFS{
			n.Path():                 {Data: manifest},
			"blobs/sha256-" + digest: {Data: []byte("abc")},
		}}
		b := limits.Policy{}.Budget(t.Context())
		defer b.Close()
		m, err := ollama.Open(b, store, n, func(_ *limits.Budget, r io.ReaderAt, _ int64) (tensor.Model, error) {
			return &tensor.File{Name: "safetensors", Source: r}, nil
		})
		if err != nil {
			if wire.ClassOf(err) == wire.Internal {
				t.Fatalf("no class: %v", err)
			}
			return
		}
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

// A confined store fails the test if a path could leave it.
type confined struct {
	t *testing.T
	fs.FS
}

func (c confined) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) || !strings.HasPrefix(name, "manifests/") && !strings.HasPrefix(name, "blobs/") {
		c.t.Fatalf("the store was asked for %q", name)
	}
	return c.FS.Open(name)
}
