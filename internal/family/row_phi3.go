package family

import (
	"github.com/anamnesis-go/anamnesis/internal/jsontree"
)

var phi3Row = &row{
	arch: "phi3", model: "phi3", names: []string{"Phi3ForCausalLM"},
	defaults: []preset{{"vocab_size", "32064"}, {"rms_norm_eps", "1e-05"}, {"max_position_embeddings", "4096"}, {"original_max_position_embeddings", "4096"}, {"rope_theta", "10000"}},
	outer:    outer, layer: decoderLayer,
	layers: lazy(func() []mapping {
		return []mapping{
			{hf: "input_layernorm", gguf: "attn_norm", shape: dims{Hidden}},
			{hf: "self_attn.qkv_proj", gguf: "attn_qkv", shape: dims{QKV, Hidden}},
			{hf: "self_attn.o_proj", gguf: "attn_output", shape: dims{Hidden, Q}},
			ffnNorm,
			{hf: "mlp.gate_up_proj", gguf: "ffn_up", shape: dims{GateUp, Hidden}},
			{hf: "mlp.down_proj", gguf: "ffn_down", shape: dims{Hidden, FFN}},
		}
	}),
	keys: phi3Keys, vocab: phi3Vocab,

	attention: attention{factors: longFactors((*config).rotated)}, back: backward{factors: (*planner).readLongRope, consumed: longNames, members: phi3Back},
}

func phi3Keys(k *keys) {
	r := k.c.rope()
	if v := r.params.Get("long_factor"); v.There {
		original, _ := r.original.Int()
		f, ok := longFactor(r.kind, k.c.int("n_positions", "max_position_embeddings"), original)
		if !ok {
			k.fail("rope_scaling", r.params, "of a known type, with the original length")
		}
		k.putArch("rope.scaling.attn_factor", f)
	}
	k.u32("context_length", "n_positions", "max_position_embeddings")
	if n, ok := r.original.Int(); ok && n >= 0 && n < 1<<32 {
		k.putArch("rope.scaling.original_context_length", uint32(n))
	}
	k.u32("embedding_length", "hidden_size", "n_embd")
	k.u32("feed_forward_length", "intermediate_size")
	k.putArch("block_count", uint32(k.c.layers()))
	k.putArch("attention.head_count", uint32(k.c.heads()))
	k.putArch("attention.head_count_kv", uint32(k.c.kvHeads()))
	k.f32("attention.layer_norm_rms_epsilon", "rms_norm_eps")
	k.putArch("rope.dimension_count", uint32(k.c.rotated(r)))
	k.number("rope.freq_base", "rope_theta", r.theta)
	k.putArch("attention.sliding_window", uint32(0))
	k.u32("attention.sliding_window", "sliding_window")
}

// phi3Vocab adds a BPE of bytes for Phi-4, else sentencepiece's model with the added
// tokens of tokenizer.json.
func phi3Vocab(k *keys) error {
	config, err := jsontree.Read(k.b, k.files, tokenizerConfig, maxTokenizer)
	if err != nil {
		return err
	}
	if config.Get("tokenizer_class").String() == "GPT2Tokenizer" {
		return gpt2Vocab(k)
	}
	return k.spmKeys(true)
}

func phi3Back(s *settings) {
	_, _, head := s.common()
	n, ok := s.int("rope.dimension_count")
	switch {
	case !ok || n == head:
		n = head
	case head == 0 || n > head || n%2 != 0:
		s.fail("phi3.rope.dimension_count", "its value is %d, of heads of %d", n, head)
	default:
		s.put("partial_rotary_factor", float32JSON(float64(float32(n)/float32(head))))
	}
	s.rotations(n)
	if n, ok := s.int("rope.scaling.original_context_length"); ok {
		s.putInt("original_max_position_embeddings", n)
	}
	_, _ = s.key("rope.scaling.attn_factor") // see readLongRope
	s.window(0)
	s.put("hidden_act", `"silu"`)
}
