package family

import (
	"slices"

	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// T5 has an encoder and a decoder, whose layers are numbered after those of the encoder here.

// encoders returns the number of the encoder's layers.
func encoders(c *config) int64 { return c.hiddenLayers() }

// inEncoder and inDecoder report the layers of either.
func inEncoder(c *config, layer int64) bool { return layer < encoders(c) }

func inDecoder(c *config, layer int64) bool { return !inEncoder(c, layer) }

// isFirstLayer reports the first layer of either, whose relative positions the other
// layers share.
func isFirstLayer(c *config, layer int64) bool { return layer == 0 || layer == encoders(c) }

// gatedProj reports a gated feed-forward layer, which T5 has since 1.1.
func gatedProj(c *config) bool { return c.get("feed_forward_proj").String() == "gated-gelu" }

// t5FeedForward returns the feed-forward layer, the second part of an encoder's block and
// the third of a decoder's.
func t5FeedForward(number string, in func(*config, int64) bool) []mapping {
	gated := func(c *config, layer int64) bool { return in(c, layer) && gatedProj(c) }
	plain := func(c *config, layer int64) bool { return in(c, layer) && !gatedProj(c) }
	return []mapping{
		{hf: number + "layer_norm", gguf: "ffn_norm", shape: dims{Hidden}, inLayer: in},
		{hf: number + "DenseReluDense.wi", gguf: "ffn_up", shape: dims{FFN, Hidden}, inLayer: plain},
		{hf: number + "DenseReluDense.wi_0", gguf: "ffn_gate", shape: dims{FFN, Hidden}, inLayer: gated},
		{hf: number + "DenseReluDense.wi_1", gguf: "ffn_up", shape: dims{FFN, Hidden}, inLayer: gated},
		{hf: number + "DenseReluDense.wo", gguf: "ffn_down", shape: dims{Hidden, FFN}, inLayer: in},
	}
}

// t5Attention returns the matrices of one attention.
func t5Attention(hf, gguf string, in func(*config, int64) bool) []mapping {
	return []mapping{
		{hf: hf + ".q", gguf: gguf + "_q", shape: dims{Q, Hidden}, inLayer: in},
		{hf: hf + ".k", gguf: gguf + "_k", shape: dims{Q, Hidden}, inLayer: in},
		{hf: hf + ".v", gguf: gguf + "_v", shape: dims{Q, Hidden}, inLayer: in},
		{hf: hf + ".o", gguf: gguf + "_o", shape: dims{Hidden, Q}, inLayer: in},
	}
}

// t5Layers returns the tensors of both stacks; positions reports layers with relative
// positions of their own.
func t5Layers(positions func(*config, int64) bool) []mapping {
	return slices.Concat([]mapping{
		{hf: "layer.0.layer_norm", gguf: "attn_norm", shape: dims{Hidden}},
		{hf: "layer.0.SelfAttention.relative_attention_bias", gguf: "attn_rel_b", shape: dims{RelativeBuckets, Heads}, inLayer: positions},
		{hf: "layer.1.layer_norm", gguf: "cross_attn_norm", shape: dims{Hidden}, inLayer: inDecoder},
		// which old checkpoints hold, and nothing reads
		{hf: "layer.1.EncDecAttention.relative_attention_bias", gguf: "cross_attn_rel_b", shape: dims{RelativeBuckets, Heads}, inLayer: inDecoder, optional: true},
	}, t5Attention("layer.0.SelfAttention", "attn", nil), t5Attention("layer.1.EncDecAttention", "cross_attn", inDecoder),
		t5FeedForward("layer.1.", inEncoder), t5FeedForward("layer.2.", inDecoder))
}

var (
	t5Names = []string{"shared.weight", "encoder.embed_tokens.weight", "decoder.embed_tokens.weight"}
	t5Outer = []mapping{
		{hf: "shared", gguf: "token_embd", shape: dims{Vocab, Hidden}},
		{hf: "encoder.final_layer_norm", gguf: "enc.output_norm", shape: dims{Hidden}},
		{hf: "decoder.final_layer_norm", gguf: "dec.output_norm", shape: dims{Hidden}},
		{hf: "lm_head", gguf: "output", shape: dims{Vocab, Hidden}},
	}
	t5Defaults = []preset{
		{"vocab_size", "32128"}, {"d_model", "512"}, {"d_kv", "64"}, {"d_ff", "2048"}, {"num_layers", "6"}, {"num_heads", "8"}, {"relative_attention_num_buckets", "32"},
		{"layer_norm_epsilon", "1e-06"}, {"feed_forward_proj", `"relu"`},
	}
	mt5Defaults = []preset{
		{"vocab_size", "250112"}, {"d_model", "512"}, {"d_kv", "64"}, {"d_ff", "1024"}, {"num_layers", "8"}, {"num_heads", "6"}, {"relative_attention_num_buckets", "32"},
		{"layer_norm_epsilon", "1e-06"}, {"feed_forward_proj", `"gated-gelu"`}, {"decoder_start_token_id", "0"},
	}
	t5Decoder = tower{layer: "decoder.block.#.", prefix: "dec.", first: encoders, count: decoders}
)

var t5Row = &row{
	arch: "t5", model: "t5", names: []string{"T5ForConditionalGeneration", "T5WithLMHeadModel"}, tied: true,
	defaults: t5Defaults, outer: t5Outer, layer: "encoder.block.#.", prefix: "enc.", decoder: &t5Decoder,
	layers: lazy(func() []mapping { return t5Layers(isFirstLayer) }),
	keys:   t5Keys, vocab: t5Vocab,

	naming: naming{aliases: t5Names}, mlx: mlxRow{none: apartT5}, back: backward{pieces: true, members: t5Back, matches: func(s *settings) bool { return s.tensors["enc.blk.1.attn_rel_b.weight"] == nil }},
}

var mt5Row = &row{
	arch: "t5", model: "mt5", names: []string{"MT5ForConditionalGeneration"}, tied: true,
	defaults: mt5Defaults, outer: t5Outer, layer: t5Row.layer, prefix: "enc.", decoder: &t5Decoder,
	layers: lazy(func() []mapping { return t5Layers(isFirstLayer) }),
	keys:   t5Keys, vocab: t5Vocab,

	naming: naming{aliases: t5Names}, mlx: mlxRow{none: apartT5},
}

// umt5Row: relative positions in each layer.
var umt5Row = &row{
	arch: "t5", model: "umt5", names: []string{"UMT5ForConditionalGeneration", "UMT5Model"}, tied: true,
	defaults: mt5Defaults, outer: t5Outer, layer: t5Row.layer, prefix: "enc.", decoder: &t5Decoder,
	layers: lazy(func() []mapping { return t5Layers(func(*config, int64) bool { return true }) }),
	keys:   t5Keys, vocab: t5Vocab,

	naming: naming{aliases: t5Names}, mlx: mlxRow{none: apartT5}, back: backward{pieces: true, matches: func(s *settings) bool { return s.tensors["enc.blk.1.attn_rel_b.weight"] != nil }, members: t5Back},
}

// t5encoderRow: only the encoder, with which image models encode texts.
var t5encoderRow = &row{
	arch: "t5encoder", model: "t5", names: []string{"T5EncoderModel"}, tied: true,
	defaults: t5Defaults, outer: t5Outer[:2], layer: t5Row.layer, prefix: "enc.",
	layers: lazy(func() []mapping {
		return slices.DeleteFunc(t5Layers(isFirstLayer), func(n mapping) bool { return n.gguf == "cross_attn_norm" || n.inLayer != nil && n.optional })
	}),
	keys: t5encoderKeys, vocab: t5Vocab,

	naming: naming{aliases: t5Names[:2]}, mlx: mlxRow{none: apartT5}, back: backward{pieces: true, members: t5encoderBack},
}

// decoders returns the number of the decoder's layers, by default that of the encoder's.
func decoders(c *config) int64 {
	if _, ok := c.get("num_decoder_layers").Int(); ok {
		return c.int("num_decoder_layers")
	}
	return encoders(c)
}

func t5encoderKeys(k *keys) {
	k.putArch("context_length", uint32(512))
	k.u32("context_length", "n_positions")
	k.u32("embedding_length", "d_model")
	k.u32("feed_forward_length", "d_ff")
	k.putArch("block_count", uint32(encoders(k.c)))
	k.u32("attention.head_count", "num_heads")
	k.u32("attention.key_length", "d_kv")
	k.u32("attention.value_length", "d_kv")
	k.f32("attention.layer_norm_epsilon", "layer_norm_epsilon")
	k.u32("attention.relative_buckets_count", "relative_attention_num_buckets")
	k.f32("attention.layer_norm_rms_epsilon", "layer_norm_epsilon")
	if v := k.c.get("feed_forward_proj"); v.String() != "relu" && !gatedProj(k.c) {
		k.fail("feed_forward_proj", v, "relu or gated-gelu, which llama.cpp has")
	}
}

func t5Keys(k *keys) {
	t5encoderKeys(k)
	k.putArch("decoder_block_count", uint32(decoders(k.c)))
	if start := k.c.get("decoder_start_token_id"); !start.There {
		k.fail("decoder_start_token_id", start, "stated: the decoder begins with it")
	}
	k.u32("decoder_start_token_id", "decoder_start_token_id")
}

// t5encoderBack puts the members of the encoder.
func t5encoderBack(s *settings) {
	s.requireInt("d_model", "embedding_length")
	s.requireInt("d_ff", "feed_forward_length")
	s.requireInt("num_layers", "block_count")
	s.requireInt("num_heads", "attention.head_count")
	width := s.requireInt("d_kv", "attention.key_length")
	s.expect("attention.value_length", float64(width))
	s.requireInt("n_positions", "context_length")
	s.requireInt("relative_attention_num_buckets", "attention.relative_buckets_count")
	s.optionalFloat("layer_norm_epsilon", "attention.layer_norm_rms_epsilon")
	if e, ok := number(s.keys[s.row.arch+".attention.layer_norm_rms_epsilon"]); ok {
		s.expect("attention.layer_norm_epsilon", e)
	}
	s.vocabulary()
	kind := `"relu"`
	if s.tensors["enc.blk.0.ffn_gate.weight"] != nil {
		kind = `"gated-gelu"`
	}
	s.put("feed_forward_proj", kind)
}

func t5Back(s *settings) {
	t5encoderBack(s)
	s.put("is_encoder_decoder", "true")
	s.requireInt("num_decoder_layers", "decoder_block_count")
	if n, ok := s.int("decoder_start_token_id"); ok {
		s.putInt("decoder_start_token_id", n)
	} else if s.err == nil {
		s.err = wire.At("gguf", "", wire.NoOffset, wire.ErrMissing.Errorf("the key of the decoder's first token is missing"))
	}
}
