package safetensors_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"os"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// said is the reference library's description of one tensor.
type said struct {
	DType  string
	Shape  []int64
	SHA256 string
}

func describe(t testing.TB, m tensor.Model) map[string]said {
	t.Helper()
	b := account(t, limits.Policy{})
	out := map[string]said{}
	for i := range m.Tensors() {
		h := sha256.New()
		r, err := m.Body(b, i)
		if err != nil {
			t.Fatal(err)
		}
		if n, err := io.Copy(h, r); err != nil || n != i.Span.Len || n != i.Bytes() {
			t.Fatalf("%q: %d bytes of %d: %v", i.Name, n, i.Bytes(), err)
		}
		r.Close()
		at, _ := m.At(i)
		first := make([]byte, i.Span.Len)
		if err := wire.ReadFull(at, first, 0); err != nil || sha256.Sum256(first) != [32]byte(h.Sum(nil)) {
			t.Fatalf("%q: random access reads other bytes: %v", i.Name, err)
		}
		shape := append([]int64{}, i.Shape...)
		out[i.Name] = said{i.TypeName(), shape, hex.EncodeToString(h.Sum(nil))}
	}
	return out
}

func texts(m tensor.Model) map[string]string {
	out := map[string]string{}
	for k, v := range m.Meta() {
		out[k] = v.(string)
	}
	return out
}

func readJSON(t testing.TB, name string, v any) {
	t.Helper()
	text, err := os.ReadFile(name)
	if err == nil {
		err = json.Unmarshal(text, v)
	}
	if err != nil {
		t.Fatal(err)
	}
}
