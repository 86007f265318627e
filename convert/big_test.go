package convert_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/gguf"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// bigGGUF is a file of one Q8_0 matrix of about size bytes, which is a hole.
func bigGGUF(t testing.TB, size int64) string {
	t.Helper()
	const row = 4096
	infos := []tensor.Info{{Name: "token_embd.weight", DType: tensor.Q8_0, Shape: []int64{size/(row/32*34) + 1, row}}}
	path := filepath.Join(t.TempDir(), "big.gguf")
	sparse(t, path, infos, nil)
	return path
}

// sparse writes the header of a GGUF file; its tensors are a hole.
func sparse(t testing.TB, path string, infos []tensor.Info, meta []gguf.Entry) {
	t.Helper()
	b := limits.Policy{Timeout: limits.NoTimeout}.Budget(t.Context())
	defer b.Close()
	p, err := gguf.Layout(b, infos, meta, gguf.Options{})
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Write(p.Header); err != nil {
		t.Fatal(err)
	}
	if err := f.Truncate(p.Size); err != nil {
		t.Fatal(err)
	}
}
