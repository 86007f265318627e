package deepspeed_test

import (
	"archive/zip"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/deepspeed"
	"github.com/anamnesis-go/anamnesis/parser/pth"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// checkpoints are folders that DeepSpeed wrote.
var checkpoints = []string{"two-two", "two-three", "three-two", "three-tied"}

// folderOf unpacks a checkpoint of the corpus.
func folderOf(t *testing.T, name string) string {
	t.Helper()
	z, err := zip.OpenReader("../../corpus/valid/deepspeed/" + name + ".zip")
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	dir := t.TempDir()
	if err := os.CopyFS(dir, z); err != nil {
		t.Fatal(err)
	}
	return dir
}

// tensorsOf reads all tensors, in pieces of n bytes: types, shapes and bytes, by name.
func tensorsOf(t *testing.T, b *limits.Budget, m tensor.Model, n int) map[string]string {
	t.Helper()
	out := map[string]string{}
	for i := range m.Tensors() {
		r, err := m.Body(b, i)
		if err != nil {
			t.Fatal(i.Name, err)
		}
		data, buf := []byte{}, make([]byte, n)
		for err == nil {
			var got int
			got, err = r.Read(buf)
			data = append(data, buf[:got]...)
		}
		if err != io.EOF || int64(len(data)) != i.Bytes() {
			t.Fatalf("%s: %d of %d bytes, %v", i.Name, len(data), i.Bytes(), err)
		}
		shape := ""
		for _, d := range i.Shape {
			shape += " " + string(rune('0'+d))
		}
		out[i.Name] = i.Stored + shape + ":" + string(data)
	}
	return out
}

// zero_to_fp32 merges the same tensors as are read of the parts: names, types, shapes, bytes, however
// little is read at once. The folder itself gives the same as its file latest.
func TestCheckpointsAreThoseOfTheLibrary(t *testing.T) {
	for _, name := range checkpoints {
		dir := os.DirFS(folderOf(t, name))
		b := limits.Policy{}.Budget(t.Context())
		merged, err := os.ReadFile("testdata/" + name + ".pt")
		if err != nil {
			t.Fatal(err)
		}
		f, err := pth.Decode(b, bytes.NewReader(merged), int64(len(merged)))
		if err != nil {
			t.Fatal(name, err)
		}
		want := tensorsOf(t, b, f, 1<<16)
		for _, from := range []string{deepspeed.Latest, "global_step2/any"} {
			m, err := deepspeed.Open(b, dir, from)
			if err != nil {
				t.Fatal(name, err)
			}
			for _, n := range []int{1 << 16, 1, 3, 7} {
				got := tensorsOf(t, b, m, n)
				for key, one := range want {
					if got[key] != one {
						t.Errorf("%s in pieces of %d: %s is %q, and the library has %q", name, n, key, got[key], one)
					}
				}
				if len(got) != len(want) || len(want) < 10 {
					t.Errorf("%s: %d tensors, and the library has %d", name, len(got), len(want))
				}
			}
			if err := m.(tensor.Verifier).Verify(b); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			m.Close()
		}
		b.Close()
	}
}

// A tensor that one file has in one piece can be read at any place; one of several files cannot.
func TestWholeTensorsAreReadAtAnyPlace(t *testing.T) {
	b := limits.Policy{}.Budget(t.Context())
	defer b.Close()
	m, err := deepspeed.Open(b, os.DirFS(folderOf(t, "two-two")), deepspeed.Latest)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	all := tensorsOf(t, b, m, 1<<16)
	direct, several := 0, 0
	for i := range m.Tensors() {
		r, ok := m.At(i)
		if !ok {
			several++
			continue
		}
		direct++
		data, err := io.ReadAll(io.NewSectionReader(r, 0, i.Bytes()))
		if err != nil || !bytes.HasSuffix([]byte(all[i.Name]), data) {
			t.Errorf("%s: %v, %x", i.Name, err, data)
		}
	}
	if direct < 3 || several < 2 {
		t.Errorf("%d tensors in one piece, %d in several", direct, several)
	}
	var keys []string
	for key := range m.Meta() {
		keys = append(keys, key)
	}
	if want := []string{"zero_stage", "partition_count", "global_steps", "ds_version"}; !slices.Equal(keys, want) {
		t.Errorf("metadata %v", keys)
	}
}

// Paths out of the folder are recognized on any system, and a text that names nothing is none.
func TestPathsOutOfTheFolderAreRecognized(t *testing.T) {
	for tag, out := range map[string]bool{"global_step1": false, "../x": true, "a/../b": true, "/x": true, `a\..\..\x`: true, `c:\x`: true, "..": true, "a..b": false, "version: 1": false, "": false} {
		if deepspeed.Escapes(tag) != out {
			t.Errorf("%q: %v", tag, !out)
		}
	}
}

// Two refusals that no file of a folder reaches: a folder that is not there, which the gate takes for a
// text called latest, and a tensor of another model.
func TestRefusalsOfTheCaller(t *testing.T) {
	b := limits.Policy{}.Budget(t.Context())
	defer b.Close()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, deepspeed.Latest), []byte("global_step9"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := deepspeed.Open(b, os.DirFS(dir), deepspeed.Latest); wire.RuleOf(err) != "deepspeed.folder" {
		t.Errorf("without its folder: %v", err)
	}
	m, err := deepspeed.Open(b, os.DirFS(folderOf(t, "two-two")), deepspeed.Latest)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if _, err := m.Body(b, tensor.Info{Name: "of another"}); !errors.Is(err, wire.ErrUsage) {
		t.Errorf("a tensor of another model: %v", err)
	}
}
