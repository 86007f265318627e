package family

import (
	"errors"
	"maps"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// keysOf returns the error of the keys of a configuration.
func keysOf(t *testing.T, text string) error {
	t.Helper()
	b := limits.Policy{}.Budget(t.Context())
	defer b.Close()
	c, err := configIn(t, b, text, false)
	if err != nil {
		return err
	}
	k := &keys{b: b, c: c, files: fstest.MapFS{}, plan: &Plan{Arch: c.row.arch}}
	c.row.keys(k)
	return k.err
}

// Configurations with the members that the checks of these classes need.
const glm53 = "Glm5NextForConditionalGeneration"

var (
	glm53Members = map[string]string{
		"num_hidden_layers": "2", "num_attention_heads": "4", "mla_use_nope": "true", "layer_types": `["linear_attention", "full_attention"]`, "index_topk": "64",
		"linear_attn_config": `{"num_heads": 4, "head_dim": 16, "short_conv_kernel_size": 4}`,
	}
	dots3Members = map[string]string{
		"num_hidden_layers": "2", "layer_types": `["full_attention", "sliding_attention"]`, "scoring_func": `"sigmoid"`, "q_lora_rank": "48", "swa_q_lora_rank": "48", "qk_rope_head_dim": "8", "swa_qk_rope_head_dim": "8",
		"swa_qk_nope_head_dim": "32", "swa_head_dim": "40",
	}
)

// Each member that llama.cpp has no key for, or assumes a value of, is refused where it lies; the
// same configuration with the value that it takes is not refused there.
func TestMembersThatOneRowRefuses(t *testing.T) {
	type members = map[string]string
	for _, c := range []struct {
		row       string
		more      members
		member    string
		good, bad string
		where     string
	}{
		{"FalconForCausalLM", members{"new_decoder_architecture": "true", "layer_norm_epsilon": "1e-5", "num_kv_heads": "2"}, "num_ln_in_parallel_attn", "2", "3", "num_ln_in_parallel_attn"},
		{"FalconForCausalLM", members{"new_decoder_architecture": "true", "layer_norm_epsilon": "1e-5", "num_kv_heads": "2"}, "ffn_hidden_size", "256", "255", "ffn_hidden_size"},
		{"FalconH1ForCausalLM", members{"mamba_d_head": "8", "mamba_d_ssm": "64", "head_dim": "16", "mamba_rms_norm": "true"}, "mamba_norm_before_gate", "false", "true", "mamba_norm_before_gate"},
		{"FalconH1ForCausalLM", members{"mamba_d_head": "8", "mamba_d_ssm": "64", "head_dim": "16", "mamba_rms_norm": "true", "mamba_norm_before_gate": "false", "rope_theta": "1"}, "hidden_act", `"silu"`, `"gelu"`, "hidden_act"},
		{"FalconH1ForCausalLM", members{"head_dim": "16", "mamba_d_ssm": "64"}, "mamba_d_head", "8", "7", "mamba_d_head"},
		{"MptForCausalLM", members{"d_model": "64", "n_heads": "4", "n_layers": "2"}, "attn_config", `{"alibi": true, "alibi_bias_max": 8, "qk_ln": false}`, `{"alibi": true, "alibi_bias_max": 8, "qk_ln": true}`, "qk_ln"},
		{"MptForCausalLM", members{"d_model": "64", "n_heads": "4", "n_layers": "2"}, "attn_config", `{"alibi": true, "alibi_bias_max": 8}`, `{"alibi": true, "alibi_bias_max": 8, "prefix_lm": true}`, "prefix_lm"},
		{"MptForCausalLM", members{"d_model": "64", "n_heads": "4", "n_layers": "2"}, "attn_config", `{"alibi": true, "alibi_bias_max": 8, "softmax_scale": null}`, `{"alibi": true, "alibi_bias_max": 8, "softmax_scale": 1}`, "softmax_scale"},
		{"HunYuanDenseV1ForCausalLM", members{"max_position_embeddings": "32768", "rope_theta": "10000", "rms_norm_eps": "1e-5"}, "rope_scaling", `{"type": "dynamic", "alpha": 50}`, `{"type": "dynamic", "alpha": -1}`, "rope_scaling"},
		{"HunYuanDenseV1ForCausalLM", members{"rope_scaling": `{"type": "dynamic"}`, "rope_theta": "10000", "rms_norm_eps": "1e-5"}, "max_position_embeddings", "262144", "4096", "rope_scaling"},
		{"Spark2_5ForCausalLM", members{"hidden_act": `"gelu"`}, "rope_parameters", `{"full_attention": {"partial_rotary_factor": 1}}`, `{"full_attention": {"partial_rotary_factor": 0}}`, "partial_rotary_factor"},
		{"Spark2_5ForCausalLM", members{"hidden_act": `"gelu"`}, "rope_parameters", `{"sliding_attention": {"partial_rotary_factor": 1}}`, `{"sliding_attention": {"partial_rotary_factor": 1.5}}`, "partial_rotary_factor"},
		{"LlamaForCausalLM", members{"rms_norm_eps": "1e-5"}, "rope_scaling", `{"rope_type": "yarn", "factor": 2, "original_max_position_embeddings": 8}`, `{"rope_type": "yarn", "factor": 2, "original_max_position_embeddings": -1}`, "original_max_position_embeddings"},
		{"LlamaForCausalLM", members{"rms_norm_eps": "1e-5"}, "rope_scaling", `{"rope_type": "linear", "factor": 2}`, `{"rope_type": "spiral", "factor": 2}`, "rope_scaling"},
		{"Qwen2VLForConditionalGeneration", members{"rms_norm_eps": "1e-5"}, "rope_scaling", `{"type": "mrope", "mrope_section": [1, 2, 3, 4]}`, `{"type": "mrope", "mrope_section": [1, 2, 3, 4, 5]}`, "mrope_section"},
		{"Qwen2VLForConditionalGeneration", members{"rms_norm_eps": "1e-5"}, "rope_scaling", `{"type": "mrope", "mrope_section": [1, 2, 0]}`, `{"type": "mrope", "mrope_section": [1, 2, -1]}`, "mrope_section"},
		{"ChameleonForCausalLM", members{"vocab_size": "8200", "num_attention_heads": "4"}, "num_key_value_heads", "4", "2", "num_key_value_heads"},
		{"ChameleonForCausalLM", members{"num_attention_heads": "4", "num_key_value_heads": "4"}, "vocab_size", "8196", "8195", "vocab_size"},
		{"HrmTextForCausalLM", members{"embedding_scale": "2", "num_layers_per_stack": "2"}, "num_key_value_heads", "4", "2", "num_key_value_heads"},
		{"HrmTextForCausalLM", members{"embedding_scale": "2", "num_layers_per_stack": "100", "L_cycles": "1"}, "H_cycles", "2", "3", "H_cycles"},
		{glm53, glm53Members, "hc_mult", "4", "3", "hc_mult"},
		{glm53, glm53Members, "index_kpool", "16", "1", "index_kpool"},
		{glm53, glm53Members, "index_topk", "64", "65", "index_kpool"},
		{glm53, glm53Members, "qk_rope_head_dim", "0", "8", "qk_rope_head_dim"},
		{glm53, glm53Members, "mhc", "true", "false", "mhc"},
		{glm53, glm53Members, "layer_types", `["linear_attention", "full_attention"]`, `["linear_attention"]`, "layer_types"},
		{glm53, glm53Members, "linear_attn_config", `{"num_heads": 4, "head_dim": 16, "short_conv_kernel_size": 4}`, `{"num_heads": 2, "head_dim": 16, "short_conv_kernel_size": 4}`, "linear_attn_config"},
		{"Dots3NoteForCausalLM", dots3Members, "layer_types", `["full_attention", "sliding_attention"]`, `["full_attention", "linear_attention"]`, "layer_types"},
		{"Dots3NoteForCausalLM", dots3Members, "layer_types", `["full_attention", "sliding_attention"]`, `["full_attention"]`, "layer_types"},
		{"Dots3NoteForCausalLM", dots3Members, "swa_head_dim", "40", "41", "swa_head_dim"},
		{"Dots3NoteForCausalLM", dots3Members, "swa_qk_rope_head_dim", "8", "16", "swa_qk_rope_head_dim"},
		{"Dots3NoteForCausalLM", dots3Members, "swa_q_lora_rank", "48", "32", "swa_q_lora_rank"},
		{"Dots3NoteForCausalLM", dots3Members, "scoring_func", `"sigmoid"`, `"softmax"`, "scoring_func"},
		{"Dots3NoteForCausalLM", dots3Members, "topk_method", `"noaux_tc"`, `"greedy"`, "topk_method"},
		{"Dots3NoteForCausalLM", dots3Members, "attention_gate_type", `"headwise"`, `"elementwise"`, "attention_gate_type"},
		{"Dots3NoteForCausalLM", dots3Members, "use_dsa", "true", "false", "use_dsa"},
		{"Dots3NoteForCausalLM", dots3Members, "n_group", "1", "2", "n_group"},
		{"ArcticForCausalLM", members{}, "moe_layer_frequency", "1", "2", "moe_layer_frequency"},
		{"Plamo3ForCausalLM", members{"window_size": "16"}, "sliding_window_pattern", "2", "0", "sliding_window_pattern"},
		{"Plamo3ForCausalLM", members{}, "rope_scaling_factor", "1", "2", "rope_scaling_factor"},
		{"MuseGlimmerForConditionalGeneration", members{"num_hidden_layers": "2", "layer_types": `["sliding_attention", "full_attention"]`, "rope_theta": "10000"}, "layer_rope_theta", "[10000, 0]", "[10000, 10000]", "layer_rope_theta"},
		{"MuseGlimmerForConditionalGeneration", members{"num_hidden_layers": "2", "layer_types": `["sliding_attention", "full_attention"]`}, "post_norm_eps", "1e-8", "1e-5", "post_norm_eps"},
	} {
		var of *row
		for _, r := range rows {
			if slices.Contains(r.names, c.row) {
				of = r
			}
		}
		if of == nil {
			t.Fatalf("no row of %s", c.row)
		}
		for value, refused := range map[string]bool{c.good: false, c.bad: true} {
			d := newDraft(of)
			maps.Copy(d.own, c.more)
			d.own[c.member] = value
			err := keysOf(t, d.text(c.row))
			var at *wire.Error
			there := errors.As(err, &at) && at.Where == "member "+wire.Quote(c.where)
			if there != refused {
				t.Errorf("%s, %s is %s: %v", c.row, c.member, value, err)
			}
		}
	}
}

// A vision part with sizes that llama.cpp cannot have is refused, and one with the largest that it
// can have is not.
func TestSizesOfVisionParts(t *testing.T) {
	const name = "Qwen2VLForConditionalGeneration"
	of := func(change func(d *draft)) error {
		for _, r := range projectors {
			if slices.Contains(r.names, name) {
				d := newDraft(r)
				change(d)
				_, err := partOfText(t, d.text(name))
				return err
			}
		}
		t.Fatal("no row")
		return nil
	}
	for _, c := range []struct{ member, good, bad string }{
		{"spatial_merge_size", "64", "65"}, {"spatial_merge_size", "1", "0"}, {"patch_size", "4096", "4097"}, {"patch_size", "1", "0"}, {"image_size", "1048576", "1048577"},
		{"num_channels", "4096", "4097"}, {"num_channels", "1", "0"}, {"mlp_ratio", "1024", "1025"}, {"embed_dim", "16777216", "16777217"},
	} {
		for value, refused := range map[string]bool{c.good: false, c.bad: true} {
			if err := of(func(d *draft) { d.own[c.member] = value }); (err != nil) != refused {
				t.Errorf("%s is %s: %v", c.member, value, err)
			}
		}
	}
	for value, refused := range map[string]bool{`{"hidden_size": 16777216}`: false, `{"hidden_size": 16777217}`: true, `{"hidden_size": 0}`: true} {
		if err := of(func(d *draft) { d.around["text_config"] = value }); (err != nil) != refused {
			t.Errorf("text_config is %s: %v", value, err)
		}
	}
	for _, r := range projectors {
		if r.model == "" {
			continue
		}
		for kind, refused := range map[string]bool{r.model: false, "other": true} {
			d := newDraft(r)
			d.own["model_type"] = `"` + kind + `"`
			if _, err := partOfText(t, d.text(r.names[0])); (wire.ClassOf(err) == wire.Unsupported) != refused {
				t.Errorf("%s with the type %s: %v", r.names[0], kind, err)
			}
		}
	}
	for _, text := range []string{`{"architectures": []}`, `{"architectures": ["` + name + `", "` + name + `"], "vision_config": {}}`, `{"architectures": ["` + name + `"]}`, `{"architectures": ["Nobody"], "vision_config": {}}`} {
		if _, err := partOfText(t, text); err == nil {
			t.Errorf("%s is taken", text)
		}
	}
}

func partOfText(t *testing.T, text string) (*config, error) {
	b := limits.Policy{}.Budget(t.Context())
	defer b.Close()
	return configIn(t, b, text, true)
}
