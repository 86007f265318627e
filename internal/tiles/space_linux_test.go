package tiles_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/tiles"
)

// A full disk is found when the space is reserved.
func TestReserveFindsAFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=64k"); err != nil {
		t.Skip("no file system can be mounted:", err)
	}
	defer syscall.Unmount(dir, 0)
	f, err := os.Create(filepath.Join(dir, "f"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := tiles.Reserve(f, 1<<20); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("got %v", err)
	}
	if err := tiles.Reserve(f, 4096); err != nil {
		t.Errorf("what there is room for: %v", err)
	}
	if info, err := f.Stat(); err != nil || info.Size() != 4096 {
		t.Errorf("size %d, %v", info.Size(), err)
	}
}
