"""Whole models: a tiny random one per scheme, written as its library writes it,
turned by `amn dequantize` into a folder that transformers loads. Its state_dict
must be, name by name and bit by bit, that of transformers' own dequantized
model, and no name may be missing or too many.
"""
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import traceback
from unittest import mock

import numpy as np
import torch
import transformers as T
import written
from bnb import minus_zeros
from cases import differences
from fp4 import u8
from fp8 import fp8, naive
from safetensors.torch import load_file, save_file
from written import SIZES

ORACLE = "transformers 5.23"
MOE = dict(head_dim=32, num_experts=4, num_experts_per_tok=2, moe_intermediate_size=32, decoder_sparse_step=1)
LLAMA4 = dict(head_dim=32, num_local_experts=2, num_experts_per_tok=1, intermediate_size_mlp=128, interleave_moe_layer_step=1,
              attn_temperature_tuning=False)


def rows(g):
    T.logging.set_verbosity_error()
    T.utils.logging.disable_progress_bar()
    torch.manual_seed(int(torch.randint(2**31, (1,), generator=g)))
    done = []
    for scheme in SCHEMES + written.SCHEMES:
        oracle = getattr(scheme, "oracle", ORACLE)
        with tempfile.TemporaryDirectory() as tmp:
            quantized = pathlib.Path(tmp) / "quantized"
            try:
                want = scheme(g, quantized)
                done.append([scheme.__doc__, oracle, *compare(want, quantized, pathlib.Path(tmp) / "remembered")])
            except Exception:
                traceback.print_exc()
                done.append([scheme.__doc__, oracle, 0, 1])
    return done


def compare(want, quantized, remembered):
    subprocess.run([os.environ["CROSSCHECK_AMN"], "remember", "--quiet", "-o", str(remembered), str(quantized)], check=True)
    model, info = T.AutoModelForCausalLM.from_pretrained(remembered, dtype=torch.bfloat16, output_loading_info=True)
    bad = sum(len(v) for v in info.values() if v)
    if bad:
        print("loading", info)
    got = model.state_dict()
    bad += len(set(want) ^ set(got))
    elements = 0
    for name in set(want) & set(got):
        w, h = want[name], got[name]
        if w.shape != h.shape or w.dtype != h.dtype:
            print(name, w.shape, w.dtype, h.shape, h.dtype)
            bad += 1
            continue
        if w.dtype == torch.bfloat16:
            n = differences(h.flatten(), w.flatten())
            if n:
                print(name, n, "of", w.numel())
            bad += n
            elements += w.numel()
    return elements, bad


def fresh(config, folder):
    """A random model of an architecture, saved; gives the names of its files' tensors."""
    model = T.AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16)
    model.save_pretrained(folder)
    return load_file(folder / "model.safetensors")


def rewrite(folder, tensors, quantization):
    save_file({k: v.contiguous() for k, v in tensors.items()}, folder / "model.safetensors", {"format": "pt"})
    path = folder / "config.json"
    config = json.loads(path.read_text())
    config["quantization_config"] = quantization
    path.write_text(json.dumps(config))


def loaded(folder, quantization):
    return T.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.bfloat16, quantization_config=quantization).state_dict()


def projections(tensors):
    return [n for n, t in tensors.items() if n.endswith("_proj.weight") and t.dim() == 2]


def gptoss(g, folder):
    """folder: gpt-oss MXFP4"""
    sizes = SIZES | dict(intermediate_size=64, head_dim=32)  # hidden = intermediate: shapes cannot tell the orientation
    tensors = fresh(T.GptOssConfig(**sizes, num_local_experts=4, num_experts_per_tok=2, layer_types=["full_attention"] * 2), folder)
    for name in [n for n in tensors if n.endswith(("experts.gate_up_proj", "experts.down_proj"))]:
        experts, inputs, outputs = tensors.pop(name).shape
        tensors[name + "_blocks"] = u8(g, (experts, outputs, inputs // 32, 16))
        tensors[name + "_scales"] = u8(g, (experts, outputs, inputs // 32), 20) + 110
    rewrite(folder, tensors, {"quant_method": "mxfp4", "modules_to_not_convert": ["model.layers.*.self_attn", "lm_head"]})
    return loaded(folder, T.Mxfp4Config(dequantize=True))


def fp8_moe(g, folder):
    """folder: Qwen3-MoE FP8 blocks"""
    config = T.Qwen3MoeConfig(**SIZES, **MOE)
    tensors = fresh(config, folder)
    for name in projections(tensors):
        rows, cols = tensors[name].shape
        tensors[name] = finite(g, (rows, cols))
        tensors[name + "_scale_inv"] = torch.rand((rows // 32, cols // 32), generator=g)
    quantization = {"quant_method": "fp8", "activation_scheme": "dynamic", "weight_block_size": [32, 32], "fmt": "e4m3"}
    rewrite(folder, tensors, quantization)
    return loaded(folder, T.FineGrainedFP8Config(weight_block_size=(32, 32), dequantize=True))


def finite(g, shape):
    q = fp8(g, shape).float().nan_to_num(1.0)
    return q.to(torch.float8_e4m3fn)


def compressed(scheme, weights, format, config=None):
    def build(g, folder):
        from compressed_tensors.compressors.base import BaseCompressor
        from compressed_tensors.quantization import QuantizationArgs, QuantizationScheme
        from compressed_tensors.quantization.utils import calculate_qparams
        from compressed_tensors.quantization.lifecycle.forward import quantize
        assert BaseCompressor and calculate_qparams and quantize
        tensors = fresh(config or T.LlamaConfig(**SIZES), folder)
        args = QuantizationArgs(**weights)
        library = BaseCompressor.get_value_from_registry(format)
        spec = QuantizationScheme(targets=["Linear"], weights=args)
        for name in projections(tensors):
            w, stem = tensors.pop(name), name.removesuffix(".weight")
            for key, t in library.compress(parameters(g, w, args), spec).items():
                if t is not None:
                    tensors[f"{stem}.{key}"] = t
        rewrite(folder, tensors, {"quant_method": "compressed-tensors", "format": format, "version": "0.20.0", "quantization_status": "compressed",
                "ignore": ["lm_head"], "config_groups": {"group_0": {"targets": ["Linear"], "weights": weights, "format": format}}})
        return loaded(folder, T.CompressedTensorsConfig(dequantize=True))
    build.__doc__ = "folder: " + scheme
    return build


def parameters(g, w, args):
    """A weight with what its library wants to know to compress it."""
    group = args.group_size or w.shape[1]
    per = w.float().abs().reshape(w.shape[0], -1, group).amax(-1)
    state = {"weight": w}
    if args.num_bits == 4 and args.type == "float" and group == 16:
        state["weight_global_scale"] = (448 * 6 / w.float().abs().max()).reshape(1)
        state["weight_scale"] = (per / 6 * state["weight_global_scale"]).to(torch.float8_e4m3fn).to(torch.bfloat16)
        return state
    top = {("int", 4): 7, ("int", 8): 127, ("float", 8): 448, ("float", 4): 6}[args.type, args.num_bits]
    state["weight_scale"] = (per / top).to(w.dtype)
    if group == 32 and args.type == "float":
        state["weight_scale"] = torch.exp2(torch.ceil(torch.log2(per / top))).to(w.dtype)
    if not args.symmetric:
        state["weight_zero_point"] = torch.randint(-3, 3, tuple(per.shape), generator=g, dtype=torch.int32).to(torch.int8)
    return state


def bnb(kind, nested):
    def build(g, folder):
        plain = folder.parent / "plain"
        fresh(T.LlamaConfig(**SIZES), plain)
        options = dict(load_in_8bit=True) if kind == "int8" else dict(
            load_in_4bit=True, bnb_4bit_quant_type=kind, bnb_4bit_use_double_quant=nested, bnb_4bit_compute_dtype=torch.bfloat16)
        quantization = T.BitsAndBytesConfig(**options)
        model = T.AutoModelForCausalLM.from_pretrained(plain, dtype=torch.bfloat16, quantization_config=quantization, device_map="cpu")
        model.save_pretrained(folder)
        model = T.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.bfloat16, device_map="cpu")
        codes = {k: v.data for k, v in model.state_dict().items() if v.dtype == torch.uint8 and k.endswith(".weight")}
        state = model.dequantize().state_dict()
        return state | {k: minus_zeros(state[k], q) for k, q in codes.items() if kind == "fp4"}
    build.__doc__ = f"folder: bitsandbytes {kind}" + (", nested" if nested else "")
    return build


def gpt2(g, folder):
    """folder: GPT-2 bitsandbytes nf4"""
    plain = folder.parent / "plain"
    fresh(T.GPT2Config(vocab_size=96, n_embd=64, n_layer=2, n_head=2, n_positions=64, tie_word_embeddings=False), plain)
    quantization = T.BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_compute_dtype=torch.bfloat16)
    model = T.AutoModelForCausalLM.from_pretrained(plain, dtype=torch.bfloat16, quantization_config=quantization, device_map="cpu")
    model.save_pretrained(folder)
    state = T.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.bfloat16, device_map="cpu").dequantize().state_dict()
    # What it calls dequantized has linear layers; the model itself has Conv1D.
    return {n: t.T.contiguous() if n.endswith(("c_attn.weight", "c_proj.weight", "c_fc.weight")) else t for n, t in state.items()}


def metal(g, folder):
    """folder: Metal affine, 4 bits"""
    from transformers.integrations.metal_quantization import _affine_dequantize_tensor, _affine_quantize_tensor
    tensors = fresh(T.LlamaConfig(**SIZES), folder)
    want = T.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.bfloat16).state_dict()
    for name in projections(tensors):
        q, s, b = _affine_quantize_tensor(tensors.pop(name).float(), 32, 4)
        stem = name.removesuffix("weight")
        tensors |= {stem + "weight": q, stem + "scales": s, stem + "qbiases": b}
        want[name] = _affine_dequantize_tensor(q, s, b, 32, 4).to(torch.bfloat16)  # its loader wants Apple's GPU
    rewrite(folder, tensors, {"quant_method": "metal", "bits": 4, "group_size": 32, "modules_to_not_convert": ["lm_head"]})
    return want


metal.oracle = "transformers 5.23 (its loader: Apple's GPU)"


def mlx(g, shape, bits=4, group=32):
    """Codes as MLX writes them, and what it decodes."""
    import mlx.core as mx
    q, s, b = mx.quantize(mx.array(torch.randn(shape, generator=g).numpy()), group_size=group, bits=bits)
    dense = torch.from_numpy(np.array(mx.dequantize(q, s, b, group_size=group, bits=bits))).to(torch.bfloat16)
    return {"weight": torch.from_numpy(np.array(q).view(np.int32)).view(torch.uint32), "scales": torch.from_numpy(np.array(s)),
            "biases": torch.from_numpy(np.array(b))}, dense


def mlx_moe(g, folder):
    """folder: MLX Qwen3-MoE"""
    tensors = fresh(T.Qwen3MoeConfig(**SIZES, **MOE), folder)
    plain = dict(tensors)
    for layer in range(2):
        stem = f"model.layers.{layer}.mlp"
        for name in ("gate_proj", "up_proj", "down_proj"):
            rows, cols = tensors[f"{stem}.experts.0.{name}.weight"].shape
            stored, dense = mlx(g, (4, rows, cols))
            tensors |= {f"{stem}.switch_mlp.{name}.{k}": v for k, v in stored.items()}
            for e in range(4):
                del tensors[f"{stem}.experts.{e}.{name}.weight"]
                plain[f"{stem}.experts.{e}.{name}.weight"] = dense[e]
    rewrite(folder, tensors, {"group_size": 32, "bits": 4})
    return unquantized(folder, plain)


mlx_moe.oracle = "mlx 0.32.4, transformers 5.23"


def mlx_gptoss(g, folder):
    """folder: MLX gpt-oss, mxfp4"""
    from mlx_lm.models import gpt_oss
    want = gptoss(g, folder)
    stored = {k: mx_array(v) for k, v in load_file(folder / "model.safetensors").items()}
    tensors = {k: torch_tensor(v) for k, v in gpt_oss.Model.sanitize(None, stored).items()}
    assert not any("gate_up" in k for k in tensors) and any("experts.gate_proj.weight" in k for k in tensors)
    rewrite(folder, tensors, {"group_size": 32, "bits": 4, "mode": "mxfp4"})
    return want


mlx_gptoss.oracle = "transformers 5.23, names by mlx-lm 0.32.2"


def mlx_llama4(g, folder):
    """folder: MLX Llama-4"""
    import mlx.core as mx
    tensors = fresh(T.Llama4TextConfig(**SIZES, **LLAMA4), folder)
    plain = dict(tensors)
    for name in [n for n in tensors if n.endswith(("experts.gate_up_proj", "experts.down_proj"))]:
        stacks = [(name + ".weight", mx_array(tensors.pop(name).float()))]
        if "gate_up" in name:  # as mlx-lm's sanitize does it
            stacks = [(name.replace("gate_up", x) + ".weight", half) for x, half in zip(("gate", "up"), mx.split(stacks[0][1], 2, axis=-1))]
        dense = []
        for stack, w in stacks:
            q, s, b = mx.quantize(mx.swapaxes(w, 1, 2), group_size=32, bits=4)
            stem = stack.removesuffix("weight")
            tensors |= {stack: torch_tensor(q), stem + "scales": torch_tensor(s), stem + "biases": torch_tensor(b)}
            dense.append(mx.swapaxes(mx.dequantize(q, s, b, group_size=32, bits=4), 1, 2))
        plain[name] = torch_tensor(mx.concatenate(dense, axis=-1)).to(torch.bfloat16)
    rewrite(folder, tensors, {"group_size": 32, "bits": 4})
    return unquantized(folder, plain)


mlx_llama4.oracle = "mlx 0.32.4, transformers 5.23"


def mx_array(t):
    import mlx.core as mx
    if t.dtype == torch.bfloat16:
        return mx.array(t.view(torch.uint16).numpy()).view(mx.bfloat16)
    return mx.array(t.numpy())


def torch_tensor(a):
    import mlx.core as mx
    kind = {mx.bfloat16: (mx.uint16, torch.bfloat16), mx.uint32: (mx.int32, torch.uint32)}.get(a.dtype)
    if kind is None:
        return torch.from_numpy(np.array(a))
    return torch.from_numpy(np.array(mx.contiguous(a).view(kind[0]))).view(kind[1])


def llama4(g, folder):
    """folder: Llama-4 fbgemm FP8"""
    tensors = fresh(T.Llama4TextConfig(**SIZES, **LLAMA4), folder)
    want = T.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.bfloat16).state_dict()
    stems = {n.rpartition(".")[0] for n in tensors if n.endswith("experts.gate_up_proj")}
    for stem in stems:
        for leaf in ("gate_up_proj", "down_proj"):
            name = f"{stem}.{leaf}"
            experts, inputs, outputs = tensors[name].shape
            q, s = finite(g, (experts, inputs, outputs)), torch.rand((experts, 1, outputs), generator=g)
            tensors[name] = q
            tensors[name + "_scale"] = s if leaf == "gate_up_proj" else s.transpose(1, 2)
            want[name] = (q.float() * s).to(torch.bfloat16)
        for name, w in as_multiplied(stem, tensors).items():
            assert torch.equal(want[name], w), name
    rewrite(folder, tensors, {"quant_method": "fbgemm_fp8", "activation_scale_ub": 1200.0, "modules_to_not_convert": ["lm_head"]})
    return want


llama4.oracle = "torch, and transformers' module (loader: GPU)"


def as_multiplied(stem, tensors):
    """The experts as transformers' module hands them to fbgemm's kernel, which
    is not there: another is in its place, that says what it is given."""
    from transformers.integrations import fbgemm_fp8
    given = []

    def kernel(x, w, x_scale, w_scale, **_):
        given.append((w.float() * w_scale.reshape(-1, 1)).T)
        return x.float() @ given[-1]
    module = fbgemm_fp8.FbgemmFp8Llama4TextExperts(T.Llama4TextConfig(**SIZES, **LLAMA4))
    for name, _ in module.named_parameters():
        setattr(module, name, torch.nn.Parameter(tensors[f"{stem}.{name}"], requires_grad=False))
    with mock.patch.object(torch.ops.fbgemm, "f8f8bf16_rowwise", kernel, create=True), \
            mock.patch.object(fbgemm_fp8, "quantize_fp8_per_row", lambda x, *_: (x, torch.ones(len(x))), create=True), torch.no_grad():
        module(torch.ones((module.num_experts, module.hidden_size)))
    gate, up, down = given[0::3], given[1::3], given[2::3]
    return {f"{stem}.gate_up_proj": torch.stack([torch.cat(pair, 1) for pair in zip(gate, up)]).to(torch.bfloat16),
            f"{stem}.down_proj": torch.stack(down).to(torch.bfloat16)}


def llama4_linear(g, folder):
    """folder: Llama-4 FP8 by layers"""
    tensors = fresh(T.Llama4TextConfig(**SIZES, **LLAMA4), folder)
    plain = dict(tensors)
    for name in [n for n in tensors if n.endswith(("experts.gate_up_proj", "experts.down_proj"))]:
        experts, inputs, outputs = tensors.pop(name).shape
        layers = ("gate_proj", "up_proj") if "gate_up" in name else ("down_proj",)
        stem, dense = name.rpartition(".")[0], []
        for e in range(experts):
            for layer in layers:
                q, s = finite(g, (outputs // len(layers), inputs)), torch.rand((outputs // len(layers), 1), generator=g)
                tensors |= {f"{stem}.{e}.{layer}.weight": q, f"{stem}.{e}.{layer}.weight_scale": s}
                dense.append(naive(q, s, 8, "float", "channel").to(torch.bfloat16).T)
        plain[name] = torch.stack([torch.cat(dense[e * len(layers):(e + 1) * len(layers)], 1) for e in range(experts)])
    rewrite(folder, tensors, {"quant_method": "compressed-tensors", "format": "float-quantized", "ignore": ["lm_head", "re:.*self_attn.*", "re:.*router.*", "re:.*shared_expert.*"],
            "config_groups": {"group_0": {"targets": ["Linear"], "weights": {"num_bits": 8, "type": "float", "strategy": "channel"}}}})
    return unquantized(folder, plain)


llama4_linear.oracle = "compressed-tensors 0.20, transformers 5.23"


def unquantized(folder, tensors):
    """What transformers loads of a checkpoint with the tensors that a library
    decoded."""
    plain = folder.parent / "plain"
    shutil.copytree(folder, plain)
    config = json.loads((folder / "config.json").read_text())
    config.pop("quantization_config", None)
    (plain / "config.json").write_text(json.dumps(config))
    save_file({k: v.contiguous() for k, v in tensors.items()}, plain / "model.safetensors", {"format": "pt"})
    return T.AutoModelForCausalLM.from_pretrained(plain, dtype=torch.bfloat16).state_dict()


INT4 = {"num_bits": 4, "type": "int", "strategy": "group", "group_size": 32, "symmetric": True}
SCHEMES = [
    gptoss, fp8_moe, llama4, llama4_linear, metal, mlx_moe, mlx_gptoss, mlx_llama4, gpt2,
    compressed("packed 4 bits", INT4, "pack-quantized"),
    compressed("packed 4 bits, zeros", INT4 | {"symmetric": False}, "pack-quantized"),
    compressed("packed 4 bits, experts", INT4, "pack-quantized", T.Qwen3MoeConfig(
        **SIZES, **MOE)),
    compressed("INT8 channel", {"num_bits": 8, "type": "int", "strategy": "channel", "symmetric": True}, "int-quantized"),
    compressed("FP8 channel", {"num_bits": 8, "type": "float", "strategy": "channel", "symmetric": True}, "float-quantized"),
    compressed("NVFP4", {"num_bits": 4, "type": "float", "strategy": "tensor_group", "group_size": 16, "symmetric": True}, "nvfp4-pack-quantized"),
    compressed("MXFP4", {"num_bits": 4, "type": "float", "strategy": "group", "group_size": 32, "symmetric": True, "scale_dtype": "torch.uint8"}, "mxfp4-pack-quantized"),
    bnb("nf4", False), bnb("fp4", True), bnb("int8", False),
]
