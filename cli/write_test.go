package cli_test

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The JSON of remember follows its schema.
func TestRememberFollowsItsSchema(t *testing.T) {
	s, dir := loadSchema(t, "remember"), workplace(t)
	t.Chdir(dir)
	for _, args := range [][]string{
		{"tiny.gguf"}, {"tiny.gguf"}, {"--force", "tiny.gguf"}, {"--dry-run", "-o", "x", "tiny.gguf"}, {"model.safetensors"},
		{"empty.npz"}, {"missing"}, {"--force", "checkpoint.pt"}, {"--force", "weights.npz"}, {"--copy", "model.safetensors"},
	} {
		r := amn(t, nil, append([]string{"remember", "--json"}, args...)...)
		for _, wrong := range s.check(s, strings.Join(args, " "), object(t, strings.TrimSuffix(r.out, "\n"))) {
			t.Error(wrong)
		}
	}
}

// So is what convert prints.
func TestConvertFollowsItsSchema(t *testing.T) {
	s, dir := loadSchema(t, "convert"), workplace(t)
	t.Chdir(dir)
	for _, args := range [][]string{
		{"npz", "tiny.gguf"}, {"gguf", "tiny.gguf"}, {"gguf", "weights.npz"}, {"safetensors", "sharded"}, {"safetensors", "empty.npz"},
	} {
		r := amn(t, nil, "convert", "--json", "--to", args[0], args[1])
		for _, wrong := range s.check(s, strings.Join(args, " "), object(t, strings.TrimSuffix(r.out, "\n"))) {
			t.Error(wrong)
		}
	}
}

// A target that is the source is never written, whatever it is called.
func TestTheSourceIsNeverTheTarget(t *testing.T) {
	dir := workplace(t)
	t.Chdir(dir)
	before := load(t, "tiny.gguf")
	if err := os.Symlink("tiny.gguf", "link"); err != nil {
		t.Skip(err)
	}
	if err := os.Link("tiny.gguf", "hard"); err != nil {
		t.Skip(err)
	}
	for _, target := range []string{"tiny.gguf", "./tiny.gguf", filepath.Join(dir, "tiny.gguf"), "models/../tiny.gguf", "link", "hard", "."} {
		r := amn(t, nil, "remember", "--force", "-o", target, "tiny.gguf")
		if r.code != 2 || !strings.Contains(r.err, "target") {
			t.Errorf("%s: exit %d, %s", target, r.code, r.err)
		}
	}
	if load(t, "tiny.gguf") != before {
		t.Error("the source was changed")
	}
}

// oldModel is a safetensors file of no tensors.
const oldModel = "\x02\x00\x00\x00\x00\x00\x00\x00{}"

// A dry run says what would become of the target, exits as the run would, and
// touches nothing.
func TestADryRunLooksAtTheTarget(t *testing.T) {
	s, dir := loadSchema(t, "remember"), workplace(t)
	t.Chdir(dir)
	if err := os.WriteFile("there.safetensors", []byte(oldModel), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		args []string
		code int
		out  string
		err  string
	}{
		{"nothing is there", []string{"-o", "new.safetensors"}, 0, "Would write: new.safetensors", ""},
		{"a file is there", []string{"-o", "there.safetensors"}, 2, "Would fail:  there.safetensors", "--force replaces it"},
		{"and is replaced", []string{"--force", "-o", "there.safetensors"}, 0, "replacing what is there", ""},
		{"a folder", []string{"--force", "-o", "models"}, 2, "Would fail:", "it is a folder"},
		{"no folder to write to", []string{"-o", "none/new.safetensors"}, 2, "Would fail:", "folder does not exist"},
		{"the input", []string{"--force", "-o", "./tiny.gguf"}, 2, "Would fail:", "it is the input"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := amn(t, nil, append([]string{"remember", "--dry-run", "tiny.gguf"}, c.args...)...)
			if r.code != c.code || !strings.Contains(r.out, c.out) || !strings.Contains(r.err, c.err) || !strings.Contains(r.out, "Dequantized:") {
				t.Errorf("exit %d, want %d\n%s%s", r.code, c.code, r.out, r.err)
			}
			j := amn(t, nil, append([]string{"remember", "--json", "--dry-run", "tiny.gguf"}, c.args...)...)
			for _, wrong := range s.check(s, c.name, object(t, strings.TrimSuffix(j.out, "\n"))) {
				t.Error(wrong)
			}
			if replaces := strings.Contains(j.out, `"replaces":true`); replaces != strings.Contains(c.out, "replacing") || j.code != c.code {
				t.Errorf("exit %d, %s", j.code, j.out)
			}
		})
	}
	if load(t, "there.safetensors") != oldModel {
		t.Error("the target was changed")
	}
	if _, err := os.Stat("new.safetensors"); err == nil {
		t.Error("something was written")
	}
}

// A name that promises another format than is written is a slip.
func TestATargetWithTheSuffixOfAnotherFormatIsRefused(t *testing.T) {
	t.Chdir(workplace(t))
	for _, c := range []struct {
		args []string
		code int
	}{
		{[]string{"remember", "-o", "x.npz", "tiny.gguf"}, 2},
		{[]string{"remember", "--dry-run", "-o", "x.GGUF", "tiny.gguf"}, 2},
		{[]string{"convert", "--to", "npz", "-o", "x.safetensors", "tiny.gguf"}, 2},
		{[]string{"convert", "--to", "gguf", "-o", "x.bin", "tiny.gguf"}, 2},
		{[]string{"forget", "-o", "x.pt", "model.safetensors"}, 2},
		{[]string{"remember", "-o", "x.Safetensors", "tiny.gguf"}, 0},
		{[]string{"remember", "-o", "x.st", "tiny.gguf"}, 0},
		{[]string{"remember", "-o", "folder.gguf", "llama-fp8"}, 2},
	} {
		r := amn(t, nil, c.args...)
		if r.code != c.code || c.code == 2 && !strings.Contains(r.err, "the name is that of") {
			t.Errorf("%q: exit %d, %s", c.args, r.code, r.err)
		}
	}
}

// A target of the name - is standard output, which gets the bytes that a file would.
func TestStandardOutputGetsWhatAFileWould(t *testing.T) {
	t.Chdir(workplace(t))
	if r := amn(t, nil, "dequantize", "-o", "", "tiny.gguf"); r.code != 2 || !strings.Contains(r.err, "the value is empty") {
		t.Errorf("no name: exit %d, %s", r.code, r.err)
	}
	if r := amn(t, nil, "dequantize", "-o", "./-", "tiny.gguf"); r.code != 0 || !strings.Contains(r.out, "./-") {
		t.Errorf("exit %d, %s%s", r.code, r.out, r.err)
	}
	for _, command := range []string{
		"dequantize tiny.gguf", "dequantize --to f32 llama-fp8", "dequantize --threads 4 tiny.gguf", "convert --to gguf --out-dtype f16 tiny.gguf", "convert --cast f16 model.safetensors",
		"convert --to safetensors weights.npz", "convert --to gguf --raw-names weights.npz", "convert --to safetensors --tensors-only checkpoint.pt",
		"edit --set general.name=mine tiny.gguf", "edit --set a=b model.safetensors", "merge recipe.json", "merge-lora sharded adapter", "join sharded",
		"quantize --to q5_0 --allow-requantize tiny.gguf",
	} {
		name := "whole.safetensors"
		if strings.Contains(command, "--to gguf") || strings.HasPrefix(command, "edit") && strings.HasSuffix(command, "gguf") || strings.Contains(command, "q5_0") {
			name = "whole.gguf"
		}
		whole := amn(t, nil, append(strings.Fields(command), "--force", "-o", name)...)
		r := amn(t, nil, append(strings.Fields(command), "-o", "-")...)
		if whole.code != 0 || r.code != 0 || r.out != load(t, name) || !strings.Contains(r.err, "standard output") {
			t.Errorf("%s: exit %d and %d, %d bytes\n%s%s", command, whole.code, r.code, len(r.out), whole.err, r.err)
		}
	}
	in := strings.NewReader(load(t, "tiny.gguf"))
	if r := amn(t, in, "dequantize", "-q", "-o", "-", "-"); r.code != 0 || r.err != "" || len(r.out) == 0 {
		t.Errorf("from standard input: exit %d, %s", r.code, r.err)
	}
}

// A format that is not written in order is refused before a byte is written.
func TestFormatsThatCannotStreamAreNotWrittenToStandardOutput(t *testing.T) {
	t.Chdir(workplace(t))
	for command, says := range map[string]string{
		"convert --to npz tiny.gguf": "checksums before the tensors", "quantize --to nf4 model.safetensors": "cannot be written in one pass",
		"convert --to mlx llama-fp8": "a folder cannot be written", "dequantize --max-shard-size 5KB llama-fp8": "a folder cannot be written", "edit --in-place --set a=b": "cannot be replaced",
	} {
		args := append(strings.Fields(command), "-o", "-")
		if strings.HasPrefix(command, "edit") {
			args = append(strings.Fields(command), "-")
		}
		if r := amn(t, nil, args...); r.code != 2 || r.out != "" || !strings.Contains(r.err, says) {
			t.Errorf("%s: exit %d, %d bytes, %s", command, r.code, len(r.out), r.err)
		}
	}
	if r := wide(t, 80, nil, "dequantize", "-o", "-", "tiny.gguf"); r.code != 2 || r.out != "" || !strings.Contains(r.err, "terminal") {
		t.Errorf("to a terminal: exit %d, %s", r.code, r.err)
	}
	broken := make([]byte, 64)
	if r := amn(t, bytes.NewReader(broken), "dequantize", "-o", "-", "-"); r.code == 0 || r.out != "" {
		t.Errorf("of what is not a model: exit %d, %d bytes", r.code, len(r.out))
	}
}

// Files beside a named file belong to the user, unless a config.json makes them part of a model.
func TestAFolderOfOneFile(t *testing.T) {
	t.Chdir(workplace(t))
	write(t, "mine/tiny.gguf", load(t, "tiny.gguf"))
	write(t, "mine/diary.txt", "dear diary")
	write(t, "mine/taxes.json", "{}")
	for _, c := range []struct {
		source string
		in     io.Reader
		files  []string
	}{
		{"mine/tiny.gguf", nil, []string{"model.safetensors"}},
		{"-", strings.NewReader(load(t, "tiny.gguf")), []string{"model.safetensors"}},
		{"llama-fp8/model.safetensors", nil, []string{"LICENSE", "chat_template.jinja", "config.json", "generation_config.json", "model.safetensors", "tokenizer.json"}},
	} {
		out := filepath.Join(t.TempDir(), "out")
		if r := amn(t, c.in, "remember", "--max-shard-size", "1MB", "-o", out, c.source); r.code != 0 {
			t.Errorf("%s: exit %d, %s", c.source, r.code, r.err)
			continue
		}
		list, err := os.ReadDir(out)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range list {
			got = append(got, e.Name())
		}
		if diff := cmp.Diff(c.files, got); diff != "" {
			t.Errorf("%s: want -, got +:\n%s", c.source, diff)
		}
	}
}

// In a folder of several models one is chosen and the others are named; a flag chooses another.
func TestAFolderOfSeveralModels(t *testing.T) {
	dir := workplace(t)
	t.Chdir(dir)
	weights := load(t, "model.safetensors")
	for name, body := range map[string]string{"model.safetensors": weights, "adapter_model.safetensors": weights, "config.json": "{}"} {
		if err := os.MkdirAll("base", 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join("base", name), []byte(body), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	r := amn(t, nil, "remember", "--copy", "-o", "one", "base")
	if r.code != 0 || !strings.Contains(r.out, `Chosen:      "model.safetensors" is the model that transformers reads from the folder; not read: "adapter_model.safetensors"`) {
		t.Errorf("exit %d: %s%s", r.code, r.out, r.err)
	}
	r = amn(t, nil, "inspect", "base")
	if r.code != 0 || !strings.Contains(r.err, `not read: "adapter_model.safetensors"`) || !strings.Contains(r.err, "--weights FILE chooses another") {
		t.Errorf("exit %d: %s%s", r.code, r.out, r.err)
	}
	r = amn(t, nil, "remember", "--copy", "--json", "--weights", "adapter_model.safetensors", "-o", "two", "base")
	if r.code != 0 || strings.Contains(r.out, `"chosen"`) {
		t.Errorf("exit %d: %s%s", r.code, r.out, r.err)
	}
	if _, err := os.Stat(filepath.Join("two", "adapter_model.safetensors")); err != nil {
		t.Error(err)
	}
	r = amn(t, nil, "merge-lora", "--dry-run", "adapter", "sharded")
	if r.code != 5 || !strings.Contains(r.err, "it is an adapter, not a base: give the base first") {
		t.Errorf("exit %d: %s%s", r.code, r.out, r.err)
	}
	for _, args := range [][]string{{"--weights", "../model.safetensors", "base"}, {"--weights", "x", "tiny.gguf"}} {
		if r := amn(t, nil, append([]string{"remember"}, args...)...); r.code != 2 {
			t.Errorf("%q: exit %d, %s", args, r.code, r.err)
		}
	}
}

// A flag that has no effect is an error, and a name says the type that is in it.
func TestTypesThatAreAskedForAreWritten(t *testing.T) {
	t.Chdir(workplace(t))
	for _, c := range []struct {
		args string
		code int
		has  string
	}{
		{"convert --cast f16 model.safetensors", 0, "model-f16.safetensors"},
		{"convert --cast bf16 --cast-all -o all.safetensors model.safetensors", 0, "all.safetensors"},
		{"convert --to safetensors checkpoint.pt", 0, "checkpoint.safetensors"},
		{"convert --to safetensors --out-dtype f32 checkpoint.pt", 2, "--cast"},
		{"convert --cast f8 -o f8.safetensors model.safetensors", 0, "(F8_E4M3)"},
		{"convert --cast f8e5m2 -o f85.safetensors model.safetensors", 0, "(F8_E5M2)"},
		{"convert --cast f8 -o q.safetensors llama-fp8/model.safetensors", 5, "whose numbers need scales"},
		{"convert --cast f8 --out-dtype f16 model.safetensors", 2, "one type"},
		{"convert --to npz --cast bf16 weights.npz -o b.npz", 0, "NumPy has no BF16"},
		{"convert model.safetensors", 2, "--to"},
		{"convert --cast-all --to npz model.safetensors", 2, "needs --cast"},
		{"convert --cast f16 --out-dtype f32 model.safetensors", 2, "one type"},
		{"convert --cast f16 --as-is --to gguf tiny.gguf", 2, "--as-is"},
		{"remember --copy --to f32 model.safetensors", 2, "--cast"},
	} {
		r := amn(t, nil, strings.Fields(c.args)...)
		if r.code != c.code || !strings.Contains(r.out+r.err, c.has) {
			t.Errorf("%s: exit %d, %s%s", c.args, r.code, r.out, r.err)
		}
	}
}

// A folder with one weight file is one model, with an index of that file or without, and also if
// what has the name of an index is a folder.
func TestAFolderOfOneFileIsOneModel(t *testing.T) {
	weights := load(t, filepath.Join(demo, "model.safetensors"))
	var names []string
	for _, line := range strings.Split(amn(t, nil, "parse", "--json", filepath.Join(demo, "model.safetensors")).out, `"name":"`)[1:] {
		name, _, _ := strings.Cut(line, `"`)
		names = append(names, `"`+name+`":"model.safetensors"`)
	}
	index := `{"metadata":{},"weight_map":{` + strings.Join(names, ",") + `}}`
	for _, name := range []string{"no index", "an index of it", "a folder as its index", "a folder as another index"} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			write(t, "model/model.safetensors", weights)
			switch name {
			case "an index of it":
				write(t, "model/model.safetensors.index.json", index)
			case "a folder as its index":
				write(t, "model/model.safetensors.index.json/README.md", "no index\n")
			case "a folder as another index":
				write(t, "model/other.safetensors.index.json/README.md", "no index\n")
			}
			for _, command := range []string{"inspect model", "stats model", "hash model", "diff model model/model.safetensors", "quantize --to nf4 -o out model", "quantize --compare nf4,fp8_dynamic model", "convert --to npz -o out.npz model", "convert --to gguf --raw-names -o out.gguf model"} {
				if r := amn(t, nil, strings.Fields(command)...); r.code != 0 {
					t.Errorf("amn %s: exit %d\n%s", command, r.code, r.err)
				}
			}
			one, two := amn(t, nil, "quantize", "-q", "--to", "nf4", "-o", "one", "model"), amn(t, nil, "quantize", "-q", "--to", "nf4", "-o", "two.safetensors", "model/model.safetensors")
			if one.code != 0 || two.code != 0 || load(t, "one/model.safetensors") != load(t, "two.safetensors") {
				t.Errorf("another result than that of the file: %s%s", one.err, two.err)
			}
		})
	}
}

// Modules of one class are quantized alike in all types that have it, chosen by rule or by name.
func TestConv1DIsQuantizedTransposedInEachType(t *testing.T) {
	t.Chdir(t.TempDir())
	const layer = "transformer.h.0."
	matrices := map[string][2]int{layer + "attn.c_attn": {64, 192}, layer + "attn.c_proj": {64, 64}, layer + "mlp.c_fc": {64, 256}, layer + "mlp.c_proj": {256, 64}}
	first := ""
	for _, config := range []string{`{"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"]}`, `{"model_type": "gpt-sw3", "architectures": ["GPT2LMHeadModel"]}`,
		`{"model_type": "openai-gpt", "architectures": ["OpenAIGPTLMHeadModel"]}`, `{"model_type": "imagegpt", "architectures": ["ImageGPTModel"]}`} {
		dir := matricesIn(t, config, matrices)
		for _, more := range [][]string{nil, {"--include", "*.c_proj.weight", "--include", "*.c_attn.weight", "--include", "*.c_fc.weight"}} {
			if r := amn(t, nil, slices.Concat([]string{"quantize", "-q", "-f", "--to", "nf4", "-o", "out", dir}, more)...); r.code != 0 {
				t.Errorf("%s %v: exit %d\n%s", config, more, r.code, r.err)
				continue
			}
			got := load(t, "out/model.safetensors")
			if first == "" {
				first = got
			}
			if got != first {
				t.Errorf("%s %v: other codes than those of the same modules of GPT-2", config, more)
			}
			if r := amn(t, nil, "dequantize", "-q", "-f", "-o", "back", "out"); r.code != 0 {
				t.Error(r.err)
			}
			if r := amn(t, nil, "diff", "--tolerance", "10%", dir+"/model.safetensors", "back/model.safetensors"); r.code != 0 {
				t.Errorf("%s %v: not what was quantized\n%s", config, more, r.out)
			}
		}
		for _, to := range []string{"fp8_dynamic", "w4a16", "fp8", "gptq"} {
			if r := amn(t, nil, "quantize", "-f", "--to", to, "--include", "*.c_proj.weight", "-o", "out", dir); r.code == 0 {
				t.Errorf("%s to %s: a library that knows no Conv1D gets one\n%s", config, to, r.out)
			}
		}
	}
}
