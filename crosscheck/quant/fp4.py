"""NVFP4 and MXFP4, by compressed-tensors, ModelOpt, transformers and MLX."""
import torch
from cases import Case, grown
from compressed_tensors.compressors.nvfp4.helpers import unpack_fp4_from_uint8
from compressed_tensors.quantization import QuantizationArgs
from compressed_tensors.quantization.lifecycle.forward import dequantize


def u8(g, shape, top=256):
    return torch.randint(0, top, shape, generator=g, dtype=torch.int32).to(torch.uint8)


def exponents(g, shape):
    e = u8(g, shape, 40) + 108
    e.view(-1)[0], e.view(-1)[1], e.view(-1)[2] = 0, 1, 254
    return e


def cases(g):
    from modelopt.torch.quantization.qtensor import MXFP4QTensor, NVFP4QTensor
    from transformers.integrations.mxfp4 import convert_moe_packed_tensors

    for rows, cols in grown((48, 64), (7, 96), (128, 512)):
        q = u8(g, (rows, cols // 2))
        s = u8(g, (rows, cols // 16), 0x7F).view(torch.float8_e4m3fn)
        for gs in (1.0, 0.0031, 2688.0 / 3.7):
            gs = torch.tensor([gs])
            codes = unpack_fp4_from_uint8(q, rows, cols, dtype=torch.float32)
            args = QuantizationArgs(num_bits=4, type="float", strategy="tensor_group", group_size=16)
            want = dequantize(codes, s.float(), args=args, global_scale=gs, dtype=torch.float32)
            yield Case("NVFP4 compressed-tensors", "compressed-tensors 0.20",
                       {"m.weight_packed": q, "m.weight_scale": s, "m.weight_global_scale": gs}, None, {"m.weight": want})
            s2 = gs.reshape(()) / 1000
            want = NVFP4QTensor((rows, cols), torch.float32, q).dequantize(
                torch.float32, scale=s, double_scale=s2, block_sizes={-1: 16})
            yield Case("NVFP4 ModelOpt", "modelopt 0.47",
                       {"m.weight": q, "m.weight_scale": s, "m.weight_scale_2": s2}, None, {"m.weight": want})
        e = exponents(g, (rows, cols // 32))
        want = MXFP4QTensor((rows, cols), torch.float32, q).dequantize(torch.float32, scale=e, block_sizes={-1: 32})
        yield Case("MXFP4 Quark, ModelOpt", "modelopt 0.47", {"m.weight": q, "m.weight_scale": e}, None, {"m.weight": want})
        yield Case("MXFP4 compressed-tensors", "modelopt 0.47", {"m.weight_packed": q, "m.weight_scale": e}, None, {"m.weight": want})
    for rows, cols, experts in grown((64, 64, 2), (32, 96, 3)):
        blocks, e = u8(g, (experts, rows, cols // 32, 16)), exponents(g, (experts, rows, cols // 32))
        want = convert_moe_packed_tensors(blocks.clone(), e.clone(), dtype=torch.float32).transpose(1, 2).contiguous()
        yield Case("MXFP4 gpt-oss", "transformers 5.23",
                   {"e.gate_up_proj_blocks": blocks, "e.gate_up_proj_scales": e}, None, {"e.gate_up_proj": want})
