package tfbundle_test

import (
	"archive/zip"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/parser/tfbundle"
)

// folderOf unpacks a checkpoint of the corpus.
func folderOf(t *testing.T, name string) fstest.MapFS {
	t.Helper()
	z, err := zip.OpenReader("../../corpus/valid/tfbundle/" + name + ".zip")
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	files := fstest.MapFS{}
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		files[f.Name] = &fstest.MapFile{Data: data, Mode: 0o444}
	}
	return files
}

// bytesOf reads a tensor, n bytes at a time.
func bytesOf(t *testing.T, b *limits.Budget, m tensor.Model, i tensor.Info, n int) string {
	t.Helper()
	r, err := m.Body(b, i)
	if err != nil {
		t.Fatal(i.Name, err)
	}
	defer r.Close()
	var data []byte
	for buf := make([]byte, n); err == nil; {
		var got int
		got, err = r.Read(buf)
		data = append(data, buf[:got]...)
	}
	if err != io.EOF || int64(len(data)) != i.Bytes() {
		t.Fatalf("%s: %d of %d bytes, %v", i.Name, len(data), i.Bytes(), err)
	}
	return hex.EncodeToString(data)
}

// A line is what TensorFlow reads of a tensor.
type line struct {
	Name, Type, Bytes string
	Shape             []int64
}

// TensorFlow reads the same tensors: names, types, shapes and bytes, however little is read at once. A file
// called checkpoint gives those that it names. Texts are metadata, and types that are not decoded are listed.
func TestCheckpointsAreThoseOfTensorFlow(t *testing.T) {
	listed := 0
	for name, from := range map[string]string{"types": "model.ckpt.index", "object": "checkpoint", "slices": "model.ckpt-7.index", "shards": "checkpoint"} {
		text, err := os.ReadFile("testdata/" + name + ".json")
		if err != nil {
			t.Fatal(err)
		}
		var want []line
		if err := json.Unmarshal(text, &want); err != nil {
			t.Fatal(err)
		}
		b := limits.Policy{}.Budget(t.Context())
		m, err := tfbundle.Open(b, folderOf(t, name), from)
		if err != nil {
			t.Fatal(name, err)
		}
		if err := m.(tensor.Verifier).Verify(b); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		infos, texts := map[string]tensor.Info{}, map[string]any{}
		for i := range m.Tensors() {
			infos[i.Name] = i
		}
		for key, value := range m.Meta() {
			texts[key] = value
		}
		for _, w := range want {
			i, ok := infos[w.Name]
			switch {
			case w.Type == "string":
				if texts[w.Name] == nil || ok {
					t.Errorf("%s: texts %s are %v", name, w.Name, texts[w.Name])
				}
			case !ok || i.Stored != w.Type || !slices.Equal(i.Shape, w.Shape):
				t.Errorf("%s: %+v, and TensorFlow reads %s of %s %v", name, i, w.Name, w.Type, w.Shape)
			case i.DType == tensor.Unknown:
				listed++
				if _, err := m.Body(b, i); !errors.Is(err, wire.ErrUnsupported) {
					t.Errorf("%s: %s: %v", name, i.Name, err)
				}
			default:
				for _, n := range []int{1 << 16, 1, 3, 7} {
					if got := bytesOf(t, b, m, i, n); got != w.Bytes {
						t.Errorf("%s: %s is %s, and TensorFlow reads %s", name, w.Name, got, w.Bytes)
					}
				}
			}
		}
		if got := len(infos) + len(texts) - 1; len(want) < 4 || got != len(want) && name != "slices" {
			t.Errorf("%s: %d tensors, and TensorFlow lists %d", name, got, len(want))
		}
		m.Close()
		b.Close()
	}
	if listed != 7 {
		t.Errorf("%d tensors that are listed only", listed)
	}
}

// A variable in two parts of 70,000 rows is one tensor, and the parts are found by keys of several bytes.
func TestPartsFarFromTheBeginningAreFound(t *testing.T) {
	b := limits.Policy{}.Budget(t.Context())
	defer b.Close()
	m, err := tfbundle.Open(b, folderOf(t, "slices"), "model.ckpt-7.index")
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	for i := range m.Tensors() {
		if i.Name != "far" {
			continue
		}
		if _, direct := m.At(i); direct {
			t.Error("it is said to be in one piece")
		}
		data, err := hex.DecodeString(bytesOf(t, b, m, i, 1<<12))
		if err != nil || len(data) != 70000 || data[69998] != 1 || data[69999] != 2 {
			t.Errorf("%d bytes that end with %d (%v)", len(data), data[len(data)-2:], err)
		}
		return
	}
	t.Error("not listed")
}

// The index of many tensors has several blocks.
func TestIndexesOfSeveralBlocksAreRead(t *testing.T) {
	b := limits.Policy{}.Budget(t.Context())
	defer b.Close()
	m, err := tfbundle.Open(b, folderOf(t, "many"), "model.ckpt.index")
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	n := 0
	for i := range m.Tensors() {
		if want := fmt.Sprintf("%04d/", n) + strings.Repeat("scope/", 25) + "kernel"; i.Name != want || bytesOf(t, b, m, i, 8) != fmt.Sprintf("%02x", n%100) {
			t.Fatalf("tensor %d: %+v", n, i)
		}
		n++
	}
	if n != 1700 || m.(tensor.Verifier).Verify(b) != nil {
		t.Errorf("%d tensors", n)
	}
}

// unpackTo unpacks a checkpoint of the corpus into a folder.
func unpackTo(dir, name string) error {
	z, err := zip.OpenReader("../../corpus/valid/tfbundle/" + name + ".zip")
	if err != nil {
		return err
	}
	defer z.Close()
	return os.CopyFS(dir, z)
}
