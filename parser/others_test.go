package parser_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// The other models of a folder are those of the same format that a loader would read; other files
// do not count.
func TestOthersAreTheModelsBesideAFile(t *testing.T) {
	dir := put(t, t.TempDir(), map[string]string{
		"a.safetensors":         string(shard("w")),
		"b.safetensors":         string(shard("w_scale")),
		"c.safetensors":         "no model",
		"d.safetensors/e":       "a folder",
		"model.bin":             string(shard("x")),
		"README.md":             "text",
		"sub/f.safetensors":     string(shard("y")),
		"alone/g.safetensors":   string(shard("z")),
		"empty.safetensors":     "",
		"h-x.safetensors":       string(shard("v")),
		"truncated.safetensors": string(shard("u"))[:20],
	})
	if runtime.GOOS != "windows" {
		if err := os.Symlink("nothing", filepath.Join(dir, "link.safetensors")); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string][]string{
		"a.safetensors":       {"b.safetensors: w_scale", "h-x.safetensors: v"},
		"b.safetensors":       {"a.safetensors: w", "h-x.safetensors: v"},
		"alone/g.safetensors": nil,
	} {
		if diff := cmp.Diff(want, others(t, filepath.Join(dir, name))); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func others(t *testing.T, path string) (found []string) {
	t.Helper()
	b := account(t, limits.Policy{})
	m, err := parser.Open(b, path)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	err = m.(tensor.Neighbor).Others(b, func(file string, m tensor.Model) error {
		for i := range m.Tensors() {
			found = append(found, file+": "+i.Name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// A file that exceeds a limit is an error, and not skipped.
func TestOthersBeyondALimitAreAnError(t *testing.T) {
	many := make([]string, 50)
	for i := range many {
		many[i] = `"t` + decimal(i) + `":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}`
	}
	header := "{" + strings.Join(many, ",") + "}"
	dir := put(t, t.TempDir(), map[string]string{
		"a.safetensors": string(shard("w")),
		"b.safetensors": string([]byte{byte(len(header)), byte(len(header) >> 8), 0, 0, 0, 0, 0, 0}) + header,
	})
	b := account(t, limits.Policy{MaxItems: 40})
	m, err := parser.Open(b, filepath.Join(dir, "a.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	err = m.(tensor.Neighbor).Others(b, func(string, tensor.Model) error { return nil })
	if parser.ClassOf(err) != parser.Limit || !strings.Contains(err.Error(), "b.safetensors") {
		t.Error(err)
	}
}
