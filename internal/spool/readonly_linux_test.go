package spool_test

import (
	"errors"
	"os"
	"syscall"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/spool"
)

func TestASpooledFileIsOpenedAgainToReadOnly(t *testing.T) {
	f, err := spool.Create(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString("upload"); err != nil {
		t.Fatal(err)
	}
	again, err := spool.ReadOnly(f.File)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	text := make([]byte, 6)
	if _, err := again.ReadAt(text, 0); err != nil || string(text) != "upload" {
		t.Errorf("%q %v", text, err)
	}
	if _, err := again.WriteAt([]byte("x"), 0); !errors.Is(err, syscall.EBADF) {
		t.Errorf("it can be written: %v", err)
	}
	if same, err := spool.ReadOnly(again); err != nil || same != again {
		t.Errorf("what is open to read is opened again: %v", err)
	}
	closed, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	if _, err := spool.ReadOnly(closed); err == nil {
		t.Error("a closed file is opened again")
	}
}
