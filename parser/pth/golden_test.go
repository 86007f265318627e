package pth_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/pth"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A golden is what torch finds in a file that torch.save wrote: see
// corpus/valid/pth/generate.py.
type golden struct {
	File    string
	Tensors []goldenTensor
}

type goldenTensor struct {
	Name  string  `json:"name"`
	DType string  `json:"dtype"`
	Shape []int64 `json:"shape"`
	Data  string  `json:"data"`
}

func goldens(t testing.TB) []golden {
	t.Helper()
	data, err := os.ReadFile(filepath.FromSlash("../../testdata/pth/golden.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all struct{ Files []golden }
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	if len(all.Files) < 50 {
		t.Fatalf("%d goldens", len(all.Files))
	}
	return all.Files
}

// checkpoint reads a file that torch.save wrote.
func checkpoint(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "corpus", "valid", "pth", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func decode(t testing.TB, data []byte) (*pth.File, *limits.Budget) {
	t.Helper()
	b := limits.Policy{}.Budget(context.Background())
	t.Cleanup(b.Close)
	f, err := pth.Decode(b, bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	return f, b
}

func TestTensorsAreThoseThatTorchFinds(t *testing.T) {
	for _, g := range goldens(t) {
		t.Run(g.File, func(t *testing.T) {
			f, b := decode(t, checkpoint(t, g.File))
			if err := f.Verify(b); err != nil {
				t.Fatal(err)
			}
			got := []goldenTensor{}
			for i := range f.Tensors() {
				got = append(got, goldenTensor{i.Name, i.TypeName(), append([]int64{}, i.Shape...), hex.EncodeToString(dense(t, f, b, &i))})
			}
			if diff := cmp.Diff(g.Tensors, got); diff != "" {
				t.Errorf("want -, got +:\n%s", diff)
			}
		})
	}
}

// dense lays a tensor's elements out in the order of their indices.
func dense(t testing.TB, f *pth.File, b *limits.Budget, i *tensor.Info) []byte {
	t.Helper()
	known := *i
	if known.DType == tensor.Unknown { // torch's type is not known here, its bytes are compared all the same
		known.DType = map[string]tensor.DType{"torch.bits16": tensor.U16, "torch.bcomplex32": tensor.U32}[i.Stored]
		if known.DType == tensor.Unknown {
			known.DType = tensor.U8
		}
	}
	r, err := f.Body(b, known)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	raw, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	g, _ := known.DType.Geometry()
	if i.Strides == nil || g.Elems != 1 {
		return raw
	}
	var out []byte
	at := make([]int64, len(i.Shape))
	for range i.Elements() {
		place := i.Offset
		for d := range at {
			place += at[d] * i.Strides[d]
		}
		out = append(out, raw[place*int64(g.Bytes):][:g.Bytes]...)
		for d := len(at) - 1; d >= 0; d-- {
			if at[d]++; at[d] < i.Shape[d] {
				break
			}
			at[d] = 0
		}
	}
	return out
}
