"""Folders of mlx-lm: what amn makes of a folder of transformers against what
mlx_lm.convert makes of it, plain and quantized, and the way back."""
import json

import torch
from safetensors.torch import load_file

# mlx-lm has no model, or other tensors that are not written, or cannot make these tiny ones.
WITHOUT = {"gpt2", "gpt-oss", "gpt-oss-mxfp4", "llama4", "qwen3.5", "qwen3.5moe", "gptneox", "bloom", "olmo", "arcee", "granitemoeshared", "falcon-h1",
           "bert", "distilbert", "roberta", "xlm-roberta", "xlm-roberta-json", "modern-bert", "nomic-bert",
           "t5", "t5-gated", "mt5", "umt5", "t5-encoder", "bert-classes", "distilbert-classes", "roberta-classes", "xlm-roberta-classes", "modern-bert-classes", "bert-labelled", "embedding-gemma",
           "qwen3-reranker", "qwen3-reranker-head"}
NORMS = ("qwen3next",)  # which mlx-lm has plus one, and BF16 rounds that; it leaves layers that predict further tokens out


def tensors(folder):
    out = {}
    for p in sorted(folder.glob("*.safetensors")):
        out |= load_file(p)
    return out


def differ(what, got, want, wrong):
    bad = 0
    for n in sorted(set(got) | set(want)):
        a, b = got.get(n), want.get(n)
        if a is None or b is None or a.dtype != b.dtype or a.shape != b.shape or not torch.equal(a.contiguous().view(torch.uint8), b.contiguous().view(torch.uint8)):
            bad += wrong(what, f"tensor {n}: {a is not None and (a.dtype, tuple(a.shape))}, want {b is not None and (b.dtype, tuple(b.shape))}")
    return bad


def documents(what, got, want, wrong):
    bad = 0
    for name in ("config.json", "model.safetensors.index.json"):
        a, b = (json.loads((p / name).read_text()) for p in (got, want))
        if a != b:
            off = [k for k in sorted(set(a) | set(b)) if a.get(k) != b.get(k)]
            bad += wrong(what, f"{name} differs in {off[:5]}")
    return bad


def published(folder):
    """Members where published configurations have them, which mlx-lm asks for."""
    path = folder / "config.json"
    config = json.loads(path.read_text())
    rope = config.get("rope_parameters") or {}
    rope = rope.get("full_attention", rope)
    for name in ("rope_theta", "partial_rotary_factor"):
        if name in rope:
            config.setdefault(name, rope[name])
    if "num_local_experts" in config:
        config.setdefault("num_experts", config["num_local_experts"])
    kind = config["model_type"]
    if kind in ("glm4_moe", "exaone4"):
        config.setdefault("rope_scaling", None)
    if kind == "exaone4":
        config.setdefault("head_dim", config["hidden_size"] // config["num_attention_heads"])
    if kind == "deepseek_v2":
        config["rope_scaling"] = {"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 64, "mscale": 1.0, "mscale_all_dim": 1.0}
    if kind == "granitemoehybrid":
        config["layer_types"] = [{"linear_attention": "mamba", "full_attention": "attention"}.get(k, k) for k in config["layer_types"]]
    if kind == "gemma4_text":
        layer = next(iter(config["per_layer_config"].values()))
        config["global_head_dim"] = layer["head_dim"]
        if "num_key_value_heads" in layer:
            config["num_global_key_value_heads"] = layer["num_key_value_heads"]
    if kind.startswith("lfm2"):
        config.setdefault("block_dim", config["hidden_size"])
        config.setdefault("block_ff_dim", config["intermediate_size"])
    if kind == "minimax_m2":
        config.setdefault("shared_intermediate_size", 0)
    path.write_text(json.dumps(config))


def check(name, folder, amn, work, wrong):
    """How many numbers were compared, and how many tensors and documents differ."""
    from mlx_lm.convert import convert

    counted = bad = 0
    for kind, more, flags in (("plain", {}, []), ("q4", {"quantize": True, "q_bits": 4, "q_group_size": 64}, ["--quant", "mlx_4"])):
        theirs, ours = work / f"{name}-{kind}-theirs", work / f"{name}-{kind}-ours"
        try:
            convert(str(folder), str(theirs), **more)
        except Exception as e:  # whatever mlx-lm throws at a model that it does not know
            return counted, bad + wrong(name, f"mlx-lm: {type(e).__name__}: {e}")
        if why := amn("convert", folder, "--to", "mlx", "-o", ours, *flags):
            bad += wrong(name, why)
            continue
        want = tensors(theirs)
        counted += sum(t.numel() for t in want.values())
        bad += differ(f"{name} {kind}", tensors(ours), want, wrong) + documents(f"{name} {kind}", ours, theirs, wrong)
        if kind == "plain":
            back = work / f"{name}-mlx-back"
            why = amn("convert", ours, "--to", "hf", "-o", back)
            if name == "ernie4.5moe":  # of whose router mlx-lm leaves a part out
                bad += 0 if "not supported" in why else wrong(name, f"it is led back: {why}")
                continue
            if why:
                bad += wrong(name, why)
                continue
            source = tensors(folder)
            if name in NORMS:
                source = {n: (t + 1) - 1 if "norm" in n and "linear_attn" not in n else t for n, t in source.items() if not n.startswith("mtp.")}
            config = json.loads((folder / "config.json").read_text())
            if config.get("tie_word_embeddings"):
                source.pop("lm_head.weight", None)  # which mlx-lm leaves out
            bad += differ(f"{name} from mlx", tensors(back), source, wrong)
    return counted, bad


def quantized(name, folder, amn, work, wrong, converter, same):
    """A folder that MLX quantized becomes the GGUF file of the folder that mlx-lm
    decodes it to."""
    from mlx_lm.convert import convert

    packed, plain = work / f"{name}-packed", work / f"{name}-plain"
    convert(str(folder), str(packed), quantize=True, q_bits=8, q_group_size=64)
    convert(str(packed), str(plain), dequantize=True)
    ours, theirs = work / f"{name}-packed.gguf", work / f"{name}-plain.gguf"
    for p, out in ((packed, ours), (plain, theirs)):
        if why := amn("convert", p, "--to", "gguf", "--out-dtype", "f32", "--gguf-kv", "tokenizer.ggml.pre=llama-bpe", "-o", out):
            return 0, wrong(name, why)
    got, want = converter.read(ours), converter.read(theirs)
    return sum(len(t[2]) for t in want[1].values()), same(f"{name} of MLX", got, want)
