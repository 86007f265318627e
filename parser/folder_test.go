package parser_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/anamnesis-go/anamnesis/corpus"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/parser/ollama"
)

// Checkpoints of PyTorch in several files, by their index and without one.
func TestCheckpointsInSeveralFiles(t *testing.T) {
	seeds := map[string][]byte{}
	for _, s := range corpus.Valid("pth") {
		seeds[s.Name] = s.Data
	}
	first, second := seeds["adamw.pt"], seeds["checkpoint.pt"]
	var want []string
	weights := ""
	for i, data := range [][]byte{first, second} {
		m, err := parser.Decode(account(t, limits.Policy{}), bytes.NewReader(data), int64(len(data)))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names(m) {
			want = append(want, name)
			weights += `,"` + name + `":"m-0000` + decimal(i+1) + `-of-00002.bin"`
		}
	}
	dir := put(t, t.TempDir(), map[string]string{
		"set/m-00001-of-00002.bin":           string(first),
		"set/m-00002-of-00002.bin":           string(second),
		"index/m-00001-of-00002.bin":         string(first),
		"index/m-00002-of-00002.bin":         string(second),
		"index/pytorch_model.bin.index.json": `{"weight_map":{` + weights[1:] + `}}`,
		"lying/m-00001-of-00002.bin":         string(second),
		"lying/m-00002-of-00002.bin":         string(first),
		"lying/pytorch_model.bin.index.json": `{"weight_map":{` + weights[1:] + `}}`,
		"short/m-00001-of-00002.bin":         string(first),
		"short/pytorch_model.bin.index.json": `{"weight_map":{` + weights[1:] + `}}`,
	})
	for _, name := range []string{"set", "index", "index/pytorch_model.bin.index.json"} {
		b := account(t, limits.Policy{})
		m, err := parser.Open(b, filepath.Join(dir, name))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(want, names(m)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if err := parser.Verify(b, m); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		m.Close()
	}
	refuses(t, filepath.Join(dir, "lying"), parser.Malformed, "the index names")
	refuses(t, filepath.Join(dir, "short"), parser.Malformed, "m-00002-of-00002.bin")
}

// The cache of the Hugging Face hub: links from a snapshot to blobs are followed,
// any other link out is not.
func TestTheHubsCacheIsHonest(t *testing.T) {
	dir := t.TempDir()
	files := map[string]string{}
	blob := func(content []byte, digest string) string {
		files["models--org--m/blobs/"+digest] = string(content)
		return "->../../blobs/" + digest
	}
	sum := func(content []byte) string {
		s := sha256.Sum256(content)
		return hex.EncodeToString(s[:])
	}
	snap := "models--org--m/snapshots/0123456789abcdef0123456789abcdef01234567/"
	files[snap+"model.safetensors.index.json"] = blob([]byte(index), strings.Repeat("ab", 20))
	files[snap+"model-00001-of-00002.safetensors"] = blob(shard("a"), sum(shard("a")))
	files[snap+"model-00002-of-00002.safetensors"] = blob(shard("b"), sum(shard("b")))
	files[snap+"config.json"] = blob([]byte(`{"x":1}`), sum([]byte("x")))
	files[snap+"vae/model.safetensors"] = "->../" + blob(shard("v"), sum(shard("v")))[2:]
	// Caches that the hub's client does not write.
	files["models--org--m/refs/main"] = "secret"
	files["models--other--n/blobs/"+sum(shard("n"))] = string(shard("n"))
	files["secret"] = "secret"
	files[snap+"other.json"] = "->../../../models--other--n/blobs/" + sum(shard("n"))
	files[snap+"refs.json"] = "->../../refs/main"
	files[snap+"secret.json"] = "->../../../secret"
	files[snap+"name.json"] = "->../../blobs/config"
	files["models--org--m/blobs/config"] = "named by no digest"
	files[snap+"twice.json"] = "->../../blobs/" + strings.Repeat("cd", 20)
	files["models--org--m/blobs/"+strings.Repeat("cd", 20)] = "->../../secret"
	put(t, dir, files)

	at := filepath.Join(dir, filepath.FromSlash(snap))
	mustOpen(t, at, "a", "b")
	mustOpen(t, filepath.Join(at, "model.safetensors.index.json"), "a", "b")
	mustOpen(t, filepath.Join(at, "model-00001-of-00002.safetensors"), "a")
	mustOpen(t, filepath.Join(at, "vae"), "v")
	linked := filepath.Join(dir, "linked")
	if err := os.Symlink(at, linked); err != nil {
		t.Fatal(err)
	}
	mustOpen(t, linked, "a", "b")

	m, err := parser.Open(account(t, limits.Policy{}), at)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if text, err := fs.ReadFile(m.Configs(), "config.json"); err != nil || string(text) != `{"x":1}` {
		t.Errorf("config.json: %q, %v", text, err)
	}
	for _, name := range []string{"other.json", "refs.json", "secret.json", "name.json", "twice.json"} {
		if text, err := fs.ReadFile(m.Configs(), name); parser.ClassOf(err) != parser.Forbidden {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
	for _, name := range []string{"../config.json", "/etc/passwd", "a/../config.json", ""} {
		if text, err := fs.ReadFile(m.Configs(), name); err == nil {
			t.Errorf("%q: %q", name, text)
		}
	}
}

func TestFindAppliesTheRuleOfFolders(t *testing.T) {
	dir := put(t, t.TempDir(), map[string]string{
		"a/model.safetensors.index.json":      index,
		"a/model-00001-of-00002.safetensors":  "",
		"a/other.npz":                         "",
		"b/model-00001-of-00002.safetensors":  "",
		"b/model-00002-of-00002.safetensors":  "",
		"b/deep/z.npy":                        "",
		"b/deep/a.npy":                        "",
		"b/deep/readme.txt":                   "",
		"c/only.npz":                          "",
		"d/model.safetensors":                 "",
		"d/model.safetensors.index.json":      index,
		"d/model.safetensors.index.fp16.json": index,
		"e/x-00001-of-00002.safetensors":      "",
		"e/x-00002-of-00002.safetensors":      "",
		"e/y.safetensors":                     "",
		"f/readme.txt":                        "",
	})
	find := func(path string, deep bool) []string {
		var list []string
		for s, err := range parser.Find(filepath.Join(dir, path), deep) {
			rel, relErr := filepath.Rel(dir, s.Path)
			if relErr != nil {
				t.Fatal(relErr)
			}
			if err != nil {
				rel += ": " + parser.ClassOf(err).String()
			}
			list = append(list, filepath.ToSlash(rel))
		}
		return list
	}
	cases := []struct {
		path string
		deep bool
		want []string
	}{
		{"a", false, []string{"a"}},
		{"b", false, []string{"b"}},
		{"b", true, []string{"b", "b/deep/a.npy", "b/deep/z.npy"}},
		{"c", false, []string{"c/only.npz"}},
		{"c/only.npz", false, []string{"c/only.npz"}},
		{"d", false, []string{"d/model.safetensors.index.fp16.json", "d/model.safetensors.index.json", "d/model.safetensors"}},
		{"e", false, []string{"e/x-00001-of-00002.safetensors", "e/y.safetensors"}},
		{"f", false, []string{"f: unsupported"}},
		{".", false, []string{".: unsupported"}},
		{"nothing", false, []string{"nothing: internal"}},
	}
	for _, c := range cases {
		if diff := cmp.Diff(c.want, find(c.path, c.deep)); diff != "" {
			t.Errorf("%s, deep %t: %s", c.path, c.deep, diff)
		}
	}
	if got := find(".", true); len(got) != 10 {
		t.Errorf("%d models in all: %v", len(got), got)
	}
}

// A name in ollama's store opens its model.
func TestOpenReadsTheStoreOfOllama(t *testing.T) {
	data := shard("a")
	sum := sha256.Sum256(data)
	digest := hex.EncodeToString(sum[:])
	layer := `"digest":"sha256:` + digest + `","size":` + decimal(len(data))
	dir := put(t, t.TempDir(), map[string]string{
		"blobs/sha256-" + digest: string(data),
		"manifests/registry.ollama.ai/library/tiny/latest": `{"schemaVersion":2,"config":{"mediaType":"application/vnd.docker.container.image.v1+json",` + layer +
			`},"layers":[{"mediaType":"application/vnd.ollama.image.model",` + layer + `}]}`,
	})
	t.Setenv("OLLAMA_MODELS", dir)
	mustOpen(t, "ollama:tiny", "a")
	refuses(t, "ollama:other", parser.Usage, "ollama pull")
	n, err := ollama.ParseName("ollama:tiny")
	if err != nil {
		t.Fatal(err)
	}
	m, err := parser.OpenStore(account(t, limits.Policy{}), os.DirFS(os.Getenv("OLLAMA_MODELS")), n)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if m.Len() != 1 {
		t.Errorf("%d tensors of a store that the caller opened", m.Len())
	}
	refuses(t, "ollama:../tiny", parser.Usage, "")
	b := account(t, limits.Policy{})
	for s, err := range parser.Find("ollama:tiny", false) {
		if err != nil || s.Path != "ollama:tiny" {
			t.Errorf("%q, %v", s.Path, err)
		}
		m, err := s.Open(b)
		if err != nil {
			t.Fatal(err)
		}
		if err := parser.Verify(b, m); err != nil {
			t.Error(err)
		}
		if n, size := parser.Progress(m); n < int64(len(data)) || size != int64(len(data)) {
			t.Errorf("%d read of %d", n, size)
		}
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A split GGUF model opens from any of its files, and only if all are there.
func TestAnyFileOfASplitOpensTheWhole(t *testing.T) {
	const from = "../testdata/demo/split/"
	first, second := "tiny-00001-of-00002.gguf", "tiny-00002-of-00002.gguf"
	read := func(name string) string {
		data, err := os.ReadFile(from + name)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	dir := put(t, t.TempDir(), map[string]string{
		"whole/" + first:  read(first),
		"whole/" + second: read(second),
		"half/" + second:  read(second),
		"lfs/" + first:    read(first),
		"lfs/" + second:   "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 9\n",
	})
	want := []string{"token_embd.weight", "blk.0.attn_q.weight", "output_norm.weight"}
	for _, name := range []string{"whole", "whole/" + first, "whole/" + second} {
		m, err := parser.Open(account(t, limits.Policy{}), filepath.Join(dir, name))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(want, names(m)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		m.Close()
	}
	refuses(t, filepath.Join(dir, "half"), parser.Malformed, first)
	refuses(t, filepath.Join(dir, "half", second), parser.Malformed, first)
	refuses(t, filepath.Join(dir, "lfs", first), parser.Unsupported, "Git LFS pointer")
}

// A file with a part of the numbers of a model is opened by that which describes the whole.
func TestAPartOfACheckpointIsNotAModel(t *testing.T) {
	for _, name := range []string{"m.data-00000-of-00001", "__0_0.distcp"} {
		b := limits.Policy{}.Budget(t.Context())
		m, err := parser.OpenFS(b, fstest.MapFS{name: {Data: make([]byte, 64), Mode: 0o444}}, name)
		if m != nil || !errors.Is(err, wire.ErrUnsupported) {
			t.Errorf("%s: %v, %v", name, m, err)
		}
		b.Close()
	}
}
