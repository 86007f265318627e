package parser_test

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/anamnesis-go/anamnesis/corpus"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/limits/limitstest"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// use reads a model as a host would, and closes it.
func use(t *testing.T, b *limits.Budget, name string, m tensor.Model, err error) (opened bool) {
	t.Helper()
	if err != nil {
		return false
	}
	_ = parser.Verify(b, m) // what it finds is another test's
	for info := range m.Tensors() {
		if body, err := m.Body(b, info); err == nil {
			_, _ = io.Copy(io.Discard, body)
			body.Close()
		}
	}
	if err := m.Close(); err != nil {
		t.Errorf("%s: %v", name, err)
	}
	return true
}

// A host can keep one account for all of its models: closing a model returns its memory, and a file
// that is not a model returns it at once.
func TestAClosedModelHoldsNoMemory(t *testing.T) {
	dir := t.TempDir()
	for _, format := range corpus.Formats() {
		b := limitstest.Host(t, limits.Policy{})
		holdsNothing := func(name, after string) {
			if limitstest.NoLeak(t, b); t.Failed() {
				t.Fatalf("%s, %s: after %s and Close", format, name, after)
			}
		}
		opened := 0
		try := func(name string, data []byte) {
			m, err := parser.Decode(b, bytes.NewReader(data), int64(len(data)))
			if use(t, b, name, m, err) {
				opened++
			}
			holdsNothing(name, "Decode")
			path := filepath.Join(dir, "model."+format)
			if err := os.WriteFile(path, data, 0o600); err != nil {
				t.Fatal(err)
			}
			m, err = parser.Open(b, path)
			use(t, b, name, m, err)
			holdsNothing(name, "Open")
		}
		for _, s := range corpus.Valid(format) {
			try(s.Name, s.Data)
		}
		if is := slices.ContainsFunc(parser.Formats(), func(f parser.Format) bool { return f.Name == format }); is && opened == 0 {
			t.Errorf("%s: no model was opened", format)
		}
		for _, r := range corpus.Hostile(format) {
			data, err := r.Build()
			if err != nil {
				t.Fatal(err)
			}
			try(r.Name, data)
		}
	}
}
