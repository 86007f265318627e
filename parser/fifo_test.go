//go:build unix

package parser_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
)

// Special files are never opened: a FIFO would block the program for ever.
func TestSpecialFilesAreNeverOpened(t *testing.T) {
	dir := put(t, t.TempDir(), map[string]string{
		"set/model.safetensors.index.json":     index,
		"set/model-00001-of-00002.safetensors": string(shard("a")),
		"ok/model.safetensors":                 string(shard("a")),
	})
	for _, name := range []string{"pipe.npz", "set/model-00002-of-00002.safetensors", "ok/config.json"} {
		if err := syscall.Mkfifo(filepath.Join(dir, name), 0o600); err != nil {
			t.Skipf("no FIFO here: %v", err)
		}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		refuses(t, filepath.Join(dir, "pipe.npz"), parser.Unsupported, "a pipe")
		refuses(t, filepath.Join(dir, "set"), parser.Unsupported, "not a regular file")
		refuses(t, dir, parser.Unsupported, "not a regular file")
		refuses(t, os.DevNull, parser.Unsupported, "a device")
		m, err := parser.Open(account(t, limits.Policy{}), filepath.Join(dir, "ok"))
		if err != nil {
			t.Error(err)
			return
		}
		defer m.Close()
		if f, err := m.Configs().Open("config.json"); err == nil {
			f.Close()
			t.Error("the FIFO config.json was opened")
		}
	}()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatal("it waits for a FIFO")
	}
}
