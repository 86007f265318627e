package family

import (
	"math"

	"github.com/anamnesis-go/anamnesis/internal/jsontree"
)

// hunyuanRow: queries and keys are normalized after rotation.
var hunyuanRow = &row{
	arch: "hunyuan-dense", model: "hunyuan_v1_dense", names: []string{"HunYuanDenseV1ForCausalLM"},
	defaults: []preset{{"vocab_size", "290943"}, {"rms_norm_eps", "1e-05"}, {"max_position_embeddings", "2048"}, {"eod_token_id", "3"}, {"pad_token_id", "0"}, {"rope_theta", "10000"}},
	outer:    outer, layer: decoderLayer,
	layers: lazy(func() []mapping {
		return decoder(with(with(mlp, ffnNorm),
			mapping{hf: "self_attn.query_layernorm", gguf: "attn_q_norm", shape: dims{Head}},
			mapping{hf: "self_attn.key_layernorm", gguf: "attn_k_norm", shape: dims{Head}},
		)...)
	}),
	keys: hunyuanKeys, vocab: hunyuanVocab,

	attention: attention{scalings: []string{"dynamic"}}, back: backward{members: hunyuanBack},
}

// hunyuanKeys adds llama.cpp's base of rotary embeddings for long texts, which includes
// the factor.
func hunyuanKeys(k *keys) {
	r := k.c.rope()
	common(k)
	if r.kind != "dynamic" {
		return
	}
	alpha, ok := r.params.Get("alpha").Float()
	if !ok {
		alpha = 50
	}
	base, _ := r.theta.Float()
	dim, most := float64(k.c.headDim()), k.c.int("max_position_embeddings")
	if base != 10000 || dim <= 2 || alpha <= 0 || most != 32<<10 && most != 256<<10 {
		k.fail("rope_scaling", r.params, "what the converter knows of the kind dynamic: a base of 10000 and 32768 or 262144 positions")
		return
	}
	k.putArch("rope.freq_base", float32(base*math.Pow(alpha, dim/(dim-2))))
	k.putArch("rope.scaling.type", "none")
	k.putArch("rope.scaling.factor", float32(1))
	k.putArch("rope.scaling.original_context_length", uint32(256<<10))
	k.putArch("context_length", uint32(256<<10))
}

// hunyuanVocab makes eod_token_id of config.json the end of texts.
func hunyuanVocab(k *keys) error {
	if err := gpt2Vocab(k); err != nil {
		return err
	}
	if n, ok := k.c.get("eod_token_id").Int(); ok && n >= 0 && n <= math.MaxUint32 {
		k.put("tokenizer.ggml.eos_token_id", uint32(n))
	}
	v, err := jsontree.Read(k.b, k.files, "generation_config.json", maxConfig)
	if err != nil {
		return err
	}
	if list := v.Get("eos_token_id").List(); len(list) >= 2 {
		n, ok := list[0].Int()
		if !ok || n < 0 || n > math.MaxUint32 {
			k.fail("eos_token_id", list[0], "a token")
			return nil
		}
		k.put("tokenizer.ggml.eot_token_id", uint32(n))
	}
	return nil
}

func hunyuanBack(s *settings) {
	_, _, head := s.common()
	s.rotations(head)
	s.biases("attention_bias", s.layers(), projections...)
	if n, ok := number(s.keys["tokenizer.ggml.eos_token_id"]); ok && n >= 0 && n == math.Trunc(n) {
		s.putInt("eod_token_id", int64(n))
	}
	s.put("hidden_act", `"silu"`)
}
