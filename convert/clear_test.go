package convert

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/anamnesis-go/anamnesis/parser"
)

// A link in the place of a leftover, put there by somebody who may write there
// too, does not lead a run to files of its own user.
func TestNothingIsRemovedThroughALink(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "own", "thesis.tex")
	if err := os.Mkdir(filepath.Dir(file), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "leftover")
	if err := os.Symlink(filepath.Dir(file), link); err != nil {
		t.Skip(err)
	}
	if err := clearFolder(link); parser.ClassOf(err) != parser.Usage {
		t.Errorf("through a link: %v", err)
	}
	if _, err := os.Stat(file); err != nil {
		t.Error(err)
	}
	if err := clearFolder(filepath.Dir(file)); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Dir(file)); err == nil {
		t.Error("the folder itself is still there")
	}
}
