package convert_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/anamnesis-go/anamnesis/convert"
	"github.com/anamnesis-go/anamnesis/internal/converttest"
	"github.com/anamnesis-go/anamnesis/internal/output"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant"
)

// llama is a folder that transformers wrote, quantized to FP8, and decoded what
// torch makes of its weights, as safetensors' own writer stores them.
const (
	llama   = "../testdata/demo/llama-fp8"
	decoded = "../testdata/convert/llama-bf16.safetensors"
)

var folderOptions = convert.Options{Quant: quant.Options{Folder: true}, Shard: 5e9}

// remember writes the folder under a name in a new folder.
func remember(t *testing.T, from string, o convert.Options, code bool) (string, *convert.Result) {
	t.Helper()
	m, b := converttest.Open(t, from)
	p, err := convert.NewPlan(b, m, o)
	if err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(t.TempDir(), "out")
	r, err := p.WriteFolder(to, false, code)
	if err != nil {
		t.Fatal(err)
	}
	if list := names(t, filepath.Dir(to)); len(list) != 1 {
		t.Errorf("beside it are %q", list)
	}
	return to, r
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range list {
		out = append(out, e.Name())
	}
	return out
}

func read(t *testing.T, path ...string) []byte {
	t.Helper()
	p, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestAFolderIsWhatTheReferencesWrite(t *testing.T) {
	to, r := remember(t, llama, folderOptions, false)
	if !bytes.Equal(read(t, to, "model.safetensors"), read(t, decoded)) {
		t.Error("other bytes than torch and safetensors make")
	}
	want := []string{"LICENSE", "chat_template.jinja", "config.json", "generation_config.json", "model.safetensors", "tokenizer.json"}
	if diff := cmp.Diff(want, names(t, to)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"modeling_llama.py (code)"}, r.Beside.Left); diff != "" {
		t.Error(diff)
	}
	for _, same := range []string{"LICENSE", "generation_config.json", "tokenizer.json"} {
		if !bytes.Equal(read(t, to, same), read(t, llama, same)) {
			t.Errorf("%s was changed", same)
		}
	}
	var was, now map[string]any
	json.Unmarshal(read(t, llama, "config.json"), &was)
	if err := json.Unmarshal(read(t, to, "config.json"), &now); err != nil {
		t.Fatal(err)
	}
	delete(was, "quantization_config")
	if diff := cmp.Diff(was, now); diff != "" || now["dtype"] != "bfloat16" {
		t.Error(diff)
	}
	if _, err := os.Stat(filepath.Join(to, "model.safetensors.index.json")); err == nil {
		t.Error("one file has an index")
	}
}

func TestCodeIsCopiedOnRequest(t *testing.T) {
	to, _ := remember(t, llama, folderOptions, true)
	if !slices.Contains(names(t, to), "modeling_llama.py") {
		t.Error("no code")
	}
}

// Shards hold the same tensors, each in the file that the index names, and no shard exceeds the
// size unless it has one tensor.
func TestShardsAreOneModel(t *testing.T) {
	whole, _ := converttest.Open(t, decoded)
	for _, size := range []int64{1, 4000, 8192, 1e6} {
		o := folderOptions
		o.Shard = size
		to, _ := remember(t, llama, o, false)
		m, b := converttest.Open(t, to)
		if err := parser.Verify(b, m); err != nil {
			t.Error(err)
		}
		sizes, counts := map[int32]int64{}, map[int32]int{}
		for i := range m.Tensors() {
			sizes[i.Part] += i.Bytes()
			counts[i.Part]++
			if !bytes.Equal(body(t, m, i.Name), body(t, whole, i.Name)) {
				t.Errorf("%d: %s has other bytes", size, i.Name)
			}
		}
		for part, n := range sizes {
			if n > size && counts[part] > 1 {
				t.Errorf("%d: file %d has %d bytes", size, part, n)
			}
		}
		if m.Len() != whole.Len() {
			t.Errorf("%d: %d tensors", size, m.Len())
		}
	}
}

// Every type in config.json is the type of the target.
func TestTheConfigurationNamesTheTarget(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(llama)); err != nil {
		t.Fatal(err)
	}
	for in, want := range map[string]string{
		`{"a": [1.50, "\u00e9"], "torch_dtype": "float16", "text_config": {"dtype": null, "x": {}, "quantization_config": {}}, "quantization_config": {"quant_method": "fp8", "weight_block_size": [16, 16]}}`: "{\n" + `  "a": [1.50, "\u00e9"],` + "\n" + `  "torch_dtype": "float32",` + "\n" + `  "text_config": {` + "\n" + `    "dtype": "float32",` + "\n" + `    "x": {}` + "\n  }\n}\n",
		`{"quantization_config": {"quant_method": "fp8", "weight_block_size": [16, 16]}}`:                                                                                                                      "{\n" + `  "torch_dtype": "float32"` + "\n}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, "config.json"), []byte(in), 0o666); err != nil {
			t.Fatal(err)
		}
		o := folderOptions
		o.Quant.Target = quant.F32
		to, _ := remember(t, dir, o, false)
		if diff := cmp.Diff(want, string(read(t, to, "config.json"))); diff != "" {
			t.Error(diff)
		}
	}
}

// --force does not remove files of a folder that the new model would not write.
func TestAFolderIsReplacedOnlyIfItContainsNothingButAModel(t *testing.T) {
	m, b := converttest.Open(t, llama)
	p, err := convert.NewPlan(b, m, folderOptions)
	if err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(t.TempDir(), "out")
	write := func(force bool) error { _, err := p.WriteFolder(to, force, false); return err }
	if err := os.Mkdir(to, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := write(false); err != nil {
		t.Errorf("an empty folder: %v", err)
	}
	if err := write(false); err == nil || !strings.Contains(err.Error(), "force replaces") {
		t.Errorf("a model that is there: %v", err)
	}
	if err := write(true); err != nil {
		t.Errorf("by force: %v", err)
	}
	for _, name := range []string{"thesis.tex", "train.py", ".git"} {
		path := filepath.Join(to, name)
		if err := os.WriteFile(path, nil, 0o666); err != nil {
			t.Fatal(err)
		}
		if err := write(true); parser.ClassOf(err) != parser.Usage || !strings.Contains(err.Error(), name) {
			t.Errorf("with %s: %v", name, err)
		}
		os.Remove(path)
	}
	if err := os.Mkdir(filepath.Join(to, "checkpoints"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := write(true); parser.ClassOf(err) != parser.Usage {
		t.Errorf("with a folder in it: %v", err)
	}
	link := to + "-link"
	if err := os.Symlink(to, link); err != nil {
		t.Skip(err)
	}
	to = link
	if err := write(true); parser.ClassOf(err) != parser.Usage || !strings.Contains(err.Error(), "it is a link") {
		t.Errorf("a link to a folder: %v", err)
	}
	to = llama
	if err := write(true); parser.ClassOf(err) != parser.Usage || !strings.Contains(err.Error(), "input") {
		t.Errorf("over the input: %v", err)
	}
}

// The next run for a target removes the leftover of a killed one.
func TestALeftoverIsRemoved(t *testing.T) {
	m, b := converttest.Open(t, llama)
	dir := t.TempDir()
	killed, err := output.Create(filepath.Join(dir, "file"), output.Options{})
	if err != nil {
		t.Fatal(err)
	}
	killed.WriteString("half")
	killed.Close()
	at, err := output.At(filepath.Join(dir, "out"), output.Options{})
	if err != nil {
		t.Fatal(err)
	}
	tree, err := at.CreateTree()
	if err != nil {
		t.Fatal(err)
	}
	half, err := tree.Create("model.safetensors")
	if err != nil {
		t.Fatal(err)
	}
	half.WriteString("half")
	half.Close()
	tree.Suspend()
	if err := tree.Discard(); err != nil {
		t.Fatal(err)
	}
	p, err := convert.NewPlan(b, m, folderOptions)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.WriteFolder(filepath.Join(dir, "out"), false, false); err != nil {
		t.Error(err)
	}
	if _, err := p.Write(filepath.Join(dir, "file"), false); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{"file", "out"}, names(t, dir)); diff != "" {
		t.Error(diff)
	}
}

// A tied weight is written once, as by save_model, if the configuration ties it, and otherwise
// under each name.
func TestTiedWeights(t *testing.T) {
	const from, want = "../testdata/convert/tied", "../testdata/convert/tied.safetensors"
	to, _ := remember(t, from, folderOptions, false)
	got, wanted := read(t, to, "model.safetensors"), read(t, want)
	if diff := cmp.Diff(sorted(wanted), sorted(got)); diff != "" {
		t.Errorf("what save_model writes, its metadata in any order: %s", diff)
	}
	m, b := converttest.Open(t, filepath.Join(from, "pytorch_model.bin"))
	alone := filepath.Join(t.TempDir(), "alone.bin")
	if err := os.WriteFile(alone, read(t, from, "pytorch_model.bin"), 0o666); err != nil {
		t.Fatal(err)
	}
	if n := len(planned(t, b, m).Outs); n != 3 {
		t.Errorf("beside its configuration: %d tensors", n)
	}
	m, b = converttest.Open(t, alone)
	if n := len(planned(t, b, m).Outs); n != 4 {
		t.Errorf("alone: %d tensors", n)
	}
}

func planned(t *testing.T, b *limits.Budget, m tensor.Model) *convert.Plan {
	t.Helper()
	p, err := convert.NewPlan(b, m, convert.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// sorted is the header with its metadata as a map, and the data.
func sorted(file []byte) []any {
	n := binary.LittleEndian.Uint64(file)
	var header map[string]any
	json.Unmarshal(file[8:8+n], &header)
	return []any{n, header, file[8+n:]}
}

// The folder of a module that sentence-transformers needs is copied too, and so is the name by
// which a library finds the weights.
func TestAFolderKeepsItsModulesAndNames(t *testing.T) {
	dir := t.TempDir()
	weights := string(read(t, decoded))
	for name, body := range map[string]string{
		"st/model.safetensors":                      weights,
		"st/config.json":                            "{}",
		"st/modules.json":                           `[{"idx":0,"path":""},{"idx":1,"path":"1_Pooling"},{"idx":2,"path":"2_Dense"},{"idx":3,"path":"../up"},{"idx":4,"path":"3_Old"}]`,
		"st/1_Pooling/config.json":                  `{"pooling_mode":"mean"}`,
		"st/2_Dense/config.json":                    "{}",
		"st/2_Dense/model.safetensors":              weights,
		"st/2_Dense/code.py":                        "",
		"st/3_Old/pytorch_model.bin":                "x",
		"st/onnx/model.onnx":                        "x",
		"unet/config.json":                          "{}",
		"unet/diffusion_pytorch_model.safetensors":  weights,
		"adapter/adapter_config.json":               "{}",
		"adapter/adapter_model.safetensors":         weights,
		"both/config.json":                          "{}",
		"both/model.safetensors":                    weights,
		"both/adapter_model.safetensors":            weights,
		"both/adapter_config.json":                  "{}",
		"named/config.json":                         `{"transformers_weights":"diffusion_pytorch_model.safetensors","a":1}`,
		"named/diffusion_pytorch_model.safetensors": weights,
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(body), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for from, want := range map[string]string{
		"unet": "config.json diffusion_pytorch_model.safetensors", "adapter": "adapter_config.json adapter_model.safetensors",
		"both": "config.json model.safetensors", "named": "config.json model.safetensors",
	} {
		to, _ := remember(t, filepath.Join(dir, from), folderOptions, false)
		if got := strings.Join(names(t, to), " "); got != want {
			t.Errorf("%s: %s", from, got)
		}
		if from == "named" && string(read(t, to, "config.json")) != "{\n  \"a\": 1\n}\n" {
			t.Errorf("config.json: %s", read(t, to, "config.json"))
		}
	}
	small := folderOptions
	small.Shard = 4000
	to, _ := remember(t, filepath.Join(dir, "unet"), small, false)
	if got := strings.Join(names(t, to), " "); !strings.Contains(got, "diffusion_pytorch_model-00001-of-") || !strings.Contains(got, "diffusion_pytorch_model.safetensors.index.json") {
		t.Error(got)
	}
	to, r := remember(t, filepath.Join(dir, "st"), folderOptions, false)
	if got := strings.Join(r.Beside.Copied, " "); got != "1_Pooling/config.json 2_Dense/config.json 2_Dense/model.safetensors config.json modules.json" {
		t.Error(got)
	}
	if got := strings.Join(r.Beside.Left, "; "); got != "2_Dense/code.py (code); 3_Old/pytorch_model.bin (a module's weights in another format than safetensors: convert its folder by itself); onnx (folder)" {
		t.Error(got)
	}
	if !bytes.Equal(read(t, to, "2_Dense", "model.safetensors"), []byte(weights)) || string(read(t, to, "1_Pooling", "config.json")) != `{"pooling_mode":"mean"}` {
		t.Error("a module was changed")
	}
	m, b := converttest.Open(t, filepath.Join(dir, "st"))
	p, err := convert.NewPlan(b, m, folderOptions)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.WriteFolder(to, true, false); err != nil {
		t.Errorf("in its own place: %v", err)
	}
	if err := os.WriteFile(filepath.Join(to, "1_Pooling", "mine.py"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := p.WriteFolder(to, true, false); err == nil || !strings.Contains(err.Error(), `contains "1_Pooling/mine.py"`) {
		t.Errorf("over a folder with a file of somebody's: %v", err)
	}
}
