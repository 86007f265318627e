package family

import (
	"encoding/binary"
	"math"
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/tokenizer"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

var mlxGemma4 = &mlxForm{visionPrefix: "language_model.", names: map[string]string{"ffn_down_exps.weight": "experts.switch_glu.down_proj"},
	views: map[string][]view{"ffn_gate_up_exps.weight": {mlxHalf("experts.switch_glu.gate_proj", 0), mlxHalf("experts.switch_glu.up_proj", 1)}},
	joins: map[string]func(*config, []tensor.Info, []int64) []Part{"ffn_gate_up_exps.weight": halves},
	skips: func(c *config, at *location) bool {
		return !at.outer && sharesKV(c, at.layer) && strings.HasPrefix(at.name.gguf, "attn_") && strings.Contains("attn_k attn_v attn_k_norm", at.name.gguf)
	}}

// Gemma 4 has heads of one width in layers with a window and of another in global layers,
// layers that share the keys and values of an earlier one, experts beside the feed-forward
// layer, and a small embedding for each layer.

// isGlobal reports a layer without an attention window.
func isGlobal(c *config, layer int64) bool {
	list := c.get("layer_types").List()
	return layer < int64(len(list)) && list[layer].String() == "full_attention"
}

// globalMember returns a member for global layers, which configurations state once or for
// each such layer.
func (c *config) globalMember(alone, each string) int64 {
	if n, ok := c.get(alone).Int(); ok {
		return n
	}
	left := maxLayers
	for m := range c.get("per_layer_config").Members() {
		if left--; left < 0 {
			break
		}
		if layer, ok := decimal(m.Name); ok && isGlobal(c, layer) {
			if n, ok := m.Value.Get(each).Int(); ok {
				return n
			}
		}
	}
	return 0
}

func (c *config) globalHead() int64 {
	if n := c.globalMember("global_head_dim", "head_dim"); n != 0 {
		return n
	}
	return 512
}

// headOf returns the width of a layer's heads.
func (c *config) headOf(layer int64) int64 {
	if isGlobal(c, layer) {
		return c.globalHead()
	}
	return c.headDim()
}

// groupsOf returns the number of a layer's key heads.
func (c *config) groupsOf(layer int64) int64 {
	if n := c.globalGroups(); n > 0 && isGlobal(c, layer) {
		return n
	}
	return c.kvHeads()
}

// globalGroups returns that of global layers, if it differs.
func (c *config) globalGroups() int64 {
	if !c.bool("attention_k_eq_v", false) {
		return 0
	}
	return c.globalMember("num_global_key_value_heads", "num_key_value_heads")
}

// sharesKV reports a layer that uses the keys and values of an earlier one.
func sharesKV(c *config, layer int64) bool { return layer >= c.layers()-c.int("num_kv_shared_layers") }

// feedOf returns the width of a layer's feed-forward layer.
func (c *config) feedOf(layer int64) int64 {
	n := c.int("intermediate_size")
	if c.bool("use_double_wide_mlp", false) && sharesKV(c, layer) {
		return 2 * n
	}
	return n
}

// hasLayerInput reports a model with an embedding for each layer.
func hasLayerInput(c *config, _ int64) bool { return c.int("hidden_size_per_layer_input") > 0 }

// ownsKeys reports whether a layer has its own keys, ownsValues whether its values differ from its
// keys.
func ownsKeys(c *config, layer int64) bool { return !sharesKV(c, layer) }

func ownsValues(c *config, layer int64) bool {
	return ownsKeys(c, layer) && !(c.bool("attention_k_eq_v", false) && isGlobal(c, layer))
}

func withExperts(c *config, _ int64) bool { return c.bool("enable_moe_block", false) }

// headRows returns the shape of a projection to or from a layer's heads.
func headRows(groups func(*config, int64) int64, turned bool) func(*config, int64) []int64 {
	return func(c *config, layer int64) []int64 {
		n := groups(c, layer) * c.headOf(layer)
		if turned {
			return []int64{c.hidden(), n}
		}
		return []int64{n, c.hidden()}
	}
}

func queries(c *config, _ int64) int64 { return c.heads() }

var (
	gemma4Heads = func(c *config, layer int64) []int64 { return []int64{c.headOf(layer)} }
	gemma4Up    = func(c *config, layer int64) []int64 { return []int64{c.feedOf(layer), c.hidden()} }
	gemma4Down  = func(c *config, layer int64) []int64 { return []int64{c.hidden(), c.feedOf(layer)} }
)

// borrowed makes tensors optional in layers that share keys and values: published folders
// have them all the same.
func borrowed(list []mapping) []mapping {
	more := slices.Clone(list)
	for i := range more {
		more[i].inLayer, more[i].optional = sharesKV, true
	}
	return append(list, more...)
}

func gemma4Layers() []mapping {
	return slices.Concat([]mapping{
		{hf: "input_layernorm", gguf: "attn_norm", shape: dims{Hidden}},
		{hf: "self_attn.q_proj", gguf: "attn_q", shapeOf: headRows(queries, false)},
		{hf: "self_attn.o_proj", gguf: "attn_output", shapeOf: headRows(queries, true)},
		{hf: "self_attn.q_norm", gguf: "attn_q_norm", shapeOf: gemma4Heads},
	}, borrowed([]mapping{
		{hf: "self_attn.k_proj", gguf: "attn_k", shapeOf: headRows((*config).groupsOf, false), inLayer: ownsKeys},
		{hf: "self_attn.v_proj", gguf: "attn_v", shapeOf: headRows((*config).groupsOf, false), inLayer: ownsValues},
		{hf: "self_attn.k_norm", gguf: "attn_k_norm", shapeOf: gemma4Heads, inLayer: ownsKeys},
	}), sandwichNorms, []mapping{
		{hf: "mlp.gate_proj", gguf: "ffn_gate", shapeOf: gemma4Up},
		{hf: "mlp.up_proj", gguf: "ffn_up", shapeOf: gemma4Up},
		{hf: "mlp.down_proj", gguf: "ffn_down", shapeOf: gemma4Down},
		{hf: "layer_scalar", gguf: "layer_output_scale.weight", shape: dims{One}, noSuffix: true},
	}, onlyIn(hasLayerInput, []mapping{
		{hf: "per_layer_input_gate", gguf: "inp_gate", shape: dims{LayerInput, Hidden}},
		{hf: "per_layer_projection", gguf: "proj", shape: dims{Hidden, LayerInput}},
		{hf: "post_per_layer_input_norm", gguf: "post_norm", shape: dims{Hidden}},
	}), onlyIn(withExperts, []mapping{
		{hf: "router.proj", gguf: "ffn_gate_inp", shape: dims{Experts, Hidden}},
		{hf: "router.scale", gguf: "ffn_gate_inp.scale", shape: dims{Hidden}, noSuffix: true, ggufNoSuffix: true},
		{hf: "router.per_expert_scale", gguf: "ffn_down_exps.scale", shape: dims{Experts}, noSuffix: true, ggufNoSuffix: true},
		{hf: "experts.gate_up_proj", gguf: "ffn_gate_up_exps.weight", shape: dims{Experts, ExpertGateUp, Hidden}, noSuffix: true},
		{hf: "experts.down_proj", gguf: "ffn_down_exps.weight", shape: dims{Experts, Hidden, ExpertFFN}, noSuffix: true},
		{hf: "post_feedforward_layernorm_1", gguf: "post_ffw_norm_1", shape: dims{Hidden}},
		{hf: "post_feedforward_layernorm_2", gguf: "post_ffw_norm_2", shape: dims{Hidden}},
		{hf: "pre_feedforward_layernorm_2", gguf: "pre_ffw_norm_2", shape: dims{Hidden}},
	}))
}

var gemma4Row = &row{
	arch: "gemma4", model: "gemma4_text", names: []string{"Gemma4ForCausalLM", "Gemma4ForConditionalGeneration"}, tied: true,
	defaults: []preset{
		{"vocab_size", "262144"}, {"rms_norm_eps", "1e-06"}, {"max_position_embeddings", "131072"}, {"head_dim", "256"}, {"sliding_window", "512"}, {"num_key_value_heads", "4"},
		{"num_attention_heads", "8"}, {"hidden_size_per_layer_input", "256"}, {"vocab_size_per_layer_input", "262144"},
	},
	outer: []mapping{
		{hf: "model.embed_tokens", gguf: "token_embd", shape: dims{Vocab, Hidden}},
		{hf: "model.norm", gguf: "output_norm", shape: dims{Hidden}},
		{hf: "model.embed_tokens_per_layer", gguf: "per_layer_token_embd", shape: dims{LayerVocab, LayerInputs}, inLayer: hasLayerInput},
		{hf: "model.per_layer_model_projection", gguf: "per_layer_model_proj", shape: dims{LayerInputs, Hidden}, inLayer: hasLayerInput},
		{hf: "model.per_layer_projection_norm", gguf: "per_layer_proj_norm", shape: dims{LayerInput}, inLayer: hasLayerInput},
	},
	layer:  decoderLayer,
	layers: lazy(gemma4Layers),
	keys:   gemma4Keys, vocab: gemma4Vocab,

	attention: attention{scalings: []string{"proportional"}, factors: (*planner).proportional}, naming: naming{skipSuffixes: gemmaSkip, skipPrefixes: []string{"model.embed_vision.", "model.embed_audio.", "model.vision_tower.", "model.audio_tower."}}, mlx: mlxRow{eight: []string{"router.proj"}, form: mlxGemma4}, back: backward{factors: (*planner).readProportional, members: gemma4Back},
}

func gemma4Keys(k *keys) {
	c := k.c
	r := c.rope()
	full := c.globalHead()
	if n := int64(len(c.get("layer_types").List())); n != c.layers() || full < 1 || full > 1<<20 || full%2 != 0 {
		k.fail("layer_types", c.get("layer_types"), "a list with the type of each layer, with an even global_head_dim beside it")
		return
	}
	if part, ok := r.fraction.Float(); r.kind != "proportional" || !ok || !(part > 0 && part <= 1) {
		k.fail("rope_parameters", r.params, "of the kind proportional in layers that see all, with the part that rotates")
		return
	}
	gemma3Keys(k)
	k.putArch("attention.shared_kv_layers", uint32(c.int("num_kv_shared_layers")))
	k.putArch("embedding_length_per_layer_input", uint32(c.int("hidden_size_per_layer_input")))
	k.putArch("attention.key_length", uint32(full))
	k.putArch("attention.value_length", uint32(full))
	k.putArch("attention.key_length_swa", uint32(c.headDim()))
	k.putArch("attention.value_length_swa", uint32(c.headDim()))
	k.putArch("rope.dimension_count", uint32(full))
	k.putArch("rope.dimension_count_swa", uint32(c.headDim()))
	k.u32("expert_feed_forward_length", "moe_intermediate_size")
	sees, err := limits.Make[bool](k.b, int(c.layers()))
	if err == nil {
		for i := range sees {
			sees[i] = c.get("layer_types").List()[i].String() == "sliding_attention"
		}
		k.putArch("attention.sliding_window_pattern", sees)
	}
	if err == nil && c.bool("use_double_wide_mlp", false) {
		err = k.putPerLayer("feed_forward_length", c.feedOf)
	}
	if err == nil && c.globalGroups() > 0 {
		err = k.putPerLayer("attention.head_count_kv", c.groupsOf)
	}
	if err != nil && k.err == nil {
		k.err = err
	}
}

// proportional adds the factors of rotary embeddings in global layers: a part of a head
// rotates, the rest almost not.
func (p *planner) proportional(r rope) (ok bool, err error) {
	return true, wire.At(configName, "member rope_parameters", wire.NoOffset, p.proportionalFactors(r))
}

func (p *planner) proportionalFactors(r rope) error {
	part, _ := r.fraction.Float()
	head := p.c.globalHead()
	if head < 2 || head > 1<<20 || !(part > 0 && part <= 1) {
		return wire.ErrRange.Errorf("%v of heads of %d rotate", part, head)
	}
	turning := int64(float64(head) * part / 2)
	data, err := limits.Make[byte](p.b, int(4*(head/2)))
	if err != nil {
		return err
	}
	for i := range head / 2 {
		f := float32(1)
		if i >= turning {
			f = 1e30
		}
		binary.LittleEndian.PutUint32(data[4*i:], math.Float32bits(f))
	}
	t := Tensor{Name: ropeFreqs, DType: tensor.F32, Shape: []int64{head / 2}, Data: data}
	p.Tensors, err = limits.Append(p.b, p.Tensors, t)
	return err
}

// gemma4Visible are tokens of Gemma 4 that programs read in the model's output.
var gemma4Visible = []string{"<|channel>", "<channel|>", "<|tool_call>", "<tool_call|>", "<|tool_response>", "<tool_response|>", `<|"|>`}

// gemma4Vocab adds a BPE of characters with its merges.
func gemma4Vocab(k *keys) error {
	t, err := k.readJSON()
	if err != nil {
		return err
	}
	if t.Type != "BPE" || !t.Model.Get("byte_fallback").True() || t.Rest.At("decoder.type").String() != "Sequence" {
		return wire.At(tokenizer.FileName, "", wire.NoOffset, wire.ErrUnsupported.Errorf("it is not a BPE of characters with byte fallback"))
	}
	v, err := k.characterTokens(t)
	if err != nil {
		return err
	}
	for i, text := range v.texts {
		if slices.Contains(gemma4Visible, text) {
			v.types[i] = typeUserDefined
		}
		if err := k.b.Step(1); err != nil {
			return err
		}
	}
	k.addVocab("gemma4", "", v)
	merges, err := k.merges(t)
	if err != nil {
		return err
	}
	if err := k.special(t, merges, int64(len(v.texts))); err != nil {
		return err
	}
	k.put("tokenizer.ggml.add_space_prefix", false)
	k.put("tokenizer.ggml.add_bos_token", true)
	return nil
}
