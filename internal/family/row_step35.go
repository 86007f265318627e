package family

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/strictjson"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// step35Row: Step 3.5 and the text model of Step 3.7, mixtures whose layers with an attention window
// have other numbers of heads. Norms are stored minus one. Layers that predict further tokens follow
// the others; their heads are below "transformer.".
var step35Row = &row{
	arch: "step35", model: "step3p5", names: []string{"Step3p5ForCausalLM", "Step3p7ForConditionalGeneration"},
	defaults: []preset{{"rms_norm_eps", "1e-05"}, {"max_position_embeddings", "65536"}, {"moe_every_n_layer", "1"}},
	outer:    []mapping{outer[0], {hf: "model.norm", gguf: "output_norm", shape: dims{Hidden}, op: addOne}, outer[2]}, layer: decoderLayer,
	layers: lazy(func() []mapping {
		norm := func(hf, gguf string, n size) mapping { return mapping{hf: hf, gguf: gguf, shape: dims{n}, op: addOne} }
		shared := memberSize("share_expert_dim")
		return slices.Concat([]mapping{
			norm("input_layernorm", "attn_norm", Hidden), norm("post_attention_layernorm", "ffn_norm", Hidden), norm("self_attn.q_norm", "attn_q_norm", Head), norm("self_attn.k_norm", "attn_k_norm", Head),
			{hf: "self_attn.q_proj", gguf: "attn_q", shapeOf: func(c *config, l int64) []int64 { return []int64{stepHeads(c, l) * c.headDim(), c.hidden()} }},
			{hf: "self_attn.k_proj", gguf: "attn_k", shapeOf: func(c *config, l int64) []int64 { return []int64{stepGroups(c, l) * c.headDim(), c.hidden()} }},
			{hf: "self_attn.v_proj", gguf: "attn_v", shapeOf: func(c *config, l int64) []int64 { return []int64{stepGroups(c, l) * c.headDim(), c.hidden()} }},
			{hf: "self_attn.o_proj", gguf: "attn_output", shapeOf: func(c *config, l int64) []int64 { return []int64{c.hidden(), stepHeads(c, l) * c.headDim()} }},
			{hf: "self_attn.g_proj", gguf: "attn_gate", shapeOf: func(c *config, l int64) []int64 { return []int64{stepHeads(c, l), c.hidden()} }},
		}, onlyIn(not(stepMixed), mlp), onlyIn(stepMixed, []mapping{
			{hf: "moe.gate", gguf: "ffn_gate_inp", shape: dims{Experts, Hidden}},
			{hf: "moe.router_bias", gguf: "exp_probs_b.bias", shape: dims{Experts}, noSuffix: true},
			{hf: "moe.gate_proj", gguf: "ffn_gate_exps", shape: dims{Experts, ExpertFFN, Hidden}},
			{hf: "moe.up_proj", gguf: "ffn_up_exps", shape: dims{Experts, ExpertFFN, Hidden}},
			{hf: "moe.down_proj", gguf: "ffn_down_exps", shape: dims{Experts, Hidden, ExpertFFN}},
			{hf: "share_expert.gate_proj", gguf: "ffn_gate_shexp", shape: dims{shared, Hidden}},
			{hf: "share_expert.up_proj", gguf: "ffn_up_shexp", shape: dims{shared, Hidden}},
			{hf: "share_expert.down_proj", gguf: "ffn_down_shexp", shape: dims{Hidden, shared}},
		}), onlyIn(isMTPLayer, []mapping{
			glmMTP[0], norm("enorm", "nextn.enorm", Hidden), norm("hnorm", "nextn.hnorm", Hidden),
			norm("transformer.shared_head.norm", "nextn.shared_head_norm", Hidden),
			{hf: "transformer.shared_head.output", gguf: "nextn.shared_head_head", shape: dims{Vocab, Hidden}},
		}))
	}),
	keys: stepKeys, vocab: gpt2Vocab,

	attention: attention{kvHeads: func(c *config) int64 { return c.int("num_attention_groups") }, thetas: true, factors: (*planner).stepFactors},
	naming:    naming{otherParts: []string{"vision_model.", "model.vision_model.", "vit_large_projector.", "model.vit_large_projector."}},
	ahead:     aheadCounted, mlx: mlxRow{none: notCompared},
}

// stepWindow reports a layer with an attention window.
func stepWindow(c *config, layer int64) bool {
	list := c.get("layer_types").List()
	return layer < int64(len(list)) && list[layer].String() == "sliding_attention"
}

func stepHeads(c *config, layer int64) int64 {
	if n := sizeIn(c.get("attention_other_setting"), "num_attention_heads"); n > 0 && stepWindow(c, layer) {
		return n
	}
	return c.heads()
}

func stepGroups(c *config, layer int64) int64 {
	if n := sizeIn(c.get("attention_other_setting"), "num_attention_groups"); n > 0 && stepWindow(c, layer) {
		return n
	}
	return c.kvHeads()
}

// stepMixed reports a layer with experts: those that moe_layers_enum lists, between commas.
func stepMixed(c *config, layer int64) bool {
	if isMTPLayer(c, layer) {
		return false
	}
	text := c.get("moe_layers_enum").String()
	if len(text) > 1<<12 {
		return false
	}
	return slices.Contains(strings.Split(strings.ReplaceAll(text, " ", ""), ","), itoa(layer))
}

func stepKeys(k *keys) {
	common(k)
	c := k.c
	first := int64(0)
	for first < c.hiddenLayers() && !stepMixed(c, first) {
		first++
	}
	k.err = cmp.Or(k.err, k.putPerLayer("attention.head_count", func(l int64) int64 { return stepHeads(c, l) }))
	k.err = cmp.Or(k.err, k.putPerLayer("attention.head_count_kv", func(l int64) int64 { return stepGroups(c, l) }))
	k.u32("attention.sliding_window", "sliding_window")
	windows, err := limits.Make[bool](k.b, int(c.layers()))
	k.err = cmp.Or(k.err, err)
	parts := c.get("partial_rotary_factors").List()
	for i := range windows {
		windows[i] = stepWindow(c, int64(i))
		want := 0.5
		if windows[i] {
			want = 1
		}
		if i < len(parts) {
			if f, ok := parts[i].Float(); !ok || f != want {
				k.fail("partial_rotary_factors", c.get("partial_rotary_factors"), "1 for layers with a window and 0.5 for the others, as llama.cpp assumes")
				return
			}
		}
	}
	k.putArch("attention.sliding_window_pattern", windows)
	k.u32("attention.value_length", "head_dim")
	k.u32("expert_count", "moe_num_experts")
	k.u32("expert_used_count", "moe_top_k")
	k.u32("expert_feed_forward_length", "moe_intermediate_size")
	k.u32("expert_shared_feed_forward_length", "share_expert_dim")
	k.f32("expert_weights_scale", "moe_router_scaling_factor")
	if v := c.get("norm_expert_weight"); v.There {
		k.putArch("expert_weights_norm", c.bool("norm_expert_weight", false))
	}
	k.putArch("leading_dense_block_count", uint32(first))
	k.u32("moe_every_n_layers", "moe_every_n_layer")
	for _, m := range [][2]string{{"swiglu_limits", "swiglu_clamp_exp"}, {"swiglu_limits_shared", "swiglu_clamp_shexp"}} {
		k.clamps(m[0], m[1])
	}
	k.aheadKey()
}

// clamps adds a number for each layer, 0 where there is none.
func (k *keys) clamps(member, key string) {
	v := k.c.get(member)
	if !v.There {
		return
	}
	numbers, err := limits.Make[float32](k.b, int(k.c.layers()))
	k.err = cmp.Or(k.err, err)
	list := v.List()
	for i := range numbers {
		if i >= len(list) || list[i].Kind == strictjson.Null {
			continue
		}
		f, ok := list[i].Float()
		if !ok || math.IsInf(float64(float32(f)), 0) {
			k.fail(member, v, "a list of numbers")
			return
		}
		numbers[i] = float32(f)
	}
	k.putArch(key, numbers)
}

// stepFactors adds what Llama 3's scaling divides the frequencies of half a head by; the others stay.
// The converter computes them in float64.
func (p *planner) stepFactors(r rope) (bool, error) {
	if !strings.EqualFold(r.kind, "llama3") {
		return false, nil
	}
	number := func(name string, otherwise float64) float64 {
		if f, ok := r.params.Get(name).Float(); ok {
			return f
		}
		return otherwise
	}
	base, ok := r.theta.Float()
	head := p.c.headDim()
	turned := head / 2
	factor, low, high, old := number("factor", 8), number("low_freq_factor", 1), number("high_freq_factor", 4), number("original_max_position_embeddings", 8192)
	if !ok || !(base > 0 && factor > 0 && low > 0 && high > low && old > 0) || head%4 != 0 {
		return false, wire.At(configName, "member rope_scaling", wire.NoOffset, wire.ErrRange.Errorf("values that give no frequencies"))
	}
	out, err := limits.Make[byte](p.b, int(2*head))
	if err != nil {
		return false, err
	}
	for i := range head / 2 {
		f := 1.0
		if i < turned/2 {
			freq := 1 / float32(math.Pow(base, float64(float32(2*i)/float32(turned))))
			wavelen := 2 * math.Pi / float64(freq)
			switch {
			case wavelen < old/high:
			case wavelen > old/low:
				f = factor
			default:
				smooth := (old/wavelen - low) / (high - low)
				f = 1 / ((1-smooth)/factor + smooth)
			}
		}
		binary.LittleEndian.PutUint32(out[4*i:], math.Float32bits(float32(f)))
	}
	t := Tensor{Name: ropeFreqs, DType: tensor.F32, Shape: []int64{int64(len(out) / 4)}, Data: out}
	p.Tensors, err = limits.Append(p.b, p.Tensors, t)
	return true, err
}
