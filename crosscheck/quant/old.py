"""What compressed-tensors no longer writes: bit masks, the order of activations,
words with unused bits. By version 0.12.2, the last that does."""
import torch
from cases import Case, grown
from compressed_tensors.compressors import (BitmaskTensor, PackedQuantizationCompressor, Sparse24BitMaskTensor, pack_to_int32)
from compressed_tensors.quantization import QuantizationArgs

ORACLE = "compressed-tensors 0.12.2"


def cases(g):
    yield from packed(g)
    yield from masks(g)


def packed(g):
    for bits in (1, 2, 3, 4, 5, 6, 7, 8):
        for rows, cols, group in grown((32, 64, 32), (96, 224, 32), (24, 128, None)):
            yield case(g, bits, rows, cols, group, None)
            yield zeros(g, bits, rows, cols, group)
        for rows, cols, group in grown((32, 128, 32)):
            index = (torch.arange(cols) // group)[torch.randperm(cols, generator=g)].to(torch.int32)
            yield case(g, bits, rows, cols, group, index)
            yield case(g, bits, rows, cols, group, torch.full((cols,), -1, dtype=torch.int32))


def case(g, bits, rows, cols, group, index):
    q, s, args = parts(g, bits, rows, cols, group, True)
    tensors = {"weight_packed": pack_to_int32(q, bits), "weight_scale": s, "weight_shape": torch.tensor([rows, cols])}
    exact = dict(tensors, weight_scale=s.float())
    label = f"packed before 0.17, {bits} bits"
    if index is not None:
        tensors["weight_g_idx"] = exact["weight_g_idx"] = index
        label += ", order"
    want = PackedQuantizationCompressor.decompress_weight(None, exact, args)
    return Case(label, ORACLE, named(tensors), config(bits, group, True), {"m.weight": want.float()})


def zeros(g, bits, rows, cols, group):
    """The version cannot read the zero points that it writes: those of signed
    bytes, which it does read, are the same numbers."""
    from compressed_tensors.quantization.lifecycle.forward import dequantize
    q, s, args = parts(g, bits, rows, cols, group, False)
    z = torch.randint(-(2 ** (bits - 1)), 2 ** (bits - 1), tuple(s.shape), generator=g, dtype=torch.int32).to(torch.int8)
    tensors = {"weight_packed": pack_to_int32(q, bits), "weight_scale": s, "weight_shape": torch.tensor([rows, cols]),
               "weight_zero_point": pack_to_int32(z, bits, packed_dim=0)}
    want = dequantize(x_q=q, scale=s.float(), zero_point=z, g_idx=None)
    return Case(f"packed before 0.17, {bits} bits, zeros", ORACLE, named(tensors), config(bits, group, False), {"m.weight": want.float()})


def parts(g, bits, rows, cols, group, symmetric):
    low, high = -(2 ** (bits - 1)), 2 ** (bits - 1)
    q = torch.randint(low, high, (rows, cols), generator=g, dtype=torch.int32).to(torch.int8)
    s = (torch.rand((rows, cols // (group or cols)), generator=g) * 0.1).to(torch.bfloat16)
    return q, s, QuantizationArgs(num_bits=bits, type="int", strategy="group" if group else "channel", group_size=group, symmetric=symmetric)


def named(tensors):
    return {f"m.{name}": t for name, t in tensors.items()}


def config(bits, group, symmetric):
    weights = {"num_bits": bits, "type": "int", "strategy": "group" if group else "channel", "group_size": group, "symmetric": symmetric}
    return {"quantization_config": {"quant_method": "compressed-tensors", "format": "pack-quantized", "version": "0.12.2",
                                    "config_groups": {"group_0": {"targets": ["Linear"], "weights": weights}}}}


def masks(g):
    for dtype in (torch.float16, torch.bfloat16, torch.float32):
        for rows, cols in grown((16, 64), (7, 40)):
            w = torch.randn((rows, cols), generator=g).to(dtype)
            w = torch.where(torch.rand((rows, cols), generator=g) < 0.4, w, torch.zeros((), dtype=dtype))
            t = BitmaskTensor.from_dense(w)
            yield Case("sparse-bitmask", ORACLE, t.dict("m"), None, {"m.weight": t.decompress().float()})
            t = Sparse24BitMaskTensor.from_dense(torch.randn((rows, cols), generator=g).to(dtype))
            yield Case("sparse-24-bitmask", ORACLE, t.dict("m"), None, {"m.weight": t.decompress().float()})
    for rows, cols in grown((16, 64)):
        q = (torch.randn((rows, cols), generator=g) * 40).to(torch.float8_e4m3fn)
        t = Sparse24BitMaskTensor.from_dense(q)
        s = torch.rand((rows, 1), generator=g)
        yield Case("sparse-24-bitmask over FP8", ORACLE, t.dict("m") | {"m.weight_scale": s}, None,
                   {"m.weight": t.decompress().float() * s})
