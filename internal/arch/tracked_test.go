package arch

import (
	"bytes"
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// No file of the repository is a program, and none but the page, which is one file by
// design, is above a megabyte: everybody who clones it would pay for it for ever.
func TestNoBinaryIsTracked(t *testing.T) {
	dir := root(t)
	list := exec.Command("git", "ls-files", "-z")
	list.Dir = dir
	out, err := list.Output()
	if err != nil {
		t.Skip("no git, which the guides use")
	}
	names := strings.Split(strings.TrimRight(string(out), "\x00"), "\x00")
	if len(names) < 1000 {
		t.Fatalf("%d files are tracked", len(names))
	}
	for _, name := range names {
		file := filepath.Join(dir, filepath.FromSlash(name))
		info, err := os.Lstat(file)
		if err != nil || !info.Mode().IsRegular() {
			continue // deleted in the working tree
		}
		if info.Size() > 1<<20 && name != "web/dist/index.html" {
			t.Errorf("%s has %d bytes", name, info.Size())
		}
		if info.Size() > 64<<10 && program(t, file) {
			t.Errorf("%s is a program", name)
		}
	}
}

// program reports whether a file begins as those of Linux, macOS or Windows do.
func program(t *testing.T, name string) bool {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var begin [4]byte
	if _, err := f.Read(begin[:]); err != nil {
		t.Fatal(err)
	}
	for _, magic := range []string{elf.ELFMAG, "\xcf\xfa\xed\xfe", "MZ"} {
		if bytes.HasPrefix(begin[:], []byte(magic)) {
			return true
		}
	}
	return false
}
