package gguf_parser_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	upstream "github.com/gpustack/gguf-parser-go"

	gguf_parser "github.com/anamnesis-go/anamnesis/adapters/ggufparser"
	"github.com/anamnesis-go/anamnesis/corpus"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
)

// upstreamParse is the library's own answer, or why it has none.
func upstreamParse(path string, opts ...upstream.GGUFReadOption) (f *upstream.GGUFFile, err error, panicked any) {
	defer func() { panicked = recover() }()
	f, err = upstream.ParseGGUFFile(path, opts...)
	if err == nil {
		f.Metadata()
		f.Architecture()
		f.Tokenizer()
	}
	return f, err, nil
}

// models are honest files: those of the corpus, and the slices of published models where
// they are.
func models(t *testing.T) map[string]string {
	t.Helper()
	paths := map[string]string{}
	dir := t.TempDir()
	for _, s := range corpus.Valid("gguf") {
		if s.Recipe != nil && s.Recipe.Policy != nil {
			continue // honest only where a quirk is granted
		}
		path := filepath.Join(dir, filepath.Base(s.Name)+".gguf")
		if err := os.WriteFile(path, s.Data, 0o644); err != nil {
			t.Fatal(err)
		}
		paths[s.Name] = path
	}
	if folder := os.Getenv("ANAMNESIS_FIXTURES"); folder != "" {
		found, err := filepath.Glob(filepath.Join(folder, "gguf", "*.gguf"))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range found {
			paths[filepath.Base(path)] = path
		}
	}
	return paths
}

func TestAFileIsWhatTheLibraryMakesOfIt(t *testing.T) {
	same := 0
	for name, path := range models(t) {
		for _, skip := range []bool{false, true} {
			var theirs []upstream.GGUFReadOption
			var ours []gguf_parser.GGUFReadOption
			if skip {
				theirs, ours = append(theirs, upstream.SkipLargeMetadata()), append(ours, gguf_parser.SkipLargeMetadata(), gguf_parser.UseMMap())
			}
			want, err, panicked := upstreamParse(path, theirs...)
			if err != nil || panicked != nil {
				t.Logf("%s: the library says %v %v", name, err, panicked)
				continue
			}
			got, err := gguf_parser.ParseGGUFFile(path, ours...)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			compare(t, name, want, got)
			same++
		}
	}
	if same < 20 {
		t.Errorf("%d files compared", same)
	}
}

// compare asks both what the callers of the library ask.
func compare(t *testing.T, name string, want, got *upstream.GGUFFile) {
	t.Helper()
	if want.ModelSize > want.Size { // it counts below zero where a header is not padded
		want.ModelSize, want.SplitModelSizes = 0, got.SplitModelSizes
	}
	a, b := text(t, want), text(t, got)
	if a != b {
		t.Errorf("%s:\n%s\nwant\n%s", name, b, a)
	}
	for i, w := range want.Header.MetadataKV {
		if g := got.Header.MetadataKV[i]; fmt.Sprintf("%#v", w) != fmt.Sprintf("%#v", g) { // NaN is NaN
			t.Errorf("%s: %#v, want %#v", name, g, w)
		}
	}
}

// text is what syft hashes.
func text(t *testing.T, v any) string {
	t.Helper()
	out, err := json.Marshal(v)
	if err != nil {
		return err.Error() // NaN has no form in JSON, for both
	}
	return string(out)
}

func TestHostileFilesThatPanicInTheOriginalAreErrors(t *testing.T) {
	for _, r := range corpus.Hostile("gguf") {
		if r.Policy != nil || r.Depth == corpus.Whole {
			continue
		}
		data, err := r.Build()
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "model.gguf")
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		_, err = gguf_parser.ParseGGUFFile(path)
		if err == nil {
			t.Errorf("%s: accepted", r.Name)
			continue
		}
		if got := gguf_parser.Class(err).String(); got != r.Expect {
			t.Errorf("%s: %s (%v), want %s", r.Name, got, err, r.Expect)
		}
	}
}

func TestAPolicyBoundsACall(t *testing.T) {
	for _, path := range models(t) {
		_, err := gguf_parser.ParseGGUFFile(path, gguf_parser.WithPolicy(limits.Policy{MaxTotalBytes: 64}))
		if got := gguf_parser.Class(err); got != parser.Limit {
			t.Errorf("%s: %v", filepath.Base(path), err)
		}
	}
}
