package family

import (
	"encoding/binary"
	"math"

	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// museRow: the text model of Muse Glimmer, Llama with norms before and after each half of a layer and a gate
// of attention. Queries and keys are normed without weights; llama.cpp has weights there, which also scale
// the queries.
var museRow = &row{
	arch: "muse-glimmer", model: "muse_glimmer_text", names: []string{"MuseGlimmerForConditionalGeneration"},
	defaults: []preset{
		{"vocab_size", "202048"}, {"rms_norm_eps", "1e-05"}, {"max_position_embeddings", "131072"}, {"head_dim", "128"}, {"num_key_value_heads", "2"}, {"sliding_window", "2048"},
		{"final_logit_softcapping", "20"}, {"qk_scale_factor", "3.87"}, {"output_multiplier", "0.19611613513818404"},
	},
	outer: outer, layer: decoderLayer,
	layers: lazy(func() []mapping {
		list := permuted(decoder(mapping{hf: "self_attn.gate_proj", gguf: "attn_gate", shape: dims{Q, Hidden}}))
		return with(storedMinusOne(with(list, sandwichNorms...)), mlp...)
	}),
	keys: func(k *keys) {
		common(k)
		k.f32("final_logit_softcapping", "final_logit_softcapping")
		k.f32("logit_scale", "output_multiplier")
		k.u32("attention.sliding_window", "sliding_window")
		k.museLayers()
	},
	vocab: func(k *keys) error {
		if err := gpt2Vocab(k); err != nil {
			return err
		}
		t, err := k.readJSON()
		if err != nil {
			return err
		}
		for i := range t.Added {
			if t.Added[i].Text == "<|eot|>" {
				k.put("tokenizer.ggml.eot_token_id", uint32(t.Added[i].ID))
			}
		}
		return k.b.Step(int64(len(t.Added)))
	},

	attention: attention{factors: (*planner).museNorms},
	naming:    naming{otherParts: museParts}, mlx: mlxRow{none: notCompared},
}

var museParts = []string{"model.vision_tower.", "model.vision_adapter.", "model.vision_projection."}

// museLayers adds which layers have a window. llama.cpp rotates those alone, by one base.
func (k *keys) museLayers() {
	c := k.c
	kinds := c.get("layer_types")
	if int64(len(kinds.List())) != c.layers() {
		k.fail("layer_types", kinds, "a list with the type of each layer")
		return
	}
	k.windows()
	base, _ := c.rope().theta.Float()
	bases := c.get("layer_rope_theta")
	for i := range min(len(bases.List()), len(kinds.List()), maxLayers) {
		v, want := bases.List()[i], base
		if kinds.List()[i].String() != "sliding_attention" {
			want = 0
		}
		if f, ok := v.Float(); !ok || f != want {
			k.fail("layer_rope_theta", bases, "the base of all layers with a window, and 0 for the others, as llama.cpp assumes")
			return
		}
	}
	if v := c.get("post_norm_eps"); v.There {
		if f, ok := v.Float(); !ok || f != 1e-8 {
			k.fail("post_norm_eps", v, "1e-8, as llama.cpp assumes")
		}
	}
}

// museNorms adds the weights of norms of queries, which are the scale of all, and of keys, which are ones.
func (p *planner) museNorms(rope) (bool, error) {
	scale, ok := p.c.get("qk_scale_factor").Float()
	if !ok || p.asIs {
		return false, nil
	}
	for l := range p.c.layers() {
		for name, f := range [2]float32{float32(scale), 1} {
			data, err := limits.Make[byte](p.b, int(4*p.c.headDim()))
			if err != nil {
				return false, err
			}
			for i := range p.c.headDim() {
				binary.LittleEndian.PutUint32(data[4*i:], math.Float32bits(f))
			}
			t := Tensor{Name: "blk." + itoa(l) + "." + [2]string{"attn_q_norm", "attn_k_norm"}[name] + ".weight", DType: tensor.F32, Shape: []int64{p.c.headDim()}, Data: data}
			if err := p.add(t); err != nil {
				return false, err
			}
		}
	}
	return false, nil
}

// museAssistantRow: the model that drafts for Muse Glimmer, DFlash in transformers' own names.
var museAssistantRow = &row{
	arch: "dflash", model: "muse_glimmer_assistant", names: []string{"MuseGlimmerAssistantModel"}, tied: true,
	defaults: dflashDefaults,
	outer: []mapping{
		{hf: "norm", gguf: "output_norm", shape: dims{Hidden}},
		{hf: "encoder.output_norm_enc", gguf: "enc.output_norm", shape: dims{Hidden}},
		{hf: "encoder.fc", gguf: "fc", shape: dims{Hidden, func(c *config) int64 { return int64(min(len(dflashLayerIDs(c).List()), maxLayers)) * c.hidden() }}},
	},
	layer: "layers.#.",
	layers: lazy(func() []mapping {
		return decoder(with(with(mlp, ffnNorm), headNorms...)...)
	}),
	keys: func(k *keys) {
		c := k.c
		common(k)
		k.u32("block_size", "block_size")
		k.putArch("target_layers", k.numbersOf("target_layer_ids", dflashLayerIDs(c), 1))
		kinds := c.get("layer_types")
		if c.int("sliding_window") > 0 && kinds.There {
			if int64(len(kinds.List())) != c.layers() {
				k.fail("layer_types", kinds, "a list with the type of each layer")
				return
			}
			k.u32("attention.sliding_window", "sliding_window")
			k.windows()
		}
		k.targetConfig()
		if v := c.get("mask_token_id"); v.There {
			n, ok := v.Int()
			if !ok || n < 0 || n >= c.target().int("vocab_size") {
				k.fail("mask_token_id", v, "a token of the target")
			}
			k.mask = &n
		}
		if len(dflashLayerIDs(c).List()) == 0 || c.int("block_size") < 1 {
			k.fail("target_layer_ids", c.get("target_layer_ids"), "a list of layers, with block_size beside it")
		}
	}, vocab: targetVocab(targetOwn),

	naming: naming{drafted: "d2t"}, mlx: mlxRow{none: notCompared},
}
