//go:build unix

package tiles_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/tiles"
)

// A file is one opener's until it is closed.
func TestALockIsOneOpeners(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	open := func() *os.File {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	a, b := open(), open()
	defer b.Close()
	lock := func(f *os.File, want bool) {
		t.Helper()
		if taken, err := tiles.Lock(f); err != nil || taken != want {
			t.Errorf("taken: %v, %v", taken, err)
		}
	}
	lock(a, true)
	lock(b, false)
	a.Close()
	lock(b, true)
	if err := tiles.SyncFolder(filepath.Dir(path)); err != nil {
		t.Error(err)
	}
}
