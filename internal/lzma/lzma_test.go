package lzma_test

import (
	"bytes"
	"io"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/lzma"
	"github.com/anamnesis-go/anamnesis/limits"
)

// Chunks that are cut end with an error, wherever they are cut: no end of the file is
// taken for theirs.
func TestChunksThatAreCut(t *testing.T) {
	whole := "\x01\x00\x03abcd\x02\x00\x00e\x00"
	for n := range len(whole) + 1 {
		b := limits.Policy{}.Budget(t.Context())
		d := lzma.NewDecoder(b)
		c := lzma.NewChunks(d, bytes.NewReader([]byte(whole[:n])), 1<<16)
		out, err := io.ReadAll(c)
		if (err == nil) != (n == len(whole)) || err == nil && string(out) != "abcde" {
			t.Errorf("%d bytes: %q, %v", n, out, err)
		}
		d.Close()
		b.Close()
	}
}
