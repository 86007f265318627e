//go:build unix

package convert_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/anamnesis-go/anamnesis/convert"
	"github.com/anamnesis-go/anamnesis/internal/converttest"
	"github.com/anamnesis-go/anamnesis/parser"
)

func TestAFIFOIsNeverWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(path, 0o666); err != nil {
		t.Skip(err)
	}
	m, b := converttest.Open(t, "../testdata/demo/tiny.gguf")
	p, err := convert.NewPlan(b, m, convert.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Write(path, true); parser.ClassOf(err) != parser.Usage {
		t.Errorf("got %v", err)
	}
	if _, err := p.WriteFolder(path, true, false); parser.ClassOf(err) != parser.Usage {
		t.Errorf("as a folder: %v", err)
	}
}

// Outputs have the mode of any new file.
func TestTheUsualUmask(t *testing.T) {
	old := syscall.Umask(0o027)
	defer syscall.Umask(old)
	m, b := converttest.Open(t, "../testdata/demo/tiny.gguf")
	p, err := convert.NewPlan(b, m, convert.Options{})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "out")
	if _, err := p.Write(path, false); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

// Of two runs for one target, the second gets an error, and the first is not harmed.
func TestATargetIsWrittenByOneRunAtATime(t *testing.T) {
	dir := t.TempDir()
	f, err := os.Create(filepath.Join(dir, ".out.amn-partial"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		t.Skip(err)
	}
	m, b := converttest.Open(t, "../testdata/demo/tiny.gguf")
	p, err := convert.NewPlan(b, m, convert.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Write(filepath.Join(dir, "out"), true); parser.ClassOf(err) != parser.Usage {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(f.Name()); err != nil {
		t.Error("the other run's file is gone")
	}
}
