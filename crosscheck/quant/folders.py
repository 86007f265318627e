"""Whole models: a tiny random one per scheme, written as its library writes it,
turned by `amn remember` into a folder that transformers loads. Its state_dict
must be, name by name and bit by bit, that of transformers' own dequantized
model, and no name may be missing or too many.
"""
import json
import os
import pathlib
import subprocess
import tempfile
import traceback

import torch
import transformers as T
from cases import differences
from fp4 import exponents, u8
from fp8 import fp8
from safetensors.torch import load_file, save_file

ORACLE = "transformers 5.23"
SIZES = dict(vocab_size=96, hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=2, num_key_value_heads=1,
             max_position_embeddings=64, tie_word_embeddings=False, pad_token_id=0, bos_token_id=1, eos_token_id=2)


def rows(g):
    T.logging.set_verbosity_error()
    T.utils.logging.disable_progress_bar()
    torch.manual_seed(int(torch.randint(2**31, (1,), generator=g)))
    done = []
    for scheme in SCHEMES:
        with tempfile.TemporaryDirectory() as tmp:
            quantized = pathlib.Path(tmp) / "quantized"
            try:
                want = scheme(g, quantized)
                done.append([scheme.__doc__, ORACLE, *compare(want, quantized, pathlib.Path(tmp) / "remembered")])
            except Exception:
                traceback.print_exc()
                done.append([scheme.__doc__, ORACLE, 0, 1])
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
            n = differences(h.flatten(), w.flatten(), True)
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
    config = T.Qwen3MoeConfig(**SIZES, head_dim=32, num_experts=4, num_experts_per_tok=2, moe_intermediate_size=32, decoder_sparse_step=1)
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
        return T.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.bfloat16, device_map="cpu").dequantize().state_dict()
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


def mlx_moe(g, folder):
    """folder: MLX Qwen3-MoE"""
    import mlx.core as mx
    import numpy as np
    tensors = fresh(T.Qwen3MoeConfig(**SIZES, head_dim=32, num_experts=4, num_experts_per_tok=2, moe_intermediate_size=32, decoder_sparse_step=1), folder)
    want = T.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.bfloat16).state_dict()
    for layer in range(2):
        stem, dense = f"model.layers.{layer}.mlp", {}
        for name in ("gate_proj", "up_proj", "down_proj"):
            stack = torch.stack([tensors.pop(f"{stem}.experts.{e}.{name}.weight") for e in range(4)])
            q, s, b = mx.quantize(mx.array(stack.float().numpy()), group_size=32, bits=4)
            tensors[f"{stem}.switch_mlp.{name}.weight"] = torch.from_numpy(np.array(q).view(np.int32)).view(torch.uint32)
            tensors[f"{stem}.switch_mlp.{name}.scales"] = torch.from_numpy(np.array(s))
            tensors[f"{stem}.switch_mlp.{name}.biases"] = torch.from_numpy(np.array(b))
            dense[name] = torch.from_numpy(np.array(mx.dequantize(q, s, b, group_size=32, bits=4))).to(torch.bfloat16)
        want[f"{stem}.experts.gate_up_proj"] = torch.cat([dense["gate_proj"], dense["up_proj"]], 1)
        want[f"{stem}.experts.down_proj"] = dense["down_proj"]
    rewrite(folder, tensors, {"group_size": 32, "bits": 4})
    return want


def llama4(g, folder):
    """folder: Llama-4 fbgemm FP8"""
    config = T.Llama4TextConfig(**SIZES, head_dim=32, num_local_experts=2, num_experts_per_tok=1, intermediate_size_mlp=128,
                                interleave_moe_layer_step=1, attn_temperature_tuning=False)
    tensors = fresh(config, folder)
    want = T.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.bfloat16).state_dict()
    for name in [n for n in tensors if n.endswith(("experts.gate_up_proj", "experts.down_proj"))]:
        experts, inputs, outputs = tensors[name].shape
        q, s = finite(g, (experts, inputs, outputs)), torch.rand((experts, 1, outputs), generator=g)
        tensors[name] = q
        tensors[name + "_scale"] = s if "gate_up" in name else s.transpose(1, 2)
        want[name] = (q.float() * s).to(torch.bfloat16)
    rewrite(folder, tensors, {"quant_method": "fbgemm_fp8", "activation_scale_ub": 1200.0, "modules_to_not_convert": ["lm_head"]})
    return want


def llama4_linear(g, folder):
    """folder: Llama-4 FP8 by layers"""
    config = T.Llama4TextConfig(**SIZES, head_dim=32, num_local_experts=2, num_experts_per_tok=1, intermediate_size_mlp=128,
                                interleave_moe_layer_step=1, attn_temperature_tuning=False)
    tensors = fresh(config, folder)
    want = T.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.bfloat16).state_dict()
    for name in [n for n in tensors if n.endswith(("experts.gate_up_proj", "experts.down_proj"))]:
        experts, inputs, outputs = tensors.pop(name).shape
        layers = ("gate_proj", "up_proj") if "gate_up" in name else ("down_proj",)
        stem, dense = name.rpartition(".")[0], []
        for e in range(experts):
            for layer in layers:
                q, s = finite(g, (outputs // len(layers), inputs)), torch.rand((outputs // len(layers), 1), generator=g)
                tensors |= {f"{stem}.{e}.{layer}.weight": q, f"{stem}.{e}.{layer}.weight_scale": s}
                dense.append((q.float() * s).to(torch.bfloat16).T)
        want[name] = torch.stack([torch.cat(dense[e * len(layers):(e + 1) * len(layers)], 1) for e in range(experts)])
    rewrite(folder, tensors, {"quant_method": "compressed-tensors", "format": "float-quantized", "ignore": ["lm_head", "re:.*self_attn.*", "re:.*router.*", "re:.*shared_expert.*"],
            "config_groups": {"group_0": {"targets": ["Linear"], "weights": {"num_bits": 8, "type": "float", "strategy": "channel"}}}})
    return want


def gptq(g, folder):
    """folder: GPTQ 4 bits"""
    from gptq import int32
    tensors = fresh(T.LlamaConfig(**SIZES), folder)
    want = T.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.bfloat16).state_dict()
    for name in projections(tensors):
        out, inputs = tensors.pop(name).shape
        stem = name.removesuffix("weight")
        qweight, scales = int32(g, (inputs // 8, out)), (torch.rand((inputs // 32, out), generator=g) * 0.01).half()
        tensors |= {stem + "qweight": qweight, stem + "scales": scales,
                    stem + "qzeros": torch.full((inputs // 32, out // 8), 0x77777777, dtype=torch.int32),
                    stem + "g_idx": (torch.arange(inputs) // 32).to(torch.int32)}
        q = (qweight.unsqueeze(1) >> (torch.arange(8, dtype=torch.int32) * 4).view(1, 8, 1)) & 15
        w = (q.reshape(inputs, out) - 8).float() * scales.float().repeat_interleave(32, 0)
        want[name] = w.T.contiguous().to(torch.bfloat16)
    rewrite(folder, tensors, {"quant_method": "gptq", "bits": 4, "group_size": 32, "sym": True, "desc_act": False})
    return want


INT4 = {"num_bits": 4, "type": "int", "strategy": "group", "group_size": 32, "symmetric": True}
SCHEMES = [
    gptoss, fp8_moe, llama4, llama4_linear, gptq, metal, mlx_moe, gpt2,
    compressed("packed 4 bits", INT4, "pack-quantized"),
    compressed("packed 4 bits, zeros", INT4 | {"symmetric": False}, "pack-quantized"),
    compressed("packed 4 bits, experts", INT4, "pack-quantized", T.Qwen3MoeConfig(
        **SIZES, head_dim=32, num_experts=4, num_experts_per_tok=2, moe_intermediate_size=32, decoder_sparse_step=1)),
    compressed("INT8 channel", {"num_bits": 8, "type": "int", "strategy": "channel", "symmetric": True}, "int-quantized"),
    compressed("FP8 channel", {"num_bits": 8, "type": "float", "strategy": "channel", "symmetric": True}, "float-quantized"),
    compressed("NVFP4", {"num_bits": 4, "type": "float", "strategy": "tensor_group", "group_size": 16, "symmetric": True}, "nvfp4-pack-quantized"),
    compressed("MXFP4", {"num_bits": 4, "type": "float", "strategy": "group", "group_size": 32, "symmetric": True, "scale_dtype": "torch.uint8"}, "mxfp4-pack-quantized"),
    bnb("nf4", False), bnb("fp4", True), bnb("int8", False),
]
assert exponents
