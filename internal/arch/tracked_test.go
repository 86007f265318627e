package arch

import (
	"bytes"
	"debug/elf"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// No file of the repository is a program, and none but the page, which is one file by
// design, is above a megabyte: everybody who clones it would pay for it for ever.
func TestNoBinaryIsTracked(t *testing.T) {
	dir := root(t)
	names := tracked(t)
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

// The page is built, and is in the repository because the program embeds it; a stage of
// .ci/run builds it again and compares. Nothing else that is built is tracked: no object, library,
// module of WebAssembly, wheel or bytecode, whatever its name, and nothing that .gitignore says is
// made. Files of tests are made by others: a golden, or an archive that is to be refused.
func TestNothingBuiltIsTracked(t *testing.T) {
	dir := root(t)
	for _, name := range tracked(t, "-ci", "--exclude-standard") {
		t.Errorf("%s is ignored, and tracked", name)
	}
	for _, name := range tracked(t) {
		at := "/" + name
		switch {
		case strings.Contains(at, "/testdata/") || strings.HasPrefix(at, "/corpus/") || name == "web/dist/index.html":
			continue
		case slices.ContainsFunc([]string{"/dist/", "/bin/", "/target/", "/node_modules/", "/__pycache__/"}, func(folder string) bool { return strings.Contains(at, folder) }):
			t.Errorf("%s is in a folder of built files", name)
		case slices.Contains([]string{".o", ".a", ".so", ".dylib", ".dll", ".exe", ".syso", ".wasm", ".whl", ".pyc", ".test", ".prof"}, path.Ext(name)):
			t.Errorf("%s is built", name)
		}
		begin, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		if err != nil {
			continue // deleted in the working tree, or a folder that a link leads to
		}
		for _, magic := range []string{elf.ELFMAG, "\xcf\xfa\xed\xfe", "MZ\x90", "!<arch>\n", "\x00asm", "PK\x03\x04", "\x1f\x8b\x08"} {
			if bytes.HasPrefix(begin, []byte(magic)) {
				t.Errorf("%s begins with % x: it is built", name, magic)
			}
		}
	}
}

// tracked lists files of the repository.
func tracked(t *testing.T, flags ...string) []string {
	t.Helper()
	list := exec.Command("git", append([]string{"ls-files", "-z"}, flags...)...)
	list.Dir = root(t)
	out, err := list.Output()
	if err != nil {
		t.Skip("no git, which the guides use")
	}
	return strings.FieldsFunc(string(out), func(r rune) bool { return r == 0 })
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
