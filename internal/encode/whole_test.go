package encode_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/convert"
	"github.com/anamnesis-go/anamnesis/internal/converttest"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/parser/safetensors"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// experts are those of some layers, with an inner width for each.
func experts(layers map[int]int64) map[string][2]int64 {
	list := map[string][2]int64{"model.layers.0.self_attn.o_proj": {128, 128}}
	for layer, width := range layers {
		for e := range 2 {
			at := fmt.Sprintf("model.layers.%d.mlp.experts.%d.", layer, e)
			list[at+"gate_proj"], list[at+"up_proj"], list[at+"down_proj"] = [2]int64{width, 128}, [2]int64{width, 128}, [2]int64{128, width}
		}
	}
	return list
}

// vLLM and SGLang fuse the members of a group, and raise if one is quantized and another is not;
// transformers joins experts. crosscheck/loads.py loads such models.
func TestAFusedGroupIsQuantizedWholeOrNotAtAll(t *testing.T) {
	const attn, mlp = "model.layers.0.self_attn.", "model.layers.0.mlp."
	latent := map[string][2]int64{attn + "q_a_proj": {128, 128}, attn + "kv_a_proj_with_mqa": {576, 128}, attn + "o_proj": {128, 128}}
	grouped := map[string][2]int64{attn + "q_proj": {384, 128}, attn + "k_proj": {96, 128}, attn + "v_proj": {96, 128}, attn + "o_proj": {128, 384}, mlp + "gate_proj": {256, 128}, mlp + "up_proj": {256, 128}, mlp + "down_proj": {128, 256}}
	for _, c := range []struct {
		name, kind, architecture, to string
		matrices                     map[string][2]int64
		kept                         string // last parts of names
	}{
		{"latent attention, blocks", "deepseek_v3", "DeepseekV3ForCausalLM", "fp8", latent, "kv_a_proj_with_mqa q_a_proj"},
		{"latent attention, blocks of ModelOpt", "deepseek_v3", "DeepseekV3ForCausalLM", "modelopt_fp8_block", latent, ""},
		{"latent attention, blocks that an edge may cut", "deepseek_v3", "DeepseekV3ForCausalLM", "fp8_block", latent, ""},
		{"columns that an edge would cut, whose inputs are in groups", "llama", "LlamaForCausalLM", "fp8_block", map[string][2]int64{mlp + "gate_proj": {192, 128}, mlp + "up_proj": {192, 128}, mlp + "down_proj": {128, 192}}, "down_proj"},
		{"keys of 96 rows", "llama", "LlamaForCausalLM", "fp8", grouped, "k_proj q_proj v_proj"},
		{"keys of 96 rows, a class that nobody knows", "llama", "OthersForCausalLM", "fp8", grouped, "k_proj q_proj v_proj"},
		{"keys of 96 rows, a scale for each row", "llama", "LlamaForCausalLM", "fp8_dynamic", grouped, ""},
		{"no member of a group has other columns", "llama", "LlamaForCausalLM", "w4a16", map[string][2]int64{mlp + "gate_proj": {192, 128}, mlp + "up_proj": {192, 128}, mlp + "down_proj": {128, 192}}, "down_proj"},
		{"linear attention", "qwen3_5", "Qwen3_5ForCausalLM", "fp8", map[string][2]int64{"model.layers.0.linear_attn.in_proj_qkv": {256, 128}, "model.layers.0.linear_attn.in_proj_z": {192, 128}, attn + "o_proj": {128, 128}}, "in_proj_qkv in_proj_z"},
		{"experts of odd width, blocks", "qwen3_moe", "Qwen3MoeForCausalLM", "fp8", experts(map[int]int64{0: 192}), "down_proj down_proj gate_proj gate_proj up_proj up_proj"},
		{"experts of one odd layer", "qwen3_moe", "Qwen3MoeForCausalLM", "fp8", experts(map[int]int64{0: 192, 1: 128}), "down_proj down_proj gate_proj gate_proj up_proj up_proj"},
		{"experts of odd width in groups that fit", "qwen3_moe", "Qwen3MoeForCausalLM", "mxfp4", experts(map[int]int64{0: 192}), ""},
		{"experts that transformers does not join", "dbrx", "DbrxForCausalLM", "w4a16", map[string][2]int64{"transformer.blocks.0.norm_attn_norm.attn.Wqkv": {128, 128}}, ""},
	} {
		b := converttest.Account(t)
		m := converttest.WithConfig(converttest.TypedModel(t, b, c.kind, converttest.Shaped(c.matrices)), fmt.Sprintf(`{"model_type": %q, "architectures": [%q]}`, c.kind, c.architecture))
		p, err := convert.NewPlan(b, m, convert.Options{Quantize: converttest.To(t, c.to)})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		var kept []string
		for _, k := range p.Quantized.Kept {
			name := strings.TrimSuffix(k.Name, ".weight")
			kept = append(kept, name[strings.LastIndexByte(name, '.')+1:])
		}
		slices.Sort(kept)
		if got := strings.Join(kept, " "); got != c.kept || len(p.Quantized.Weights)+len(kept) != len(c.matrices) {
			t.Errorf("%s: kept %q, not %q, and quantized %d of %d", c.name, got, c.kept, len(p.Quantized.Weights), len(c.matrices))
		}
		if text, err := p.QuantizationConfig(); err != nil || c.kept != "" && !strings.Contains(string(text), "proj") {
			t.Errorf("%s: %v\n%s", c.name, err, text)
		}
	}
}

// An ignored expert is listed by name if others are quantized, because a pattern would match those
// too.
func TestIgnoredExpertsOfOneLayerAreNamed(t *testing.T) {
	b := converttest.Account(t)
	exclude := func(name string) bool { return strings.Contains(name, "layers.0.mlp") }
	q := converttest.To(t, "fp8_dynamic", convert.Choices{Exclude: exclude})
	p, err := convert.NewPlan(b, converttest.TypedModel(t, b, "qwen3_moe", converttest.Shaped(experts(map[int]int64{0: 128, 1: 128}))), convert.Options{Quantize: q})
	if err != nil {
		t.Fatal(err)
	}
	text, err := p.QuantizationConfig()
	if err != nil || strings.Contains(string(text), "re:") || strings.Count(string(text), `"model.layers.0.mlp.experts.`) != 6 || strings.Contains(string(text), "layers.1.") {
		t.Errorf("%v\n%s", err, text)
	}
}

// A target that a loader would refuse is refused before a byte is written, with the group and the
// reason.
func TestGroupsThatALoaderWouldNotTakeAreRefused(t *testing.T) {
	odd := experts(map[int]int64{0: 192})
	nemotron := map[string][2]int64{"backbone.layers.1.mixer.experts.0.up_proj": {1856, 128}, "backbone.layers.1.mixer.experts.0.down_proj": {128, 1856}, "backbone.layers.0.mixer.o_proj": {128, 128}}
	attention := map[string][2]int64{"model.layers.0.self_attn.q_proj": {128, 128}, "model.layers.0.self_attn.k_proj": {128, 128}, "model.layers.0.self_attn.v_proj": {128, 128}}
	keys := func(name string) bool { return strings.Contains(name, "k_proj") }
	for _, c := range []struct {
		name, kind, to string
		matrices       map[string][2]int64
		exclude        func(string) bool
		says           []string
	}{
		{"experts of 192 in groups of 128", "qwen3_moe", "w4a16", odd, nil, []string{`"model.layers.0.mlp.experts"`, "down_proj", "[128 192]", "at random", "mxfp4"}},
		{"experts of 192 in 8 bits", "deepseek_v3", "w8a16", odd, nil, []string{`"model.layers.0.mlp.experts"`, "down_proj"}},
		{"experts of 192 with zero points", "glm_moe_dsa", "w4a16_asym", odd, nil, []string{`"model.layers.0.mlp.experts"`}},
		{"Nemotron 3 Nano's experts of 1856", "nemotron_h", "w4a16", nemotron, nil, []string{`"backbone.layers.1.mixer.experts"`, "1856"}},
		{"a member is excluded by name", "llama", "w4a16", attention, keys, []string{"k_proj", "excluded", "all matrices of such a group"}},
		{"the same in FP8", "llama", "fp8", attention, keys, []string{"k_proj", "excluded"}},
		{"the same for ModelOpt", "llama", "modelopt_fp8_channel", attention, keys, []string{"k_proj", "excluded"}},
		{"one expert is excluded", "qwen3_moe", "fp8", experts(map[int]int64{0: 128}), func(name string) bool { return strings.Contains(name, "experts.1.down") }, []string{"experts.1.down_proj"}},
	} {
		b := converttest.Account(t)
		q := converttest.To(t, c.to, convert.Choices{Exclude: c.exclude})
		p, err := convert.NewPlan(b, converttest.TypedModel(t, b, c.kind, converttest.Shaped(c.matrices)), convert.Options{Quantize: q})
		if err == nil {
			t.Errorf("%s: %d weights are quantized, kept %v", c.name, len(p.Quantized.Weights), p.Quantized.Kept)
			continue
		}
		for _, part := range c.says {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %v: no word of %q", c.name, err, part)
			}
		}
	}
}

// withNaN is a model of square matrices, one of which begins with a NaN.
func withNaN(t *testing.T, b *limits.Budget, with string, names ...string) tensor.Model {
	t.Helper()
	header, body := map[string]any{}, []byte(nil)
	for _, name := range names {
		one := bytes.Repeat([]byte{0, 0x3C}, 128*128)
		if name == with {
			copy(one, "\xff\x7f")
		}
		header[name] = map[string]any{"dtype": "BF16", "shape": []int{128, 128}, "data_offsets": []int{len(body), len(body) + len(one)}}
		body = append(body, one...)
	}
	text, err := json.Marshal(header)
	if err != nil {
		t.Fatal(err)
	}
	file := append(append(binary.LittleEndian.AppendUint64(nil, uint64(len(text))), text...), body...)
	m, err := safetensors.Decode(b, bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	return converttest.WithConfig(m, `{"model_type": "llama"}`)
}

// A weight that --nan keep does not quantize would split its group.
func TestAWeightWithNaNDoesNotSplitItsGroup(t *testing.T) {
	for _, c := range []struct {
		with, to string
		refused  bool
	}{{"k_proj", "fp8_dynamic", true}, {"o_proj", "fp8_dynamic", false}, {"k_proj", "nvfp4", true}} {
		b := converttest.Account(t)
		m := withNaN(t, b, "model.layers.0.self_attn."+c.with+".weight", "model.layers.0.self_attn.q_proj.weight", "model.layers.0.self_attn.k_proj.weight", "model.layers.0.self_attn.o_proj.weight")
		_, err := convert.NewPlan(b, m, convert.Options{Quantize: converttest.To(t, c.to), NaN: convert.KeepNaN})
		if (err != nil) != c.refused || c.refused && !strings.Contains(err.Error(), "loaders fuse the two") {
			t.Errorf("%s to %s: %v", c.with, c.to, err)
		}
	}
}

// Facts about loaders come from tests and from their sources, and nothing is known about a newer
// version.
func TestFactsAboutLoadersHaveAVersion(t *testing.T) {
	dense, whole := map[string][2]int64{"model.layers.0.self_attn.o_proj": {128, 128}}, map[string][2]int64{}
	for name := range strings.FieldsSeq(`model.embed_tokens model.norm model.layers.0.input_layernorm model.layers.0.post_attention_layernorm model.layers.0.mlp.down_proj model.layers.0.mlp.gate_proj
		model.layers.0.mlp.up_proj model.layers.0.self_attn.k_proj model.layers.0.self_attn.o_proj model.layers.0.self_attn.q_proj model.layers.0.self_attn.v_proj
		model.layers.0.post_feedforward_layernorm model.layers.0.self_attn.k_norm model.layers.0.self_attn.q_norm`) { // all of a layer of llama, and of olmo2
		whole[name] = [2]int64{128, 128}
	}
	for _, c := range []struct{ name, config, to, want string }{
		{"a part of a model", `{"model_type": "llama", "architectures": ["LlamaForCausalLM"], "num_hidden_layers": 2}`, "w4a16", "transformers unknown, vLLM read, SGLang read"},
		{"all known", `{"model_type": "llama", "architectures": ["LlamaForCausalLM"]}`, "w4a16", "transformers loads, vLLM read, SGLang read"},
		{"a library that has no such method", `{"model_type": "llama", "architectures": ["LlamaForCausalLM"]}`, "mxfp8", "transformers loads, vLLM read, SGLang no"},
		{"written by a newer transformers", `{"model_type": "llama", "architectures": ["LlamaForCausalLM"], "transformers_version": "9.1.0"}`, "w4a16", "transformers unknown, vLLM read, SGLang read"},
		{"written by the same", `{"model_type": "llama", "architectures": ["LlamaForCausalLM"], "transformers_version": "5.24.0"}`, "w4a16", "transformers loads, vLLM read, SGLang read"},
		{"a version that is none", `{"model_type": "llama", "architectures": ["LlamaForCausalLM"], "transformers_version": "x"}`, "w4a16", "transformers unknown, vLLM read, SGLang read"},
		{"a type that nobody tried", `{"model_type": "nobodys", "architectures": ["NobodysForCausalLM"]}`, "w4a16", "transformers unknown, vLLM unknown, SGLang unknown"},
		{"no configuration", `{}`, "w4a16", "transformers unknown, vLLM unknown, SGLang unknown"},
		{"ModelOpt", `{"model_type": "llama", "architectures": ["LlamaForCausalLM"]}`, "modelopt_fp8_channel", "transformers no, vLLM read, SGLang no"},
		{"GPTQ", `{"model_type": "llama", "architectures": ["LlamaForCausalLM"]}`, "gptq", "transformers loads, GPTQModel read, vLLM read, SGLang read"},
		{"AWQ", `{"model_type": "llama", "architectures": ["LlamaForCausalLM"]}`, "awq", "transformers loads, AutoAWQ read, GPTQModel read, vLLM read, SGLang read"},
		{"AWQ of a type that AutoAWQ has not", `{"model_type": "olmo2", "architectures": ["Olmo2ForCausalLM"]}`, "awq", "transformers loads, AutoAWQ no, GPTQModel read, vLLM read, SGLang read"},
		{"GPTQ of modules that GPTQModel leaves alone", `{"model_type": "mamba", "architectures": ["MambaForCausalLM"]}`, "gptq", "transformers no, GPTQModel unknown, vLLM read, SGLang read"},
		{"GPTQ of a mixture's router", `{"model_type": "gpt_neox", "architectures": ["GPTNeoXForCausalLM"]}`, "gptq", "transformers unknown, GPTQModel no, vLLM read, SGLang unknown"},
		{"MLX, of a type that mlx-lm has", `{"model_type": "qwen3", "architectures": ["Qwen3ForCausalLM"]}`, "mlx_4", "mlx-lm read"},
		{"MLX, of one that it has not", `{"model_type": "nobodys", "architectures": ["NobodysForCausalLM"]}`, "mlx_4", `refused: no library would load it as INT4 of MLX, groups of 64; mlx-lm 0.32.2: it has no model_type "nobodys"`},
		{"diffusers", `{"_class_name": "UNet2DConditionModel", "_diffusers_version": "0.42.1"}`, "torchao_int8", "diffusers read"},
		{"diffusers, a newer one", `{"_class_name": "UNet2DConditionModel", "_diffusers_version": "0.99.0"}`, "torchao_int8", "diffusers unknown"},
		{"diffusers, a format that it has not", `{"_class_name": "UNet2DConditionModel", "_diffusers_version": "0.42.1"}`, "w4a16", "refused: no library would load it as INT4 packed by compressed-tensors, groups of 128; diffusers 0.42.1: it has no method for this format"},
		{"a format that breaks", `{"model_type": "vit", "architectures": ["ViTModel"]}`, "torchao_int8", "transformers no, vLLM unknown, SGLang no"},
		{"ModelOpt, one scale", `{"model_type": "llama", "architectures": ["LlamaForCausalLM"]}`, "modelopt_fp8", "transformers no, vLLM read, SGLang read"},
	} {
		b := converttest.Account(t)
		matrices, config := dense, c.config
		if strings.Contains(config, "num_hidden_layers") {
			matrices = whole
		} else if strings.Contains(config, "llama") || strings.Contains(config, "olmo2") {
			matrices, config = whole, strings.TrimSuffix(config, "}")+`, "num_hidden_layers": 1, "tie_word_embeddings": true}`
		}
		m := converttest.WithConfig(converttest.TypedModel(t, b, "", converttest.Shaped(matrices)), config)
		p, err := convert.NewPlan(b, m, convert.Options{Quantize: converttest.To(t, c.to)})
		if why, refused := strings.CutPrefix(c.want, "refused: "); refused {
			if parser.ClassOf(err) != parser.Unsupported || !strings.Contains(fmt.Sprint(err), why) {
				t.Errorf("%s: %v", c.name, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		var list []string
		for _, l := range p.Quantized.Loads {
			list = append(list, l.Library+" "+l.Verdict.String())
			if l.Verdict <= convert.LoadFails && l.Why == "" || l.Version == "" {
				t.Errorf("%s: %+v", c.name, l)
			}
		}
		if got := strings.Join(list, ", "); got != c.want {
			t.Errorf("%s: %s, not %s", c.name, got, c.want)
		}
	}
}

// A head that is tied to the embedding is in no file, but is a linear module in memory:
// transformers would look for its codes. Whisper calls it proj_out.
func TestAHeadThatIsInNoFileIsIgnored(t *testing.T) {
	for _, to := range []string{"w4a16", "fp8_dynamic", "nvfp4", "modelopt_fp8_channel"} {
		b := converttest.Account(t)
		p, err := convert.NewPlan(b, converttest.TypedModel(t, b, "whisper", converttest.Shaped(map[string][2]int64{"model.decoder.layers.0.fc1": {128, 128}, "model.decoder.embed_tokens": {128, 128}})), convert.Options{Quantize: converttest.To(t, to)})
		if err != nil {
			t.Fatal(err)
		}
		if text, err := p.QuantizationConfig(); err != nil || !strings.Contains(string(text), `"proj_out"`) {
			t.Errorf("%s: %v\n%s", to, err, text)
		}
	}
}

// By default transformers builds modules that have codes and no weight, under their names in
// memory. Modules whose weight it would initialize, or would not find as unquantized, are reported.
// crosscheck/loads.py loads such models.
func TestTypesThatCompressedTensorsDoesNotLoadAreReported(t *testing.T) {
	for _, c := range []struct {
		kind, to string
		matrices map[string][2]int64
		says     string
	}{
		{"t5", "w4a16", map[string][2]int64{"encoder.block.0.layer.0.SelfAttention.q": {128, 128}}, "by hand"},
		{"t5", "fp8_dynamic", map[string][2]int64{"encoder.block.0.layer.0.SelfAttention.q": {128, 128}}, ""},
		{"falcon_mamba", "nvfp4", map[string][2]int64{"backbone.layers.0.mixer.out_proj": {128, 128}}, "by hand"},
		{"vit", "w4a16", map[string][2]int64{"encoder.layer.0.intermediate.dense": {192, 128}, "encoder.layer.0.output.dense": {128, 192}}, "other names"},
		{"vit", "w4a16", map[string][2]int64{"encoder.layer.0.intermediate.dense": {128, 128}, "encoder.layer.0.output.dense": {128, 128}}, ""},
		{"vit", "awq", map[string][2]int64{"encoder.layer.0.intermediate.dense": {192, 128}, "encoder.layer.0.output.dense": {128, 192}}, "other names"},
		{"llama", "w4a16", map[string][2]int64{"model.layers.0.mlp.up_proj": {192, 128}, "model.layers.0.mlp.down_proj": {128, 192}}, ""},
	} {
		b := converttest.Account(t)
		p, err := convert.NewPlan(b, converttest.TypedModel(t, b, c.kind, converttest.Shaped(c.matrices)), convert.Options{Quantize: converttest.To(t, c.to)})
		if err != nil {
			t.Errorf("%s to %s: %v", c.kind, c.to, err)
			continue
		}
		if l := p.Quantized.Loads[0]; (l.Verdict == convert.LoadFails) != (c.says != "") || !strings.Contains(l.Why, c.says) {
			t.Errorf("%s to %s: %+v, no word of %q", c.kind, c.to, l, c.says)
		}
	}
}

// transformers compares the list with the names of its modules, which are not always those of the
// file: a module that is listed only under the file's name is expected as codes.
func TestAModuleIsIgnoredUnderBothOfItsNames(t *testing.T) {
	matrices := map[string][2]int64{"backbone.layers.1.mixer.shared_experts.up_proj": {256, 128}, "backbone.layers.1.mixer.shared_experts.down_proj": {128, 200}}
	for _, to := range []string{"w4a16", "nvfp4", "gptq", "awq"} {
		b := converttest.Account(t)
		m := converttest.WithConfig(converttest.TypedModel(t, b, "", converttest.Shaped(matrices)), `{"model_type": "nemotron_h", "architectures": ["NemotronHForCausalLM"]}`)
		p, err := convert.NewPlan(b, m, convert.Options{Quantize: converttest.To(t, to)})
		if err != nil {
			t.Fatal(to, err)
		}
		text, err := p.QuantizationConfig()
		for _, name := range []string{"backbone.layers.1.mixer.shared_experts.down_proj", "model.layers.1.mixer.shared_experts.down_proj"} {
			if to == "gptq" {
				name = strings.ReplaceAll(name, ".", `\\.`)
			}
			if err != nil || !strings.Contains(string(text), name) {
				t.Errorf("%s: no %s: %v\n%s", to, name, err, text)
			}
		}
	}
}
