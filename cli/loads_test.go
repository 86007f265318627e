package cli_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/cli"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/gguf"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A verdict about a library with its version, as the summary prints it.
var loadsLine = regexp.MustCompile(`(?m)^Loads:       (not |unknown of )?(transformers|vLLM|SGLang|mlx-lm|llama\.cpp|diffusers|PEFT|AutoAWQ|GPTQModel) [0-9a-f]+(\.[0-9]+)*[,:]`)

// wholeLlama is a layer of Llama with matrices that every group divides.
func wholeLlama(t *testing.T, config string) string {
	t.Helper()
	const layer, n = "model.layers.0.", 256
	matrices := map[string][2]int{"model.norm": {n}, "model.embed_tokens": {64, n}, layer + "input_layernorm": {n}, layer + "post_attention_layernorm": {n}}
	for _, name := range []string{"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.o_proj", "mlp.gate_proj", "mlp.up_proj", "mlp.down_proj"} {
		matrices[layer+name] = [2]int{n, n}
	}
	return matricesIn(t, `{"model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 256, "intermediate_size": 256, "num_hidden_layers": 1, "num_attention_heads": 4, "num_key_value_heads": 4,
		"vocab_size": 64, "rms_norm_eps": 1e-6, "tie_word_embeddings": true, "torch_dtype": "bfloat16"`+config+`}`, matrices)
}

// gptOSS is a folder with a layer, whose experts are stacked.
func gptOSS(t *testing.T) string {
	t.Helper()
	const layer = "model.layers.0."
	dir, entries, at := t.TempDir(), []string(nil), 0
	for _, one := range []struct{ name, shape string }{
		{"model.embed_tokens.weight", "8,64"}, {"model.norm.weight", "64"}, {layer + "input_layernorm.weight", "64"}, {layer + "post_attention_layernorm.weight", "64"}, {layer + "self_attn.sinks", "2"},
		{layer + "self_attn.q_proj.weight", "64,64"}, {layer + "self_attn.k_proj.weight", "64,64"}, {layer + "self_attn.v_proj.weight", "64,64"}, {layer + "self_attn.o_proj.weight", "64,64"},
		{layer + "self_attn.q_proj.bias", "64"}, {layer + "self_attn.k_proj.bias", "64"}, {layer + "self_attn.v_proj.bias", "64"}, {layer + "self_attn.o_proj.bias", "64"},
		{layer + "mlp.router.weight", "2,64"}, {layer + "mlp.router.bias", "2"}, {layer + "mlp.experts.gate_up_proj_bias", "2,128"}, {layer + "mlp.experts.down_proj_bias", "2,64"},
		{layer + "mlp.experts.down_proj", "2,64,64"}, {layer + "mlp.experts.gate_up_proj", "2,64,128"},
	} {
		size := 2
		for part := range strings.SplitSeq(one.shape, ",") {
			n, _ := strconv.Atoi(part)
			size *= n
		}
		entries = append(entries, `"`+one.name+`":{"dtype":"BF16","shape":[`+one.shape+`],"data_offsets":[`+jsonInt(at)+`,`+jsonInt(at+size)+`]}`)
		at += size
	}
	write(t, filepath.Join(dir, "model.safetensors"), build(entries...)+strings.Repeat("\x00\x3c\x10\xbd", at/4))
	write(t, filepath.Join(dir, "config.json"), `{"model_type": "gpt_oss", "architectures": ["GptOssForCausalLM"], "num_hidden_layers": 1, "num_local_experts": 2, "tie_word_embeddings": true}`)
	return dir
}

// wholeGGUF is a layer of a Llama as llama.cpp has it.
func wholeGGUF(t *testing.T, path string) {
	t.Helper()
	b := limits.Policy{}.Budget(t.Context())
	defer b.Close()
	const n = 256
	list := []tensor.Info{{Name: "token_embd.weight", DType: tensor.F16, Shape: []int64{8, n}}}
	for _, name := range []string{"output_norm", "blk.0.attn_norm", "blk.0.ffn_norm"} {
		list = append(list, tensor.Info{Name: name + ".weight", DType: tensor.F32, Shape: []int64{n}})
	}
	for _, name := range []string{"attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down"} {
		list = append(list, tensor.Info{Name: "blk.0." + name + ".weight", DType: tensor.F16, Shape: []int64{n, n}})
	}
	p, err := gguf.Layout(b, list, []gguf.Entry{
		{Key: "general.architecture", Value: "llama"}, {Key: "llama.block_count", Value: uint32(1)}, {Key: "llama.embedding_length", Value: uint32(n)}, {Key: "llama.context_length", Value: uint32(64)},
		{Key: "llama.feed_forward_length", Value: uint32(n)}, {Key: "llama.attention.head_count", Value: uint32(4)}, {Key: "llama.attention.head_count_kv", Value: uint32(4)},
		{Key: "llama.attention.layer_norm_rms_epsilon", Value: float32(1e-6)}, {Key: "llama.rope.dimension_count", Value: uint32(64)}, {Key: "llama.vocab_size", Value: uint32(8)},
		{Key: "tokenizer.ggml.model", Value: "llama"}, {Key: "tokenizer.ggml.tokens", Value: []string{"<unk>", "<s>", "</s>", "a", "b", "c", "d", "e"}},
		{Key: "tokenizer.ggml.scores", Value: []float32{0, 0, 0, -1, -2, -3, -4, -5}}, {Key: "tokenizer.ggml.token_type", Value: []int32{2, 3, 3, 1, 1, 1, 1, 1}},
	}, gguf.Options{})
	if err != nil {
		t.Fatal(err)
	}
	write(t, path, string(p.Header))
	if err := os.Truncate(path, p.Size); err != nil {
		t.Fatal(err)
	}
}

// Every target says which libraries load it, by version, or which one does not.
func TestEveryTargetSaysWhatLoadsIt(t *testing.T) {
	dir := workplace(t)
	t.Run("targets", func(t *testing.T) { sayWhatLoads(t, dir) })
	j := amn(t, nil, "merge", "--json", "--dry-run", filepath.Join(dir, "blend.json"))
	valid(t, "convert", j.out)
	if !strings.Contains(j.out, `"loads":[{"loader":"transformers","version":"`) {
		t.Error(j.out)
	}
}

func sayWhatLoads(t *testing.T, dir string) {
	t.Chdir(dir)
	llama := wholeLlama(t, "")
	copyTree(t, "one", llama)
	copyTree(t, "two", llama)
	write(t, "blend.json", `{"merge_method": "linear", "models": [{"model": "one", "parameters": {"weight": 1}}, {"model": "two", "parameters": {"weight": 1}}]}`)
	wholeGGUF(t, "whole.gguf")
	sources := []string{llama, wholeQwen3(t), gptOSS(t), "tiny.gguf", "whole.gguf"}
	said := func(args ...string) string {
		last := ""
		for _, from := range sources {
			r := amn(t, nil, append(args, from)...)
			if r.code == 0 {
				return r.out
			}
			last += r.err
		}
		return last
	}
	check := func(name, out string) {
		if !loadsLine.MatchString(out) {
			t.Errorf("%s says of no library whether it loads it\n%s", name, out)
		}
	}
	for _, to := range cli.QuantizeTargets() {
		check("quantize --to "+to, said("quantize", "--dry-run", "--to", to))
	}
	for _, to := range cli.MixNames() {
		check("quantize --to "+to, said("quantize", "--dry-run", "--allow-requantize", "--to", to))
		check("convert --to gguf --quant "+to, said("convert", "--dry-run", "--allow-requantize", "--to", "gguf", "--quant", to))
	}
	for _, to := range cli.ConvertTargets() {
		check("convert --to "+to, said("convert", "--dry-run", "--to", to))
	}
	for _, command := range []string{
		"convert --dry-run --to mlx --quant mlx_4 one", "convert --dry-run --to gguf --raw-names one", "convert --dry-run --cast f8 one", "dequantize --dry-run llama-fp8",
		"split --dry-run --max-size 100KB one", "join --dry-run one", "split --dry-run --max-tensors 2 tiny.gguf",
		"merge --dry-run blend.json", "merge-lora --dry-run models/tiny adapter",
	} {
		r := amn(t, nil, strings.Fields(command)...)
		if r.code != 0 {
			t.Errorf("amn %s: exit %d\n%s%s", command, r.code, r.out, r.err)
		}
		check(command, r.out)
	}
}

// A folder of a transformers newer than the table is not known to load, whatever the target.
func TestALoaderNewerThanItsTableIsUnknown(t *testing.T) {
	old, newer := wholeLlama(t, `, "transformers_version": "5.24.0"`), wholeLlama(t, `, "transformers_version": "99.1.0"`)
	tried := 0
	for _, to := range append([]string{"plain"}, cli.QuantizeTargets()...) {
		args := []string{"quantize", "--dry-run", "--to", to}
		if to == "plain" {
			args = []string{"convert", "--dry-run", "--to", "safetensors"}
		}
		before, after := amn(t, nil, append(args, old)...), amn(t, nil, append(args, newer)...)
		if strings.Contains(before.out, "Loads:       transformers ") {
			tried++
		}
		if strings.Contains(after.out, "Loads:       transformers ") || before.code != after.code {
			t.Errorf("%s: exit %d\n%s%s", to, after.code, after.out, after.err)
		}
		if strings.Contains(before.out, "Loads:       transformers ") && !strings.Contains(after.out, "unknown of transformers 5.") {
			t.Errorf("%s\n%s", to, after.out)
		}
	}
	if tried < 8 {
		t.Errorf("only %d targets load before", tried)
	}
}

// Tensors that are not those of the configuration are not said to load.
func TestChangedModelsAreNotSaidToLoad(t *testing.T) {
	t.Chdir(workplace(t))
	copyTree(t, "one", wholeLlama(t, ""))
	for command, why := range map[string]string{
		"convert --dry-run --to safetensors one":                                  `Loads:       transformers 5.24.0, tried with model_type "llama"`,
		"convert --dry-run --to safetensors --tensor *proj* one":                  "only the chosen tensors",
		"convert --dry-run --to safetensors --rename model.*=other.* one":         "other names than in the source",
		"convert --dry-run --cast f8 one":                                         "F8_E4M3 without scales",
		"convert --dry-run --to gguf --raw-names one":                             "the names of the source",
		"convert --dry-run --to npz weights.npz":                                  "it reads no .npz",
		"convert --dry-run --to safetensors model.safetensors":                    "no config.json states a model_type",
		"split --dry-run --max-size 20KB llama-fp8":                               "written as they are in the source",
		"split --dry-run --max-size 10KB adapter":                                 "PEFT",
		"convert --dry-run --to gguf --gguf-kv general.architecture=x1 tiny.gguf": `it has no architecture "x1"`,
	} {
		r := amn(t, nil, strings.Fields(command)...)
		if r.code != 0 || !strings.Contains(r.out, why) || strings.Count(r.out, "Loads:       transformers ") != strings.Count(why, "Loads:       transformers ") {
			t.Errorf("amn %s: exit %d\n%s%s, want %q", command, r.code, r.out, r.err, why)
		}
	}
}
