package gguf_test

import (
	"bytes"
	"testing"

	"github.com/anamnesis-go/anamnesis/corpus"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/gguf"
)

// account opens an account that the test's end closes.
func account(t testing.TB, p limits.Policy) *limits.Budget {
	b := p.Budget(t.Context())
	t.Cleanup(b.Close)
	return b
}

func open(t testing.TB, data []byte, b *limits.Budget) *gguf.File {
	t.Helper()
	f, err := gguf.Decode(b, bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// seed is an honest file of the corpus.
func seed(t testing.TB, name string) []byte {
	t.Helper()
	for _, s := range corpus.Valid("gguf") {
		if s.Name == name {
			return s.Data
		}
	}
	t.Fatalf("no %s in the corpus", name)
	return nil
}

// file builds a file from a recipe's body.
func file(t testing.TB, body string) []byte {
	t.Helper()
	r, err := corpus.Parse("gguf", t.Name(), "# A file of a test.\nexpect: ok\n--\n"+body, []string{"ok"})
	if err != nil {
		t.Fatal(err)
	}
	data, err := r.Build()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func codes(f *gguf.File) []string {
	var list []string
	for _, found := range f.Findings() {
		list = append(list, found.Code)
	}
	return list
}
