package family

// biased are the tensors whose bias llama.cpp requires, by architecture: those that its
// loaders create without TENSOR_NOT_REQUIRED (src/models/*.cpp of llama.cpp, as in
// llama-cpp-python 0.3.36). Biases that are tensors of their own here (ssm_dt.bias,
// exp_probs_b.bias) are in the rows.
var biased = map[string][]string{
	"bert":         {"attn_output_norm", "layer_output_norm", "token_embd_norm"},
	"bloom":        {"attn_norm", "attn_output", "attn_qkv", "ffn_down", "ffn_norm", "ffn_up", "output_norm", "token_embd_norm"},
	"falcon":       {"attn_norm", "attn_norm_2", "output_norm"},
	"gpt-oss":      {"attn_output", "ffn_gate_inp"},
	"gpt2":         {"attn_norm", "attn_output", "attn_qkv", "ffn_down", "ffn_norm", "ffn_up", "output_norm"},
	"gptneox":      {"attn_norm", "attn_output", "attn_qkv", "ffn_down", "ffn_norm", "ffn_up", "output_norm"},
	"jais2":        {"attn_norm", "attn_output", "ffn_down", "ffn_norm", "ffn_up", "output_norm"},
	"jamba":        {"ssm_conv1d", "ssm_dt"},
	"jina-bert-v2": {"attn_output", "attn_output_norm", "ffn_down", "layer_output_norm", "token_embd_norm"},
	"mamba":        {"ssm_conv1d", "ssm_dt"},
	"mamba2":       {"ssm_conv1d"},
	"nemotron":     {"attn_norm", "ffn_norm", "output_norm"},
	"nomic-bert":   {"attn_output_norm", "layer_output_norm", "token_embd_norm"},
	"phi2":         {"attn_norm", "attn_output", "ffn_down", "ffn_up", "output", "output_norm"},
	"phimoe":       {"attn_norm", "attn_output", "attn_q", "attn_k", "attn_v", "ffn_norm", "output", "output_norm"},
	"stablelm":     {"attn_norm", "output_norm"},
	"starcoder":    {"attn_norm", "attn_output", "attn_qkv", "ffn_down", "ffn_norm", "ffn_up", "output_norm"},
	"starcoder2":   {"attn_norm", "attn_output", "ffn_down", "ffn_norm", "ffn_up", "output_norm"},
}
