package family

import (
	"slices"
)

// deepseekocrRow: the text model of DeepSeek-OCR and Unlimited-OCR, DeepSeek's experts over plain
// attention.
var deepseekocrRow = &row{
	arch: "deepseek2-ocr", model: "deepseek_ocr", names: []string{"DeepseekOCRForCausalLM", "UnlimitedOCRForCausalLM"},
	defaults: append(deepseekDefaults[:len(deepseekDefaults):len(deepseekDefaults)], preset{"n_shared_experts", "0"}), outer: outer, layer: decoderLayer,
	layers: lazy(func() []mapping {
		return decoder(slices.Concat([]mapping{ffnNorm}, denseMLP, sharedMixture)...)
	}),
	keys: func(k *keys) {
		k.put("tokenizer.chat_template", "{% for m in messages %}{{m['content']}}{% endfor %}")
		common(k)
		k.u32("leading_dense_block_count", "first_k_dense_replace")
		k.u32("vocab_size", "vocab_size")
		k.u32("attention.q_lora_rank", "q_lora_rank")
		k.mixture()
		if k.c.bool("norm_topk_prob", false) {
			k.putArch("expert_weights_norm", true)
		}
		k.u32("rope.dimension_count", "qk_rope_head_dim")
		if n := k.c.int("sliding_window_size", "sliding_window"); n > 0 {
			k.putArch("attention.sliding_window", uint32(n))
		}
		k.requireMember("use_mla", "false")
	}, vocab: gpt2Vocab,

	ahead:  ahead{dropped: true},
	naming: naming{otherParts: []string{"model.sam_model.", "model.qwen2_model.", "model.vision_model.", "model.projector.", "model.image_newline", "model.view_seperator"}}, mlx: mlxRow{none: notCompared},
}
