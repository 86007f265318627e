package parser_test

import (
	"bytes"
	"os"
	"testing"

	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
)

// The cost of a small file from its first byte to its last tensor: detection, decoding, and the
// account.
func BenchmarkDecode(b *testing.B) {
	for _, name := range []string{"model.safetensors", "tiny.gguf", "weights.npz"} {
		data, err := os.ReadFile("../testdata/demo/" + name)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				a := limits.Policy{}.Budget(b.Context())
				m, err := parser.Decode(a, bytes.NewReader(data), int64(len(data)))
				if err != nil {
					b.Fatal(err)
				}
				m.Close()
				a.Close()
			}
		})
	}
}

// The same from a path, with a folder opened and closed.
func BenchmarkOpen(b *testing.B) {
	for _, name := range []string{"model.safetensors", "tiny.gguf", "weights.npz", "sharded"} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				a := limits.Policy{}.Budget(b.Context())
				m, err := parser.Open(a, "../testdata/demo/"+name)
				if err != nil {
					b.Fatal(err)
				}
				m.Close()
				a.Close()
			}
		})
	}
}
