//go:build unix

package gguf_parser_test

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	gguf_parser "github.com/anamnesis-go/anamnesis/adapters/ggufparser"
)

// A special file is an error, and does not block: a pipe without a writer, also as the second file
// of a split model.
func TestAPipeDoesNotBlock(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"m.gguf", "s-00001-of-00002.gguf"} {
		if err := syscall.Mkfifo(filepath.Join(dir, name), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := gguf_parser.ParseGGUFFile(filepath.Join(dir, name)); err == nil || !strings.Contains(err.Error(), "regular") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
