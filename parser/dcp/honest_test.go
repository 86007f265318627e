package dcp_test

import (
	"bytes"
	"io"
	"os"
	"testing"
	"testing/fstest"

	"github.com/anamnesis-go/anamnesis/internal/model"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/dcp"
	"github.com/anamnesis-go/anamnesis/parser/pth"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// folderOf is the folder in an archive of the corpus.
func folderOf(t *testing.T, name string) fstest.MapFS {
	t.Helper()
	data, err := os.ReadFile("../../corpus/valid/dcp/" + name + ".zip")
	if err != nil {
		t.Fatal(err)
	}
	return files(t, data)
}

// tensorsOf reads all tensors row-major.
func tensorsOf(t *testing.T, b *limits.Budget, m tensor.Model) map[string]string {
	t.Helper()
	straight := model.NewStraight(b, m)
	out := map[string]string{}
	for i := range m.Tensors() {
		r, err := straight.Body(b, i)
		if err != nil {
			t.Fatal(i.Name, err)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(i.Name, err)
		}
		r.Close()
		out[i.Name] = i.Stored + string(data)
	}
	return out
}

// The library merges the same tensors of a checkpoint as are read of its parts: names, types, bytes.
func TestCheckpointsAreThoseOfTheLibrary(t *testing.T) {
	for _, name := range []string{"plain", "few"} {
		b := limits.Policy{}.Budget(t.Context())
		m, err := dcp.Open(b, folderOf(t, name), dcp.Index)
		if err != nil {
			t.Fatal(name, err)
		}
		merged, err := os.ReadFile("testdata/" + name + ".pt")
		if err != nil {
			t.Fatal(err)
		}
		f, err := pth.Decode(b, bytes.NewReader(merged), int64(len(merged)))
		if err != nil {
			t.Fatal(name, err)
		}
		got, want := tensorsOf(t, b, m), tensorsOf(t, b, f)
		for key, one := range want {
			if got[key] != one {
				t.Errorf("%s: %s is %q, and the library has %q", name, key, got[key], one)
			}
		}
		if len(got) != len(want) || len(want) < 5 {
			t.Errorf("%s: %d tensors, and the library has %d", name, len(got), len(want))
		}
		if err := m.(tensor.Verifier).Verify(b); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		m.Close()
		b.Close()
	}
}

// A tensor of several parts is the same however little is read at once, also in the middle of an element.
func TestPartsAreReadInPiecesOfAnySize(t *testing.T) {
	b := limits.Policy{}.Budget(t.Context())
	defer b.Close()
	m, err := dcp.Open(b, folderOf(t, "few"), dcp.Index)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	several := 0
	for i := range m.Tensors() {
		if _, direct := m.At(i); direct {
			continue
		}
		several++
		var first []byte
		for _, n := range []int{1 << 20, 1, 3, 7, 64} {
			r, err := m.Body(b, i)
			if err != nil {
				t.Fatal(err)
			}
			data := []byte{}
			for p := make([]byte, n); ; {
				k, err := r.Read(p)
				data = append(data, p[:k]...)
				if err == io.EOF {
					break
				}
				if err != nil {
					t.Fatal(i.Name, n, err)
				}
			}
			if first == nil {
				first = data
			}
			if int64(len(data)) != i.Bytes() || !bytes.Equal(data, first) {
				t.Errorf("%s in pieces of %d bytes: %x, and at once %x", i.Name, n, data, first)
			}
		}
	}
	if several < 4 {
		t.Errorf("%d tensors of several parts", several)
	}
}

// The state of an optimizer is said to be one.
func TestOptimizersAreTold(t *testing.T) {
	b := limits.Policy{}.Budget(t.Context())
	defer b.Close()
	m, err := dcp.Open(b, folderOf(t, "plain"), dcp.Index)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	f := m.(*dcp.File)
	of := 0
	for i := range m.Tensors() {
		if f.OfOptimizer(i.Name) {
			of++
		}
	}
	if of != 12 || f.OfOptimizer("model.0.weight") || len(m.Findings()) != 1 {
		t.Errorf("%d tensors of an optimizer, findings %v", of, m.Findings())
	}
}
