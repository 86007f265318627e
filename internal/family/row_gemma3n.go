package family

import (
	"cmp"
	"math"

	"github.com/anamnesis-go/anamnesis/limits"
)

// Gemma 3n has four streams beside each other (AltUp), a small matrix beside attention (Laurel), an
// embedding for each layer, and layers that share the keys and values of an earlier one.

var gemma3nRow = &row{
	arch: "gemma3n", model: "gemma3n_text", names: []string{"Gemma3nForCausalLM", "Gemma3nForConditionalGeneration"}, tied: true,
	defaults: []preset{
		{"vocab_size", "262400"}, {"vocab_size_per_layer_input", "262144"}, {"rms_norm_eps", "1e-06"}, {"max_position_embeddings", "32768"}, {"head_dim", "256"}, {"sliding_window", "512"},
		{"num_attention_heads", "8"}, {"num_key_value_heads", "2"}, {"hidden_size_per_layer_input", "256"}, {"num_kv_shared_layers", "15"}, {"laurel_rank", "64"}, {"altup_num_inputs", "4"}, {"altup_active_idx", "0"},
	},
	outer: []mapping{
		{hf: "model.embed_tokens", gguf: "token_embd", shape: dims{Vocab, Hidden}},
		{hf: "model.norm", gguf: "output_norm", shape: dims{Hidden}},
		{hf: "model.embed_tokens_per_layer", gguf: "per_layer_token_embd", shape: dims{LayerVocab, LayerInputs}, rows: Vocab},
		{hf: "model.per_layer_model_projection", gguf: "per_layer_model_proj", shape: dims{LayerInputs, Hidden}},
		{hf: "model.per_layer_projection_norm", gguf: "per_layer_proj_norm", shape: dims{LayerInput}},
		{hf: "model.altup_projections.*", gguf: "altup_proj", shape: dims{Hidden, Hidden}, op: stack, of: otherStreams},
		{hf: "model.altup_unembed_projections.*", gguf: "altup_unembd_proj", shape: dims{Hidden, Hidden}, op: stack, of: otherStreams},
	},
	layer: decoderLayer, layers: lazy(gemma3nLayers),
	keys: gemma3nKeys, vocab: gemma3Vocab,

	naming: naming{skipSuffixes: gemmaSkip, skipPrefixes: gemma4Row.naming.skipPrefixes, numbered: []string{".altup_projections.", ".altup_unembed_projections."}}, mlx: mlxRow{none: notCompared},
}

// streams is the number of AltUp's streams, otherStreams that of those beside the first.
func streams(c *config) int64 { return c.int("altup_num_inputs") }

func otherStreams(c *config) int64 { return streams(c) - 1 }

func streamsSquared(c *config) int64 { return streams(c) * streams(c) }

func gemma3nLayers() []mapping {
	wide := func(c *config, layer int64) int64 {
		if v := c.get("intermediate_size"); v.List() == nil {
			return FFN(c)
		}
		return listed(c, "intermediate_size", layer)
	}
	up := func(c *config, layer int64) []int64 { return []int64{wide(c, layer), c.hidden()} }
	rank := memberSize("laurel_rank")
	return with(decoder(with(headNorms, sandwichNorms...)...), []mapping{
		{hf: "mlp.gate_proj", gguf: "ffn_gate", shapeOf: up},
		{hf: "mlp.up_proj", gguf: "ffn_up", shapeOf: up},
		{hf: "mlp.down_proj", gguf: "ffn_down", shapeOf: func(c *config, layer int64) []int64 { return []int64{c.hidden(), wide(c, layer)} }},
		{hf: "per_layer_input_gate", gguf: "inp_gate", shape: dims{LayerInput, Hidden}},
		{hf: "per_layer_projection", gguf: "proj", shape: dims{Hidden, LayerInput}},
		{hf: "post_per_layer_input_norm", gguf: "post_norm", shape: dims{Hidden}},
		{hf: "altup.correction_coefs", gguf: "altup_correct_coef", shape: dims{streams, streams}},
		{hf: "altup.correct_output_scale", gguf: "altup_correct_scale.weight", shape: dims{Hidden}, noSuffix: true},
		{hf: "altup.prediction_coefs", gguf: "altup_predict_coef", shape: dims{streamsSquared, streams}},
		{hf: "altup.modality_router", gguf: "altup_router", shape: dims{streams, Hidden}},
		{hf: "altup.router_norm", gguf: "altup_router_norm", shape: dims{Hidden}},
		{hf: "laurel.linear_left", gguf: "laurel_l", shape: dims{rank, Hidden}},
		{hf: "laurel.linear_right", gguf: "laurel_r", shape: dims{Hidden, rank}},
		{hf: "laurel.post_laurel_norm", gguf: "laurel_post_norm", shape: dims{Hidden}},
	}...)
}

// Sizes that llama.cpp has as constants: of AltUp and Laurel, and the number of layers with keys of
// their own.
const gemma3nOwnKeys = 20

func gemma3nKeys(k *keys) {
	c := k.c
	k.requireMember("altup_num_inputs", "4")
	k.requireMember("laurel_rank", "64")
	k.requireMember("hidden_size_per_layer_input", "256")
	k.requireMember("num_kv_shared_layers", itoa(c.layers()-gemma3nOwnKeys))
	if c.int("altup_active_idx") >= streams(c) {
		k.fail("altup_active_idx", c.get("altup_active_idx"), "one of the streams")
	}
	gemma3Keys(k)
	k.u32("altup.active_idx", "altup_active_idx")
	k.u32("altup.num_inputs", "altup_num_inputs")
	k.u32("embedding_length_per_layer_input", "hidden_size_per_layer_input")
	k.u32("attention.shared_kv_layers", "num_kv_shared_layers")
	if c.get("intermediate_size").List() != nil {
		k.err = cmp.Or(k.err, perLayer(c, "intermediate_size"))
		k.err = cmp.Or(k.err, k.putPerLayer("feed_forward_length", func(l int64) int64 { return listed(c, "intermediate_size", l) }))
	}
	k.err = cmp.Or(k.err, perLayer(c, "activation_sparsity_pattern", "layer_types"))
	if k.err != nil {
		return
	}
	k.windows()
	k.sparsity()
}

// windows adds which layers have an attention window.
func (k *keys) windows() {
	kinds := k.c.get("layer_types").List()
	list, err := limits.Make[bool](k.b, len(kinds))
	k.err = cmp.Or(k.err, err)
	for i := range list {
		list[i] = kinds[i].String() == "sliding_attention"
	}
	k.putArch("attention.sliding_window_pattern", list)
}

// sparsity adds how many deviations above the mean a number must be, for the stated part of numbers to
// be below, as torch computes it. llama.cpp has those of published models as constants.
func (k *keys) sparsity() {
	stated := k.c.get("activation_sparsity_pattern")
	list, err := limits.Make[float32](k.b, len(stated.List()))
	k.err = cmp.Or(k.err, err)
	for i := range list {
		want := 0.0
		if list[i] = float32(math.Inf(-1)); i < gemma3nSparse {
			want, list[i] = 0.95, sparsity95
		}
		if f, ok := stated.List()[i].Float(); !ok || f != want {
			k.fail("activation_sparsity_pattern", stated, "0.95 for the first "+itoa(gemma3nSparse)+" layers and 0 for the others, as llama.cpp assumes")
			return
		}
	}
	k.putArch("activation_sparsity_scale", list)
}

// gemma3nSparse is the number of layers that drop small numbers, sparsity95 the distance at which 0.95 of
// them are below.
const (
	gemma3nSparse = 10
	sparsity95    = 1.6448535919189453
)
