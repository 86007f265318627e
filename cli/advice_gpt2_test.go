package cli_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// quantizedGPT2 writes gpt2-q8.gguf: a GPT-2, whose matrices llama.cpp has transposed, in blocks.
func quantizedGPT2(t *testing.T, dir string) {
	t.Helper()
	const hidden = "64"
	var entries []string
	body := 0
	add := func(name, shape string) {
		size := 2
		for d := range strings.SplitSeq(shape, ",") {
			var n int
			if _, err := fmt.Sscan(d, &n); err != nil {
				t.Fatal(err)
			}
			size *= n
		}
		entries = append(entries, fmt.Sprintf(`"transformer.%s":{"dtype":"BF16","shape":[%s],"data_offsets":[%d,%d]}`, name, shape, body, body+size))
		body += size
	}
	for _, m := range [][3]string{{"attn.c_attn", hidden + ",192", "192"}, {"attn.c_proj", hidden + "," + hidden, hidden}, {"ln_1", hidden, hidden}, {"ln_2", hidden, hidden}, {"mlp.c_fc", hidden + ",256", "256"}, {"mlp.c_proj", "256," + hidden, hidden}} {
		add("h.0."+m[0]+".bias", m[2])
		add("h.0."+m[0]+".weight", m[1])
	}
	add("ln_f.bias", hidden)
	add("ln_f.weight", hidden)
	add("wpe.weight", "32,"+hidden)
	add("wte.weight", "4,"+hidden)
	plain := filepath.Join(dir, "gpt2")
	write(t, filepath.Join(plain, "model.safetensors"), build(entries...)+strings.Repeat("\x00\x3c\x10\xbd", body/4))
	write(t, filepath.Join(plain, "config.json"), `{"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "n_embd": 64, "n_layer": 1, "n_head": 1, "n_positions": 32, "vocab_size": 4, "layer_norm_epsilon": 1e-05}`)
	write(t, filepath.Join(plain, "tokenizer.json"), `{"model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "c": 2, "ab": 3}, "merges": ["a b"]}}`)
	for _, args := range [][]string{
		{"convert", "-q", "--to", "gguf", "--gguf-kv", "tokenizer.ggml.pre=gpt-2", "-o", filepath.Join(dir, "gpt2.gguf"), plain},
		{"quantize", "-q", "--to", "q8_0", "-o", filepath.Join(dir, "gpt2-q8.gguf"), filepath.Join(dir, "gpt2.gguf")},
	} {
		if r := amn(t, nil, args...); r.code != 0 {
			t.Fatalf("%v: exit %d: %s", args, r.code, r.err)
		}
	}
}
