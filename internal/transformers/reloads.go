package transformers

// breaksAgain are model types whose folders transformers 5.23 does not load after
// quantizing them with bitsandbytes and saving them itself, with its error. Types whose
// weights it splits are not listed, because they are refused.
// crosscheck/linears/reload.jsonl has the results.
var breaksAgain = map[string]string{
	"falcon_mamba":   "its forward pass multiplies the codes of dt_proj, not its numbers",
	"llama4":         `"normal_kernel_cpu" not implemented for 'Byte'`,
	"llama4_text":    `"normal_kernel_cpu" not implemented for 'Byte'`,
	"qwen4_exp":      "unexpected keys, as language_model.layers.0.attn_hyper_connection.block_inject_weight.weight.absmax",
	"qwen4_exp_text": "unexpected keys, as attn_hyper_connection.block_inject_weight.weight.absmax",
}

// BreaksAgain returns why transformers does not load a folder of a type that it quantized with
// bitsandbytes itself, "" if it does.
func BreaksAgain(modelType string) string { return breaksAgain[modelType] }
