package cli_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// tinyModel is a folder as transformers saves it.
func tinyModel(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "tiny")
	var entries []string
	body := ""
	add := func(name, shape string, n int) {
		begin := len(body)
		for i := range n {
			body += string([]byte{byte(i * 7), byte(0x3C + i%5)})
		}
		entries = append(entries, `"`+name+`":{"dtype":"BF16","shape":[`+shape+`],"data_offsets":[`+jsonInt(begin)+`,`+jsonInt(len(body))+`]}`)
	}
	add("lm_head.weight", "16,32", 512)
	add("model.embed_tokens.weight", "16,32", 512)
	add("model.layers.0.mlp.up_proj.weight", "64,32", 2048)
	add("model.layers.0.self_attn.q_proj.weight", "32,32", 1024)
	add("model.norm.weight", "32", 32)
	write(t, filepath.Join(dir, "model.safetensors"), build(entries...)+body)
	write(t, filepath.Join(dir, "config.json"), `{"architectures": ["LlamaForCausalLM"], "model_type": "llama", "torch_dtype": "bfloat16", "tie_word_embeddings": false}`)
	write(t, filepath.Join(dir, "tokenizer.json"), `{}`)
	write(t, filepath.Join(dir, "modeling.py"), `import os`)
	return dir
}

func jsonInt(n int) string {
	text, _ := json.Marshal(n)
	return string(text)
}

func TestAFolderIsQuantizedToAFolder(t *testing.T) {
	dir := tinyModel(t)
	out := dir + "-nf4"
	r := amn(t, nil, "forget", "--json", "--report", dir)
	if r.code != 0 {
		t.Fatal(r)
	}
	valid(t, "forget", r.out)
	list, err := os.ReadDir(out)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range list {
		names = append(names, e.Name())
	}
	if got := strings.Join(names, " "); got != "config.json model.safetensors tokenizer.json" {
		t.Error(got)
	}
	var config struct {
		ModelType    string `json:"model_type"`
		Dtype        string `json:"torch_dtype"`
		Quantization struct {
			Type    string   `json:"bnb_4bit_quant_type"`
			Compute string   `json:"bnb_4bit_compute_dtype"`
			Method  string   `json:"quant_method"`
			Skip    []string `json:"llm_int8_skip_modules"`
		} `json:"quantization_config"`
	}
	text := load(t, filepath.Join(out, "config.json"))
	if err := json.Unmarshal([]byte(text), &config); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	q := config.Quantization
	if config.ModelType != "llama" || config.Dtype != "bfloat16" || q.Type != "nf4" || q.Compute != "bfloat16" || q.Method != "bitsandbytes" ||
		strings.Join(q.Skip, " ") != "embed_tokens lm_head" {
		t.Errorf("%+v\n%s", config, text)
	}
	first := load(t, filepath.Join(out, "model.safetensors"))
	for _, args := range [][]string{{"--threads", "1"}, {"--threads", "4"}, {"--memory", "1MiB"}} {
		if r := amn(t, nil, append([]string{"forget", "-f", "-q", dir}, args...)...); r.code != 0 || r.out != "" {
			t.Error(r)
		}
		if load(t, filepath.Join(out, "model.safetensors")) != first {
			t.Errorf("%v: other bytes", args)
		}
	}
	if r := amn(t, nil, "remember", "-q", out); r.code != 0 {
		t.Error(r)
	}
	back := load(t, filepath.Join(out+"-bf16", "config.json"))
	if strings.Contains(back, "quantization_config") || !strings.Contains(back, `"bfloat16"`) {
		t.Error(back)
	}
}

func TestQuantizeRefusesWrongFlagsAndModels(t *testing.T) {
	dir := tinyModel(t)
	for _, c := range []struct {
		name string
		args []string
		code int
		text string
	}{
		{"nothing eligible", []string{"--exclude", "*"}, 2, "no weight in it is quantized"},
		{"an empty pattern", []string{"--include", "["}, 2, "--include, --exclude"},
		{"a block of 48", []string{"--block-size", "48"}, 2, "blocks of 48"},
		{"a type that is none", []string{"--to", "nf5"}, 2, `is not a target, did you mean "nf4"?`},
		{"a type like no other", []string{"--to", "palette"}, 2, "is not one of nf4"},
		{"nested rows", []string{"--to", "int8", "--double-quant"}, 2, "int8 scales cannot be quantized"},
		{"over a limit", []string{"--max-items", "3"}, 6, "items"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := amn(t, nil, append([]string{"forget", dir, "-o", filepath.Join(t.TempDir(), "out")}, c.args...)...)
			if r.code != c.code || !strings.Contains(r.err, c.text) {
				t.Errorf("exit %d, want %d with %q\n%s%s", r.code, c.code, c.text, r.out, r.err)
			}
		})
	}
	r := amn(t, nil, "forget", "--json", "--dry-run", "--include", "lm_head.weight", "--to", "int8", dir)
	valid(t, "forget", r.out)
	if !strings.Contains(r.out, `"name":"lm_head.weight","type":"I8","shape":[16,32]`) || !strings.Contains(r.out, `"why":"embedding"`) {
		t.Error(r.out)
	}
	if _, err := os.Stat(dir + "-int8"); err == nil {
		t.Error("a dry run wrote")
	}
}

// PEFT reads no quantized adapter, llama.cpp none of its names, and nothing is written of one.
func TestAnAdapterIsNotQuantized(t *testing.T) {
	for _, args := range []string{"forget --to nf4", "convert --to gguf"} {
		out := filepath.Join(t.TempDir(), "out")
		r := amn(t, nil, append(strings.Fields(args), "../testdata/demo/adapter", "-o", out)...)
		if r.code != 5 || !strings.Contains(r.err, "PEFT adapter") {
			t.Errorf("%s: exit %d\n%s%s", args, r.code, r.out, r.err)
		}
		if _, err := os.Stat(out); err == nil {
			t.Errorf("%s: it was written", args)
		}
	}
}

// Quantized weights of any scheme are quantized again to any other, but only with the flag for it.
func TestQuantizingAgainNeedsAFlag(t *testing.T) {
	t.Chdir(workplace(t))
	for _, args := range []string{
		"forget llama-fp8", "forget --to fp8_tensor llama-fp8", "forget --to mxfp8 llama-fp8", "forget --compare nf4,int8 llama-fp8", // which writes nothing
		"forget --include *.weight tiny.gguf", "forget --to q4_k_m tiny.gguf", "convert --to bnb-nf4 llama-fp8", "convert --to bnb-int8 --include *.weight tiny.gguf",
	} {
		list := strings.Fields(args)
		if !strings.Contains(args, "--compare") {
			list = append(list, "-o", "out")
		}
		refused := amn(t, nil, list...)
		if refused.code != 5 || !strings.Contains(refused.err, "and quantizing it again as") || !strings.Contains(refused.err, "--allow-requantize quantizes it nevertheless") {
			t.Errorf("%s: exit %d, %s", args, refused.code, refused.err)
		}
		if _, err := os.Stat("out"); err == nil {
			t.Fatal(args, "wrote")
		}
		if r := amn(t, nil, append(list, "--allow-requantize")...); r.code != 0 {
			t.Errorf("%s --allow-requantize: exit %d, %s", args, r.code, r.err)
		}
		if err := os.RemoveAll("out"); err != nil {
			t.Fatal(err)
		}
	}
	if r := amn(t, nil, "convert", "--to", "npz", "--allow-requantize", "tiny.gguf"); r.code != 2 {
		t.Errorf("a flag without effect: %+v", r)
	}
}

// Converting to a target of bitsandbytes is forgetting.
func TestConvertToBitsandbytesIsQuantize(t *testing.T) {
	dir := tinyModel(t)
	for target, to := range map[string]string{"bnb-nf4": "nf4", "NF4": "nf4", "bnb_fp4": "fp4", "bnb-int8": "int8"} {
		one, two := filepath.Join(t.TempDir(), "one"), filepath.Join(t.TempDir(), "two")
		if r := amn(t, nil, "convert", "--json", "--to", target, "-o", one, dir); r.code != 0 {
			t.Fatal(r)
		} else {
			valid(t, "convert", r.out)
		}
		if r := amn(t, nil, "forget", "-q", "--to", to, "-o", two, dir); r.code != 0 {
			t.Fatal(r)
		}
		for _, name := range []string{"model.safetensors", "config.json"} {
			if load(t, filepath.Join(one, name)) != load(t, filepath.Join(two, name)) {
				t.Errorf("%s: %s differs", target, name)
			}
		}
	}
	for _, args := range [][]string{{"--to", "npz", "--report"}, {"--to", "bnb-nf4", "--as-is"}, {"--to", "bnb-int8", "--double-quant"}, {"--to", "gguf", "--include", "x"}} {
		if r := amn(t, nil, append([]string{"convert", dir}, args...)...); r.code != 2 {
			t.Errorf("%v: %+v", args, r)
		}
	}
	if r := amn(t, nil, "convert", "--to", "bnb-nf4", filepath.Join(dir, "model.safetensors")); r.code != 0 {
		t.Error(r)
	}
	if _, err := os.Stat(filepath.Join(dir, "model-bnb-nf4.safetensors")); err != nil {
		t.Error(err)
	}
}

// Quantizing while converting to GGUF is forgetting too.
func TestConvertToAMixIsQuantize(t *testing.T) {
	dir := t.TempDir()
	one, two := filepath.Join(dir, "one.gguf"), filepath.Join(dir, "two.gguf")
	tiny := filepath.Join(demo, "tiny.gguf")
	for _, flags := range [][]string{nil, {"--pure"}, {"--output-tensor-type", "q8_0", "--token-embedding-type", "q5_0"}, {"--tensor-type", "*attn*=q5_1"}, {"--exclude", "*attn*"}} {
		flags = append(flags, "-f", "--allow-requantize")
		r := amn(t, nil, append([]string{"convert", "--json", "--to", "gguf", "--quant", "q4_0", "-o", one, tiny}, flags...)...)
		if r.code != 0 {
			t.Fatal(r)
		}
		valid(t, "convert", r.out)
		if r := amn(t, nil, append([]string{"forget", "-q", "--to", "q4_0", "-o", two, tiny}, flags...)...); r.code != 0 {
			t.Fatal(r)
		}
		if load(t, one) != load(t, two) {
			t.Errorf("%v: other bytes", flags)
		}
	}
	for _, c := range []struct {
		args []string
		text string
	}{
		{[]string{"--to", "npz", "--quant", "q4_0"}, "needs --to gguf"},
		{[]string{"--to", "gguf", "--quant", "q4_9"}, `"q4_9" is not a target, did you mean`},
		{[]string{"--to", "gguf", "--pure"}, "needs --to gguf --quant"},
		{[]string{"--to", "gguf", "--quant", "q4_0", "--as-is"}, "cannot be combined with"},
		{[]string{"--to", "gguf", "--quant", "q4_0", "--include", "x"}, "--include is not for mixes"},
		{[]string{"--to", "gguf", "--quant", "q4_0", "--keep-split"}, "not a GGUF model of several files"},
		{[]string{"--to", "gguf", "--quant", "q4_0", "--exclude", "["}, "is not a pattern"},
	} {
		if r := amn(t, nil, append([]string{"convert", tiny}, c.args...)...); r.code != 2 || !strings.Contains(r.err, c.text) {
			t.Errorf("%v: %+v", c.args, r)
		}
	}
	out := filepath.Join(dir, "kept")
	r := amn(t, nil, "forget", "--to", "q8_0", "--keep-split", "--allow-requantize", "-o", out, filepath.Join(demo, "split", "tiny-00001-of-00002.gguf"))
	if r.code != 0 {
		t.Fatal(r)
	}
	for _, name := range []string{"tiny-q8_0-00001-of-00002.gguf", "tiny-q8_0-00002-of-00002.gguf"} {
		if _, err := os.Stat(filepath.Join(out, name)); err != nil {
			t.Error(err)
		}
	}
}

// A weight with NaN is refused, kept or made finite, and --no-sync does not wait for the disk.
func TestWeightsWithNaNFollowTheFlag(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "m.safetensors")
	numbers := strings.Repeat("\x00\x3c", 2*4096)
	numbers = numbers[:2000] + "\xff\x7f\x80\xff" + numbers[2004:] // NaN and -infinity in BF16
	write(t, path, build(`"a.weight":{"dtype":"BF16","shape":[64,64],"data_offsets":[0,8192]}`, `"b.weight":{"dtype":"BF16","shape":[64,64],"data_offsets":[8192,16384]}`)+numbers)
	for _, to := range []string{"nf4", "fp8_dynamic", "mlx_4", "nvfp4"} {
		out := filepath.Join(dir, to+".safetensors")
		if r := amn(t, nil, "forget", "--to", to, "-o", out, path); r.code != 5 || !strings.Contains(r.err, "a.weight") || !strings.Contains(r.err, "1000") || !strings.Contains(r.err, "--nan") {
			t.Errorf("%s: %+v", to, r)
		}
		r := amn(t, nil, "forget", "--json", "--nan", "keep", "--no-sync", "--to", to, "-o", out, path)
		valid(t, "forget", r.out)
		if r.code != 0 || !strings.Contains(r.out, `"why":"NaN or infinity"`) || strings.Contains(r.out, "zeroed") || !strings.Contains(r.out, `"sync_seconds":0`) {
			t.Errorf("%s: %+v", to, r)
		}
		r = amn(t, nil, "forget", "-f", "--json", "--nan", "zero", "--to", to, "-o", out, path)
		valid(t, "forget", r.out)
		if r.code != 0 || strings.Count(r.out, `"zeroed":2`) != 1 {
			t.Errorf("%s: %+v", to, r)
		}
		r = amn(t, nil, "forget", "-f", "--nan", "zero", "--no-sync", "--to", to, "-o", out, path)
		if r.code != 0 || !strings.Contains(r.out, "2 numbers in 1 weight") || !strings.Contains(r.out, "Not synced") {
			t.Errorf("%s: %+v", to, r)
		}
	}
}

// A report is a page or JSON, after a space or an equals sign, and no model.
func TestReportsAreNamedAfterTheFlag(t *testing.T) {
	dir := tinyModel(t)
	out, model := filepath.Join(t.TempDir(), "out"), filepath.Join(dir, "model.safetensors")
	for _, name := range []string{"r.html", "r.HTM", "r.json"} {
		file := filepath.Join(t.TempDir(), name)
		for _, args := range [][]string{{"--report", file, model}, {model, "--report=" + file}} {
			if r := amn(t, nil, append([]string{"forget", "-f", "-o", out}, args...)...); r.code != 0 {
				t.Fatal(r)
			}
			if text := load(t, file); name == "r.json" {
				valid(t, "forget", text)
			} else if !strings.HasSuffix(text, "</html>\n") {
				t.Error(text)
			}
		}
	}
	file := filepath.Join(t.TempDir(), "compared.json")
	if r := amn(t, nil, "forget", "--compare", "nf4,int8", "--report", file, model); r.code != 0 {
		t.Fatal(r)
	}
	valid(t, "compare", load(t, file))
	if r := amn(t, nil, "forget", "--report", filepath.Join(dir, "model.safetensors.index.json"), "-o", out); r.code == 0 || strings.Contains(r.err, "path") && strings.Contains(r.err, "expected") {
		t.Errorf("an index is not a report: %+v", r)
	}
	if r := amn(t, nil, "forget", "--report=r.txt", model); r.code != 2 {
		t.Error(r)
	}
}

// Types are chosen from the list, and those that a tensor has already lose nothing.
func TestABudgetChoosesFromTheTypesGiven(t *testing.T) {
	out, tiny := filepath.Join(t.TempDir(), "out.gguf"), filepath.Join(demo, "tiny.gguf")
	for _, c := range []struct {
		args, text string
		code       int
	}{
		{"--budget 6bpw --types q4_0,q5_0,q8_0", `"type":"Q5_0"`, 0},
		{"--budget 6bpw --types Q5_1", `"type":"Q5_1"`, 0},
		{"--budget 16bpw --types q8_0,f16", `"forgotten"`, 0},
		{"--budget 1bpw --types q8_0", `"weights":[],"kept":[]`, 0}, // what it is already
		{"--budget 1bpw --types q5_1", "even the smallest of --types need", 2},
		{"--budget 6bpw --types q4_0,q4_0", "is listed twice", 2},
		{"--budget 6bpw --types q4_0,f32", "is not a block type", 2},
		{"--budget 6bpw --types q8_1", "is not a block type", 2},
		{"--types q4_0", "needs --budget", 2},
		{"--compare q8_0,q4_0", `"target":"q4_0"`, 0},
	} {
		list := append(strings.Fields(c.args), "forget", "--json", "-f", "--allow-requantize", tiny)
		if !strings.Contains(c.args, "--compare") {
			list = append(list, "-o", out)
		}
		r := amn(t, nil, list...)
		if r.code != c.code || !strings.Contains(r.out+r.err, c.text) {
			t.Errorf("%s: %+v", c.args, r)
		}
	}
}

// A page needs no other file, and shows names as text.
func TestTargetsAreComparedAndDrawn(t *testing.T) {
	dir := tinyModel(t)
	for _, args := range [][]string{{"--compare", "nf4,fp8_tensor"}, {"--to", "nf4"}} {
		page := filepath.Join(t.TempDir(), "page.html")
		args = append([]string{"forget", "--json", "--report=" + page}, args...)
		r := amn(t, nil, append(args, dir)...)
		if r.code != 0 {
			t.Fatal(r)
		}
		schema := map[string]string{"--compare": "compare", "--to": "forget"}[args[3]]
		valid(t, schema, r.out)
		text := load(t, page)
		for _, no := range []string{"<script", "src=", "://"} {
			if strings.Contains(text, no) {
				t.Errorf("%s: the page has %s", schema, no)
			}
		}
		if !strings.Contains(text, "<svg") || !strings.HasSuffix(text, "</html>\n") {
			t.Errorf("%s: %s", schema, text)
		}
		if again := amn(t, nil, append(args, "-o", filepath.Join(t.TempDir(), "x"), dir)...); again.code != 1 && again.code != 2 {
			t.Errorf("the page is replaced: %v", again)
		}
	}
	for _, args := range [][]string{{"--compare", "nf4,nf5"}, {"--compare", "nf4", "--budget", "4bpw"}, {"--compare", "fp4", "--to", "nf4"}, {"--budget", "4bpw", "--to", "nf4"}, {"--budget", "4bpw", "--to", "q4_0"}, {"--budget", "4"}, {"--budget", "4bpw", "--pure"}, {"--report=page.txt"}} {
		if r := amn(t, nil, append(append([]string{"forget"}, args...), dir)...); r.code == 0 {
			t.Errorf("%v is taken", args)
		}
	}
}
