"""Whole models that their libraries write and read themselves: folders.py checks
what `amn dequantize` makes of them. Libraries compute in the type of the model that
they load, so that is float32; what they decode is rounded once.
"""
import copy
import importlib
import os
import pathlib
import subprocess
import sys
import types
from unittest import mock

import torch
import transformers as T
from safetensors.torch import load_file

# Sizes that every scheme's groups divide.
SIZES = dict(vocab_size=96, hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=2, num_key_value_heads=1,
             max_position_embeddings=64, tie_word_embeddings=False, pad_token_id=0, bos_token_id=1, eos_token_id=2)


def plain(folder, config=None):
    """A random model, saved beside the folder that the quantized one is for."""
    path = folder.parent / "plain"
    T.AutoModelForCausalLM.from_config(config or T.LlamaConfig(**SIZES), dtype=torch.float32).save_pretrained(path)
    return path


def load(folder, **options):
    return T.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, device_map="cpu", **options)


def dense(model, weight):
    """The state_dict of the model without quantization: what weight gives of a
    module, and the parameters of all others."""
    names = T.AutoModelForCausalLM.from_config(unquantized(model.config)).state_dict()
    stored, want = model.state_dict(), {}
    modules = dict(model.named_modules())
    for name in names:
        module, _, leaf = name.rpartition(".")
        w = weight(modules[module]) if leaf == "weight" and module in modules else None
        want[name] = (stored[name] if w is None else w.detach()).to(torch.bfloat16)
    return want


def unquantized(config):
    return type(config)(**{k: v for k, v in config.to_dict().items() if k != "quantization_config"})


def torchao(label, config):
    def build(g, folder):
        from torchao.utils import TorchAOBaseTensor
        model = load(plain(folder), quantization_config=T.TorchAoConfig(config()))
        model.save_pretrained(folder)
        return dense(load(folder), lambda m: m.weight.dequantize() if isinstance(getattr(m, "weight", None), TorchAOBaseTensor) else None)
    build.__doc__, build.oracle = f"folder: TorchAO {label}", "torchao 0.18, transformers 5.23"
    return build


def int8():
    from torchao.quantization import Int8WeightOnlyConfig
    return Int8WeightOnlyConfig()


def float8():
    from torchao.quantization import Float8WeightOnlyConfig
    return Float8WeightOnlyConfig()


def intx():
    from torchao.quantization import IntxWeightOnlyConfig
    from torchao.quantization.granularity import PerGroup
    return IntxWeightOnlyConfig(weight_dtype=torch.int4, granularity=PerGroup(32))


def hqq(bits, axis, pickled=False):
    def build(g, folder):
        from hqq.core.quantize import BaseQuantizeConfig, HQQLinear
        from hqq.models.hf.base import AutoHQQHFModel as library
        model = load(plain(folder))
        options = BaseQuantizeConfig(nbits=bits, group_size=64, axis=axis)
        library.quantize_model(model, quant_config=options, compute_dtype=torch.float32, device="cpu")
        (library.save_quantized if pickled else library.save_to_safetensors)(model, str(folder))
        return dense(model, lambda m: m.dequantize() if isinstance(m, HQQLinear) else None)
    build.__doc__ = f"folder: HQQ {bits} bits, axis {axis}" + (", qmodel.pt" if pickled else "")
    build.oracle = "hqq 0.2.8 (transformers: not yet)"
    return build


def bitnet(linear):
    def build(g, folder):
        from transformers.integrations.bitnet import AutoBitLinear, BitLinear, pack_weights, replace_with_bitnet_linear, unpack_weights
        config = T.BitNetQuantConfig(linear_class=linear, modules_to_not_convert=["lm_head"])
        model = load(plain(folder))
        shapes = {n: m.weight.shape for n, m in model.named_modules() if isinstance(m, torch.nn.Linear)}
        replace_with_bitnet_linear(model, ["lm_head"], config)
        for name, m in model.named_modules():
            if isinstance(m, (BitLinear, AutoBitLinear)):
                ternary = torch.randint(-1, 2, tuple(shapes[name]), generator=g).float()
                m.weight = torch.nn.Parameter(pack_weights(ternary), requires_grad=False) if linear == "autobitlinear" else pack_weights(ternary)
                m.weight_scale = torch.rand(1, generator=g) + 0.1
        model.config.quantization_config = config
        model.save_pretrained(folder)

        def weight(m):
            if isinstance(m, AutoBitLinear):  # its output is multiplied; loading has unpacked
                return m.weight * m.weight_scale
            return unpack_weights(m.weight, torch.float32) / m.weight_scale if isinstance(m, BitLinear) else None
        return dense(load(folder), weight)
    build.__doc__, build.oracle = f"folder: BitNet {linear}", "transformers 5.23"
    return build


def gemma(g, folder):
    """folder: Gemma 2, 4, 8 bits"""
    from transformers.integrations.gemma_quant import QuantizedEmbedding, QuantizedLinear, replace_with_quant_layers
    config = T.GemmaQuantizationConfig(num_bits=4, quantize_embeddings=True, modules_to_not_convert=["lm_head"], module_quant_configs={
        r"self_attn": {"num_bits": 8}, r"layers\.1\.mlp\.(gate|up)_proj": {"num_bits": 2}})
    model = load(plain(folder, T.Gemma3TextConfig(**SIZES, head_dim=32)))
    replace_with_quant_layers(model, config, ["lm_head"])
    for m in model.modules():
        if isinstance(m, (QuantizedLinear, QuantizedEmbedding)):
            q, s = (m.weight, m.weight_scale) if isinstance(m, QuantizedLinear) else (m.embedding_quantized, m.embedding_scale)
            low = 0 if q.dtype == torch.uint8 else -128
            q.data = torch.randint(low, low + 256, q.shape, generator=g, dtype=torch.int32).to(q.dtype)
            s.data = torch.rand(s.shape, generator=g)
    model.config.quantization_config = config
    model.save_pretrained(folder)

    def weight(m):
        if isinstance(m, QuantizedLinear):
            return m._dequantize_weights()
        return m.weight if isinstance(m, QuantizedEmbedding) else None
    return dense(load(folder), weight)


gemma.oracle = "transformers 5.23"


def awq(g, folder):
    """folder: AWQ GEMM"""
    from awq.modules.linear.gemm import WQLinear_GEMM
    model = load(plain(folder))
    for name, m in list(model.named_modules()):
        if isinstance(m, torch.nn.Linear) and name != "lm_head":
            groups = m.in_features // 32
            scales, zeros = torch.rand((m.out_features, groups), generator=g) * 0.01 + 0.001, torch.randint(0, 16, (m.out_features, groups), generator=g)
            packed = WQLinear_GEMM.from_linear(m.half(), 4, 32, scales=scales.half().T.contiguous(), zeros=zeros.float().T.contiguous())
            model.set_submodule(name, packed)
    model.config.quantization_config = T.AwqConfig(bits=4, group_size=32, zero_point=True, modules_to_not_convert=["lm_head"])
    model.save_pretrained(folder)
    return dense(load(folder), dequantized)


def dequantized(m):
    if not hasattr(m, "qweight"):
        return None
    from awq.utils.packing_utils import dequantize_gemm
    return dequantize_gemm(m.qweight, m.qzeros, m.scales.float(), 4, m.group_size).T.contiguous()


awq.oracle = "autoawq 0.2.9, transformers 5.23"

def gptq(order):
    def build(g, folder):
        from gptqmodel.nn_modules.qlinear.torch import TorchLinear
        from gptqmodel.utils.model import convert_gptq_v2_to_v1_format_module
        model, want = load(plain(folder)), {}
        for name, m in list(model.named_modules()):
            if isinstance(m, torch.nn.Linear) and name != "lm_head":
                q = TorchLinear(bits=4, group_size=32, sym=False, desc_act=order, in_features=m.in_features, out_features=m.out_features,
                                bias=False, pack_dtype=torch.int32, register_buffers=True, adapter=None)
                groups = m.in_features // 32
                index = (torch.arange(m.in_features) // 32).to(torch.int32)
                if order:
                    index = index[torch.randperm(m.in_features, generator=g)]
                scales = torch.rand((m.out_features, groups), generator=g) * 0.01 + 0.001
                q.pack_block(m, scales, torch.randint(0, 16, (m.out_features, groups), generator=g, dtype=torch.int32), index)
                model.set_submodule(name, q)
                exact = copy.deepcopy(q)
                exact.scales = exact.scales.float()
                exact.post_init()
                want[name] = exact.dequantize_weight().T.float()
                convert_gptq_v2_to_v1_format_module(q, types.SimpleNamespace(bits=4, pack_dtype=torch.int32))
        names = {m: n for n, m in model.named_modules()}
        state = dense(model, lambda m: want.get(names[m]))
        model.config.quantization_config = T.GPTQConfig(bits=4, group_size=32, sym=False, desc_act=order)
        model.save_pretrained(folder)
        return state
    build.__doc__, build.oracle = "folder: GPTQ 4 bits" + (", act-order" if order else ""), "gptqmodel 7.7.0"
    return build


def quark(kind):
    def build(g, folder):
        from quark.torch import ModelQuantizer, export_safetensors
        from quark.torch.export.nn.modules.qparamslinear import QParamsLinear
        from quark.torch.quantization.config import config as q
        spec = {"FP8": lambda: q.FP8E4M3PerTensorSpec(observer_method="min_max", is_dynamic=False),
                "INT8": lambda: q.Int8PerChannelSpec(symmetric=True, scale_type="float", round_method="half_even", ch_axis=0, is_dynamic=False),
                "MXFP4": lambda: q.OCP_MXFP4Spec(ch_axis=-1, is_dynamic=False)}[kind]().to_quantization_spec()
        quantizer = ModelQuantizer(q.QConfig(global_quant_config=q.QLayerConfig(weight=spec), exclude=["lm_head"]))
        model = quantizer.quantize_model(load(plain(folder)), dataloader=[{"input_ids": torch.tensor([[1, 2, 3]])}])
        export_safetensors(quantizer.freeze(model), str(folder))
        return dense(load(folder), lambda m: m._get_qweight(m.weight) if isinstance(m, QParamsLinear) else None)
    build.__doc__, build.oracle = f"folder: Quark {kind}", "amd-quark 0.13, transformers 5.23"
    return build


def modelopt(algorithm, config, decode):
    def build(g, folder):
        import modelopt.torch.quantization as mtq
        from modelopt.torch.export import export_hf_checkpoint
        model = load(plain(folder, T.LlamaConfig(**SIZES | dict(hidden_size=128))))
        if config == "INT4_BLOCKWISE_WEIGHT_ONLY_CFG":
            exact(model, g)
        exported = mtq.quantize(copy.deepcopy(model), getattr(mtq, config), forward_loop=lambda m: m(torch.tensor([[1, 2, 3, 4]])))
        with torch.no_grad():
            export_hf_checkpoint(exported, export_dir=str(folder))
        stored = load_file(folder / "model.safetensors")
        names = {m: n for n, m in model.named_modules()}

        def weight(m):
            scale = stored.get(names[m] + ".weight_scale")
            return None if scale is None else decode(m.weight, stored[names[m] + ".weight"], scale, stored.get(names[m] + ".weight_scale_2"))
        return dense(model, weight)
    build.__doc__, build.oracle = f"folder: ModelOpt {algorithm}", "modelopt 0.47"
    return build


def exact(model, g):
    """Gives linear layers whole multiples of powers of two, which integers of
    four bits under the largest of each 128 hold without loss."""
    for m in model.modules():
        if isinstance(m, torch.nn.Linear):
            rows, cols = m.weight.shape
            q = torch.randint(-7, 8, (rows, cols // 128, 128), generator=g).float()
            q[:, :, 0] = 7
            m.weight.data = (q * torch.exp2(torch.randint(-9, -3, (rows, cols // 128, 1), generator=g))).reshape(rows, cols)


def nvfp4(w, q, scale, scale2):
    from modelopt.torch.quantization.qtensor import NVFP4QTensor
    return NVFP4QTensor(w.shape, torch.float32, q).dequantize(torch.float32, scale=scale, double_scale=scale2, block_sizes={-1: 16})


def mxfp4(w, q, scale, _):
    from modelopt.torch.quantization.qtensor import MXFP4QTensor
    return MXFP4QTensor(w.shape, torch.float32, q).dequantize(torch.float32, scale=scale, block_sizes={-1: 32})


def mxfp8(w, q, scale, _):
    from modelopt.torch.quantization.qtensor.mxfp8_tensor import MXFP8QTensor
    return MXFP8QTensor(w.shape, torch.float32, q).dequantize(torch.float32, scale=scale)


def fp8(w, q, scale, _):
    from modelopt.torch.quantization.qtensor import FP8QTensor
    return FP8QTensor(w.shape, torch.float32, q).dequantize(torch.float32, scale=scale)


def awq_kernel(version):
    def build(g, folder):
        from awq.modules.linear.gemv import WQLinear_GEMV
        from awq.modules.linear.gemv_fast import WQLinear_GEMVFast
        layer = WQLinear_GEMV if version == "gemv" else WQLinear_GEMVFast
        model, want = load(plain(folder, T.LlamaConfig(**SIZES | dict(hidden_size=128)))), {}
        for name, m in list(model.named_modules()):
            if isinstance(m, torch.nn.Linear) and name != "lm_head":
                groups = m.in_features // 64
                q, z = torch.randint(0, 16, m.weight.shape, generator=g), torch.randint(0, 16, (m.out_features, groups), generator=g)
                scales = torch.exp2(torch.randint(-9, -3, (m.out_features, groups), generator=g).float())
                want[name] = (q - z.repeat_interleave(64, 1)).float() * scales.repeat_interleave(64, 1)
                m.weight.data = want[name].half()
                model.set_submodule(name, layer.from_linear(m, 4, 64, scales=scales.half(), zeros=z.float()))
        names = {m: n for n, m in model.named_modules()}
        state = dense(model, lambda m: want.get(names[m]))
        model.config.quantization_config = {"quant_method": "awq", "bits": 4, "group_size": 64, "version": version, "modules_to_not_convert": ["lm_head"]}
        model.save_pretrained(folder)
        return state
    build.__doc__, build.oracle = f"folder: AWQ {version.upper()}", "autoawq 0.2.9, packer"
    return build


def auto_round(packing, module):
    def build(g, folder):
        from autoround import fields, words
        layer = importlib.import_module("auto_round_extension.torch." + module).QuantLinear
        model, want = load(plain(folder)), {}
        for name, m in list(model.named_modules()):
            if isinstance(m, torch.nn.Linear) and name != "lm_head":
                inputs, outputs = m.in_features, m.out_features
                q = layer(4, 32, inputs, outputs, bias=False)
                q.qweight.copy_(words(g, fields(g, (inputs, outputs), 16).T, 4).T)
                q.qzeros.copy_(words(g, fields(g, (inputs // 32, outputs), 15), 4))
                q.scales = torch.rand((inputs // 32, outputs), generator=g) * 0.01
                with mock.patch("torch.matmul", lambda _, weights: weights):  # what the layer multiplies by
                    want[name] = q(torch.empty((inputs, inputs))).T.contiguous()
                model.set_submodule(name, q)
        names = {m: n for n, m in model.named_modules()}
        state = dense(model, lambda m: want.get(names[m]))
        model.config.quantization_config = {"quant_method": "auto-round", "bits": 4, "group_size": 32, "sym": False, "packing_format": packing}
        model.save_pretrained(folder)
        return state
    build.__doc__, build.oracle = f"folder: AutoRound {packing.split(':')[-1]}", "auto-round 0.16.1"
    return build


def sparse(g, folder):
    """folder: sparse bitmask"""
    model = load(plain(folder))
    for m in model.modules():
        if isinstance(m, torch.nn.Linear):
            there = torch.rand(m.weight.shape, generator=g) < 0.4
            m.weight.data = torch.where(there, m.weight.data.bfloat16().float(), 0.0)
    model.save_pretrained(folder)
    linear = [n for n, m in model.named_modules() if isinstance(m, torch.nn.Linear) and n != "lm_head"]
    libraries = pathlib.Path(T.__file__).parent.parent
    env = os.environ | {"PYTHONPATH": os.pathsep.join([str(libraries.parent / "ct-0.12.2"), str(libraries)])}
    subprocess.run([sys.executable, "-W", "ignore", "-c", BITMASKS, str(folder / "model.safetensors"), *linear], env=env, check=True, stdout=sys.stderr)
    return dense(model, lambda m: None)


# Only the older version writes them.
BITMASKS = """
import sys, torch
from compressed_tensors.compressors import BitmaskTensor
from safetensors.torch import load_file, save_file
tensors = load_file(sys.argv[1])
for name in sys.argv[2:]:
    t = BitmaskTensor.from_dense(tensors.pop(name + ".weight").bfloat16())
    tensors.update({k: v.contiguous() for k, v in t.dict(name).items()})
save_file(tensors, sys.argv[1], {"format": "pt"})
"""
sparse.oracle = "compressed-tensors 0.12.2, packer"


SCHEMES = [torchao("int8", int8), torchao("float8", float8), torchao("intx 4, groups", intx), hqq(4, 1), hqq(3, 0), hqq(2, 1, True),
           bitnet("bitlinear"), bitnet("autobitlinear"), gemma, awq, awq_kernel("gemv"), awq_kernel("gemv_fast"),
           auto_round("auto_round:auto_gptq", "qlinear_torch_zp"), auto_round("auto_round", "qlinear_torch"), sparse,
           gptq(False), gptq(True), modelopt("FP8", "FP8_DEFAULT_CFG", fp8), modelopt("NVFP4", "NVFP4_DEFAULT_CFG", nvfp4), modelopt("MXFP8", "MXFP8_DEFAULT_CFG", mxfp8),
           modelopt("MXFP4", "MXFP4_DEFAULT_CFG", mxfp4), modelopt("INT4", "INT4_BLOCKWISE_WEIGHT_ONLY_CFG", lambda w, *_: w),
           quark("FP8"), quark("INT8"), quark("MXFP4")]
