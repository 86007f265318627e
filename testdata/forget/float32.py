"""Writes which tensors are float32 once transformers quantized a model with bitsandbytes.

Run: pip install transformers==5.23.0 bitsandbytes==0.50.2 accelerate torch==2.15.0 && python testdata/forget/float32.py

Each row of types/float32.json is a tiny random model in float16 or bfloat16: what decides of
config.json, and of each tensor that is not quantized its shape, the type in the file of
the plain model and that in the file which transformers saves after it loaded it in four bits.
"""
import json
import pathlib
import tempfile

import torch
import transformers as T
from safetensors import safe_open

NO_HEAD = dict(vocab_size=64, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=32)
SMALL = NO_HEAD | {"head_dim": 8}
MOE = dict(NO_HEAD, n_routed_experts=4, num_experts_per_tok=2, n_group=1, topk_group=1, moe_intermediate_size=16, first_k_dense_replace=1, n_shared_experts=1)
MODELS = {
    "t5": ("T5ForConditionalGeneration", T.T5Config(vocab_size=64, d_model=32, d_kv=8, d_ff=48, num_layers=1, num_decoder_layers=1, num_heads=4)),
    "glm4_moe": ("Glm4MoeForCausalLM", T.Glm4MoeConfig(**MOE)),
    "ernie4_5_moe": ("Ernie4_5_MoeForCausalLM", T.Ernie4_5_MoeConfig(**NO_HEAD, moe_num_experts=4, moe_k=2, moe_intermediate_size=16, moe_layer_start_index=0)),
    "rwkv": ("RwkvForCausalLM", T.RwkvConfig(vocab_size=64, hidden_size=32, attention_hidden_size=32, intermediate_size=48, num_hidden_layers=2, context_length=32)),
    "afmoe": ("AfmoeForCausalLM", T.AfmoeConfig(**SMALL, num_experts=4, num_experts_per_tok=2, moe_intermediate_size=16, num_dense_layers=1)),
    "llama": ("LlamaForCausalLM", T.LlamaConfig(**SMALL)),
}


def stored(folder):
    with safe_open(folder / "model.safetensors", "pt") as f:
        return {k: (list(f.get_slice(k).get_shape()), f.get_slice(k).get_dtype()) for k in f.keys()}


def main():
    rows = []
    for name, (cls, config) in MODELS.items():
        for dtype in (torch.float16, torch.bfloat16):
            with tempfile.TemporaryDirectory() as tmp:
                plain, own = pathlib.Path(tmp) / "plain", pathlib.Path(tmp) / "own"
                torch.manual_seed(1)
                try:
                    getattr(T, cls)(config).to(dtype).save_pretrained(plain)
                    four = T.BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type="nf4")
                    getattr(T, cls).from_pretrained(plain, quantization_config=four, dtype=dtype, device_map="cpu").save_pretrained(own)
                except Exception as e:
                    print(name, dtype, type(e).__name__, e)
                    continue
                a, b = stored(plain), stored(own)
                kept = {k: [*a[k], b[k][1]] for k in sorted(a) if k in b and b[k][0] == a[k][0] and b[k][1] != "U8"}
                rows.append({"model_type": config.model_type, "tensors": kept})
                print(name, dtype, sum(t[1] != t[2] for t in kept.values()), "of", len(kept))
    lines = []
    for row in rows:
        tensors = ",\n".join(f"   {json.dumps(k)}: {json.dumps(v)}" for k, v in row["tensors"].items())
        lines.append(f' {{"model_type": "{row["model_type"]}", "tensors": {{\n{tensors}\n }}}}')
    folder = pathlib.Path(__file__).parent / "types"
    folder.mkdir(exist_ok=True)
    (folder / "float32.json").write_text("[\n" + ",\n".join(lines) + "\n]\n")


if __name__ == "__main__":
    main()
