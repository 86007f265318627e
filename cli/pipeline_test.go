package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// pipeline is a folder as diffusers writes them, with a quantized component.
func pipeline(t *testing.T, dir string) string {
	t.Helper()
	root := filepath.Join(dir, "pipe")
	copyTree(t, filepath.Join(root, "text_encoder"), filepath.Join(dir, "llama-fp8"))
	for name, body := range map[string]string{
		"model_index.json":                         `{"_class_name": "DDPMPipeline"}`,
		"scheduler/scheduler_config.json":          `{"beta_end": 0.02}`,
		"tokenizer/vocab.json":                     `{"a": 1}`,
		"tokenizer/merges.txt":                     "a b\n",
		"unet/config.json":                         `{"_class_name": "UNet2DModel"}`,
		"unet/diffusion_pytorch_model.bin":         "left, since the other is read",
		"unet/diffusion_pytorch_model.safetensors": load(t, filepath.Join(dir, "model.safetensors")),
	} {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		write(t, path, body)
	}
	return root
}

func TestPipelinesGoComponentByComponent(t *testing.T) {
	dir := workplace(t)
	root := pipeline(t, dir)
	for _, args := range []string{"convert --cast bf16", "remember"} {
		out := filepath.Join(t.TempDir(), "out")
		r := amn(t, nil, append(strings.Fields(args), "-o", out, root)...)
		if r.code != 0 || !strings.Contains(r.out, "text_encoder:\nSource:") {
			t.Fatalf("%s: exit %d, %s%s", args, r.code, r.out, r.err)
		}
		for _, name := range []string{
			"model_index.json", "scheduler/scheduler_config.json", "tokenizer/vocab.json", "tokenizer/merges.txt",
		} {
			if load(t, filepath.Join(out, name)) != load(t, filepath.Join(root, name)) {
				t.Errorf("%s: %s is another", args, name)
			}
		}
		for _, c := range []struct{ folder, file string }{{"unet", "diffusion_pytorch_model.safetensors"}, {"text_encoder", "model.safetensors"}} {
			alone := filepath.Join(t.TempDir(), "alone")
			more := []string{"-q", "-o", alone, filepath.Join(root, c.folder)}
			if args == "remember" && c.folder == "unet" {
				more = append(more, "--copy")
			}
			if r := amn(t, nil, append(strings.Fields(args), more...)...); r.code != 0 {
				t.Fatal(r)
			}
			if load(t, filepath.Join(out, c.folder, c.file)) != load(t, filepath.Join(alone, c.file)) {
				t.Errorf("%s: %s is not what the component alone becomes", args, c.folder)
			}
		}
		if strings.Contains(load(t, filepath.Join(out, "text_encoder", "config.json")), "quantization_config") {
			t.Errorf("%s: the configuration still says that it is quantized", args)
		}
	}
	r := amn(t, nil, "inspect", "--json", root)
	if n := strings.Count(r.out, `"schema":"amn.inspect/1"`); r.code > 5 || n < 2 {
		t.Errorf("exit %d, %d reports: %s%s", r.code, n, r.out, r.err)
	}
}

// An error in one component means that nothing is written.
func TestPipelinesThatAreRefusedLeaveNothing(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(root string)
		args   string
		code   int
	}{
		{"a component that is cut", func(root string) {
			path := filepath.Join(root, "unet", "diffusion_pytorch_model.safetensors")
			write(t, path, load(t, path)[:500])
		}, "convert --cast f16", 4},
		{"weights of another kind", func(root string) { write(t, filepath.Join(root, "scheduler", "model.onnx"), "x") }, "convert --cast f16", 5},
		{"another format", func(string) {}, "convert --to npz", 2},
		{"F8 of a quantized component", func(string) {}, "convert --cast f8", 5},
		{"nothing to quantize in any component", func(root string) {
			if err := os.RemoveAll(filepath.Join(root, "text_encoder")); err != nil {
				t.Fatal(err)
			}
		}, "quantize --to fp8", 2},
		{"nothing to dequantize in any component", func(root string) {
			if err := os.RemoveAll(filepath.Join(root, "text_encoder")); err != nil {
				t.Fatal(err)
			}
		}, "dequantize", 2},
		{"nothing to dequantize, rehearsed", func(root string) {
			if err := os.RemoveAll(filepath.Join(root, "text_encoder")); err != nil {
				t.Fatal(err)
			}
		}, "dequantize --dry-run", 2},
		{"a target that is there", func(root string) { write(t, filepath.Join(filepath.Dir(root), "out"), "x") }, "convert --cast f16", 2},
		{"a rehearsal", func(string) {}, "convert --cast f16 --dry-run", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := pipeline(t, workplace(t))
			dir := filepath.Dir(root)
			c.change(root)
			before := jsonPaths(t, dir)
			r := amn(t, nil, append(strings.Fields(c.args), "-o", filepath.Join(dir, "out"), root)...)
			if r.code != c.code || c.code != 0 && r.out != "" {
				t.Errorf("exit %d, want %d: %s%s", r.code, c.code, r.out, r.err)
			}
			if after := jsonPaths(t, dir); after != before {
				t.Errorf("before %s\nafter %s", before, after)
			}
		})
	}
}

// jsonPaths lists a folder.
func jsonPaths(t *testing.T, dir string) string {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range list {
		out = append(out, e.Name())
	}
	return strings.Join(out, " ")
}

// A pattern must match a tensor of at least one component; one that matches none is refused.
func TestPatternsFitInSomeComponent(t *testing.T) {
	dir := workplace(t)
	root := pipeline(t, dir)
	for _, c := range []struct {
		args string
		code int
		says string
	}{
		{"quantize --to nf4 --allow-requantize --exclude model.*", 0, "unet:"},
		{"quantize --to nf4 --allow-requantize --exclude layers.0.attn.* --dry-run", 0, "unet:"},
		{"quantize --to nf4 --allow-requantize --exclude nothing*", 2, `--exclude: no name in any component matches "nothing*"`},
		{"quantize --to nf4 --allow-requantize --include *norm.bias", 2, `--include: no name in any component matches "*norm.bias"`},
		{"convert --cast f16 --drop model.*", 2, "component by component"},
	} {
		out := filepath.Join(t.TempDir(), "out")
		r := amn(t, nil, append(strings.Fields(c.args), "-o", out, root)...)
		if r.code != c.code || !strings.Contains(r.out+r.err, c.says) {
			t.Errorf("%s: exit %d, %s%s", c.args, r.code, r.out, r.err)
		}
		if _, err := os.Stat(out); (err == nil) != (c.code == 0 && !strings.Contains(c.args, "dry-run")) {
			t.Errorf("%s: %v", c.args, err)
		}
	}
	for _, args := range []string{"hash", "stats --tensor model.embed*"} { // unet's file, which is not a model, is refused
		if r := amn(t, nil, append(strings.Fields(args), root)...); r.code != 5 || !strings.Contains(r.out, filepath.Join("text_encoder", "model.safetensors")) {
			t.Errorf("%s: exit %d, %s%s", args, r.code, r.out, r.err)
		}
	}
}

// --force onto the folder of a pipeline removes no file that the new one does not have, in any
// of its components.
func TestForceRemovesOnlyTheModelsOfAPipeline(t *testing.T) {
	dir := workplace(t)
	root, out := pipeline(t, dir), filepath.Join(dir, "out")
	run := func() result { return amn(t, nil, "convert", "-q", "-f", "--cast", "bf16", "-o", out, root) }
	for range 2 {
		if r := run(); r.code != 0 {
			t.Fatalf("exit %d: %s", r.code, r.err)
		}
	}
	for _, name := range []string{"thesis.txt", "unet/optimizer.pt", "scheduler/thesis.txt", "vae/config.json", "text_encoder/sub/x"} {
		path := filepath.Join(out, filepath.FromSlash(name))
		write(t, path, "mine")
		before := files(t, dir)
		if r := run(); r.code != 2 || !strings.Contains(r.err, "would not be overwritten") {
			t.Errorf("%s: exit %d: %s", name, r.code, r.err)
		}
		if after := files(t, dir); after != before || load(t, path) != "mine" {
			t.Errorf("%s: it was %s and is %s", name, before, after)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		for _, sub := range []string{"vae", "text_encoder/sub"} {
			_ = os.Remove(filepath.Join(out, sub)) // empty, if it is there
		}
	}
}
