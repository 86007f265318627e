package output_test

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/output"
)

// A disk without room leaves the old file, and nothing else.
func TestAFullDiskLeavesTheOldFile(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=64k"); err != nil {
		t.Skip("no file system can be mounted:", err)
	}
	defer syscall.Unmount(dir, 0)
	path := filepath.Join(dir, "out")
	write(t, path, "ours, the old")
	if err := output.WriteFile(path, make([]byte, 1<<20), output.Options{Force: true, Ours: ours}); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("got %v", err)
	}
	if got := list(t, dir); got != "out=ours, the old" {
		t.Errorf("%.100s", got)
	}
}

// A file that is edited in place keeps its owner and its mode, and is never readable by more
// users than before.
func TestOwnerAndModeAreKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	write(t, path, "old")
	if err := os.Chmod(path, 0o640|fs.ModeSetgid); err != nil {
		t.Fatal(err)
	}
	owned := os.Chown(path, 1234, 5678) == nil
	if !owned {
		t.Log("only root can give a file away")
	}
	was, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := output.Create(path, output.Options{Force: true, InPlace: true, Reads: func(info fs.FileInfo) bool { return os.SameFile(info, was) }})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Discard()
	if info, err := f.Stat(); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("while it is written: %v, %v", info.Mode(), err)
	}
	if err := f.Commit(); err != nil {
		t.Fatal(err)
	}
	now, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	a, b := was.Sys().(*syscall.Stat_t), now.Sys().(*syscall.Stat_t)
	if now.Mode() != was.Mode() || a.Uid != b.Uid || a.Gid != b.Gid || a.Ino == b.Ino {
		t.Errorf("%v %d:%d, it was %v %d:%d", now.Mode(), b.Uid, b.Gid, was.Mode(), a.Uid, a.Gid)
	}
}

// A pipe is never opened: an open would wait for its other end.
func TestAPipeIsNeverOpened(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"fifo", ".x.amn-partial"} {
		if err := syscall.Mkfifo(filepath.Join(dir, name), 0o666); err != nil {
			t.Skip(err)
		}
	}
	for name, why := range map[string]string{"fifo": "not a regular file", "x": "is not a regular file"} {
		if err := output.WriteFile(filepath.Join(dir, name), nil, output.Options{Force: true}); !isRefusal(err, why) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{"/dev/null", "/dev/stdout"} {
		if err := output.WriteFile(name, nil, output.Options{Force: true}); !isRefusal(err, "it is") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Where the file system cannot rename without replacing, a process that will lock itself holds
// the name with an empty file, and gives it up if it fails.
func TestANameIsHeldBeforeTheLock(t *testing.T) {
	defer output.WithoutNoReplace()()
	dir := t.TempDir()
	path := filepath.Join(dir, "out")
	for _, hold := range []bool{true, false} {
		f, err := output.Create(path, output.Options{Hold: hold})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := os.Lstat(path); (err == nil) != hold {
			t.Errorf("hold %v: %v", hold, err)
		}
		f.Discard()
		if got := list(t, dir); got != "" {
			t.Errorf("hold %v: %s", hold, got)
		}
		if err := output.WriteFile(path, []byte("ours"), output.Options{Hold: hold}); err != nil {
			t.Error(err)
		}
		if got := list(t, dir); got != "out=ours" {
			t.Errorf("hold %v: %s", hold, got)
		}
		os.Remove(path)
	}
	f, err := output.Create(path, output.Options{Hold: true})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Discard()
	os.Remove(path)
	write(t, path, "somebody's")
	if err := f.Commit(); !isRefusal(err, "replaced in the meantime") {
		t.Error(err)
	}
}

// A folder of another user is wrong usage, with a sentence. Root may write everywhere, so a
// child without its rights is asked.
func TestAFolderOfAnotherUserIsRefused(t *testing.T) {
	if dir := os.Getenv("OUTPUT_TEST"); dir != "" {
		path := filepath.Join(dir, "x")
		p, err := output.At(path, output.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		if err := p.Writable(); !isRefusal(err, "permission denied") {
			t.Errorf("asked before: %v", err)
		}
		if err := output.WriteFile(path, nil, output.Options{}); !isRefusal(err, "permission denied") {
			t.Errorf("written: %v", err)
		}
		return
	}
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run=^TestAFolderOfAnotherUserIsRefused$")
	if os.Getuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	cmd.Dir, cmd.Env = "/", append(os.Environ(), "OUTPUT_TEST="+dir)
	if err := os.Chmod(dir, 0o555); err != nil {
		t.Fatal(err)
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		if cmd.ProcessState == nil {
			t.Skip(err)
		}
		t.Errorf("%v: %s", err, out)
	}
}
