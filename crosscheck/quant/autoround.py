"""AutoRound's own forms of GPTQ, by its own layers: both versions of zero
points, and the widths that no other library has."""
from unittest import mock

import torch
from cases import Case, grown

FORMATS = (("auto_round:auto_gptq", "qlinear_torch_zp"), ("auto_round:gptqmodel", "qlinear_torch"), ("auto_round", "qlinear_torch"))


def cases(g):
    import importlib
    for packing, module in FORMATS:
        layer = importlib.import_module("auto_round_extension.torch." + module).QuantLinear
        for bits in (2, 3, 4, 5, 6, 7, 8):
            for inputs, outputs, group in grown((64, 32, 32), (128, 96, 128)):
                m = layer(bits, group, inputs, outputs, bias=False)
                m.qweight.copy_(words(g, fields(g, (inputs, outputs), 2**bits).T, bits).T)
                # A field of all ones is no zero point: its readers disagree.
                m.qzeros.copy_(words(g, fields(g, (inputs // group, outputs), 2**bits - 1), bits))
                m.scales = (torch.rand((inputs // group, outputs), generator=g) * 0.1).half()
                tensors = {"m.qweight": m.qweight.clone(), "m.qzeros": m.qzeros.clone(), "m.scales": m.scales.clone()}
                m.scales = m.scales.float()
                with mock.patch("torch.matmul", lambda _, weights: weights):  # what the layer multiplies by
                    want = m(torch.empty((inputs, inputs))).T.contiguous()
                config = {"quantization_config": {"quant_method": "auto-round", "bits": bits, "group_size": group, "sym": False,
                                                  "packing_format": packing}}
                yield Case(f"AutoRound {packing.split(':')[-1]}, {bits} bits", "auto-round 0.16.1", tensors, config, {"m.weight": want})


def fields(g, shape, n):
    return torch.randint(0, n, shape, generator=g, dtype=torch.int64)


def words(g, values, bits):
    """Fields as a stream of bits in words along each row."""
    rows, n = values.shape
    stream = (values.unsqueeze(-1) >> torch.arange(bits)) & 1
    stream = stream.reshape(rows, n * bits // 32, 32)
    out = (stream << torch.arange(32)).sum(-1)
    return torch.where(out >= 2**31, out - 2**32, out).to(torch.int32)
