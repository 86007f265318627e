package npz_test

import (
	"bytes"
	"encoding/binary"
	"io"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/fixtures"
	"github.com/anamnesis-go/anamnesis/parser/npz"
)

// Arrays of a published archive, Gemma Scope, have the bytes that are listed beside the slice.
func TestGemmaScopeReadsAsItsReference(t *testing.T) {
	raw := fixtures.Read(t, "npz/gemma_scope_small.npz")
	want := reference(t, fixtures.Read(t, "npz/gemma_scope_reference.bin"))
	f, err := npz.Decode(account(t, nil), bytes.NewReader(raw), int64(len(raw)))
	if err != nil {
		t.Fatal(err)
	}
	for i := range f.Tensors() {
		body, err := f.Body(account(t, nil), i)
		if err != nil {
			t.Fatal(err)
		}
		defer body.Close()
		got, err := io.ReadAll(body)
		if w, ok := want[i.Name]; err != nil || !ok || !bytes.Equal(got, w) {
			t.Errorf("%q %v: %x, want %x, %v", i.Name, i.DType, got, w, err)
		}
		delete(want, i.Name)
	}
	for name := range want {
		t.Errorf("%q is not in the archive", name)
	}
	if err := f.Verify(account(t, nil)); err != nil {
		t.Error(err)
	}
}

// reference reads the slice's own layout: a count, then per array the name, the
// dimensions of the whole model, the type and the bytes.
func reference(t testing.TB, p []byte) map[string][]byte {
	t.Helper()
	u32 := func() int {
		n := binary.LittleEndian.Uint32(p)
		p = p[4:]
		return int(n)
	}
	take := func(n int) []byte {
		out := p[:n]
		p = p[n:]
		return out
	}
	out := map[string][]byte{}
	for range u32() {
		name := string(take(u32()))
		take(8 * u32())
		u32()
		out[name] = take(u32())
	}
	if len(p) > 0 {
		t.Fatalf("%d bytes after the last array", len(p))
	}
	return out
}
