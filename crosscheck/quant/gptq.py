"""GPTQ by GPTQModel, AWQ by AutoAWQ."""
import torch
from cases import Case, grown


def int32(g, shape):
    return torch.randint(-2**31, 2**31 - 1, shape, generator=g, dtype=torch.int64).to(torch.int32)


def cases(g):
    from awq.utils.packing_utils import dequantize_gemm
    from gptqmodel.nn_modules.qlinear.torch import TorchLinear
    from gptqmodel.utils.model import convert_gptq_v1_to_v2_format_module

    for bits in (2, 3, 4, 8):
        for version in ("gptq", "gptq_v2"):
            for order in (False, True):
                (inputs, outputs, group), = grown((64, 32, 32))
                groups = inputs // group
                qweight = int32(g, (inputs * bits // 32, outputs))
                qzeros = int32(g, (groups, outputs * bits // 32))
                scales = (torch.rand((groups, outputs), generator=g) * 0.1).half()
                index = torch.arange(inputs, dtype=torch.int32) // group
                if order:
                    index = index[torch.randperm(inputs, generator=g)]
                m = TorchLinear(bits=bits, group_size=group, sym=False, desc_act=order, in_features=inputs, out_features=outputs,
                                bias=False, pack_dtype=torch.int32, register_buffers=True, adapter=None)
                m.qweight, m.qzeros, m.scales, m.g_idx = qweight.clone(), qzeros.clone(), scales.float(), index.clone()
                if version == "gptq":
                    convert_gptq_v1_to_v2_format_module(m, bits, torch.int32)
                m.post_init()
                want = m.dequantize_weight().T.contiguous().float()
                config = {"quantization_config": {"quant_method": "gptq", "bits": bits, "group_size": group,
                                                  "desc_act": order, "sym": False, "checkpoint_format": version}}
                label = f"GPTQ {bits} bits, {'v1' if version == 'gptq' else 'v2'}" + (", act-order" if order else "")
                yield Case(label, "gptqmodel 7.7.0",
                           {"m.qweight": qweight, "m.qzeros": qzeros, "m.scales": scales, "m.g_idx": index}, config, {"m.weight": want})
    for inputs, outputs, group in grown((128, 64, 32), (256, 96, 128)):
        qweight, qzeros = int32(g, (inputs, outputs // 8)), int32(g, (inputs // group, outputs // 8))
        scales = (torch.rand((inputs // group, outputs), generator=g) * 0.1).half()
        want = dequantize_gemm(qweight, qzeros, scales.float(), 4, group).T.contiguous()
        yield Case("AWQ GEMM", "autoawq 0.2.9", {"m.qweight": qweight, "m.qzeros": qzeros, "m.scales": scales},
                   {"quantization_config": {"quant_method": "awq", "bits": 4, "group_size": group, "version": "gemm"}}, {"m.weight": want})
    from gptqmodel.quantization.awq.utils.packing_utils import dequantize_gemm as any_width
    for bits in (2, 3, 5, 6, 7, 8):
        (inputs, outputs, group), = grown((64, 32, 32))
        qweight, qzeros = int32(g, (inputs, outputs * bits // 32)), int32(g, (inputs // group, outputs * bits // 32))
        scales = (torch.rand((inputs // group, outputs), generator=g) * 0.1).half()
        want = any_width(qweight, qzeros, scales.float(), bits, group).T.contiguous().float()
        yield Case(f"AWQ GEMM, {bits} bits", "gptqmodel 7.7.0", {"m.qweight": qweight, "m.qzeros": qzeros, "m.scales": scales},
                   {"quantization_config": {"quant_method": "awq", "bits": bits, "group_size": group, "version": "gemm"}}, {"m.weight": want})
