package convert_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/convert"
	"github.com/anamnesis-go/anamnesis/internal/converttest"
	"github.com/anamnesis-go/anamnesis/parser"
)

// Targets that are refused even with --force.
func TestTargetsThatAreRefused(t *testing.T) {
	dir := t.TempDir()
	for _, sub := range []string{
		"hub/models--a--b/snapshots/0123", "hub/models--a--b/blobs", "ollama/blobs", "ollama/manifests", "blobs", "folder",
	} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(dir, "ollama"), filepath.Join(dir, "other")); err != nil {
		t.Skip(err)
	}
	m, b := converttest.Open(t, "../testdata/demo/tiny.gguf")
	p, err := convert.NewPlan(b, m, convert.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for path, why := range map[string]string{
		"hub/models--a--b/snapshots/0123/x": "Hugging Face", "hub/models--a--b/blobs/x": "Hugging Face",
		"ollama/blobs/x": "ollama", "other/blobs/sha256-0": "ollama", "folder": "folder", "other": "link", "nowhere/x": "does not exist",
	} {
		_, err := p.Write(filepath.Join(dir, path), true)
		if _, ok := errors.AsType[*convert.Refusal](err); !ok || parser.ClassOf(err) != parser.Usage || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if _, err := p.Write(filepath.Join(dir, "blobs", "x"), false); err != nil {
		t.Errorf("a folder that is merely called blobs: %v", err)
	}
	filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if strings.Contains(path, "partial") {
			t.Errorf("%s is left", path)
		}
		return err
	})
}

// The longest name that a file system allows still has a temporary name.
func TestLongNames(t *testing.T) {
	m, b := converttest.Open(t, "../testdata/demo/tiny.gguf")
	p, err := convert.NewPlan(b, m, convert.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{200, 201, 255} {
		if _, err := p.Write(filepath.Join(t.TempDir(), strings.Repeat("n", n)), false); err != nil {
			t.Errorf("%d: %v", n, err)
		}
	}
}
