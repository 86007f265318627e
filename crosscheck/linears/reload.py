"""Quantizes a tiny random model of each type with `amn quantize` and loads it with transformers.

    reload.py AMN [TYPE ...]

The model is the type's class for language models, or its bare one, with its default
configuration made small. transformers quantizes the same folder itself; "equal" is: the
same modules are quantized, no key is missing or left over, NF4 has the same state_dict bit
for bit, and of LLM.int8() codes and scales are those of bitsandbytes for the same numbers
and all else is the same. "other type": the same, but weights that transformers keeps in float32
are float16 as in the file that was quantized. Other verdicts have their reason. A type whose model is not built
small, or that transformers does not load again itself, says so.
"""
import json
import pathlib
import subprocess
import sys
import tempfile
import warnings

import bitsandbytes
import bitsandbytes.functional as F
import bitsandbytes.nn.modules
import torch
import transformers as T
from transformers.models.auto import configuration_auto, modeling_auto
from transformers.pytorch_utils import Conv1D

warnings.filterwarnings("ignore")
T.logging.set_verbosity_error()
T.utils.logging.disable_progress_bar()
bitsandbytes.nn.modules.has_avx512bf16 = lambda: False
torch.set_num_threads(1)
AMN = sys.argv[1]
SMALL = {"hidden_size": 64, "d_model": 64, "n_embd": 64, "dim": 64, "emb_dim": 64, "embedding_size": 64, "word_embed_proj_dim": 64, "intermediate_size": 128, "ffn_dim": 128,
         "d_ff": 128, "encoder_ffn_dim": 128, "decoder_ffn_dim": 128, "moe_intermediate_size": 64, "shared_expert_intermediate_size": 64, "num_hidden_layers": 2, "n_layer": 2, "num_layers": 2,
         "n_layers": 2, "encoder_layers": 2, "decoder_layers": 2, "num_attention_heads": 4, "n_head": 4, "n_heads": 4, "num_heads": 4, "encoder_attention_heads": 4, "decoder_attention_heads": 4,
         "num_key_value_heads": 2, "head_dim": 16, "d_kv": 16, "vocab_size": 128, "max_position_embeddings": 64, "n_positions": 64, "num_experts": 4, "num_local_experts": 4,
         "n_routed_experts": 4, "num_experts_per_tok": 2, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 0}


def small(config):
    values = {k: v for k, v in SMALL.items() if isinstance(getattr(config, k, None), int) and not isinstance(getattr(config, k), bool)}
    if getattr(config, "num_key_value_heads", None) == getattr(config, "num_attention_heads", 0) and "num_key_value_heads" in values:
        values["num_key_value_heads"] = 4
    parts = {k: small(getattr(config, k)).to_dict() for k in getattr(config, "sub_configs", {}) if getattr(config, k, None) is not None}
    return type(config)(**values, **parts)


def class_of(kind):
    for mapping in ("MODEL_FOR_CAUSAL_LM_MAPPING_NAMES", "MODEL_FOR_MASKED_LM_MAPPING_NAMES", "MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES", "MODEL_MAPPING_NAMES"):
        name = getattr(modeling_auto, mapping).get(kind)
        if name:
            return getattr(T, name if isinstance(name, str) else name[0])
    raise LookupError("no class")


def quantized(model):
    return {n: m for n, m in model.named_modules() if isinstance(m, (bitsandbytes.nn.Linear4bit, bitsandbytes.nn.Linear8bitLt))}


def bits(t):
    t = t.detach().contiguous()
    return (t.dtype, tuple(t.shape), t.reshape(-1).view(torch.uint8).numpy().tobytes() if t.numel() else b"")


def differences(kind, want, got, plain):
    a, b = quantized(want), quantized(got)
    if set(a) != set(b):
        return f"modules {sorted(set(a) ^ set(b))[:3]}"
    if not a:
        return "nothing is quantized"
    x, y = want.state_dict(), got.state_dict()
    if set(x) != set(y):
        return f"keys {sorted(set(x) ^ set(y))[:3]}"
    modules, kept = dict(plain.named_modules()), []
    for name in x:
        module = name.rpartition(".")[0]
        if kind == "int8" and module in a and name.rpartition(".")[2] in ("weight", "SCB"):
            w = modules[module].weight.data
            codes, scales, _ = F.int8_vectorwise_quant((w.T if isinstance(modules[module], Conv1D) else w).float().contiguous())
            ours = codes if name.endswith("weight") else scales
            if bits(ours)[2] != bits(y[name])[2]:
                return f"{name} differs from bitsandbytes'"
        elif bits(x[name]) != bits(y[name]):
            if module not in a and x[name].dtype == torch.float32 and bits(y[name].float()) == bits(x[name]):
                kept.append(name)
            else:
                return f"{name} differs"
    if kept:
        return f"TYPE {kept[0]} and {len(kept) - 1} more stay float16, where transformers makes them float32"
    return ""


def loads(cls, folder, **more):
    model, info = cls.from_pretrained(folder, device_map="cpu", dtype=torch.float16, output_loading_info=True, **more)
    return model, {k: sorted(map(str, v))[:3] for k, v in info.items() if v}


def one(kind, cls, root):
    plain, again, ours = root / "plain", root / "again", root / "ours"
    try:
        torch.manual_seed(7)
        cls(small(configuration_auto.CONFIG_MAPPING[kind]())).to(torch.float16).save_pretrained(plain)
        model, wrong = loads(cls, plain)
        if wrong:
            return "not built", f"transformers does not load its own folder: {wrong}"
    except Exception as e:
        return "not built", f"{type(e).__name__}: {str(e).splitlines()[0] if str(e) else ''}"[:140]
    for to, q in (("nf4", T.BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_compute_dtype=torch.float16)), ("int8", T.BitsAndBytesConfig(load_in_8bit=True))):
        try:
            want, _ = loads(cls, plain, quantization_config=q)
            want.save_pretrained(again)
            _, wrong = loads(cls, again)
            if wrong:
                raise ValueError(wrong)
        except Exception as e:
            return "breaks in transformers", f"{to}: {type(e).__name__}: {str(e).splitlines()[0] if str(e) else ''}"[:140]
        done = subprocess.run([AMN, "quantize", "-q", "-f", "--to", to, "-o", ours, plain], capture_output=True, text=True)
        if done.returncode:
            return "refused", f"{to}: {done.stderr.strip().splitlines()[0]}"[-160:].replace(str(plain), "")
        try:
            got, wrong = loads(cls, ours)
        except Exception as e:
            return "WRONG", f"{to}: does not load: {type(e).__name__}: {str(e).splitlines()[0] if str(e) else ''}"[:200]
        if wrong := wrong or differences(to, want, got, model):
            return "other type" if str(wrong).startswith("TYPE") else "WRONG", f"{to}: {wrong}".replace("TYPE ", "")
    return "equal", f"{len(quantized(want))} modules"


def main():
    bad = 0
    for kind in sys.argv[2:] or sorted(configuration_auto.CONFIG_MAPPING_NAMES):
        with tempfile.TemporaryDirectory() as tmp:
            try:
                verdict, why = one(kind, class_of(kind), pathlib.Path(tmp))
            except LookupError as e:
                verdict, why = "not built", str(e)
        bad += verdict == "WRONG"
        print(json.dumps({"type": kind, "verdict": verdict, "why": why}), flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
