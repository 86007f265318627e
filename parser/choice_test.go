package parser_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
)

// one is the index of a model in one file, as mlx_lm.convert writes it.
const one = `{"metadata":{"total_size":4},"weight_map":{"w":"model.safetensors"}}`

// Folders with several weight files are read as by their library; the finding lists the other
// files.
func TestFoldersOfSeveralModels(t *testing.T) {
	dir := put(t, t.TempDir(), map[string]string{
		"trainer/config.json":                                     "{}",
		"trainer/model.safetensors":                               string(shard("w")),
		"trainer/optimizer.pt":                                    "",
		"trainer/rng_state.pth":                                   "",
		"trainer/training_args.bin":                               "",
		"bin/config.json":                                         "{}",
		"bin/model.safetensors":                                   string(shard("w")),
		"bin/pytorch_model-00001-of-00002.bin":                    "",
		"bin/pytorch_model-00002-of-00002.bin":                    "",
		"bin/pytorch_model.bin.index.json":                        "{}",
		"mlx/config.json":                                         "{}",
		"mlx/model.safetensors":                                   string(shard("w")),
		"mlx/model.safetensors.index.json":                        one,
		"two/config.json":                                         "{}",
		"two/model.safetensors":                                   string(shard("w")),
		"two/model.safetensors.index.json":                        strings.ReplaceAll(one, "model.", "model-00001-of-00001."),
		"two/model-00001-of-00001.safetensors":                    string(shard("w")),
		"base/config.json":                                        "{}",
		"base/adapter_config.json":                                "{}",
		"base/model.safetensors":                                  string(shard("w")),
		"base/adapter_model.safetensors":                          string(shard("a")),
		"adapter/adapter_config.json":                             "{}",
		"adapter/adapter_model.safetensors":                       string(shard("a")),
		"adapter/optimizer.pt":                                    "",
		"unet/config.json":                                        "{}",
		"unet/diffusion_pytorch_model.safetensors":                string(shard("u")),
		"unet/diffusion_pytorch_model.fp16.safetensors":           string(shard("h")),
		"named/config.json":                                       `{"transformers_weights":"other.safetensors"}`,
		"named/model.safetensors":                                 string(shard("w")),
		"named/other.safetensors":                                 string(shard("o")),
		"namedindex/config.json":                                  `{"transformers_weights":"other.safetensors.index.json"}`,
		"namedindex/model.safetensors":                            string(shard("w")),
		"namedindex/x.safetensors":                                string(shard("w")),
		"namedindex/other.safetensors.index.json":                 strings.ReplaceAll(one, "model.", "x."),
		"namednull/config.json":                                   `{"transformers_weights":null}`,
		"namednull/model.safetensors":                             string(shard("w")),
		"namedout/config.json":                                    `{"transformers_weights":"../named/other.safetensors"}`,
		"namedout/model.safetensors":                              string(shard("w")),
		"namednone/config.json":                                   `{"\u0074ransformers_weights":"gone.safetensors"}`,
		"namednone/model.safetensors":                             string(shard("w")),
		"namedempty/config.json":                                  `{"transformers_weights":""}`,
		"namedempty/model.safetensors":                            string(shard("w")),
		"namedbin/config.json":                                    `{"transformers_weights":"model.bin"}`,
		"namedbin/model.safetensors":                              string(shard("w")),
		"namedcut/config.json":                                    `{"transformers_weights":"other.safetensors"`,
		"namedcut/model.safetensors":                              string(shard("w")),
		"cut/config.json":                                         `{"model_type":`,
		"cut/model.safetensors":                                   string(shard("w")),
		"alone/model.safetensors":                                 string(shard("w")),
		"alone/model.safetensors.index.json":                      one,
		"nobody/model.safetensors":                                string(shard("w")),
		"nobody/other.safetensors":                                string(shard("w")),
		"pipeline/model_index.json":                               "{}",
		"pipeline/unet/diffusion_pytorch_model.safetensors":       string(shard("u")),
		"models--o--m/refs/main":                                  "0123456789abcdef\n",
		"models--o--m/snapshots/0123456789abcdef/m.safetensors":   string(shard("w")),
		"models--o--m/snapshots/fedcba9876543210/m.safetensors":   string(shard("old")),
		"models--o--out/refs/main":                                "../../pipeline/unet",
		"models--o--out/snapshots/0123456789abcdef/m.safetensors": string(shard("w")),
		"models--o--two/snapshots/0123456789abcdef/m.safetensors": string(shard("w")),
		"models--o--two/snapshots/fedcba9876543210/m.safetensors": string(shard("w")),
	})
	for _, tc := range []struct{ folder, tensor, left string }{
		{"trainer", "w", `"model.safetensors" is the model that transformers reads from the folder; not read: "optimizer.pt", "rng_state.pth", "training_args.bin"`},
		{"bin", "w", `not read: "pytorch_model.bin.index.json"`},
		{"mlx", "w", ""},
		{"base", "w", `not read: "adapter_model.safetensors"`},
		{"adapter", "a", `"adapter_model.safetensors" is the model that PEFT reads from the folder; not read: "optimizer.pt"`},
		{"unet", "u", `that diffusers reads from the folder; not read: "diffusion_pytorch_model.fp16.safetensors"`},
		{"models--o--m", "w", ""},
		{"named", "o", `"other.safetensors" is the model that transformers reads from the folder; not read: "model.safetensors"`},
		{"namedindex", "w", `not read: "model.safetensors", "x.safetensors"`},
		{"namednull", "w", ""},
		{"cut", "w", ""},
		{"alone", "w", ""},
	} {
		mustOpen(t, filepath.Join(dir, tc.folder), tc.tensor)
		m, err := parser.Open(account(t, limits.Policy{}), filepath.Join(dir, tc.folder))
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		var text string
		for _, f := range m.Findings() {
			if f.Code == "detect.choice" {
				text = f.Text
			}
		}
		if !strings.HasSuffix(text, tc.left) || tc.left == "" && text != "" {
			t.Errorf("%s: %q", tc.folder, text)
		}
	}
	for folder, why := range map[string]string{
		"two":            "an index of other files",
		"nobody":         "the folder holds 2 models",
		"namedout":       `config.json: not supported: transformers_weights names "../named/other.safetensors" as the weights, which is not`,
		"namednone":      `names "gone.safetensors" as the weights`,
		"namedempty":     "which is not a safetensors file",
		"namedbin":       "which is not a safetensors file",
		"pipeline":       "a pipeline of diffusers: name the folder of one of its components",
		"models--o--out": "which is not a revision",
		"models--o--two": "2 snapshots of this model but no refs/main",
	} {
		refuses(t, filepath.Join(dir, folder), parser.Unsupported, why)
	}
	refuses(t, filepath.Join(dir, "namedcut"), parser.Truncated, "config.json")
	if _, err := parser.Open(account(t, limits.Policy{RefuseFindings: []string{"detect.choice"}}), filepath.Join(dir, "trainer")); parser.ClassOf(err) != parser.Forbidden {
		t.Errorf("a policy that refuses a choice: %v", err)
	}
}

// Weights that a configuration names are found only in the folder itself.
func TestNamedWeightsLieInTheirFolder(t *testing.T) {
	dir := put(t, t.TempDir(), map[string]string{
		"models--o--m/refs/main":                                    "0123456789abcdef\n",
		"models--o--m/snapshots/0123456789abcdef/model.safetensors": string(shard("w")),
		"models--o--m/snapshots/0123456789abcdef/other.safetensors": string(shard("other")),
		"models--o--m/out.safetensors":                              string(shard("out")),
		"plain/other.safetensors":                                   string(shard("other")),
		"plain/other.safetensors.index.json":                        strings.ReplaceAll(one, "model.", "other."),
	})
	for _, tc := range []struct {
		folder, name string
		class        parser.Class
	}{
		{"models--o--m", "other.safetensors", parser.OK},
		{"plain", "other.safetensors", parser.OK},
		{"plain", "other.safetensors.index.json", parser.Malformed}, // of a tensor that is not there
		{"models--o--m", "out.safetensors", parser.Internal},
		{"models--o--m", "../../out.safetensors", parser.Forbidden},
		{"plain", "../models--o--m/out.safetensors", parser.Forbidden},
		{"plain", filepath.Join(dir, "plain", "other.safetensors"), parser.Forbidden},
		{"plain", ".", parser.Forbidden},
		{"plain", "missing", parser.Internal},
		{"plain/other.safetensors", "other.safetensors", parser.Usage},
		{"missing", "other.safetensors", parser.Internal},
	} {
		m, err := parser.OpenWeights(account(t, limits.Policy{}), filepath.Join(dir, tc.folder), tc.name)
		if got := parser.ClassOf(err); got != tc.class {
			t.Errorf("%s of %s: %v, want %v: %v", tc.name, tc.folder, got, tc.class, err)
		}
		if err != nil {
			continue
		}
		for i := range m.Tensors() {
			if i.Name != "other" {
				t.Errorf("%s of %s holds %s", tc.name, tc.folder, i.Name)
			}
		}
		m.Close()
	}
}

// A link to a folder is treated as the folder.
func TestALinkedFolderIsAFolder(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need a privilege there")
	}
	dir := put(t, t.TempDir(), map[string]string{"real/a/x.safetensors": string(shard("x")), "real/a/y.safetensors": string(shard("y"))})
	link := filepath.Join(dir, "link")
	if err := os.Symlink("real", link); err != nil {
		t.Fatal(err)
	}
	var found []string
	for s, err := range parser.Find(link, true) {
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, strings.TrimPrefix(s.Path, dir))
	}
	if got := strings.Join(found, " "); filepath.ToSlash(got) != "/link/a/x.safetensors /link/a/y.safetensors" {
		t.Error(got)
	}
}
