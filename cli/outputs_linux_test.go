package cli_test

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// mount makes a folder a file system of 64 KiB.
func mount(t *testing.T, dir string) {
	t.Helper()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=64k"); err != nil {
		t.Skip("no file system can be mounted:", err)
	}
	t.Cleanup(func() { syscall.Unmount(dir, 0) })
}

// A full disk is an error of the system, and leaves nothing behind.
func TestAFullDiskLeavesNothing(t *testing.T) {
	dir := workplace(t)
	small := t.TempDir()
	mount(t, small)
	write(t, filepath.Join(small, "fill"), strings.Repeat("x", 64<<10)) // every report is too large
	before := files(t, small)
	for _, args := range [][]string{
		{"scan", "-q", "--output", "sarif=" + small + "/s", dir + "/models"},
		{"inspect", "-q", "--html", small + "/p.html", dir + "/model.safetensors"},
		{"convert", "-q", "--to", "npz", "-o", small + "/m.npz", dir + "/model.safetensors"},
	} {
		if r := amn(t, nil, args...); r.code != 1 {
			t.Errorf("amn %s: exit %d\n%s", strings.Join(args, " "), r.code, r.err)
		}
		if after := files(t, small); after != before {
			t.Errorf("amn %s: it was\n%sand is\n%s", strings.Join(args, " "), before, after)
		}
	}
}
