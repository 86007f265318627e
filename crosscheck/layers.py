"""Layers that `amn merge` leaves out or takes twice, loaded by transformers: no key may be
missing or left over, and the logits must equal those of the same layers of the model.

    python3 crosscheck/run.py layers
    layers.py DUMP WORK          as run.py calls it
"""
import copy
import json
import os
import pathlib
import subprocess
import sys

sys.path = [p for p in sys.path if pathlib.Path(p).resolve() != pathlib.Path(__file__).resolve().parent]  # of safetensors.py and others

import torch  # noqa: E402
import transformers  # noqa: E402
from transformers import AutoConfig, AutoModelForCausalLM  # noqa: E402

WORK, AMN = pathlib.Path(sys.argv[2]), os.environ["CROSSCHECK_AMN"]
SMALL = dict(vocab_size=64, hidden_size=64, intermediate_size=96, num_hidden_layers=4, num_attention_heads=4, num_key_value_heads=2,
             max_position_embeddings=64, pad_token_id=0, bos_token_id=1, eos_token_id=2)
EXPERTS = dict(moe_intermediate_size=32, n_routed_experts=4, num_experts_per_tok=2, n_group=1, topk_group=1, n_shared_experts=1)
# Each type with its configuration, the slices, and whether amn merges them.
CASES = [
    ("llama", {}, [[0, 3], [1, 4]], True),
    ("deepseek_v3", EXPERTS | dict(q_lora_rank=32, kv_lora_rank=16, qk_rope_head_dim=8, qk_nope_head_dim=8, v_head_dim=8, first_k_dense_replace=2, num_key_value_heads=4), [[2, 4]], True),
    ("glm4_moe", EXPERTS | dict(first_k_dense_replace=1, head_dim=16), [[1, 4]], True),
    ("glm4_moe", EXPERTS | dict(first_k_dense_replace=1, head_dim=16), [[1, 4], [0, 2]], False),
    ("ernie4_5_moe", dict(moe_intermediate_size=32, moe_num_experts=4, moe_k=2, moe_layer_start_index=1, moe_layer_end_index=2, moe_num_shared_experts=1), [[1, 4]], True),
    ("bamba", dict(attn_layer_indices=[1, 3], mamba_n_heads=8, mamba_d_head=16, mamba_d_state=16, mamba_n_groups=1, mamba_chunk_size=16, mamba_expand=2), [[1, 4]], True),
    ("qwen3_moe", dict(moe_intermediate_size=32, num_experts=4, num_experts_per_tok=2, decoder_sparse_step=1, mlp_only_layers=[1], head_dim=16), [[1, 4]], True),
    ("qwen3_moe", dict(moe_intermediate_size=32, num_experts=4, num_experts_per_tok=2, decoder_sparse_step=2, mlp_only_layers=[], head_dim=16), [[1, 4]], False),
    ("lfm2_moe", dict(moe_intermediate_size=32, num_experts=4, num_experts_per_tok=2, num_dense_layers=2, layer_types=["conv", "full_attention", "conv", "full_attention"]), [[1, 4]], True),
]
elements = differences = tensors = files = 0


def wrong(text):
    global differences
    differences += 1
    print(text, file=sys.stderr)


def sliced(model, order):
    """The model with these layers, made in Python."""
    other = copy.deepcopy(model)
    other.model.layers = torch.nn.ModuleList([copy.deepcopy(model.model.layers[n]) for n in order])
    for i, layer in enumerate(other.model.layers):
        for part in layer.modules():
            if hasattr(part, "layer_idx"):
                part.layer_idx = i
    other.config.num_hidden_layers = len(order)
    for name in ("layer_types", "layers_block_type", "mlp_layer_types"):
        held = getattr(other.config, name, None)
        if isinstance(held, list) and len(held) == len(model.model.layers):
            try:
                setattr(other.config, name, [held[n] for n in order])
            except AttributeError:  # a property, which follows from others
                pass
    return other


for number, (kind, settings, slices, merged) in enumerate(CASES):
    torch.manual_seed(number)
    model = AutoModelForCausalLM.from_config(type(AutoConfig.for_model(kind))(**(SMALL | settings))).eval()
    model.save_pretrained(WORK / f"m{number}")
    recipe, out = WORK / f"r{number}.json", WORK / f"o{number}"
    recipe.write_text(json.dumps({"merge_method": "passthrough", "slices": [{"sources": [{"model": f"m{number}", "layer_range": s}]} for s in slices]}))
    run = subprocess.run([AMN, "merge", "-q", "-o", str(out), str(recipe)], capture_output=True, text=True)
    if not merged:
        if run.returncode != 5 or out.exists():
            wrong(f"{kind} {slices}: exit {run.returncode}, expected a refusal: {run.stderr}")
        continue
    if run.returncode:
        wrong(f"{kind} {slices}: exit {run.returncode}: {run.stderr}")
        continue
    files += 1
    loaded, info = AutoModelForCausalLM.from_pretrained(out, output_loading_info=True)
    left = {k: v for k, v in info.items() if v}
    if left:
        wrong(f"{kind} {slices}: {left}")
    tensors += len(loaded.state_dict())
    ids = torch.arange(1, 17)[None]
    with torch.no_grad():
        got, want = loaded(ids, use_cache=False).logits, sliced(model, [n for a, b in slices for n in range(a, b)])(ids, use_cache=False).logits
    elements += want.numel()
    if not torch.equal(got, want):
        wrong(f"{kind} {slices}: logits differ by {(got - want).abs().max().item()}")
print(json.dumps({"files": files, "tensors": tensors, "elements": elements, "differences": differences, "versions": f"transformers {transformers.__version__}, torch {torch.__version__}"}))
sys.exit(1 if differences else 0)
