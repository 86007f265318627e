package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What remember prints for programs is what its schema says.
func TestRememberFollowsItsSchema(t *testing.T) {
	s, dir := loadSchema(t, "remember"), workplace(t)
	t.Chdir(dir)
	for _, args := range [][]string{
		{"tiny.gguf"}, {"tiny.gguf"}, {"--force", "tiny.gguf"}, {"--dry-run", "-o", "x", "tiny.gguf"}, {"model.safetensors"},
		{"empty.npz"}, {"missing"}, {"--force", "checkpoint.pt"}, {"--force", "weights.npz"}, {"--copy", "model.safetensors"},
	} {
		r := amn(t, nil, append([]string{"remember", "--json"}, args...)...)
		for _, wrong := range s.check(s, strings.Join(args, " "), object(t, strings.TrimSuffix(r.out, "\n"))) {
			t.Error(wrong)
		}
	}
}

// So is what convert prints.
func TestConvertFollowsItsSchema(t *testing.T) {
	s, dir := loadSchema(t, "convert"), workplace(t)
	t.Chdir(dir)
	for _, args := range [][]string{
		{"npz", "tiny.gguf"}, {"gguf", "tiny.gguf"}, {"gguf", "weights.npz"}, {"safetensors", "sharded"}, {"safetensors", "empty.npz"},
	} {
		r := amn(t, nil, "convert", "--json", "--to", args[0], args[1])
		for _, wrong := range s.check(s, strings.Join(args, " "), object(t, strings.TrimSuffix(r.out, "\n"))) {
			t.Error(wrong)
		}
	}
}

// A target that is the source is never written, whatever it is called.
func TestTheSourceIsNeverTheTarget(t *testing.T) {
	dir := workplace(t)
	t.Chdir(dir)
	before := load(t, "tiny.gguf")
	if err := os.Symlink("tiny.gguf", "link"); err != nil {
		t.Skip(err)
	}
	if err := os.Link("tiny.gguf", "hard"); err != nil {
		t.Skip(err)
	}
	for _, target := range []string{"tiny.gguf", "./tiny.gguf", filepath.Join(dir, "tiny.gguf"), "models/../tiny.gguf", "link", "hard", "."} {
		r := amn(t, nil, "remember", "--force", "-o", target, "tiny.gguf")
		if r.code != 2 || !strings.Contains(r.err, "target") {
			t.Errorf("%s: exit %d, %s", target, r.code, r.err)
		}
	}
	if load(t, "tiny.gguf") != before {
		t.Error("the source was changed")
	}
}
