"""HQQ, BitNet, ModelOpt's four bits and AutoAWQ's kernel layouts."""
import torch
from cases import Case, grown


def cases(g):
    yield from hqq(g, 1, 2, 3, 4, 8)
    yield from bitnet(g)
    yield from modelopt(g)
    yield from awq_kernels(g)
    yield from hqq(g, 5, 6)  # a byte each


def hqq(g, *widths):
    from hqq.core.quantize import Quantizer
    for bits in widths:
        for axis in (0, 1):
            for rows, cols, group in grown((64, 128, 64), (24, 64, 32)):
                w = torch.randn((rows, cols), generator=g) * 0.1
                q, meta = Quantizer.quantize(w, nbits=bits, group_size=group, axis=axis, optimize=False, device="cpu", compute_dtype=torch.float32)
                meta = dict(meta)
                meta["scale"], meta["zero"] = meta["scale"].half(), meta["zero"].half()
                exact = meta | {"scale": meta["scale"].float(), "zero": meta["zero"].float(), "compute_dtype": torch.float32}
                want = Quantizer.dequantize(q, exact)
                tensors = {"m.W_q": q, "m.scale": meta["scale"], "m.zero": meta["zero"], "m.shape": torch.tensor([rows, cols]),
                           "m.nbits": torch.tensor(bits, dtype=torch.int32), "m.axis": torch.tensor(axis, dtype=torch.int32),
                           "m.group_size": torch.tensor(group, dtype=torch.int32)}
                yield Case(f"HQQ {bits} bits, axis {axis}", "hqq 0.2.8", tensors, None, {"m.weight": want.float()})


def bitnet(g):
    from transformers.integrations.bitnet import pack_weights, unpack_weights
    for rows, cols in grown((64, 96), (16, 5)):
        t = torch.randint(-1, 2, (rows, cols), generator=g)
        packed = pack_weights(t.float())
        s = torch.tensor([0.37]).bfloat16()
        for config, fn in (({"quant_method": "bitnet"}, lambda t, s: t / s),
                           ({"quant_method": "bitnet", "linear_class": "autobitlinear", "quantization_mode": "offline"}, lambda t, s: t * s)):
            want = fn(unpack_weights(packed, torch.float32), s.float())
            yield Case("BitNet", "transformers 5.23", {"m.weight": packed, "m.weight_scale": s},
                       {"quantization_config": config}, {"m.weight": want})


def modelopt(g):
    from modelopt.torch.export.quant_utils import pack_int4_in_uint8
    for rows, cols, group in grown((64, 128, 32), (6, 96, None)):
        group = group or cols
        q = torch.randint(-8, 8, (rows, cols), generator=g).float()
        s = torch.exp2(torch.randint(-8, 2, (rows, cols // group), generator=g).float())
        w = q * s.repeat_interleave(group, 1)
        yield Case("ModelOpt W4A16", "modelopt 0.47, packer",
                   {"m.weight": pack_int4_in_uint8(w, s, group), "m.weight_scale": s}, None, {"m.weight": w})


def awq_kernels(g):
    from awq.modules.linear.gemv import WQLinear_GEMV
    from awq.modules.linear.gemv_fast import WQLinear_GEMVFast
    for inputs, outputs, group in grown((256, 64, 128), (256, 32, 64), (128, 32, 32)):
        q = torch.randint(0, 16, (outputs, inputs), generator=g)
        z = torch.randint(0, 16, (outputs, inputs // group), generator=g)
        s = torch.exp2(torch.randint(-6, 0, (outputs, inputs // group), generator=g).float())
        w = (q - z.repeat_interleave(group, 1)).float() * s.repeat_interleave(group, 1)
        linear = torch.nn.Linear(inputs, outputs, bias=False)
        linear.weight.data = w.half()
        config = {"quantization_config": {"quant_method": "awq", "bits": 4, "group_size": group, "version": "gemv"}}
        m = WQLinear_GEMV.from_linear(linear, 4, group, scales=s.half(), zeros=z.float())
        yield Case("AWQ GEMV", "autoawq 0.2.9, packer", {"m.qweight": m.qweight, "m.qzeros": m.qzeros, "m.scales": m.scales},
                   config, {"m.weight": w})
        config = {"quantization_config": {"quant_method": "awq", "bits": 4, "group_size": group, "version": "gemv_fast"}}
        m = WQLinear_GEMVFast.from_linear(linear, 4, group, scales=s.half(), zeros=z.float())
        yield Case("AWQ GEMV_FAST", "autoawq 0.2.9, packer", {"m.qweight": m.qweight, "m.qzeros": m.qzeros, "m.scales": m.scales},
                   config, {"m.weight": w})
