"""FP8, INT8 and packed integers, by compressed-tensors and torch."""
import torch
from cases import Case, grown
from compressed_tensors.compressors.base import BaseCompressor
from compressed_tensors.quantization import QuantizationArgs, QuantizationScheme


def scales(g, shape, dtype):
    s = torch.exp(torch.randn(shape, generator=g) * 2 - 4)
    flat = s.view(-1)
    if flat.numel() > 4:  # let some hurt: subnormal, huge, zero, negative
        flat[0], flat[1], flat[2], flat[3] = 1e-41, 3e37, 0.0, -0.01
    return s.to(dtype)


def fp8(g, shape, dtype=torch.float8_e4m3fn):
    return torch.randint(0, 256, shape, generator=g, dtype=torch.int32).to(torch.uint8).view(dtype)


def naive(q, s, bits, kind, strategy, group=None, zero=None):
    scheme = QuantizationScheme(targets=["Linear"], weights=QuantizationArgs(
        num_bits=bits, type=kind, strategy=strategy, group_size=group, symmetric=zero is None))
    state = {"weight": q, "weight_scale": s.float()}
    if zero is not None:
        state["weight_zero_point"] = zero
    return BaseCompressor.get_value_from_registry("naive-quantized").decompress(state, scheme)["weight"]


def cases(g):
    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        for rows, cols in grown((24, 40), (33, 70), (256, 380)):
            q = fp8(g, (rows, cols))
            s = scales(g, (1,), dtype)
            yield Case("FP8 tensor", "compressed-tensors 0.20", {"m.weight": q, "m.weight_scale": s}, None,
                       {"m.weight": naive(q, s, 8, "float", "tensor")})
            s = scales(g, (rows, 1), dtype)
            yield Case("FP8 channel", "compressed-tensors 0.20", {"m.weight": q, "m.weight_scale": s}, None,
                       {"m.weight": naive(q, s, 8, "float", "channel")})
            s = scales(g, (rows, cols // 10), dtype)
            yield Case("FP8 group", "compressed-tensors 0.20", {"m.weight": q, "m.weight_scale": s}, None,
                       {"m.weight": naive(q, s, 8, "float", "group", 10)})
            z = fp8(g, (rows, 1)).float().nan_to_num(0.0).to(torch.float8_e4m3fn)
            s = scales(g, (rows, 1), dtype)
            yield Case("FP8 channel, zero points", "compressed-tensors 0.20", {"m.weight": q, "m.weight_scale": s, "m.weight_zero_point": z}, None,
                       {"m.weight": naive(q, s, 8, "float", "channel", zero=z)})
            i = torch.randint(-128, 128, (rows, cols), generator=g, dtype=torch.int32).to(torch.int8)
            s = scales(g, (rows, 1), dtype)
            yield Case("INT8 channel", "compressed-tensors 0.20", {"m.weight": i, "m.weight_scale": s}, None,
                       {"m.weight": naive(i, s, 8, "int", "channel")})
            z = torch.randint(-128, 128, (rows, 1), generator=g, dtype=torch.int32).to(torch.int8)
            yield Case("INT8 channel, zero points", "compressed-tensors 0.20",
                       {"m.weight": i, "m.weight_scale": s, "m.weight_zero_point": z}, None,
                       {"m.weight": naive(i, s, 8, "int", "channel", zero=z)})
    for dtype in (torch.float8_e4m3fn, torch.float8_e5m2, torch.float8_e4m3fnuz, torch.float8_e5m2fnuz):
        q = fp8(g, *grown((64, 96)), dtype)
        yield Case("FP8 cast", "torch 2.15", {"m.weight": q}, None, {"m.weight": q.float()})
    yield from blocks(g)


def blocks(g):
    from transformers.integrations.finegrained_fp8 import Fp8Dequantize
    for block in ((128, 128), (32, 32), (64, 128)):
        for rows, cols in grown((256, 384), (576, 200), (40, 70)):
            q = fp8(g, (rows, cols))
            s = scales(g, (-(-rows // block[0]), -(-cols // block[1])), torch.float32)
            config = {"quantization_config": {"quant_method": "fp8", "weight_block_size": list(block)}}
            full = s.repeat_interleave(block[0], 0).repeat_interleave(block[1], 1)[:rows, :cols]
            want = q.float() * full
            oracle = "definition in torch 2.15"
            if rows % block[0] == 0 and cols % block[1] == 0:
                lib = Fp8Dequantize(None)._dequantize_one(q, s, output_dtype=torch.float32)
                assert torch.equal(lib.nan_to_num(7), want.nan_to_num(7))
                oracle = "transformers 5.23"
            yield Case("FP8 blocks", oracle, {"m.weight": q, "m.weight_scale_inv": s}, config, {"m.weight": want})
    (rows, cols), = grown((64, 96))
    q, s = fp8(g, (2, rows, cols)), scales(g, (2, rows // 32, cols // 32), torch.float32)
    config = {"quantization_config": {"quant_method": "fp8", "weight_block_size": [32, 32]}}
    want = Fp8Dequantize(None)._dequantize_one(q, s, output_dtype=torch.float32)
    yield Case("FP8 blocks, experts", "transformers 5.23",
               {"e.gate_up_proj": q, "e.gate_up_proj_scale_inv": s}, config, {"e.gate_up_proj": want})
    q, e = fp8(g, (rows, cols)), torch.randint(0, 255, (rows, cols // 32), generator=g, dtype=torch.int32).to(torch.uint8)
    want = Fp8Dequantize(None)._dequantize_one(q, e.view(torch.float8_e8m0fnu), output_dtype=torch.float32)
    yield Case("MXFP8", "transformers 5.23", {"m.weight": q, "m.weight_scale_inv": e}, None, {"m.weight": want})
    yield Case("MXFP8, E8M0", "transformers 5.23", {"m.weight": q, "m.scale": e.view(torch.float8_e8m0fnu)}, None, {"m.weight": want})
