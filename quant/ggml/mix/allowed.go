package mix

import (
	"slices"
	"strings"
)

// neverParts are parts of the names of matrices that are never quantized: gates,
// positions, small ones, and those for images and sound.
var neverParts = [...]string{
	"_norm.weight", "ffn_gate_inp.weight", "ffn_gate_tid2eid.weight", "altup", "laurel", "per_layer_model_proj",
	"ssm_conv1d", "shortconv.conv.weight", "indexer.k_proj.weight", "indexer.q_proj.weight",
	"time_mix_first.weight", "time_mix_w0.weight", "time_mix_w1.weight", "time_mix_w2.weight", "time_mix_v0.weight", "time_mix_v1.weight",
	"time_mix_v2.weight", "time_mix_a0.weight", "time_mix_a1.weight", "time_mix_a2.weight", "time_mix_g1.weight", "time_mix_g2.weight",
	"time_mix_decay_w1.weight", "time_mix_decay_w2.weight", "time_mix_lerp_fused.weight", "attn_rel_b.weight",
	".position_embd", "sam.pos_embd", "sam.neck.", "sam.net_", ".rel_pos", ".patch_embd", ".patch_merger", "a.rvq.codebook", "mm.a.code_embd",
}

// neverNames are whole names: positions and token types of BERT.
var neverNames = [...]string{"position_embd.weight", "token_types.weight"}

// neverGLM5Next are more parts, of one architecture alone.
var neverGLM5Next = [...]string{
	"hc_", "indexer.attn_q_b", "indexer.attn_k", "indexer.proj", "indexer_compressor_gate", "indexer_compressor_ape", "ssm_f_a.weight", "ssm_f_b.weight",
	"ssm_g_a.weight", "ssm_g_b.weight", "ssm_beta.weight", "attn_kv_a_mqa.weight", "attn_k_b.weight", "attn_v_b.weight",
}

// quantizes reports whether a tensor may be quantized: a matrix or a stack of matrices
// whose name ends with weight and has none of the parts above.
func (m *Model) quantizes(t *Tensor) bool {
	dims := len(t.Shape)
	for dims > 1 && t.Shape[len(t.Shape)-dims] == 1 {
		dims--
	}
	if dims < 2 || !strings.HasSuffix(t.Name, "weight") {
		return false
	}
	for _, n := range neverNames {
		if t.Name == n {
			return false
		}
	}
	return !has(t.Name, neverParts[:]) && !(m.Arch == glm5Next && has(t.Name, neverGLM5Next[:]))
}

func has(name string, parts []string) bool {
	return slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(name, p) })
}

// Architectures that the rules name.
const (
	falconArch  = "falcon"
	glm5Next    = "glm5-next"
	bailingMoE3 = "bailingmoe3"
)
