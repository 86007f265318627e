package bzip2_test

import (
	"bufio"
	"bytes"
	std "compress/bzip2"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/corpus"
	"github.com/anamnesis-go/anamnesis/internal/bzip2"
	"github.com/anamnesis-go/anamnesis/limits"
)

func inflate(t testing.TB, data []byte) ([]byte, int64, error) {
	t.Helper()
	b := limits.Policy{}.Budget(t.Context())
	defer b.Close()
	out, err := io.ReadAll(bzip2.NewReader(b, bufio.NewReader(bytes.NewReader(data))))
	return out, b.Worked(), err
}

// What bzip2 1.0.8 wrote of texts, random bytes and long runs is what the standard library
// reads of it. testdata/generate.py wrote the files.
func TestWhatBzip2WroteIsRead(t *testing.T) {
	files, err := filepath.Glob("testdata/*.bz2")
	if err != nil || len(files) < 4 {
		t.Fatalf("%q, %v", files, err)
	}
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		want, err := io.ReadAll(std.NewReader(bytes.NewReader(data)))
		if err != nil || len(want) == 0 {
			t.Fatalf("%s: the standard library reads %d bytes: %v", f, len(want), err)
		}
		if got, _, err := inflate(t, data); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %d bytes of %d: %v", f, len(got), len(want), err)
		}
		for range 20 { // no file that ends early is whole
			cut := data[:rand.IntN(len(data))]
			if got, _, err := inflate(t, cut); err == nil {
				t.Errorf("%s, %d bytes of %d: %d bytes without an error", f, len(cut), len(data), len(got))
			}
		}
	}
}

// The price of a block is in its bits, its tables and its symbols.
func TestEachBlockCostsSteps(t *testing.T) {
	var tables []byte
	for _, s := range corpus.Valid("wrap") {
		if strings.HasPrefix(s.Name, "bzip2-tables") {
			tables = s.Data
		}
	}
	_, one, err := inflate(t, tables[:len(tables)/200])
	if err != nil {
		t.Fatal(err)
	}
	_, all, err := inflate(t, tables)
	if err != nil || all != 200*one || one < 32 {
		t.Errorf("200 streams cost %d steps, one %d: %v", all, one, err)
	}
}

func BenchmarkHostile(b *testing.B) {
	for _, s := range corpus.Valid("wrap") {
		if !bytes.HasPrefix(s.Data, []byte("BZh")) {
			continue
		}
		b.Run(s.Name, func(b *testing.B) {
			b.SetBytes(int64(len(s.Data)))
			for range b.N {
				if _, _, err := inflate(b, s.Data); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
