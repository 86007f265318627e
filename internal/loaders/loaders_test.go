package loaders

import (
	stdcmp "cmp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Each fact is in the sources of the library, at the place that its name states.
func TestWhatTheSourcesSay(t *testing.T) {
	for _, c := range []struct {
		what           string
		library        Library
		architecture   string
		members        []string
		fused, unknown bool
	}{
		{"vLLM deepseek_v2.py: fused_qkv_a_proj", VLLM, "DeepseekV3ForCausalLM", []string{"kv_a_proj_with_mqa", "q_a_proj"}, true, false},
		{"vLLM llama.py: qkv_proj", VLLM, "LlamaForCausalLM", []string{"k_proj", "q_proj", "v_proj"}, true, false},
		{"vLLM qwen3_next.py: in_proj_qkvz", VLLM, "Qwen3_5ForCausalLM", []string{"in_proj_qkv", "in_proj_z"}, true, false},
		{"vLLM bert.py: qkv_proj", VLLM, "BertModel", []string{"key", "query", "value"}, true, false},
		{"SGLang llama.py: gate_up_proj", SGLang, "LlamaForCausalLM", []string{"gate_proj", "up_proj"}, true, false},
		{"nobody fuses down_proj", VLLM, "LlamaForCausalLM", []string{"down_proj", "up_proj"}, false, false},
		{"no class", VLLM, "NobodysForCausalLM", nil, false, true},
	} {
		groups, known := c.library.Fused(c.architecture)
		has := slices.ContainsFunc(groups, func(g []string) bool { return slices.Equal(g, c.members) })
		if known == c.unknown || has != c.fused {
			t.Errorf("%s: known %v, %v", c.what, known, groups)
		}
	}
	if !StacksExperts("qwen3_moe") || !StacksExperts("mixtral") || StacksExperts("llama") || StacksExperts("gpt_oss") {
		t.Error("the experts of qwen3_moe and mixtral are stacked from a checkpoint, those of gpt_oss are stacked in it")
	}
	if !VLLM.Reads("compressed-tensors", "WNA16") || !VLLM.Reads("fp8", "") || VLLM.Reads("bitsandbytes", "") || SGLang.Reads("compressed-tensors", "W8A8Mxfp8") {
		t.Error("methods of quantization")
	}
}

func TestMembersThatSpeakOfLayers(t *testing.T) {
	for kind, want := range map[string][]Member{
		"deepseek_v3":  {{"first_k_dense_replace", Threshold}},
		"glm4_moe":     {{"first_k_dense_replace", Threshold}},
		"bamba":        {{"attn_layer_indices", Numbers}},
		"ernie4_5_moe": {{"moe_layer_end_index", Threshold}, {"moe_layer_interval", Period}, {"moe_layer_start_index", Threshold}},
		"jamba":        {{"attn_layer_offset", Period}, {"attn_layer_period", Period}, {"expert_layer_offset", Period}, {"expert_layer_period", Period}, {"layers_block_type", Each}},
		"qwen3_moe":    {{"decoder_sparse_step", Period}, {"mlp_only_layers", Numbers}},
		"gemma3_text":  {{"layer_types", Each}},
		"nobodys":      nil,
	} {
		if diff := cmp.Diff(want, LayerMembers(kind)); diff != "" {
			t.Errorf("%s: %s", kind, diff)
		}
	}
}

func TestEveryTableSaysItsVersionAndIsRead(t *testing.T) {
	for _, l := range []Library{Transformers, VLLM, SGLang, MLXLM, Diffusers, PEFT, CompressedTensors, AutoAWQ, GPTQModel, ModelOpt, TorchAO} {
		if v := l.Version(); strings.Count(v, ".") < 1 || strings.Trim(v, "0123456789.") != "" {
			t.Errorf("%s: version %q", l, v)
		}
	}
	for kind, list := range layerRows() {
		for _, m := range list {
			if m.Name == "" {
				t.Errorf("%s has a member without a name", kind)
			}
		}
	}
	for kind, list := range merges() {
		for _, m := range list {
			renames := len(m.From) == 1 && len(m.To) == 1 && strings.Contains(m.To[0], "experts.")
			if len(m.From) == 0 || len(m.To) == 0 || len(m.Operations) == 0 && !renames {
				t.Errorf("%s: %v", kind, m)
			}
		}
	}
}

// Each fact is in the class of the type, in transformers' sources.
func TestTheOrderOfStackedExperts(t *testing.T) {
	gated := []string{"gate_up_proj", "down_proj"}
	for _, c := range []struct {
		kind, module string
		want         Experts
	}{
		{"nemotron_h", "model.layers.1.mixer.experts", Experts{[]string{"up_proj", "down_proj"}, false}},
		{"gpt_oss", "experts", Experts{[]string{"gate_up_proj", "gate_up_proj_bias", "down_proj", "down_proj_bias"}, true}},
		{"aria_text", "mlp.experts", Experts{gated, true}},
		{"qwen3_moe", "model.layers.0.mlp.experts", Experts{gated, false}},
		{"mixtral", "model.layers.0.mlp.experts", Experts{gated, false}},
		{"nemotron_h", "model.layers.1.mixer.shared_experts", Experts{}},
		{"llama", "experts", Experts{}},
	} {
		got, known := ExpertsOf(c.kind, c.module)
		if diff := cmp.Diff(c.want, got); diff != "" || known != (c.want.Parameters != nil) {
			t.Errorf("%s, %s: known %v: want -, got +:\n%s", c.kind, c.module, known, diff)
		}
	}
}

// Each fact is in the sources of the library, in the definition of the type.
func TestWhatALibraryMakesQuantized(t *testing.T) {
	for _, c := range []struct {
		library      Library
		kind, module string
		want         Taken
		unknown      bool
	}{
		{GPTQModel, "llama", "model.layers.11.self_attn.q_proj", Quantized, false},
		{GPTQModel, "llama", "lm_head", Left, false},
		{GPTQModel, "llama", "model.layers.x.self_attn.q_proj", Elsewhere, false},
		{GPTQModel, "llama", "vision_tower.layers.0.self_attn.q_proj", Elsewhere, false},
		{GPTQModel, "qwen3_moe", "model.layers.0.mlp.experts.127.down_proj", Quantized, false},
		{GPTQModel, "qwen3_moe", "model.layers.0.mlp.gate", Left, false},
		{GPTQModel, "qwen3_moe", "model.layers.0.mlp.experts.down_proj", Left, false},
		{GPTQModel, "mixtral", "model.layers.0.block_sparse_moe.experts.0.w1", Quantized, false},
		{GPTQModel, "mamba", "backbone.layers.0.mixer.in_proj", Left, true},
		{AutoAWQ, "llama", "model.layers.0.self_attn.q_proj", Quantized, false},
		{AutoAWQ, "llama", "lm_head", Elsewhere, false},
		{AutoAWQ, "mixtral", "model.layers.0.block_sparse_moe.gate", Left, false},
		{AutoAWQ, "qwen2_vl", "visual.blocks.0.attn.qkv", Left, false},
		{MLXLM, "llama", "model.embed_tokens", Quantized, false},
		{MLXLM, "whisper", "model.encoder.layers.0.fc1", Left, true},
		{Diffusers, "UNet2DConditionModel", "down_blocks.0.attentions.0.proj_in", Quantized, false},
		{Diffusers, "WanTransformer3DModel", "condition_embedder.time_embedder.linear_1", Left, false},
	} {
		taking, known := c.library.Takes(c.kind)
		if got := taking.Of(c.module); got != c.want || known == c.unknown {
			t.Errorf("%s, %s: %s: %d, known %v", c.library, c.kind, c.module, got, known)
		}
	}
	if a, _ := LlamaCPP.Takes("Qwen3MoeForCausalLM"); !slices.Equal(a.Within, []string{"qwen3moe"}) {
		t.Errorf("llama.cpp: Qwen3MoeForCausalLM becomes %v", a.Within)
	}
	for l, methods := range map[Library][2]string{
		Transformers: {"compressed-tensors", "modelopt"}, Diffusers: {"bitsandbytes_4bit", "gptq"}, PEFT: {"gptq", "compressed-tensors"}, MLXLM: {"gptq", "bitsandbytes"},
		CompressedTensors: {"pack-quantized", "gptq"}, GPTQModel: {"awq", "torchao"}, ModelOpt: {"fp8_pb_wo", "pack-quantized"}, TorchAO: {"Int8Tensor", "fp8"},
	} {
		if !l.Reads(methods[0], "") || l.Reads(methods[1], "") {
			t.Errorf("%s reads %s, and not %s", l, methods[0], methods[1])
		}
	}
	if groups, known := AutoAWQ.Fused("mixtral"); !known || !slices.ContainsFunc(groups, func(g []string) bool { return slices.Equal(g, []string{"w1", "w3"}) }) {
		t.Errorf("AutoAWQ fuses %v of mixtral", groups)
	}
}

// Each pair is a name in a file of transformers 5.24 and the name of the module that it loads it into.
func TestNamesInTheModel(t *testing.T) {
	for _, c := range [][4]string{
		{"nemotron_h", "NemotronHForCausalLM", "backbone.layers.1.mixer.shared_experts.down_proj", "model.layers.1.mixer.shared_experts.down_proj"},
		{"nemotron_h", "NemotronHForCausalLM", "lm_head", "lm_head"},
		{"gemma3", "Gemma3ForConditionalGeneration", "language_model.model.layers.7.mlp.up_proj", "model.language_model.layers.7.mlp.up_proj"},
		{"vit", "ViTModel", "encoder.layer.11.attention.attention.query", "layers.11.attention.q_proj"},
		{"llama", "LlamaForCausalLM", "model.layers.0.mlp.up_proj", ""},
		{"nobodys", "NemotronHForCausalLM", "backbone.layers.0.mlp", ""},
	} {
		got, known := InModel(c[0], c[1], c[2])
		if want := stdcmp.Or(c[3], c[2]); got != want || known != (c[3] != "") {
			t.Errorf("%s: %s is %s, known %v", c[1], c[2], got, known)
		}
	}
}

// InFile goes back where InModel came from, and every row of ties.txt has a mark that is known.
func TestNamesGoBackAndTiesAreKnown(t *testing.T) {
	for _, c := range [][4]string{
		{"gpt_neox", "GPTNeoXForCausalLM", "lm_head", "embed_out"},
		{"llava", "LlavaForConditionalGeneration", "lm_head", "language_model.lm_head"},
		{"llava", "LlavaForConditionalGeneration", "model.language_model.layers.3.mlp.up_proj", "language_model.model.layers.3.mlp.up_proj"},
		{"vit", "ViTModel", "layers.1.attention.k_proj", "encoder.layer.1.attention.attention.key"},
	} {
		if got := InFile(c[0], c[1], c[2]); len(got) == 0 || got[0] != c[3] {
			t.Errorf("%s: %q, want %q", c[2], got, c[3])
		}
	}
	if got := InFile("llama", "LlamaForCausalLM", "lm_head"); got != nil {
		t.Errorf("a class without a row: %q", got)
	}
	rows(tiesText, func(f []string) {
		if _, ok := tyings[strings.TrimSuffix(f[len(f)-1], "b")]; !ok || len(f) != 5 || f[1] == "" {
			t.Errorf("%q", f)
		}
	})
}
