"""Packed integers of compressed-tensors, and MLX."""
import mlx.core as mx
import numpy as np
import torch
from cases import Case, grown
from compressed_tensors.compressors.base import BaseCompressor
from compressed_tensors.compressors.pack_quantized.helpers import pack_to_int32
from compressed_tensors.quantization import QuantizationArgs, QuantizationScheme


def cases(g):
    for bits in (1, 2, 3, 4, 5, 6, 7, 8):
        for rows, cols, group in grown((32, 64, 32), (96, 256, 64), (64, 128, None)):
            for symmetric in (True, False):
                yield packed(g, bits, rows, cols, group, symmetric)
    for bits in (2, 3, 4, 5, 6, 8):
        for rows, cols, group in grown((8, 128, 32), (8, 128, 64), (8, 128, 128)):
            yield affine(g, rows, cols, bits, group)
    for bits in (2, 4, 8):
        for rows, cols, group in grown((8, 128, 32), (8, 128, 64)):
            yield metal(g, rows, cols, bits, group)
    for mode, bits, group in (("mxfp4", 4, 32), ("nvfp4", 4, 16), ("mxfp8", 8, 32)):
        yield from (floats(g, rows, cols, mode, bits, group) for rows, cols in grown((8, 128)))
    yield from (floats(g, rows, cols, "nvfp4", 4, 16, True) for rows, cols in grown((8, 128)))
    for bits in (4, 8):
        for symmetric in (True, False):
            yield packed(g, bits, 33, 70, None, symmetric, one=True)
    for kind in (torch.bfloat16, torch.float16):
        for bits in (2, 3, 4, 5, 6, 8):
            for rows, cols, group in grown((8, 128, 32), (8, 128, 64), (8, 128, 128)):
                yield affine(g, rows, cols, bits, group, kind)


def packed(g, bits, rows, cols, group, symmetric, one=False):
    """one: one scale, and one zero point, which is not packed, for all of the weight."""
    low, high = -(2 ** (bits - 1)), 2 ** (bits - 1)
    q = torch.randint(low, high, (rows, cols), generator=g, dtype=torch.int32).to(torch.int8)
    groups = cols // (group or cols)
    s = (torch.rand((1,) if one else (rows, groups), generator=g) * 0.1).to(torch.bfloat16)
    strategy = "tensor" if one else "group" if group else "channel"
    args = QuantizationArgs(num_bits=bits, type="int", strategy=strategy, group_size=group, symmetric=symmetric)
    scheme = QuantizationScheme(targets=["Linear"], weights=args)
    tensors = {"m.weight_packed": pack_to_int32(q, bits), "m.weight_scale": s, "m.weight_shape": torch.tensor([rows, cols])}
    if not symmetric:
        z = torch.randint(low, high, s.shape, generator=g, dtype=torch.int32).to(torch.int8)
        tensors["m.weight_zero_point"] = z if one else pack_to_int32(z, bits, packed_dim=0).contiguous()
    state = {k[2:]: v.clone() for k, v in tensors.items()}
    state["weight_scale"] = s.float()
    want = BaseCompressor.get_value_from_registry("pack-quantized").decompress(state, scheme)["weight"]
    config = {"quantization_config": {"quant_method": "compressed-tensors", "format": "pack-quantized", "version": "0.20.0",
              "config_groups": {"group_0": {"targets": ["Linear"], "weights": {
                  "num_bits": bits, "type": "int", "strategy": strategy, "group_size": group, "symmetric": symmetric}}}}}
    return Case(f"packed, {bits} bits" + (", one scale" if one else "") + ("" if symmetric else ", zero points"), "compressed-tensors 0.20",
                tensors, config, {"m.weight": want.float()})


def to_torch(a, view=None):
    t = torch.from_numpy(np.array(a, copy=True).view(np.int32) if view else np.array(a, copy=True))
    return t.view(view) if view else t


def affine(g, rows, cols, bits, group, kind=None):
    """kind: scales of this type, in which MLX computes then, and so does --as mlx."""
    w = mx.array((torch.randn((rows, cols), generator=g) * 0.1).numpy())
    if kind:
        w = w.astype({torch.bfloat16: mx.bfloat16, torch.float16: mx.float16}[kind])
    q, s, b = mx.quantize(w, group_size=group, bits=bits)
    want = torch.from_numpy(np.array(mx.dequantize(q, s, b, group_size=group, bits=bits).astype(mx.float32)))
    s, b = (to_torch(x.astype(mx.float32)).to(kind or torch.float32) for x in (s, b))
    return Case(f"MLX affine, {bits} bits" + (f", as {str(kind)[6:]}" if kind else ""), "mlx 0.32.4",
                {"m.weight": to_torch(q, torch.uint32), "m.scales": s, "m.biases": b},
                {"quantization": {"group_size": group, "bits": bits}}, {"m.weight": want}, as_="mlx" if kind else "")


def metal(g, rows, cols, bits, group):
    """The same under the names that transformers gives it."""
    from transformers.integrations.metal_quantization import _affine_dequantize_tensor, _affine_quantize_tensor
    q, s, b = _affine_quantize_tensor(torch.randn((rows, cols), generator=g) * 0.1, group, bits)
    want = _affine_dequantize_tensor(q, s, b, group, bits)
    return Case(f"Metal affine, {bits} bits", "transformers 5.23", {"m.weight": q, "m.scales": s, "m.qbiases": b},
                {"quantization_config": {"quant_method": "metal", "group_size": group, "bits": bits}}, {"m.weight": want})


def floats(g, rows, cols, mode, bits, group, over=False):
    w = mx.array((torch.randn((rows, cols), generator=g) * 3.7).numpy())
    more = {"global_scale": mx.max(mx.abs(w))} if over else {}
    q, s = mx.quantize(w, group_size=group, bits=bits, mode=mode, **more)
    want = torch.from_numpy(np.array(mx.dequantize(q, s, group_size=group, bits=bits, mode=mode, dtype=mx.float32, **more)))
    return Case(f"MLX {mode}" + (", global scale" if over else ""), "mlx 0.32.4",
                {"m.weight": to_torch(q, torch.uint32), "m.scales": to_torch(s)} | {"m." + k: to_torch(v) for k, v in more.items()},
                {"quantization": {"group_size": group, "bits": bits, "mode": mode}}, {"m.weight": want})
