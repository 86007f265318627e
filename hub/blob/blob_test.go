package blob_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/hub/blob"
)

func sum(text string) string {
	s := sha256.Sum256([]byte(text))
	return hex.EncodeToString(s[:])
}

func open(t *testing.T) (*blob.Store, string) {
	t.Helper()
	dir := t.TempDir()
	s, err := blob.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s, dir
}

// However many names and contents a folder has, few files are open, and each reads as it is.
func TestAFolderHasFewOpenFiles(t *testing.T) {
	s, _ := open(t)
	var manifest []gate.File
	for i := range 300 {
		text := fmt.Sprint("content ", i)
		if _, err := s.Put(t.Context(), "t", sum(text), strings.NewReader(text), 100); err != nil {
			t.Fatal(err)
		}
		manifest = append(manifest, gate.File{Name: fmt.Sprintf("f%03d", i), Size: int64(len(text)), SHA256: sum(text)}, gate.File{Name: fmt.Sprintf("again/f%03d", i), Size: int64(len(text)), SHA256: sum(text)})
	}
	folder, closer, err := s.Folder("t", manifest, true)
	if err != nil {
		t.Fatal(err)
	}
	for round := range 2 {
		for _, f := range manifest {
			text, err := fs.ReadFile(folder, f.Name)
			if err != nil || sum(string(text)) != f.SHA256 {
				t.Fatalf("round %d, %s: %q, %v", round, f.Name, text, err)
			}
		}
	}
	if list, err := os.ReadDir("/proc/self/fd"); err == nil && len(list) > 100 {
		t.Errorf("%d files are open", len(list))
	}
	if err := closer.Close(); err != nil {
		t.Error(err)
	}
	if _, err := fs.ReadFile(folder, "f000"); err == nil {
		t.Error("it reads when it is closed")
	}
}

func TestWhatIsNotTaken(t *testing.T) {
	s, dir := open(t)
	for name, c := range map[string]struct {
		sum, text string
		err       error
	}{
		"another digest": {sum("a"), "b", blob.ErrDigest}, "too large": {sum("too large"), "too large", blob.ErrSize}, "no digest": {"../../x", "x", nil},
		"upper case": {strings.ToUpper(sum("a")), "a", nil},
	} {
		if _, err := s.Put(t.Context(), "t", c.sum, strings.NewReader(c.text), 5); err == nil || c.err != nil && !errors.Is(err, c.err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	filepath.WalkDir(dir, func(path string, e fs.DirEntry, _ error) error {
		if !e.IsDir() {
			t.Errorf("%s is left", path)
		}
		return nil
	})
	if _, _, err := s.Folder("t", []gate.File{{Name: "a", Size: 1, SHA256: sum("a")}}, true); !errors.Is(err, blob.ErrAbsent) {
		t.Errorf("%v", err)
	}
	if _, err := s.Put(t.Context(), "t", sum("a"), strings.NewReader("a"), 5); err != nil {
		t.Fatal(err)
	}
	if _, ok, err := s.Size("another", sum("a")); ok || err != nil {
		t.Errorf("another tenant has it: %v", err)
	}
	if _, _, err := s.Folder("t", []gate.File{{Name: "a", Size: 2, SHA256: sum("a")}}, true); err == nil {
		t.Error("a size that is not its own")
	}
}

// What arrived when a process was killed is removed a day later.
func TestWhatIsLeftIsRemoved(t *testing.T) {
	dir := t.TempDir()
	old, young := filepath.Join(dir, "ab", ".incoming-old"), filepath.Join(dir, "ab", ".incoming-young")
	if err := os.Mkdir(filepath.Dir(old), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{old, young} {
		if err := os.WriteFile(name, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	before := time.Now().Add(-25 * time.Hour)
	if err := os.Chtimes(old, before, before); err != nil {
		t.Fatal(err)
	}
	s, err := blob.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := os.Stat(old); !errors.Is(err, fs.ErrNotExist) {
		t.Error("the old one is left")
	}
	if _, err := os.Stat(young); err != nil {
		t.Error("what may be arriving was removed")
	}
}
