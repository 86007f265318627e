package convert_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/anamnesis-go/anamnesis/convert"
	"github.com/anamnesis-go/anamnesis/internal/converttest"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/parser/safetensors"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A file in which nothing is quantized comes out as the format's own encoder
// writes it, whose bytes are those of the reference.
func TestUnquantizedFilesAreWrittenAsByTheReference(t *testing.T) {
	files, err := filepath.Glob("../corpus/valid/safetensors/*.safetensors")
	if err != nil || len(files) == 0 {
		t.Fatal("no files", err)
	}
	compared := 0
	for _, path := range files {
		m, b := converttest.Open(t, path)
		var want bytes.Buffer
		p, err := convert.NewPlan(b, m, convert.Options{})
		if err != nil || len(p.Weights) > 0 || slices.ContainsFunc(slices.Collect(m.Tensors()), unknown) {
			continue
		}
		if err := safetensors.Encode(b, &want, m); err != nil {
			t.Fatal(err)
		}
		for _, threads := range []int{1, 3} {
			for _, tile := range []int{1, 64, 4096, 0} {
				if got := converttest.Run(t, b, m, convert.Options{Threads: threads, Tile: tile}); !bytes.Equal(got, want.Bytes()) {
					t.Errorf("%s, %d threads, tiles of %d: other bytes", path, threads, tile)
				}
			}
		}
		compared++
	}
	if compared < 3 {
		t.Errorf("only %d files compared", compared)
	}
}

func unknown(i tensor.Info) bool { return i.DType == tensor.Unknown }

func TestWriteLeavesOnlyTheTarget(t *testing.T) {
	dir := t.TempDir()
	m, b := converttest.Open(t, "../corpus/valid/safetensors/"+first(t))
	p, err := convert.NewPlan(b, m, convert.Options{})
	if err != nil {
		t.Fatal(err)
	}
	target := filepath.Join(dir, "out.safetensors")
	if _, err := p.Write(target, false); err != nil {
		t.Fatal(err)
	}
	list, err := os.ReadDir(dir)
	if err != nil || len(list) != 1 || list[0].Name() != "out.safetensors" {
		t.Errorf("%v, %v", list, err)
	}
	if _, err := p.Write(target, false); parser.ClassOf(err) != parser.Usage {
		t.Errorf("a second time: %v", err)
	}
	if _, err := p.Write(target, true); err != nil {
		t.Errorf("by force: %v", err)
	}
}

func first(t *testing.T) string {
	t.Helper()
	list, err := os.ReadDir("../corpus/valid/safetensors")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		if filepath.Ext(e.Name()) == ".safetensors" {
			return e.Name()
		}
	}
	t.Fatal("no file")
	return ""
}
