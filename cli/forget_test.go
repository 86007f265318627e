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

func TestAFolderIsForgottenToAFolder(t *testing.T) {
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

func TestWhatIsNotForgotten(t *testing.T) {
	dir := tinyModel(t)
	for _, c := range []struct {
		name string
		args []string
		code int
		text string
	}{
		{"nothing eligible", []string{"--exclude", "*"}, 2, "no weight in it is quantized"},
		{"an empty pattern", []string{"--include", "["}, 2, "--include and --exclude"},
		{"a block of 48", []string{"--block-size", "48"}, 2, "blocks of 48"},
		{"a type that is none", []string{"--to", "nf5"}, 2, "is none of nf4"},
		{"nested rows", []string{"--to", "int8", "--double-quant"}, 2, "never quantized"},
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

// Converting to a target of bitsandbytes is forgetting.
func TestConvertingToBitsandbytesIsForgetting(t *testing.T) {
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
	for _, args := range [][]string{{"--compare", "nf4,nf5"}, {"--compare", "nf4", "--budget", "4bpw"}, {"--budget", "4"}, {"--budget", "4bpw", "--pure"}, {"--report=page.txt"}} {
		if r := amn(t, nil, append(append([]string{"forget"}, args...), dir)...); r.code == 0 {
			t.Errorf("%v is taken", args)
		}
	}
}
