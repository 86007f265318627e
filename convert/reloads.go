package convert

// breaksAgain are the model types of which transformers 5.23 does not load the folders that it
// quantizes with bitsandbytes and saves itself, by what it says. Types whose weights it takes
// apart are not among them: those are refused. crosscheck/linears/reload.jsonl has the sweep.
var breaksAgain = map[string]string{
	"llama4":         `"normal_kernel_cpu" not implemented for 'Byte'`,
	"llama4_text":    `"normal_kernel_cpu" not implemented for 'Byte'`,
	"qwen4_exp":      "unexpected keys, as language_model.layers.0.attn_hyper_connection.block_inject_weight.weight.absmax",
	"qwen4_exp_text": "unexpected keys, as attn_hyper_connection.block_inject_weight.weight.absmax",
}
