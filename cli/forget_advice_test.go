package cli_test

import (
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// matricesIn is a folder with such matrices in BF16; a vector has no columns.
func matricesIn(t *testing.T, config string, matrices map[string][2]int) string {
	t.Helper()
	dir, body := t.TempDir(), 0
	var entries []string
	for _, name := range slices.Sorted(maps.Keys(matrices)) {
		s := matrices[name]
		size, shape := 2*s[0]*max(1, s[1]), jsonInt(s[0])
		if s[1] > 0 {
			shape += "," + jsonInt(s[1])
		}
		entries = append(entries, `"`+name+`.weight":{"dtype":"BF16","shape":[`+shape+`],"data_offsets":[`+jsonInt(body)+`,`+jsonInt(body+size)+`]}`)
		body += size
	}
	write(t, filepath.Join(dir, "model.safetensors"), build(entries...)+strings.Repeat("\x00\x3c\x10\xbd", body/4))
	write(t, filepath.Join(dir, "config.json"), config)
	return dir
}

// Following the advice of each refusal works.
func TestTheAdviceOfARefusalWorks(t *testing.T) {
	attention := map[string][2]int{"model.layers.0.self_attn.q_proj": {128, 128}, "model.layers.0.self_attn.k_proj": {128, 128}, "model.layers.0.self_attn.v_proj": {128, 128}}
	experts := maps.Clone(attention)
	for e := range 2 {
		at := "model.layers.0.mlp.experts." + strconv.Itoa(e) + "."
		experts[at+"gate_proj"], experts[at+"up_proj"], experts[at+"down_proj"] = [2]int{192, 128}, [2]int{192, 128}, [2]int{128, 192}
	}
	folders := map[string]string{
		"odd":     matricesIn(t, `{"model_type": "nobodys", "architectures": ["NobodysForCausalLM"]}`, attention),
		"mixture": matricesIn(t, `{"model_type": "qwen3_moe", "architectures": ["Qwen3MoeForCausalLM"]}`, experts),
	}
	for _, c := range []struct {
		name, folder, args, says string
		advice                   []string // commands that the message names, or that do what it says
	}{
		{"a mix of a class that llama.cpp does not have", "odd", "quantize --to q4_k_m", "amn convert --to gguf --raw-names", []string{"convert --to gguf --raw-names"}},
		{"MLX of a class that mlx-lm does not have", "odd", "quantize --to mlx_4", "only targets of other libraries can be written", []string{"quantize --to nf4", "quantize --to w4a16"}},
		{"experts that groups do not fit", "mixture", "quantize --to w4a16", "(fp8_dynamic, mxfp4), or leave all experts alone (--exclude)", []string{"quantize --to fp8_dynamic", "quantize --to mxfp4", "quantize --to w4a16 --exclude *.experts.*"}},
		{"a part of a group", "mixture", "quantize --to fp8_dynamic --exclude *.k_proj.*", "--exclude must name all matrices of such a group", []string{"quantize --to fp8_dynamic --exclude *.k_proj.* --exclude *.q_proj.* --exclude *.v_proj.*"}},
		{"nothing to quantize", "odd", "quantize --to gpt_oss", "no weight in it is quantized", []string{"quantize --to nf4"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := folders[c.folder]
			run := func(args string) result {
				return amn(t, nil, append(strings.Fields(args), "-o", filepath.Join(t.TempDir(), "out"+map[bool]string{true: ".gguf"}[strings.Contains(args, "gguf")]), dir)...)
			}
			if r := run(c.args); r.code == 0 || !strings.Contains(r.err, c.says) {
				t.Fatalf("exit %d, no word of %q\n%s%s", r.code, c.says, r.out, r.err)
			}
			for _, advice := range c.advice {
				if r := run(advice); r.code != 0 {
					t.Errorf("%s: exit %d\n%s%s", advice, r.code, r.out, r.err)
				}
			}
		})
	}
}

// --compare makes the same checks as --to: a target that --to refuses is not measured.
func TestAComparisonRefusesWhatATargetRefuses(t *testing.T) {
	dir := matricesIn(t, `{"model_type": "nobodys"}`, map[string][2]int{"model.layers.0.self_attn.q_proj": {128, 96}})
	r := amn(t, nil, "quantize", "--compare", "nf4,w4a16,gpt_oss,mlx_4,q4_k_m", dir)
	for _, to := range []string{"w4a16", "gpt_oss", "mlx_4", "q4_k_m"} {
		if !strings.Contains(r.out, "Refused:     "+to+": ") {
			t.Errorf("%s is not refused\n%s", to, r.out)
		}
		one := amn(t, nil, "quantize", "--to", to, "-o", filepath.Join(t.TempDir(), "out"), dir)
		if one.code == 0 {
			t.Errorf("--to %s: exit 0", to)
		}
	}
	if r.code != 0 || strings.Contains(r.out, "lossless") || strings.Count(r.out, "\nnf4 ") != 1 {
		t.Errorf("exit %d\n%s%s", r.code, r.out, r.err)
	}
	j := amn(t, nil, "quantize", "--json", "--compare", "nf4,w4a16", dir)
	valid(t, "compare", j.out)
	if !strings.Contains(j.out, `"refused":[{"target":"w4a16","why":`) {
		t.Error(j.out)
	}
	if r := amn(t, nil, "quantize", "--compare", "w4a16,gpt_oss", dir); r.code == 0 {
		t.Errorf("nothing is left to compare, and exit 0\n%s", r.out)
	}
}

// quantize and convert write one folder for mlx-lm, with stacked experts.
func TestQuantizeAndConvertWriteTheSameMLXFolder(t *testing.T) {
	dir := wholeQwen3(t)
	one, two := filepath.Join(t.TempDir(), "one"), filepath.Join(t.TempDir(), "two")
	if r := amn(t, nil, "quantize", "-q", "--to", "mlx_4", "-o", one, dir); r.code != 0 {
		t.Fatal(r)
	}
	if r := amn(t, nil, "convert", "-q", "--to", "mlx", "--quant", "mlx_4", "-o", two, dir); r.code != 0 {
		t.Fatal(r)
	}
	for _, name := range []string{"model.safetensors", "config.json"} {
		if load(t, filepath.Join(one, name)) != load(t, filepath.Join(two, name)) {
			t.Errorf("%s differs", name)
		}
	}
	if text := load(t, filepath.Join(one, "model.safetensors")); !strings.Contains(text, "switch_mlp") {
		t.Error("experts are not stacked")
	}
}

// wholeQwen3 is a mixture of one layer with all of its tensors.
func wholeQwen3(t *testing.T) string {
	t.Helper()
	const layer = "model.layers.0."
	experts := map[string][2]int{"model.norm": {64}, layer + "input_layernorm": {64}, layer + "post_attention_layernorm": {64}, layer + "self_attn.q_norm": {64}, layer + "self_attn.k_norm": {64},
		layer + "self_attn.q_proj": {64, 64}, layer + "self_attn.k_proj": {64, 64}, layer + "self_attn.v_proj": {64, 64}, layer + "self_attn.o_proj": {64, 64}, "model.embed_tokens": {64, 64}, "model.layers.0.mlp.gate": {2, 64}}
	for e := range 2 {
		at := "model.layers.0.mlp.experts." + strconv.Itoa(e) + "."
		experts[at+"gate_proj"], experts[at+"up_proj"], experts[at+"down_proj"] = [2]int{64, 64}, [2]int{64, 64}, [2]int{64, 64}
	}
	return matricesIn(t, `{"model_type": "qwen3_moe", "architectures": ["Qwen3MoeForCausalLM"], "hidden_size": 64, "num_hidden_layers": 1, "num_attention_heads": 1, "num_key_value_heads": 1, "num_experts": 2, "num_experts_per_tok": 1,
		"moe_intermediate_size": 64, "intermediate_size": 64, "vocab_size": 64, "tie_word_embeddings": true, "torch_dtype": "bfloat16", "head_dim": 64, "max_position_embeddings": 64, "rms_norm_eps": 1e-6, "rope_theta": 10000}`, experts)
}
