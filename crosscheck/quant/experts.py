"""Stacks of experts that are one parameter, and what DeepSeek-V4 and fbgemm
name in ways of their own."""
import torch
from cases import Case, grown
from fp4 import exponents, u8
from fp8 import fp8, scales


def cases(g):
    for rows, cols in grown((64, 96), (96, 64)):
        yield from modelopt(g, rows, cols)
        yield from fbgemm(g, rows, cols)
        yield from deepseek(g, rows, cols)
        yield from mistral(g, rows, cols)
        yield from comfy(g, rows, cols)


def modelopt(g, rows, cols):
    """Llama-4 and gpt-oss: [E, in, out], packed along in, as its export does it."""
    from modelopt.torch.export.quant_utils import maybe_transpose_expert_weight_dimensions as turned
    from modelopt.torch.quantization.qtensor import NVFP4QTensor
    q, s = u8(g, (2, rows, cols // 2)), u8(g, (2, rows, cols // 16), 0x7F).view(torch.float8_e4m3fn)
    s2 = torch.tensor(0.0017)
    want = NVFP4QTensor((2, rows, cols), torch.float32, q).dequantize(torch.float32, scale=s, double_scale=s2, block_sizes={-1: 16})
    name = "experts.gate_up_proj"
    stored, stored_scale = turned(q, s)
    yield Case("NVFP4 fused experts", "modelopt 0.47", {name: stored, name + "_weight_scale": stored_scale, name + "_weight_scale_2": s2},
               None, {name: turned(want)[0].contiguous()})
    yield Case("NVFP4 stacked experts", "modelopt 0.47", {name: q, name + "_weight_scale": s, name + "_weight_scale_2": s2},
               None, {name: want})
    w, one = fp8(g, (2, cols, rows)), torch.tensor(0.013)
    yield Case("FP8 fused experts", "definition in torch 2.15", {name: w, name + "_weight_scale": one}, None, {name: w.float() * one})
    per = scales(g, (2, rows), torch.float32)
    yield Case("FP8 fused experts", "definition in torch 2.15", {name: w, name + "_weight_scale": per}, None,
               {name: w.float() * per.unsqueeze(1)})


def fbgemm(g, rows, cols):
    """Llama-4's two experts' weights: the scale of one is transposed."""
    config = {"quantization_config": {"quant_method": "fbgemm_fp8"}}
    q, s = fp8(g, (2, rows, cols)), scales(g, (2, 1, cols), torch.float32)
    yield Case("FP8 fbgemm experts", "definition in torch 2.15", {"e.gate_up_proj": q, "e.gate_up_proj_scale": s}, config,
               {"e.gate_up_proj": q.float() * s})
    yield Case("FP8 fbgemm experts", "definition in torch 2.15", {"e.down_proj": q, "e.down_proj_scale": s.transpose(1, 2)}, config,
               {"e.down_proj": q.float() * s})
    q, s = fp8(g, (rows, cols)), scales(g, (rows, 1), torch.float32)
    yield Case("FP8 fbgemm", "definition in torch 2.15", {"m.weight": q, "m.weight_scale": s}, config, {"m.weight": q.float() * s})


def deepseek(g, rows, cols):
    from transformers.integrations.finegrained_fp8 import Fp8Dequantize
    q, e = u8(g, (rows, cols // 2)).view(torch.int8), exponents(g, (rows, cols // 32)).view(torch.float8_e8m0fnu)
    want = Fp8Dequantize(None)._dequantize_one(q, e, output_dtype=torch.float32)
    # DeepSeek's own table has +0 for code 8, transformers' -0: -0 + 0 is +0.
    yield Case("MXFP4 DeepSeek-V4 experts", "transformers 5.23, zeros of DeepSeek's", {"e.w1.weight": q, "e.w1.scale": e},
               {"expert_dtype": "fp4"}, {"e.w1.weight": want + 0.0})
    rows, cols = -(-rows // 128) * 128, -(-cols // 128) * 128
    q, e = fp8(g, (rows, cols)), exponents(g, (rows // 32, cols // 32)).view(torch.float8_e8m0fnu)
    want = Fp8Dequantize(None)._dequantize_one(q, e, output_dtype=torch.float32)
    yield Case("FP8 DeepSeek-V4", "transformers 5.23", {"m.weight": q, "m.scale": e},
               {"quantization_config": {"quant_method": "fp8", "weight_block_size": [32, 32]}}, {"m.weight": want})


def mistral(g, rows, cols):
    """What transformers renames to weight_scale_inv: one scale, or one for each block."""
    from transformers.integrations.finegrained_fp8 import Fp8Dequantize
    act = {"l.wq.qscale_act": torch.tensor(0.5)}
    q, s = fp8(g, (rows, cols)), scales(g, (1,), torch.float32)[0]
    want = Fp8Dequantize(None)._dequantize_one(q, s, output_dtype=torch.float32)
    yield Case("Mistral FP8", "transformers 5.23", {"l.wq.weight": q, "l.wq.qscale_weight": s, **act}, None, {"l.wq.weight": want})
    rows, cols = -(-rows // 128) * 128, -(-cols // 128) * 128
    q, s = fp8(g, (rows, cols)), scales(g, (rows // 128, cols // 128), torch.float32)
    want = Fp8Dequantize(None)._dequantize_one(q, s, output_dtype=torch.float32)
    yield Case("Mistral FP8 blocks", "transformers 5.23", {"l.wq.weight": q, "l.wq.qscale_weight": s},
               {"quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]}}, {"l.wq.weight": want})


def comfy(g, rows, cols):
    for dtype in (torch.float8_e4m3fn, torch.float8_e5m2):
        q, s = fp8(g, (rows, cols), dtype), torch.tensor(0.021)
        yield Case("ComfyUI first fp8", "definition in torch 2.15",
                   {"m.weight": q, "m.scale_weight": s, "m.scale_input": s.clone(), "scaled_fp8": torch.zeros(2, dtype=dtype)}, None, {"m.weight": q.float() * s})
