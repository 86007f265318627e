"""ComfyUI, Gemma and TorchAO."""
import json

import torch
from cases import Case, grown


def cases(g):
    yield from comfy(g)
    yield from gemma(g)
    yield from torchao(g)


def comfy(g):
    import comfy_kitchen as ck
    from comfy_kitchen.backends.eager import quantization as eager
    from fp4 import exponents, u8
    from fp8 import fp8

    def declared(fmt):
        text = json.dumps({"format": fmt}).encode()
        return torch.tensor(list(text), dtype=torch.uint8)

    for rows, cols in grown((128, 64), (96, 160), (272, 320)):
        q = u8(g, (rows, cols // 2))
        tiles = (-(-rows // 128) * 128, -(-(cols // 16) // 4) * 4)
        s = u8(g, tiles, 0x7F).view(torch.float8_e4m3fn)
        s2 = torch.tensor(0.0123)
        want = eager.dequantize_nvfp4(q, s2, s, torch.float32)
        yield Case("ComfyUI nvfp4", "comfy-kitchen 0.2.40", {"m.weight": q, "m.weight_scale": s, "m.weight_scale_2": s2,
                   "m.comfy_quant": declared("nvfp4")}, None, {"m.weight": want})
        q = fp8(g, (rows, cols))
        e = exponents(g, (tiles[0], -(-(cols // 32) // 4) * 4))
        want = eager.dequantize_mxfp8(q, e.view(torch.float8_e8m0fnu), torch.float32)
        yield Case("ComfyUI mxfp8", "comfy-kitchen 0.2.40", {"m.weight": q, "m.weight_scale": e,
                   "m.comfy_quant": declared("mxfp8")}, None, {"m.weight": want})
        s = torch.tensor(0.037)
        yield Case("ComfyUI fp8", "comfy-kitchen 0.2.40", {"m.weight": q, "m.weight_scale": s, "m.comfy_quant": declared("float8_e4m3fn")},
                   None, {"m.weight": eager.dequantize_per_tensor_fp8(q, s, torch.float32)})
        i = torch.randint(-128, 128, (rows, cols), generator=g, dtype=torch.int32).to(torch.int8)
        yield Case("ComfyUI int8", "comfy-kitchen 0.2.40", {"m.weight": i, "m.weight_scale": s, "m.comfy_quant": declared("int8_tensorwise")},
                   None, {"m.weight": eager.dequantize_int8_simple(i, s)})
    assert ck


def gemma(g):
    from transformers.integrations.gemma_quant import QuantizedEmbedding, QuantizedLinear
    for bits in (2, 4, 8):
        config = {"quantization_config": {"quant_method": "gemma", "num_bits": 8,
                                          "module_quant_configs": {"proj": {"num_bits": bits}, "emb": {"num_bits": bits}}}}
        (rows, cols), = grown((48, 64))
        m = QuantizedLinear(cols, rows, num_bits=bits)
        fill(g, m.weight)
        m.weight_scale.data = torch.rand((rows, 1), generator=g)
        yield Case(f"Gemma {bits} bits", "transformers 5.23", {"proj.weight": m.weight.data, "proj.weight_scale": m.weight_scale.data},
                   config, {"proj.weight": m._dequantize_weights().detach()})
        (rows, cols), = grown((40, 64))
        m = QuantizedEmbedding(rows, cols, torch.float32, num_bits=bits)
        fill(g, m.embedding_quantized)
        m.embedding_scale.data = torch.rand((rows, 4), generator=g)
        yield Case(f"Gemma {bits} bits, embedding", "transformers 5.23",
                   {"emb.embedding_quantized": m.embedding_quantized.data, "emb.embedding_scale": m.embedding_scale.data},
                   config, {"emb.weight": m.weight.detach()})


def fill(g, p):
    low, high = (0, 256) if p.dtype == torch.uint8 else (-128, 128)
    p.data = torch.randint(low, high, p.shape, generator=g, dtype=torch.int32).to(p.dtype)


def torchao(g):
    from torchao.prototype.safetensors.safetensors_support import flatten_tensor_state_dict
    from torchao.quantization import Float8WeightOnlyConfig, Int8WeightOnlyConfig, IntxWeightOnlyConfig, quantize_
    from torchao.quantization.granularity import PerAxis, PerGroup
    for label, config in (("int8", Int8WeightOnlyConfig()), ("float8", Float8WeightOnlyConfig()),
                          ("intx 4, groups", IntxWeightOnlyConfig(weight_dtype=torch.int4, granularity=PerGroup(32))),
                          ("intx 8, rows", IntxWeightOnlyConfig(weight_dtype=torch.int8, granularity=PerAxis(0)))):
        (rows, cols), = grown((48, 64))
        linear = torch.nn.Sequential(torch.nn.Linear(cols, rows, bias=False))
        linear[0].weight.data = torch.randn((rows, cols), generator=g)
        quantize_(linear, config)
        w = linear[0].weight
        tensors, metadata = flatten_tensor_state_dict({"0.weight": w})
        want = w.dequantize().float()
        case = Case(f"TorchAO {label}", "torchao 0.18", tensors, {"__metadata__": metadata}, {"0.weight": want.detach()})
        yield case
    yield from torchao_mx(g)


def torchao_mx(g):
    from torchao.prototype.mx_formats.mx_tensor import MXTensor
    from torchao.prototype.mx_formats.nvfp4_tensor import NVFP4Tensor
    from torchao.prototype.safetensors.safetensors_support import flatten_tensor_state_dict
    for rows, cols in grown((48, 128), (7, 32), (130, 192)):
        w = torch.randn((rows, cols), generator=g) * 100
        for swizzled in (False, True):
            order = ", swizzled" if swizzled else ""
            for kind in (torch.float8_e4m3fn, torch.float8_e5m2, torch.float4_e2m1fn_x2):
                yield wrapped(f"TorchAO MX {str(kind)[6:]}{order}", MXTensor.to_mx(w, kind, 32, is_swizzled_scales=swizzled), flatten_tensor_state_dict)
            for label, scale in (("", None), (", one scale of all", torch.tensor(0.37))):
                t = NVFP4Tensor.to_nvfp4(w, per_tensor_scale=scale, is_swizzled_scales=swizzled)
                yield wrapped(f"TorchAO NVFP4{label}{order}", t, flatten_tensor_state_dict)


def wrapped(scheme, t, flatten):
    tensors, metadata = flatten({"0.weight": t})
    return Case(scheme, "torchao 0.18", tensors, {"__metadata__": metadata}, {"0.weight": t.dequantize(torch.float32).contiguous()})
