package cli_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/effort"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
)

// The size that inspect states is the size that a conversion writes, to the byte, for every golden
// and target.
func TestDecodedSizesAreExactlyWhatIsWritten(t *testing.T) {
	files, err := filepath.Glob("../quant/*/testdata/*/model.safetensors")
	if err != nil || len(files) < 150 {
		t.Fatalf("%d goldens, %v", len(files), err)
	}
	out := filepath.Join(t.TempDir(), "out.safetensors")
	for i, file := range files {
		if !effort.Some(i) {
			continue
		}
		to := []string{"bf16", "f16", "f32"}[i%3]
		var said struct {
			Quantized struct{ Decoded, Passthrough, Weights int64 }
		}
		r := amn(t, nil, "inspect", "--json", "--to", to, file)
		if err := json.Unmarshal([]byte(r.out), &said); err != nil {
			t.Fatal(file, err, r)
		}
		if r := amn(t, nil, "remember", "--force", "--quiet", "--to", to, "-o", out, file); r.code != 0 {
			t.Fatal(file, r)
		}
		if tensors, bytes := countWritten(t, out); bytes != said.Quantized.Decoded || tensors != said.Quantized.Passthrough+said.Quantized.Weights {
			t.Errorf("%s: %d bytes in %d tensors were written, inspect said %+v", file, bytes, tensors, said.Quantized)
		}
	}
}

// countWritten counts the tensors of a file and their bytes, and holds these against
// what the file has after its header.
func countWritten(t *testing.T, path string) (tensors, bytes int64) {
	t.Helper()
	b := limits.Policy{Timeout: limits.NoTimeout}.Budget(t.Context())
	defer b.Close()
	m, err := parser.Open(b, path)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	for i := range m.Tensors() {
		tensors, bytes = tensors+1, bytes+i.Bytes()
	}
	f, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	header := int64(f[0]) | int64(f[1])<<8 | int64(f[2])<<16
	if int64(len(f)) != 8+header+bytes {
		t.Errorf("%s has %d bytes, its tensors %d", path, len(f), bytes)
	}
	return tensors, bytes
}

func TestScalesThatAreLeftOutAreCountedAndNamed(t *testing.T) {
	const file = "../quant/comfy/testdata/comfyui-first-fp8/model.safetensors"
	out := filepath.Join(t.TempDir(), "out.safetensors")
	text := "Left out:    2 scales that only a runtime needs\n  m.scale_input\n  scaled_fp8\n"
	names := `"left_out":2,"left_out_scales":[{"name":"m.scale_input"},{"name":"scaled_fp8"}]`
	for _, tc := range []struct {
		want string
		args []string
	}{
		{text, []string{"inspect", file}},
		{names, []string{"inspect", "--json", file}},
		{text, []string{"remember", "-o", out, file}},
		{names, []string{"remember", "--json", "--force", "-o", out, file}},
	} {
		if r := amn(t, nil, tc.args...); r.code != 0 || !strings.Contains(r.out, tc.want) {
			t.Errorf("%v: %+v", tc.args, r)
		}
	}
	if tensors, _ := countWritten(t, out); tensors != 1 {
		t.Errorf("%d tensors", tensors)
	}
	if r := amn(t, nil, "remember", "--force", "--keep-scales", "-o", out, file); r.code != 0 {
		t.Fatal(r)
	}
	if tensors, _ := countWritten(t, out); tensors != 3 {
		t.Errorf("%d tensors with all scales", tensors)
	}
}
