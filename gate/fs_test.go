package gate_test

import (
	"context"
	"os"
	"testing"
	"testing/fstest"

	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// A file system gets the same verdict as the folder from which it was copied.
func TestAFileSystemIsJudgedAsItsFolder(t *testing.T) {
	const dir = "../testdata/demo"
	var g gate.Gate
	b := g.Policy.Limits.Budget(context.Background())
	defer b.Close()
	classes := map[string]wire.Class{}
	for v, err := range g.CheckPath(b, dir) {
		if err != nil {
			t.Fatal(err)
		}
		classes[v.Name] = v.Class()
	}
	n := 0
	for v, err := range g.CheckFS(b, os.DirFS(dir), ".", "hf://me/model") {
		if err != nil {
			t.Fatal(err)
		}
		if want, ok := classes[v.Name]; !ok || v.Class() != want || v.Path != "hf://me/model/"+v.Name {
			t.Errorf("%s is %v at %s, and %v in the folder", v.Name, v.Class(), v.Path, want)
		}
		n++
	}
	if n != len(classes) || n < 5 {
		t.Errorf("%d files, and %d in the folder", n, len(classes))
	}
}

func TestAFileSystemWithBadFiles(t *testing.T) {
	evil := []byte("cos\nsystem\n(S'id'\ntR.")
	fsys := fstest.MapFS{
		"a/evil.pkl":                   {Data: evil},
		"a/model.safetensors":          {Data: []byte("no")},
		"model.safetensors.index.json": {Data: []byte(`{"weight_map":{"a":"../outside.safetensors"}}`)},
	}
	var g gate.Gate
	b := limits.Policy{}.Budget(context.Background())
	defer b.Close()
	for v, err := range g.CheckFS(b, fsys, ".", "x") {
		if err != nil || v.Class() == wire.OK {
			t.Errorf("%s: %v, %v", v.Path, v.Class(), err)
		}
	}
	for v, err := range g.CheckFS(b, fsys, "a/evil.pkl", "x/a/evil.pkl") {
		if err != nil || v.Class() == wire.OK || v.Path != "x/a/evil.pkl" {
			t.Errorf("%s: %v, %v", v.Path, v.Class(), err)
		}
	}
}
