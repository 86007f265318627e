package family

import (
	"slices"

	"github.com/anamnesis-go/anamnesis/internal/tokenizer"
	"github.com/anamnesis-go/anamnesis/internal/wire"
)

var glm4Row = &row{
	arch: "glm4", model: "glm4", names: []string{"Glm4ForCausalLM"},
	defaults: []preset{{"rms_norm_eps", "1.5625e-07"}, {"max_position_embeddings", "131072"}, {"head_dim", "128"}, {"partial_rotary_factor", "0.5"}, {"rope_theta", "10000"}},
	outer:    outer, layer: decoderLayer,
	layers: lazy(func() []mapping {
		return decoder(
			mapping{hf: "post_self_attn_layernorm", gguf: "post_attention_norm", shape: dims{Hidden}},
			ffnNorm,
			mapping{hf: "post_mlp_layernorm", gguf: "post_ffw_norm", shape: dims{Hidden}},
			mapping{hf: "mlp.gate_up_proj", gguf: "ffn_up", shape: dims{GateUp, Hidden}},
			mapping{hf: "mlp.down_proj", gguf: "ffn_down", shape: dims{Hidden, FFN}},
		)
	}),
	keys: glm4Keys, vocab: glm4Vocab,

	back: backward{members: glm4Back},
}

// glm4Keys adds the part of a head that rotates.
func glm4Keys(k *keys) {
	common(k)
	k.putArch("rope.dimension_count", uint32(k.c.rotatedDims()))
}

// rotatedDims returns how many elements of a head rotate: half of them by default.
func (c *config) rotatedDims() int64 {
	part := 0.5
	if f, ok := c.rope().fraction.Float(); ok && f > 0 && f <= 1 {
		part = f
	}
	return int64(float64(c.headDim()) * part)
}

// A specialToken is a special token's name and text.
type specialToken struct{ name, text string }

// glmTokens sets special tokens by their texts, unless they are set already.
func (k *keys) glmTokens(list ...specialToken) error {
	if err := gpt2Vocab(k); err != nil {
		return err
	}
	t, err := k.readJSON()
	if err != nil {
		return err
	}
	for _, one := range list {
		id := int64(-1)
		for i := range t.Added {
			if t.Added[i].Text == one.text {
				id = int64(t.Added[i].ID)
			}
		}
		if id < 0 {
			return wire.At(tokenizer.FileName, "", wire.NoOffset, wire.ErrMissing.Errorf("there is no added token %s, which must be %s", wire.Quote(one.text), one.name))
		}
		if key := "tokenizer.ggml." + specialKeys[one.name] + "_token_id"; !k.hasKey(key) {
			k.put(key, uint32(id))
		}
	}
	return nil
}

// hasKey reports whether a key was added.
func (k *keys) hasKey(name string) bool {
	for i := range k.list {
		if k.list[i].Key == name {
			return true
		}
	}
	return false
}

func glm4Vocab(k *keys) error {
	return k.glmTokens(specialToken{"eos", "<|endoftext|>"}, specialToken{"eot", "<|user|>"}, specialToken{"unk", "<|endoftext|>"}, specialToken{"bos", "<|endoftext|>"})
}

func glm4Back(s *settings) {
	_, _, head := s.common()
	s.partialRotary(head)
	s.biases("attention_bias", s.layers(), projections[:3]...)
	s.put("hidden_act", `"silu"`)
}

// partialRotary puts the part of a head that rotates.
func (s *settings) partialRotary(head int64) {
	n, ok := s.int("rope.dimension_count")
	if !ok || head == 0 || n > head || n%2 != 0 {
		s.fail(s.row.arch+".rope.dimension_count", "its value is %d, of heads of %d", n, head)
		return
	}
	s.put("partial_rotary_factor", float32JSON(float64(float32(n)/float32(head))))
	s.rotations(n)
}

// isMTPLayer reports layers that predict further tokens.
func isMTPLayer(c *config, layer int64) bool { return layer >= c.hiddenLayers() }

// aheadCounted are layers that the configuration counts, and a file may lack.
var aheadCounted = ahead{optional: true, count: func(c *config) int64 { return c.int("num_nextn_predict_layers") }}

// glmMTP are their tensors.
var glmMTP = []mapping{
	{hf: "eh_proj", gguf: "nextn.eh_proj", shape: dims{Hidden, Hidden2}, inLayer: isMTPLayer},
	{hf: "enorm", gguf: "nextn.enorm", shape: dims{Hidden}, inLayer: isMTPLayer},
	{hf: "hnorm", gguf: "nextn.hnorm", shape: dims{Hidden}, inLayer: isMTPLayer},
	{hf: "embed_tokens", gguf: "nextn.embed_tokens", shape: dims{Vocab, Hidden}, inLayer: isMTPLayer, optional: true},
	{hf: "shared_head.head", gguf: "nextn.shared_head_head", shape: dims{Vocab, Hidden}, inLayer: isMTPLayer, optional: true},
	{hf: "shared_head.norm", gguf: "nextn.shared_head_norm", shape: dims{Hidden}, inLayer: isMTPLayer, optional: true},
}

// glm4moeRow: GLM-4.5, a mixture followed by layers that predict further tokens.
var glm4moeRow = &row{
	arch: "glm4moe", model: "glm4_moe", names: []string{"Glm4MoeForCausalLM"},
	defaults: []preset{{"rms_norm_eps", "1e-05"}, {"max_position_embeddings", "131072"}, {"partial_rotary_factor", "0.5"}, {"rope_theta", "10000"}},
	outer:    outer, layer: decoderLayer,
	layers: lazy(func() []mapping {
		return with(decoder(
			mapping{hf: "post_attention_layernorm", gguf: "post_attention_norm", shape: dims{Hidden}},
			mapping{hf: "self_attn.q_norm", gguf: "attn_q_norm", shape: dims{Head}, inLayer: hasQKNorm},
			mapping{hf: "self_attn.k_norm", gguf: "attn_k_norm", shape: dims{Head}, inLayer: hasQKNorm},
			correction,
		), slices.Concat(glmMTP, denseMLP, sharedMixture)...)
	}),
	keys: glm4moeKeys, vocab: glm4moeVocab,

	ahead: aheadCounted, mlx: mlxRow{form: mlxGLM}, back: backward{members: glm4moeBack},
}

func hasQKNorm(c *config, _ int64) bool { return c.bool("use_qk_norm", false) }

func glm4moeKeys(k *keys) {
	glm4Keys(k)
	k.mixture()
	k.u32("leading_dense_block_count", "first_k_dense_replace")
	k.putArch("expert_gating_func", uint32(2))
	if on, ok := k.c.get("norm_topk_prob").Bool(); ok {
		k.putArch("expert_weights_norm", on)
	}
	k.u32("nextn_predict_layers", "num_nextn_predict_layers")
}

func glm4moeVocab(k *keys) error {
	return k.glmTokens(specialToken{"bos", "[gMASK]"}, specialToken{"eot", "<|user|>"}, specialToken{"unk", "<|endoftext|>"}, specialToken{"eom", "<|observation|>"})
}

func glm4moeBack(s *settings) {
	_, _, head := s.common()
	s.partialRotary(head)
	s.biases("attention_bias", s.layers(), projections[:3]...)
	s.put("use_qk_norm", boolText(s.tensors["blk.0.attn_q_norm.weight"] != nil))
	s.put("hidden_act", `"silu"`)
	s.routerMembers()
	s.expect("expert_gating_func", 2)
	s.mtpMembers()
}

// mtpMembers puts the number of layers without those that predict further tokens.
func (s *settings) mtpMembers() {
	n, _ := s.int("nextn_predict_layers")
	all, _ := s.int("block_count")
	if n >= all && n > 0 {
		s.fail(s.row.arch+".nextn_predict_layers", "its value is %d, of %d layers", n, all)
	}
	for i := range s.list {
		if s.list[i].name == "num_hidden_layers" {
			s.list[i].value = itoa(all - n)
		}
	}
	s.putInt("num_nextn_predict_layers", n)
}

// glm4liteRow: GLM-4.7 Flash, with DeepSeek's attention and experts, followed by layers
// that predict further tokens.
var glm4liteRow = &row{
	arch: "deepseek2", model: "glm4_moe_lite", names: []string{"Glm4MoeLiteForCausalLM"},
	defaults: append(deepseekDefaults[1:len(deepseekDefaults):len(deepseekDefaults)], preset{"rms_norm_eps", "1e-05"}, preset{"n_shared_experts", "1"}, preset{"n_group", "1"}, preset{"topk_group", "1"}),
	outer:    outer, layer: decoderLayer,
	layers: lazy(func() []mapping {
		return mla(slices.Concat(denseMLP, sharedMixture, []mapping{correction}, glmMTP)...)
	}),
	keys: func(k *keys) {
		deepseekKeys(k)
		if k.c.int("num_nextn_predict_layers") > 0 {
			k.u32("nextn_predict_layers", "num_nextn_predict_layers")
		}
	}, vocab: glm4moeVocab,

	ahead: aheadCounted, mlx: mlxRow{form: mlxGLMLite}, back: backward{members: glm4liteBack, matches: func(s *settings) bool { return s.hasCorrection() && s.text("pre") == "glm4" }},
}

func glm4liteBack(s *settings) {
	deepseek3Back(s)
	n, _ := s.int("nextn_predict_layers")
	all, _ := s.int("block_count")
	if n >= all && n > 0 {
		s.fail("deepseek2.nextn_predict_layers", "its value is %d, of %d layers", n, all)
	}
	s.replace("num_hidden_layers", itoa(all-n))
	s.replace("num_nextn_predict_layers", itoa(n))
}
