package cli_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/cli"
	"github.com/anamnesis-go/anamnesis/internal/effort"
)

// A probe is a value of a flag, and the models of which it changes what is written.
type probe struct {
	value string // "" for a switch
	of    string
	with  string // another flag that it needs
}

// probes has for each flag of commands that write a model what shows its effect.
var probes = map[string][]probe{
	"allow-requantize":     {{"", "fp8 q8.gguf", ""}},
	"as":                   {{"mlx", "mlx-bf16.safetensors llama", ""}, {"mlx", "mlx-bf16.safetensors", "--out-dtype=f32"}},
	"as-is":                {{"", "fp8 fp8.safetensors q8.gguf", ""}},
	"block-size":           {{"8,8", "blocks.safetensors", ""}, {"32", "llama llama.safetensors", ""}, {"16", "llama", ""}},
	"budget":               {{"9bpw", "llama llama.gguf", ""}},
	"cast":                 {{"f16", "llama llama.safetensors llama.gguf", ""}},
	"cast-all":             {{"", "llama.safetensors llama.gguf llama", "--cast=f16"}},
	"config-from":          {{"other", "llama llama.safetensors", ""}, {"fp8", "fp8.safetensors", ""}, {"falcon", "llama.safetensors", ""}},
	"copy":                 {{"", "llama", ""}},
	"copy-code":            {{"", "llama llama.gguf llama.safetensors fp8 mlx", ""}},
	"double-quant":         {{"", "llama", ""}},
	"drop":                 {{"*.q_proj.*", "llama", ""}, {"*attn_q.*", "llama.gguf", ""}},
	"exclude":              {{"*.q_proj.*", "llama llama.safetensors", ""}, {"*experts*", "llama", ""}, {"*attn_q.*", "llama.gguf", ""}},
	"fold-pre-quant-scale": {{"", "folded", ""}},
	"gguf-kv":              {{"general.name=x", "llama llama.gguf", ""}},
	"gguf-metadata":        {{"keys.json", "llama llama.gguf", ""}},
	"gptq-zeros":           {{"v1", "gptq", ""}, {"v2", "gptq", ""}},
	"ignore-unknown":       {{"twist", "twisted", ""}},
	"imatrix":              {{"imatrix.gguf", "llama llama.gguf", ""}, {"imatrix.gguf", "llama llama.gguf", "--quant=q4_k_m"}},
	"include":              {{"*embed_tokens*", "llama", ""}, {"*lm_head*", "llama", ""}, {"*attn_q.*", "llama.gguf", ""}},
	"keep":                 {{"*.q_proj.*", "llama llama.safetensors", ""}, {"*attn_q.*", "llama.gguf", ""}},
	"keep-scales":          {{"", "scales scales.safetensors", ""}},
	"keep-split":           {{"", "split/llama-00001-of-00003.gguf", ""}, {"", "split/llama-00001-of-00003.gguf", "--quant=q4_0"}},
	"max-shard-size":       {{"100KB", "llama llama.safetensors fp8 llama.gguf", ""}},
	"mmproj":               {{"", "llama", ""}},
	"nan":                  {{"zero", "nan", ""}, {"zero", "nan.safetensors", ""}},
	"out-dtype":            {{"f32", "fp8 fp8.safetensors q8.gguf", ""}},
	"output-tensor-type":   {{"q4_0", "llama llama.gguf", ""}},
	"pure":                 {{"", "llama llama.gguf", ""}},
	"quant":                {{"q8_0", "llama llama.gguf", ""}, {"mlx_4", "llama llama.gguf", ""}},
	"raw-names":            {{"", "llama llama.gguf", ""}},
	"rename":               {{"*q_proj*=*zorm*", "llama llama.safetensors", ""}, {"*attn_q*=*zorm*", "llama.gguf", ""}},
	"scheme":               {{"awq", "fp8 fp8.safetensors", ""}},
	"select":               {{"model", "llama llama.safetensors", ""}, {"blk", "llama.gguf", ""}},
	"strip-prefix":         {{"model.", "llama llama.safetensors", ""}, {"blk.", "llama.gguf", ""}},
	"target-model":         {{"llama", "draft", ""}},
	"tensor":               {{"*.q_proj.*", "llama llama.safetensors", ""}, {"*attn_q.*", "llama.gguf", ""}, {"*.q_proj.*", "fp8", ""}},
	"tensor-type":          {{"*attn_q.*=q8_0", "llama llama.gguf", ""}, {"*attn_q.*=q8_0", "llama llama.gguf", "--quant=q4_0"}},
	"tensors-only":         {{"", "whole.pt", ""}},
	"token-embedding-type": {{"q4_0", "llama llama.gguf", ""}},
	"types":                {{"q8_0", "llama llama.gguf", ""}, {"q4_0,q8_0", "llama llama.gguf", "--budget=9bpw"}},
	"weights":              {{"other.safetensors", "twice", ""}},
}

// noProbe are flags that choose the target, that measure, or that only allow or refuse.
var noProbe = []string{"to", "report", "compare", "fail-on-overflow"}

// llamaSizes are members of the configurations of both models below.
const llamaSizes = `"hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 1, "num_attention_heads": 2, "num_key_value_heads": 2, "head_dim": 64, "max_position_embeddings": 64, "vocab_size": 3,
	"bos_token_id": 1, "eos_token_id": 2, "tie_word_embeddings": false, "dtype": "bfloat16", "rope_theta": 10000.0, "hidden_act": "silu"`

// llamaLayer are the matrices of a layer.
func llamaLayer(at string) map[string][2]int {
	return map[string][2]int{at + "input_layernorm": {128}, at + "post_attention_layernorm": {128},
		at + "self_attn.q_proj": {128, 128}, at + "self_attn.k_proj": {128, 128}, at + "self_attn.v_proj": {128, 128}, at + "self_attn.o_proj": {128, 128},
		at + "mlp.gate_proj": {256, 128}, at + "mlp.up_proj": {256, 128}, at + "mlp.down_proj": {128, 256}}
}

// spokenLlama is a model of one layer that is converted to GGUF.
func spokenLlama(t *testing.T, epsilon string) string {
	t.Helper()
	// A vocabulary of sentencepiece: an unknown, a beginning and an end.
	const pieces = "\n\x0e\n\x05<unk>\x15\x00\x00\x00\x00\x18\x02" + "\n\x0c\n\x03<s>\x15\x00\x00\x00\x00\x18\x03" + "\n\x0d\n\x04</s>\x15\x00\x00\x00\x00\x18\x03" + "\x12\x02\x18\x02"
	shapes := llamaLayer("model.layers.0.")
	maps.Copy(shapes, map[string][2]int{"model.embed_tokens": {3, 128}, "lm_head": {3, 128}, "model.norm": {128}})
	dir := matricesIn(t, `{"model_type": "llama", "architectures": ["LlamaForCausalLM"], "auto_map": {"AutoModel": "modeling_llama.Model"}, `+llamaSizes+`, "rms_norm_eps": `+epsilon+`}`, shapes)
	write(t, filepath.Join(dir, "tokenizer.model"), pieces)
	return dir
}

// draftOfLlama drafts for spokenLlama: it has no vocabulary of its own.
func draftOfLlama(t *testing.T) string {
	t.Helper()
	shapes := llamaLayer("layers.0.")
	maps.Copy(shapes, map[string][2]int{"norm": {128}, "hidden_norm": {128}, "fc": {128, 128}, "layers.0.self_attn.q_norm": {64}, "layers.0.self_attn.k_norm": {64}})
	return matricesIn(t, `{"model_type": "qwen3", "architectures": ["DFlashDraftModel"], "block_size": 4, "dflash_config": {"target_layer_ids": [0], "mask_token_id": 2}, `+llamaSizes+`, "rms_norm_eps": 1e-06}`, shapes)
}

// ignorable makes the models of probes.
func ignorable(t *testing.T, data string) {
	t.Helper()
	must := func(args ...string) {
		t.Helper()
		if r := amn(t, nil, args...); r.code != 0 {
			t.Fatalf("%v: exit %d: %s", args, r.code, r.err)
		}
	}
	for name, epsilon := range map[string]string{"llama": "1e-06", "other": "1e-05"} {
		copyTree(t, name, spokenLlama(t, epsilon))
		write(t, filepath.Join(name, "modeling_llama.py"), "class Model: pass\n")
	}
	copyTree(t, "draft", draftOfLlama(t))
	copyFile(t, "llama.safetensors", "llama/model.safetensors")
	must("convert", "--to", "gguf", "-o", "llama.gguf", "llama")
	must("convert", "--to", "gguf", "--quant", "q8_0", "-o", "q8.gguf", "llama")
	must("split", "--max-tensors", "6", "-o", "split", "llama.gguf")
	must("quantize", "--to", "fp8", "-o", "fp8", "llama")
	copyFile(t, "fp8.safetensors", "fp8/model.safetensors")
	must("quantize", "--to", "mlx_4", "-o", "mlx", "llama")
	write(t, "mlx/modeling_llama.py", "class Model: pass\n")
	copyTree(t, "twice", "llama")
	write(t, "twice/other.safetensors", strings.ReplaceAll(load(t, "llama/model.safetensors"), "\x00\x3c\x10\xbd", "\x00\x3d\x10\xbd"))
	copyTree(t, "nan", "llama")
	body := load(t, "llama/model.safetensors")
	half := len(body) / 4 * 2 // in the matrices of a layer
	write(t, "nan/model.safetensors", body[:half]+"\xc0\x7f"+body[half+2:])
	copyFile(t, "nan.safetensors", "nan/model.safetensors")
	write(t, "keys.json", `{"general.name": "his"}`)
	copyFile(t, "whole.pt", data+"/pth/tensors-only/whole.pt")
	copyFile(t, "scales.safetensors", filepath.Join(data, "..", filepath.FromSlash("quant/comfy/testdata/comfyui-first-fp8/model.safetensors")))
	copyFile(t, "mlx-bf16.safetensors", filepath.Join(data, "..", filepath.FromSlash("quant/mlx/testdata/mlx-affine-4-bits-as-bfloat16/model.safetensors")))
	copyFile(t, "gptq/model.safetensors", filepath.Join(data, "..", filepath.FromSlash("quant/gptq/testdata/gptq-4-bits-v2/model.safetensors")))
	write(t, "gptq/config.json", `{"quantization_config": {"quant_method": "gptq", "bits": 4, "group_size": 32}}`)
	write(t, "falcon/config.json", `{"model_type": "falcon"}`)
	copyFile(t, "twisted/model.safetensors", filepath.Join(data, "..", filepath.FromSlash("quant/mlx/testdata/mlx-affine-4-bits/model.safetensors")))
	write(t, "twisted/config.json", `{"quantization":{"group_size":32,"bits":4,"twist":"left"}}`)
	write(t, "folded/config.json", `{"quantization_config": {"quant_method": "modelopt"}}`)
	write(t, "folded/model.safetensors", build(`"m.weight":{"dtype":"U8","shape":[1,2],"data_offsets":[0,2]}`, `"m.weight_scale":{"dtype":"F32","shape":[2,1],"data_offsets":[2,10]}`,
		`"m.pre_quant_scale":{"dtype":"F32","shape":[2],"data_offsets":[10,18]}`)+"\x21\x43"+"\x00\x00\x80\x3f\x00\x00\x20\x41"+"\x00\x00\x00\x40\x00\x00\x00\x3f")
}

// written are the digests of what is at a path.
func written(t *testing.T, path string) string {
	t.Helper()
	var list []string
	err := filepath.WalkDir(path, func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			list = append(list, fmt.Sprintf("%s %x", name, sha256.Sum256([]byte(load(t, name)))))
		}
		return err
	})
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return strings.Join(list, "\n")
}

// An asked is what a run of a command left: its code, its words and what it wrote.
type asked struct {
	code      int
	says, has string
}

// A flag that changes nothing of what a target writes is wrong usage of that target.
func TestNoTargetIgnoresAFlag(t *testing.T) {
	data, err := filepath.Abs("../testdata")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	ignorable(t, data)
	plain, acts := map[string]asked{}, map[string]bool{}
	ask := func(out string, args ...string) asked {
		if err := errors.Join(os.RemoveAll("out"), os.Mkdir("out", 0o777)); err != nil {
			t.Fatal(err)
		}
		r := amn(t, nil, slices.Concat(args, []string{"--no-sync", "-o", out})...)
		return asked{r.code, r.err, written(t, "out")}
	}
	each := func(command, out string, to ...string) {
		for i, flag := range cli.FlagsOf(command) {
			if slices.Contains(cli.NotInOutput, flag) || slices.Contains(noProbe, flag) || slices.Contains(to, "--"+flag) || !effort.Some(i) {
				continue
			}
			list, ok := probes[flag]
			if !ok {
				t.Errorf("amn %s --%s has no probe", command, flag)
			}
			if flag == "include" && len(to) > 0 && strings.HasPrefix(to[len(to)-1], "mlx_") {
				continue // which quantize every matrix of the probes
			}
			acted, refused, same := false, false, ""
			for _, p := range list {
				for _, from := range strings.Fields(p.of) {
					args := append([]string{command, from}, to...)
					if p.with != "" {
						args = append(args, p.with)
					}
					key := strings.Join(append(args, out), " ")
					before, ok := plain[key]
					if !ok {
						before = ask(out, args...)
						plain[key] = before
					}
					with := "--" + flag
					if p.value != "" {
						with += "=" + p.value
					}
					switch after := ask(out, slices.Concat(args, []string{with})...); {
					case after.code == 2 && before.says != after.says:
						refused = true
					case after.code == 0 && before.has == after.has:
						same += " " + from
					case after.code == 0 || before.code == 0:
						acted = true
					}
				}
			}
			acts[flag] = acts[flag] || acted || refused
			if same != "" && !acted && !refused {
				t.Errorf("amn %s %s -o %s: --%s changes nothing of%s", command, strings.Join(to, " "), out, flag, same)
			}
		}
	}
	for _, to := range cli.ConvertTargets() {
		switch to {
		case "gguf", "npz":
			each("convert", "out/x."+to, "--to", to)
		default:
			each("convert", "out/x.safetensors", "--to", to)
			fallthrough
		case "hf", "mlx":
			each("convert", "out/x", "--to", to)
		}
	}
	quantize := []string{"nf4", "int8", "fp8", "w4a16", "modelopt_fp8", "torchao_int8", "gptq", "mlx_4", "q4_k_m"} // one of each library
	if os.Getenv("ANAMNESIS_SEARCH") != "" {
		quantize = append(cli.QuantizeTargets(), "q4_k_m")
	}
	for _, to := range quantize {
		if to == "q4_k_m" {
			each("quantize", "out/x.gguf", "--to", to)
			continue
		}
		each("quantize", "out/x", "--to", to)
		each("quantize", "out/x.safetensors", "--to", to)
	}
	each("quantize", "out/x.gguf", "--budget", "9bpw")
	each("dequantize", "out/x")
	each("dequantize", "out/x.safetensors")
	for flag := range probes {
		if !acts[flag] && !effort.Race {
			t.Errorf("no target takes or refuses --%s: its probes show nothing", flag)
		}
	}
}

// A flag that changes nothing of a comparison is wrong usage beside --compare.
func TestAComparisonIgnoresNoFlag(t *testing.T) {
	data, err := filepath.Abs("../testdata")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	ignorable(t, data)
	ask := func(from string, more ...string) asked {
		r := amn(t, nil, slices.Concat([]string{"quantize", from, "--json", "--compare", "nf4,fp8,w4a16,q4_k_m"}, more)...)
		return asked{r.code, r.err, r.out}
	}
	for i, flag := range cli.FlagsOf("quantize") {
		if slices.Contains(cli.NotInOutput, flag) || slices.Contains(noProbe, flag) || !effort.Some(i) {
			continue
		}
		shown, same := false, ""
		for _, p := range probes[flag] {
			for _, from := range strings.Fields(p.of) {
				var with []string
				if p.with != "" {
					with = []string{p.with}
				}
				name := "--" + flag
				if p.value != "" {
					name += "=" + p.value
				}
				before, after := ask(from, with...), ask(from, append(with, name)...)
				switch {
				case after.code == 2 && before.says != after.says, after.code == 0 && before.has != after.has:
					shown = true
				case after.code == 0:
					same += " " + from
				}
			}
		}
		if same != "" && !shown {
			t.Errorf("amn quantize --compare ignores --%s of%s", flag, same)
		}
	}
}
