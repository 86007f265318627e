"""Weights that are stored rotated, or beside a product of low rank: ComfyUI's
ConvRot and SDNQ.

The libraries multiply matrices in the type of the result, and in which order
they then add is the processor's: float32 differs from machine to machine. So
they are asked for float64, where these sums are exact, rounded once.
"""
import json

import torch
from cases import Case, grown


def cases(g):
    yield from convrot(g)
    yield from sdnq(g)


def convrot(g):
    from comfy_kitchen.backends.eager import quantization as eager
    from comfy_kitchen.backends.eager.convrot_w4a4 import _build_hadamard, _rotate_weight
    for group in (16, 64, 256):
        for rows, blocks in grown((24, 2), (7, 1)):
            w = torch.randn((rows, blocks * group), generator=g)
            q, s = eager.quantize_int8_convrot_weight(w, group)
            rotation = _build_hadamard(group, dtype=torch.float64)
            want = _rotate_weight(eager.dequantize_int8_simple(q, s).double(), rotation, group).float()
            near(want, eager.dequantize_int8_convrot_weight(q, s, group))
            text = json.dumps({"format": "int8_tensorwise", "convrot": True, "convrot_groupsize": group}).encode()
            yield Case(f"ComfyUI int8, ConvRot {group}", "comfy-kitchen 0.2.40, float64",
                       {"m.weight": q, "m.weight_scale": s, "m.comfy_quant": torch.tensor(list(text), dtype=torch.uint8)},
                       None, {"m.weight": want})


def near(exact, own, most=1e-5):
    """What the library computes itself differs by the order in which it adds, and
    where it computes in the type of the result by that type's precision."""
    assert (exact - own).norm() <= most * exact.norm(), ((exact - own).norm() / exact.norm()).item()


# The types of weights, with and without groups, a rotation, and a product.
SDNQ = [(dtype, dict(group_size=group)) for dtype in ("uint8", "uint7", "uint6", "uint5", "uint4", "uint3", "uint2", "int8", "int7", "int6",
                                                      "int5", "int4", "int3", "int2", "float8_e4m3fn", "float8_e5m2") for group in (32, -1)]
SDNQ += [(dtype, dict(use_hadamard=True, hadamard_group_size=size)) for dtype in ("int8", "uint4", "float8_e4m3fn") for size in (4, 32, 64, 256)]
SDNQ += [(dtype, dict(use_svd=True, svd_rank=4)) for dtype in ("int8", "uint4", "float8_e4m3fn")]
SDNQ += [("uint4", dict(use_svd=True, svd_rank=4, use_hadamard=True, hadamard_group_size=16)), ("int8", dict(group_size=-2)), ("uint8", dict(group_size=-2))]


def sdnq(g):
    from sdnq.quant_utils import get_hadamard
    from sdnq.quantizer import SDNQConfig, sdnq_quantize_layer_weight
    for dtype, options in SDNQ:
        for rows, cols in grown((48, 256), (6, 192)):
            for stored in (torch.float32, torch.bfloat16):
                w = torch.randn((rows, cols), generator=g).to(stored)
                config = SDNQConfig(weights_dtype=dtype, **options).to_dict() | {"quant_method": "sdnq"}
                size = {k: config[k] for k in ("group_size", "hadamard_group_size", "svd_rank", "use_svd", "use_hadamard")}
                dequantizer, parts = sdnq_quantize_layer_weight(w, layer_class_name="Linear", weights_dtype=dtype, torch_dtype=stored, **size)
                parts = {k: v for k, v in parts.items() if v is not None}
                exact = dict(parts)
                for k in ("svd_up", "svd_down"):
                    if k in parts:
                        exact[k] = parts[k].double()
                if dequantizer.use_hadamard:  # of ones, whose sums are exact, and scaled once
                    n = dequantizer.hadamard_group_size
                    exact["hadamard"] = (get_hadamard(n, dtype=torch.float64) * n**0.5).round()
                want = dequantizer(**exact, dtype=torch.float64, skip_compile=True)
                want = (want * (n**-0.5 if dequantizer.use_hadamard else 1)).float()
                near(want, dequantizer(**parts, dtype=stored, skip_compile=True).float(), 1e-5 if stored == torch.float32 else 1e-2)
                label = dtype.replace("float8_", "") + ", " + (", ".join(k.removeprefix("use_") for k in ("use_hadamard", "use_svd") if k in options) or
                                                                {32: "groups", -1: "rows", -2: "one scale"}[options["group_size"]])
                yield Case(f"SDNQ {label}", "sdnq 0.2.8, float64", {"m." + k: v for k, v in parts.items()},
                           {"quantization_config": config}, {"m.weight": want})
