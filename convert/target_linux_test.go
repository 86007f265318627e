package convert_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/anamnesis-go/anamnesis/convert"
	"github.com/anamnesis-go/anamnesis/internal/converttest"
)

// A disk that is really full, where one can be made: the old file stays, and
// nothing is left.
func TestADiskThatIsFull(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=64k"); err != nil {
		t.Skip("no file system can be mounted:", err)
	}
	defer syscall.Unmount(dir, 0)
	target := filepath.Join(dir, "out")
	if err := os.WriteFile(target, make([]byte, 16<<10), 0o666); err != nil {
		t.Fatal(err)
	}
	source := bigGGUF(t, 64<<10)
	m, b := converttest.Open(t, source)
	p, err := convert.NewPlan(b, m, convert.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Write(target, true); err == nil {
		t.Error("it fits")
	}
	if info, err := os.Stat(target); err != nil || info.Size() != 16<<10 {
		t.Errorf("the old file: %v", err)
	}
	if list := names(t, dir); len(list) != 1 {
		t.Errorf("%q are left", list)
	}
}

// Read-only file systems and folders are errors of the system.
func TestAReadOnlyTarget(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_RDONLY, ""); err != nil {
		t.Skip("no file system can be mounted:", err)
	}
	defer syscall.Unmount(dir, 0)
	m, b := converttest.Open(t, "../testdata/demo/tiny.gguf")
	p, err := convert.NewPlan(b, m, convert.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Write(filepath.Join(dir, "out"), false); !errors.Is(err, syscall.EROFS) {
		t.Errorf("got %v", err)
	}
	if _, err := p.Write(filepath.Join(t.TempDir(), "elsewhere"), false); err != nil {
		t.Errorf("on another file system than the source: %v", err)
	}
}
