package family

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/anamnesis-go/anamnesis/internal/jsontree"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// cohereRow: layers have one norm, and the head is the token embedding.
var cohereRow = &row{
	arch: "command-r", model: "cohere", names: []string{"CohereForCausalLM"}, tied: true,
	defaults: []preset{{"vocab_size", "256000"}, {"layer_norm_eps", "1e-05"}, {"max_position_embeddings", "8192"}, {"logit_scale", "0.0625"}, {"rope_theta", "10000"}},
	outer:    outer[:2], layer: decoderLayer,
	layers: lazy(func() []mapping {
		return decoder(mlp...)
	}),
	keys: cohereKeys, vocab: gpt2Vocab,

	naming: naming{skipSuffixes: []string{"lm_head.weight"}}, back: backward{members: cohereBack},
}

func cohereKeys(k *keys) {
	common(k)
	k.u32("context_length", "model_max_length", "max_position_embeddings")
	k.f32("logit_scale", "logit_scale")
	k.putArch("rope.scaling.type", "none")
}

func cohereBack(s *settings) {
	_, _, head := s.common()
	s.rotations(head)
	s.optionalFloat("layer_norm_eps", "attention.layer_norm_epsilon")
	s.optionalFloat("logit_scale", "logit_scale")
	s.biases("attention_bias", s.layers(), projections...)
	s.put("use_qk_norm", "false")
	s.put("hidden_act", `"silu"`)
}

var cohere2Row = &row{
	arch: "cohere2", model: "cohere2", names: []string{"Cohere2ForCausalLM"}, tied: true,
	defaults: []preset{{"vocab_size", "256000"}, {"layer_norm_eps", "1e-05"}, {"max_position_embeddings", "8192"}, {"logit_scale", "0.0625"}, {"sliding_window", "4096"}, {"rope_theta", "10000"}},
	outer:    outer[:2], layer: decoderLayer,
	layers: lazy(func() []mapping {
		return decoder(mlp...)
	}),
	keys: cohere2Keys, vocab: gpt2Vocab,

	naming: naming{skipSuffixes: []string{"lm_head.weight"}}, back: backward{members: cohere2Back},
}

func cohere2Keys(k *keys) {
	common(k)
	k.f32("logit_scale", "logit_scale")
	k.u32("attention.sliding_window", "sliding_window")
	k.u32("vocab_size", "vocab_size")
	part, ok := k.c.get("rotary_pct").Float()
	if !ok || !(part > 0 && part <= 1) {
		k.fail("rotary_pct", k.c.get("rotary_pct"), "above 0 and at most 1")
		return
	}
	k.putArch("rope.dimension_count", uint32(part*float64(k.c.hidden()/k.c.heads())))
	k.putArch("rope.scaling.type", "none")
}

var olmoeRow = &row{
	arch: "olmoe", model: "olmoe", names: []string{"OlmoeForCausalLM"},
	defaults: []preset{{"vocab_size", "50304"}, {"rms_norm_eps", "1e-05"}, {"max_position_embeddings", "4096"}, {"num_experts", "64"}, {"num_experts_per_tok", "8"}, {"rope_theta", "10000"}},
	outer:    outer, layer: decoderLayer,
	layers: lazy(func() []mapping {
		return decoder(with(with(experts, ffnNorm), allHeadNorms...)...)
	}),
	keys: olmoeKeys, vocab: gpt2Vocab,

	back: backward{members: olmoeBack},
}

// allHeadNorms are norms over all heads at once.
var allHeadNorms = []mapping{
	{hf: "self_attn.q_norm", gguf: "attn_q_norm", shape: dims{Q}},
	{hf: "self_attn.k_norm", gguf: "attn_k_norm", shape: dims{KV}},
}

// olmoeKeys adds the converter's epsilon, whatever the model's is.
func olmoeKeys(k *keys) {
	common(k)
	k.putArch("attention.layer_norm_rms_epsilon", float32(1e-5))
}

func olmoeBack(s *settings) {
	_, _, head := s.common()
	s.rotations(head)
	s.biases("attention_bias", s.layers(), projections...)
	s.requireInt("num_experts", "expert_count")
	s.requireInt("num_experts_per_tok", "expert_used_count")
	s.put("norm_topk_prob", "false") // as in llama.cpp
	s.put("hidden_act", `"silu"`)
}

// windowKeys adds the size of the attention window and the layers that have one: by their
// types, or all but one in every so many.
func windowKeys(k *keys, otherwise int64) {
	if !k.c.get("sliding_window").There {
		return
	}
	k.u32("attention.sliding_window", "sliding_window")
	list, err := limits.Make[bool](k.b, int(k.c.layers()))
	if err != nil && k.err == nil {
		k.err = err
	}
	kinds := k.c.get("layer_types")
	every := otherwise
	if n, ok := k.c.get("sliding_window_pattern").Int(); ok {
		every = n
	}
	switch {
	case kinds.There && len(kinds.List()) != len(list):
		k.fail("layer_types", kinds, "a list with the type of each layer")
		return
	case !kinds.There && every < 1:
		k.fail("sliding_window_pattern", k.c.get("sliding_window_pattern"), "a number of layers")
		return
	}
	for i := range list {
		if kinds.There {
			list[i] = kinds.List()[i].String() == "sliding_attention"
		} else {
			list[i] = (int64(i)+1)%every != 0
		}
	}
	k.putArch("attention.sliding_window_pattern", list)
}

var olmo3Row = &row{
	arch: "olmo2", model: "olmo3", names: []string{"Olmo3ForCausalLM"},
	defaults: []preset{{"vocab_size", "50304"}, {"rms_norm_eps", "1e-05"}, {"max_position_embeddings", "2048"}, {"sliding_window", "4096"}, {"rope_theta", "10000"}},
	outer:    outer, layer: decoderLayer, layers: lazy(func() []mapping {
		return olmo2Row.layers()
	}),
	keys: func(k *keys) {
		common(k)
		windowKeys(k, 4)
	}, vocab: gpt2Vocab,

	back: backward{members: olmo3Back, matches: func(s *settings) bool { return s.hasWindow("olmo2") }},
}

var exaone4Row = &row{
	arch: "exaone4", model: "exaone4", names: []string{"Exaone4ForCausalLM"},
	defaults: []preset{{"vocab_size", "102400"}, {"rms_norm_eps", "1e-05"}, {"max_position_embeddings", "2048"}, {"rope_theta", "10000"}},
	outer:    outer, layer: decoderLayer,
	layers: lazy(func() []mapping {
		return with(decoder(mlp...)[1:], with(headNorms, olmo2Row.layers()[7:9]...)...)
	}),
	keys: func(k *keys) {
		common(k)
		k.u32("vocab_size", "vocab_size")
		windowKeys(k, 0)
	}, vocab: gpt2Vocab,

	back: backward{members: exaone4Back},
}

var seedossRow = &row{
	arch: "seed_oss", model: "seed_oss", names: []string{"SeedOssForCausalLM"},
	defaults: []preset{{"vocab_size", "155136"}, {"rms_norm_eps", "1e-06"}, {"max_position_embeddings", "524288"}, {"head_dim", "128"}, {"rope_theta", "10000"}},
	outer:    outer, layer: decoderLayer,
	layers: lazy(func() []mapping {
		return decoder(with(mlp, mapping{hf: "post_attention_layernorm", gguf: "post_attention_norm", shape: dims{Hidden}})...)
	}),
	keys: common, vocab: gpt2Vocab,

	back: backward{members: seedossBack},
}

func seedossBack(s *settings) {
	_, _, head := s.common()
	s.rotations(head)
	s.biases("attention_bias", s.layers(), projections[:3]...)
	s.biases("attention_out_bias", s.layers(), projections[3:]...)
	s.biases("mlp_bias", s.layers(), feed...)
	s.put("hidden_act", `"silu"`)
	s.put("residual_dropout", "0.0")
}

var ernieRow = &row{
	arch: "ernie4_5", model: "ernie4_5", names: []string{"Ernie4_5ForCausalLM", "Ernie4_5_ForCausalLM"}, tied: true,
	defaults: []preset{{"vocab_size", "103424"}, {"rms_norm_eps", "1e-05"}, {"max_position_embeddings", "131072"}, {"head_dim", "128"}, {"rope_theta", "500000"}},
	outer:    outer, layer: decoderLayer,
	layers: lazy(func() []mapping {
		return decoder(with(mlp, ffnNorm)...)
	}),
	keys: common, vocab: ernieVocab,

	back: backward{members: ernieBack},
}

func ernieVocab(k *keys) error {
	err := spmVocab(k)
	if err != nil {
		return err
	}
	config, err := jsontree.Read(k.b, k.files, tokenizerConfig, maxTokenizer)
	if add, ok := config.Get("add_prefix_space").Bool(); ok {
		k.put("tokenizer.ggml.add_space_prefix", add)
	}
	return err
}

func ernieBack(s *settings) {
	_, _, head := s.common()
	s.rotations(head)
	s.biases("use_bias", s.layers(), slices.Concat(projections, feed)...)
	s.put("hidden_act", `"silu"`)
}

// ministral3Row: Llama with YaRN, and an attention temperature by position.
var ministral3Row = &row{
	arch: "mistral3", model: "ministral3", names: []string{"Ministral3ForCausalLM"},
	defaults: []preset{{"vocab_size", "131072"}, {"rms_norm_eps", "1e-05"}, {"max_position_embeddings", "262144"}, {"head_dim", "128"}},
	outer:    outer, layer: decoderLayer, layers: lazy(func() []mapping {
		return llamaRow.layers()
	}),
	keys: ministral3Keys, vocab: llamaVocab,

	back: backward{members: ministral3Back, matches: (*settings).isMinistral3},
}

func ministral3Keys(k *keys) {
	llamaKeys(k)
	r := k.c.rope()
	if r.kind != "yarn" {
		k.fail("rope_parameters", r.params, "of the type yarn")
	}
	k.number("rope.scaling.yarn_log_multiplier", "mscale_all_dim", r.params.Get("mscale_all_dim"))
	k.number("attention.temperature_scale", "llama_4_scaling_beta", r.params.Get("llama_4_scaling_beta"))
}

// longFactors adds the tensors that Phi 3 divides its frequencies by, in texts longer than
// those of the original training and in shorter ones. rotated returns how many elements of a
// head have a factor each, in pairs.
func longFactors(rotated func(*config, rope) int64) func(*planner, rope) (bool, error) {
	return func(p *planner, r rope) (ok bool, err error) {
		if !r.params.Get("long_factor").There {
			return false, nil
		}
		return true, wire.At(configName, "member rope_scaling", wire.NoOffset, p.longRope(r, rotated(p.c, r)))
	}
}

// longRope adds those tensors for a number of rotated elements.
func (p *planner) longRope(r rope, rotated int64) error {
	for _, kind := range []string{"long", "short"} {
		list := r.params.Get(kind + "_factor").List()
		if int64(len(list)) != rotated/2 {
			return wire.ErrMismatch.Errorf("%d numbers in %s_factor for %d rotated pairs", len(list), kind, rotated)
		}
		data, err := limits.Make[byte](p.b, 4*len(list))
		if err != nil {
			return err
		}
		for i, v := range list {
			f, ok := v.Float()
			if !ok {
				return wire.ErrRange.Errorf("%s_factor holds something other than a number", kind)
			}
			binary.LittleEndian.PutUint32(data[4*i:], math.Float32bits(float32(f)))
			if err := p.b.Step(1); err != nil {
				return err
			}
		}
		t := Tensor{Name: "rope_factors_" + kind + ".weight", DType: tensor.F32, Shape: []int64{int64(len(list))}, Data: data}
		if p.Tensors, err = limits.Append(p.b, p.Tensors, t); err != nil {
			return err
		}
	}
	return nil
}

// rotated returns the number of elements of a head that rotate in Phi 3.
func (c *config) rotated(r rope) int64 {
	part := 1.0
	if f, ok := r.fraction.Float(); ok && f > 0 && f <= 1 {
		part = f
	}
	return int64(part*float64(c.hidden())) / c.heads()
}

// longFactor returns the factor of attention in texts longer than those of the original
// training.
func longFactor(kind string, most, original int64) (float32, bool) {
	scale := float64(most) / float64(original)
	switch {
	case original < 2 || most < 1:
		return 0, false
	case scale <= 1:
		return 1, true
	case kind == "su" || kind == "longrope":
		return float32(math.Sqrt(1 + math.Log(scale)/math.Log(float64(original)))), true
	case kind == "yarn":
		return float32(0.1*math.Log(scale) + 1), true
	}
	return 0, false
}
