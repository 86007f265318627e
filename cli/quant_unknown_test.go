package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The error for an unknown tensor names the flag that decodes anyway, and the report lists the
// tensor if the flag was used.
func TestUnknownKeysAreRefusedIgnoredAndReported(t *testing.T) {
	const from = "../quant/mlx/testdata/mlx-affine-4-bits"
	dir := t.TempDir()
	body, err := os.ReadFile(filepath.Join(from, "model.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	model := filepath.Join(dir, "model.safetensors")
	if err := os.WriteFile(model, body, 0o644); err != nil {
		t.Fatal(err)
	}
	config := `{"quantization":{"group_size":32,"bits":4,"twist":"left"}}`
	if err := os.WriteFile(filepath.Join(dir, "config.json"), []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "out.safetensors")
	if r := amn(t, nil, "remember", "-o", out, model); r.code != 5 || !strings.Contains(r.err, `--ignore-unknown "twist"`) {
		t.Errorf("%+v", r)
	}
	for _, tc := range []struct {
		want string
		args []string
	}{
		{"Ignored:     1 unknown name\n  config.json: twist\n", []string{"remember", "--ignore-unknown", "twist", "-o", out, model}},
		{`"ignored_unknown":[{"name":"config.json: twist"}]`, []string{"remember", "--ignore-unknown", "twist", "--json", "--force", "-o", out, model}},
		{`"ignored_unknown":[{"name":"config.json: twist"}]`, []string{"inspect", "--ignore-unknown", "twist", "--json", model}},
	} {
		if r := amn(t, nil, tc.args...); r.code != 0 || !strings.Contains(r.out, tc.want) {
			t.Errorf("%v: %+v", tc.args, r)
		}
	}
}
