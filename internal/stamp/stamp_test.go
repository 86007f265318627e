package stamp_test

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/anamnesis-go/anamnesis/internal/stamp"
)

func TestChangesOfAFileAreNoticed(t *testing.T) {
	for what, c := range map[string]struct {
		do       func(path string) error
		replaced bool
		clock    bool // needs a change time
	}{
		"grown":        {func(p string) error { return os.WriteFile(p, []byte("longer"), 0o666) }, false, false},
		"shrunk":       {func(p string) error { return os.Truncate(p, 1) }, false, false},
		"written":      {func(p string) error { return os.Chtimes(p, time.Time{}, time.Unix(1, 0)) }, false, false},
		"put back":     {putBack, false, true},
		"replaced":     {func(p string) error { return replace(p, "abc") }, true, false},
		"linked":       {func(p string) error { return os.Link(p, p+".link") }, false, true},
		"as it was":    {func(string) error { return nil }, false, false},
		"only read":    {func(p string) error { _, err := os.ReadFile(p); return err }, false, false},
		"a link to it": {func(p string) error { return os.Symlink(p, p+".other") }, false, false},
	} {
		path := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(path, []byte("abc"), 0o666); err != nil {
			t.Fatal(err)
		}
		was, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Millisecond) // a tick of the file system's clock
		if err := c.do(path); err != nil {
			t.Fatal(err)
		}
		now, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if c.clock && runtime.GOOS == "windows" {
			continue
		}
		same := what == "as it was" || what == "only read" || what == "a link to it"
		if got := stamp.Changed(was, now); (got == "") != same {
			t.Errorf("%s: %q", what, got)
		}
		if got := stamp.Replaced(was, now); got != c.replaced {
			t.Errorf("%s: replaced %v", what, got)
		}
	}
}

// putBack writes other bytes of the same number, and sets the time back.
func putBack(path string) error {
	was, err := os.Stat(path)
	if err != nil {
		return err
	}
	if err := os.WriteFile(path, []byte("xyz"), 0o666); err != nil {
		return err
	}
	return os.Chtimes(path, time.Time{}, was.ModTime())
}

func replace(path, data string) error {
	if err := os.WriteFile(path+".new", []byte(data), 0o666); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}
