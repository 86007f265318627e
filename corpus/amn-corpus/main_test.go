package main

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/anamnesis-go/anamnesis/corpus"
)

func TestWriteGivesEveryRecipeAndAManifest(t *testing.T) {
	dir := t.TempDir()
	if err := run([]string{"write", dir}, os.Stdout); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "manifest.json"))
	if err != nil {
		t.Fatal(err)
	}
	var list []entry
	if err := json.Unmarshal(text, &list); err != nil {
		t.Fatal(err)
	}
	want := 0
	for _, f := range corpus.Formats() {
		want += len(corpus.Hostile(f))
	}
	if len(list) != want || want == 0 {
		t.Errorf("%d lines for %d recipes", len(list), want)
	}
	for _, e := range list {
		data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(e.File)))
		if err != nil {
			t.Error(err)
			continue
		}
		if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != e.SHA256 || len(data) != e.Size {
			t.Errorf("%s is not what the manifest says", e.File)
		}
	}
}

// A draft with the open lines filled in builds the crash again.
func TestADraftBuildsTheCrash(t *testing.T) {
	crash := []byte("PK\x03\x04\xff" + strings.Repeat("\x00", 40) + "name\"with quotes\xee" + strings.Repeat("A", 20) + "\n\n\n1")
	for _, file := range []string{string(crash), "go test fuzz v1\nint(3)\n[]byte(" + quote(crash) + ")\n"} {
		path := filepath.Join(t.TempDir(), "crash")
		if err := os.WriteFile(path, []byte(file), 0o666); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := run([]string{"recipe", path}, &out); err != nil {
			t.Fatal(err)
		}
		text := strings.Replace(strings.Replace(out.String(), "expect: ?", "expect: malformed", 1), "offset: ?", "offset: 0", 1)
		r, err := corpus.Parse("zip", "crash", text, []string{"malformed"})
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if diff := cmp.Diff(crash, r.Bytes()); diff != "" {
			t.Error(diff)
		}
	}
}

func TestShowPrintsOffsets(t *testing.T) {
	var out bytes.Buffer
	if err := run([]string{"show", "safetensors/gap"}, &out); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "00000000  6") || !strings.HasPrefix(out.String(), "126 bytes, expect malformed") {
		t.Errorf("%s", &out)
	}
}

func quote(p []byte) string {
	var out strings.Builder
	out.WriteByte('"')
	for _, c := range p {
		out.WriteString(`\x` + hex.EncodeToString([]byte{c}))
	}
	return out.String() + `"`
}

func TestSeedsAreTheFilesOfEachFormatOnce(t *testing.T) {
	dir := t.TempDir()
	if err := run([]string{"seeds", dir}, os.Stdout); err != nil {
		t.Fatal(err)
	}
	for _, format := range corpus.Formats() {
		z, err := zip.OpenReader(filepath.Join(dir, format+".zip"))
		if err != nil {
			t.Fatal(err)
		}
		if len(z.File) == 0 {
			t.Errorf("%s: no seeds", format)
		}
		for _, f := range z.File {
			r, err := f.Open()
			if err != nil {
				t.Fatal(err)
			}
			h := sha256.New()
			if n, err := io.Copy(h, r); err != nil || n > corpus.MaxSeed || hex.EncodeToString(h.Sum(nil)) != f.Name {
				t.Errorf("%s: %s: %d bytes, %v", format, f.Name, n, err)
			}
			r.Close()
		}
		z.Close()
	}
}
