package pth_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/pth"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// Programs of TorchScript have the tensors that torch.jit.load has, under the same names: parameters,
// buffers, and the constants of the code.
func TestProgramsHaveTheirTensors(t *testing.T) {
	files, err := filepath.Glob("testdata/script/*.pt")
	if err != nil || len(files) != 3 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, quirks := range [][]string{nil, {pth.QuirkTensorsOnly}} {
				programIs(t, data, strings.TrimSuffix(file, ".pt")+".json", quirks)
			}
		})
	}
}

// programIs compares a program with what torch said of its tensors. Its code is judged only without the
// quirk.
func programIs(t *testing.T, data []byte, golden string, quirks []string) {
	t.Helper()
	b := limits.Policy{Quirks: quirks}.Budget(t.Context())
	defer b.Close()
	f, err := pth.Decode(b, bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Verify(b); err != nil {
		t.Error(err)
	}
	if !slices.ContainsFunc(f.Findings(), func(f tensor.Finding) bool { return strings.Contains(f.Text, "a TorchScript program") }) {
		t.Errorf("no finding says what it is: %v", f.Findings())
	}
	tensorsAre(t, b, f, golden)
}

// tensorsAre compares all tensors with what torch said of them.
func tensorsAre(t *testing.T, b *limits.Budget, f *pth.File, golden string) {
	t.Helper()
	text, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	var want map[string][3]any
	if err := json.Unmarshal(text, &want); err != nil || len(want) == 0 {
		t.Fatalf("%d tensors, %v", len(want), err)
	}
	for i := range f.Tensors() {
		said, ok := want[i.Name]
		if !ok {
			t.Errorf("%s is no tensor of torch's", i.Name)
			continue
		}
		delete(want, i.Name)
		body, err := f.Body(b, i)
		if err != nil {
			t.Fatal(err)
		}
		p, err := io.ReadAll(body)
		body.Close()
		sum := sha256.Sum256(p)
		shape, _ := json.Marshal(append([]int64{}, i.Shape...))
		torchs, _ := json.Marshal(said[1])
		if err != nil || i.Stored != said[0] || string(shape) != string(torchs) || hex.EncodeToString(sum[:]) != said[2] {
			t.Errorf("%s: %s %s %x, %v, want %v", i.Name, i.Stored, shape, sum, err, said)
		}
	}
	for name := range want {
		t.Errorf("%s is missing", name)
	}
}
