package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The name decides what is written: a file, also for a folder as the source.
func TestANameDecidesBetweenFileAndFolder(t *testing.T) {
	dir := workplace(t)
	t.Chdir(dir)
	for _, c := range []struct {
		args   string
		code   int
		folder bool
	}{
		{"remember llama-fp8 -o one.safetensors", 0, false},
		{"remember llama-fp8 -o folder", 0, true},
		{"remember llama-fp8 -o one.safetensors", 2, false}, // it exists
		{"remember llama-fp8 -o shards.safetensors --max-shard-size 5KB", 2, false},
		{"remember llama-fp8 -o other.gguf", 2, false},
		{"remember llama-fp8 -o other.pt --dry-run", 2, false},
		{"edit llama-fp8 --set a=b -o edited.safetensors", 0, false},
	} {
		r := amn(t, nil, strings.Fields(c.args)...)
		if r.code != c.code {
			t.Fatalf("%s: exit %d: %s%s", c.args, r.code, r.out, r.err)
		}
		_, to, _ := strings.Cut(c.args, "-o ")
		to, _, _ = strings.Cut(to, " ")
		info, err := os.Stat(to)
		if c.code == 0 && (err != nil || info.IsDir() != c.folder) {
			t.Errorf("%s: %v", c.args, err)
		}
		if c.code != 0 && to != "one.safetensors" && err == nil {
			t.Errorf("%s: it was written", c.args)
		}
	}
	if load(t, "one.safetensors") != load(t, filepath.Join("folder", "model.safetensors")) {
		t.Error("the file is not the one of the folder")
	}
}

// The configuration of another folder makes a file, or a folder that has none, a model.
func TestConfigFromAnotherFolder(t *testing.T) {
	dir := workplace(t)
	t.Chdir(dir)
	if r := amn(t, nil, "remember", "llama-fp8", "-o", "whole"); r.code != 0 {
		t.Fatal(r)
	}
	weights := load(t, filepath.Join("llama-fp8", "model.safetensors"))
	write(t, "bare.safetensors", weights)
	if err := os.Mkdir("bare", 0o777); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join("bare", "model.safetensors"), weights)
	for _, from := range []string{"bare.safetensors", "bare", "-"} {
		r := amn(t, strings.NewReader(weights), "remember", "--config-from", "llama-fp8", "-o", "out", "-f", from)
		if r.code != 0 {
			t.Fatalf("%s: exit %d: %s%s", from, r.code, r.out, r.err)
		}
		if a, b := jsonPaths(t, "out"), jsonPaths(t, "whole"); a != b {
			t.Errorf("%s: %s, not %s", from, a, b)
		}
		for _, name := range strings.Fields(jsonPaths(t, "whole")) {
			if load(t, filepath.Join("out", name)) != load(t, filepath.Join("whole", name)) {
				t.Errorf("%s: %s is another", from, name)
			}
		}
	}
	for args, says := range map[string]string{
		"remember --config-from gone -o x bare.safetensors":             "--config-from gone",
		"remember --config-from bare.safetensors -o x bare.safetensors": "it is not a folder",
		"remember --config-from llama-fp8 -o x tiny.gguf":               "needs safetensors or a PyTorch checkpoint, not gguf",
		"remember --config-from out -f -o out bare.safetensors":         "the target is the folder of --config-from",
		"convert --to npz --config-from out -o x.npz tiny.gguf":         "needs safetensors or a PyTorch checkpoint, not gguf",
	} {
		if r := amn(t, nil, strings.Fields(args)...); r.code == 0 || !strings.Contains(r.err, says) {
			t.Errorf("%s: exit %d: %s", args, r.code, r.err)
		}
	}
}
