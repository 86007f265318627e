"""Folders whose weights are quantized, which llama.cpp's converter decodes: random codes
and scales in the place of a tiny model's matrices."""
import json

import torch
from safetensors.torch import load_file, save_file


def fp8(w):
    """DeepSeek's: E4M3 in blocks of 32 by 32."""
    rows, cols = w.shape
    return {"weight": torch.randn(rows, cols).to(torch.float8_e4m3fn), "weight_scale_inv": torch.rand(-(-rows // 32), -(-cols // 32)) / 8}


def gptq(w):
    """Words of eight codes along the inputs, groups of 32 of them in any order."""
    rows, cols = w.shape
    groups = cols // 32
    word = lambda *s: torch.randint(-(2**31), 2**31, s, dtype=torch.int64).to(torch.int32)  # noqa: E731
    # Of a zero point one is added: no code of 15, which would be 16.
    zeros = word(groups, rows // 8) & 0x77777777
    return {"qweight": word(cols // 8, rows), "qzeros": zeros, "scales": (torch.rand(groups, rows) / 64).half(), "g_idx": torch.arange(cols, dtype=torch.int32)[torch.randperm(cols)] // 32}


def packed(w):
    """compressed-tensors': words of eight codes along a row."""
    rows, cols = w.shape
    return {"weight_packed": torch.randint(-(2**31), 2**31, (rows, cols // 8), dtype=torch.int64).to(torch.int32), "weight_scale": (torch.rand(rows, cols // 32) / 64).bfloat16(),
            "weight_shape": torch.tensor([rows, cols])}


SCHEMES = {
    "fp8": (fp8, {"quant_method": "fp8", "fmt": "e4m3", "activation_scheme": "dynamic", "weight_block_size": [32, 32]}),
    "gptq": (gptq, {"quant_method": "gptq", "bits": 4, "group_size": 32, "desc_act": True, "sym": False, "checkpoint_format": "gptq"}),
    "compressed-tensors": (packed, {
        "quant_method": "compressed-tensors", "format": "pack-quantized", "quantization_status": "compressed", "global_compression_ratio": None, "ignore": ["lm_head"], "kv_cache_scheme": None,
        "config_groups": {"group_0": {"targets": ["Linear"], "input_activations": None, "output_activations": None, "weights": {
            "actorder": None, "block_structure": None, "dynamic": False, "group_size": 32, "num_bits": 4, "observer": "minmax", "observer_kwargs": {}, "strategy": "group", "symmetric": True, "type": "int"}}}}),
}


def make(folder, scheme):
    """Quantizes the matrices of a folder's layers."""
    replaced, config = SCHEMES[scheme]
    torch.manual_seed(3)
    tensors = load_file(folder / "model.safetensors")
    for n in [n for n in tensors if n.endswith("proj.weight")]:
        stem = n.removesuffix("weight")
        tensors |= {stem + k: v for k, v in replaced(tensors.pop(n)).items()}
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    text = json.loads((folder / "config.json").read_text())
    text["quantization_config"] = config
    (folder / "config.json").write_text(json.dumps(text))
