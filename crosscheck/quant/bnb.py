"""bitsandbytes, by its own quantizer and its library in C for processors. Code 8 of
FP4 is -0 there, as on its GPUs, but +0 where that library finds AVX-512, and in its
Python for other devices: it is -0 here whatever the processor."""
import json

import bitsandbytes.functional as F
import torch
from bitsandbytes.backends.default.ops import _dequantize_4bit_compute
from cases import Case, grown


def plain(fn):
    return getattr(fn, "__wrapped__", fn)


def cases(g):
    for kind in ("nf4", "fp4"):
        for *shape, block in grown((64, 96, 64), (33, 50, 64), (128, 256, 128), (7, 9, 32), (300, 192, 64)):
            for nested in (False, True):
                w = torch.randn(shape, generator=g) * 0.05
                q, state = F.quantize_4bit(w, quant_type=kind, blocksize=block, compress_statistics=nested)
                yield case(kind, q, state, shape, block, nested)


def case(kind, q, state, shape, block, nested):
    packed = state.as_dict(packed=True)
    tensors = {"m.weight": q} | {f"m.weight.{k}": v for k, v in packed.items()}
    absmax = state.absmax
    if nested:
        absmax = F.dequantize_blockwise(state.absmax, state.state2) + state.offset
    want = plain(_dequantize_4bit_compute)(q.flatten(), absmax.float(), state.code, block, torch.Size(shape), torch.float32)
    label = f"bitsandbytes {kind.upper()}" + (", nested" if nested else "")
    json.loads(bytes(packed[f"quant_state.bitsandbytes__{kind}"].tolist()))
    # Rows of odd length go to Python, so the codes are one row, which is even.
    state.shape = torch.Size((1, 2 * q.numel()))
    native = F.dequantize_4bit(q, state).flatten()[: want.numel()].reshape(shape)
    assert torch.equal(native, want)
    if kind == "fp4":
        native = minus_zeros(native, q)
    return Case(label, "bitsandbytes 0.50.2, C", tensors, None, {"m.weight": native})


def minus_zeros(numbers, q):
    """The zeros of code 8 with their sign."""
    codes = torch.stack((q.flatten() >> 4, q.flatten() & 15), 1).flatten()[: numbers.numel()].reshape(numbers.shape)
    return torch.where((codes == 8) & (numbers == 0), -torch.zeros_like(numbers), numbers)


def int8(g):
    for rows, cols in grown((64, 96), (5, 7)):
        q = torch.randint(-128, 128, (rows, cols), generator=g, dtype=torch.int32).to(torch.int8)
        scb = torch.rand(rows, generator=g) * 3
        yield Case("bitsandbytes INT8", "bitsandbytes 0.50.2",
                   {"m.weight": q, "m.SCB": scb, "m.weight_format": torch.tensor(0, dtype=torch.uint8)}, None,
                   {"m.weight": F.int8_vectorwise_dequant(q, scb)})


quantized = cases


def cases(g):  # noqa: F811
    yield from quantized(g)
    yield from int8(g)
