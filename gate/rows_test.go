package gate_test

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/corpus"
	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
)

// A kind that no committed file is of could be told wrong, and no recipe would say so.
func TestEachKindHasAFile(t *testing.T) {
	titles := map[string]string{}
	for _, k := range parser.Kinds() {
		titles[k.Title] = k.Name
	}
	foreign := func(err error) string {
		text := fmt.Sprint(err)
		for title, name := range titles {
			if strings.Contains(text, "this is "+title+": ") {
				return name
			}
		}
		return ""
	}
	seen := map[string]bool{}
	one := func(data []byte, name string) {
		b := limits.Policy{}.Budget(t.Context())
		defer b.Close()
		id, err := parser.Identify(b, bytes.NewReader(data), int64(len(data)), name)
		if err != nil {
			return // a file over a limit is of no kind
		}
		defer id.Close()
		for _, p := range id.Proposals {
			seen[p.Kind] = seen[p.Kind] || p.Sure
		}
		seen[foreign(id.Err)] = true
		for _, k := range parser.Kinds() { // an archive that is of a library by its name
			if id.Named == k.Name && slices.Contains(k.Of, id.Packing) {
				seen[k.Name] = true
			}
		}
		v, _ := check(t, gate.Gate{}, string(data), gate.Hint{Name: name, Beside: true})
		seen[titles[v.Harmless]] = true
		if v.Err == nil {
			seen[v.Format] = true
		}
	}
	for _, format := range corpus.Formats() {
		for _, r := range corpus.Hostile(format) {
			if data := r.Bytes(); len(data) < 1<<20 {
				one(data, "")
			}
		}
		for _, s := range corpus.Valid(format) {
			one(s.Data, s.Name)
			if format == "dcp" || format == "deepspeed" || format == "tfbundle" { // of which a seed is a folder in an archive
				for _, of := range formatsOf(t, s.Data) {
					seen[of] = true
				}
			}
		}
	}
	for _, r := range corpus.Gate() {
		if data := r.Bytes(); !r.Folder {
			one(data, r.File)
		} else if z, err := zip.NewReader(bytes.NewReader(data), int64(len(data))); err == nil {
			for _, f := range z.File {
				if body, err := f.Open(); err == nil && !f.Mode().IsDir() {
					text, err := io.ReadAll(body)
					if err != nil {
						t.Fatal(r.Path(), f.Name, err)
					}
					one(text, path.Base(f.Name))
				}
			}
		}
	}
	media, err := filepath.Glob("../testdata/media/*.*") // what libraries wrote
	if err != nil || len(media) == 0 {
		t.Fatal(media, err)
	}
	for _, name := range media {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		one(data, path.Base(name))
	}
	var missing []string
	for _, k := range parser.Kinds() {
		if !seen[k.Name] {
			missing = append(missing, k.Name)
		}
	}
	slices.Sort(missing)
	if len(missing) > 0 {
		t.Errorf("no recipe and no seed is one: %s", strings.Join(missing, " "))
	}
}

// formatsOf returns the formats of the models in a folder, given as a ZIP archive.
func formatsOf(t *testing.T, data []byte) (out []string) {
	t.Helper()
	b := limits.Policy{}.Budget(t.Context())
	defer b.Close()
	for v, err := range (&gate.Gate{}).CheckPath(b, laidOut(t, data)) {
		if err != nil {
			t.Fatal(err)
		}
		if v.Err == nil {
			out = append(out, v.Format)
		}
		v.Close()
	}
	return out
}
