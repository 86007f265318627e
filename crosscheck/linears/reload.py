"""Quantizes a small random model of each type with `amn quantize` and loads it with transformers.

    reload.py [--out FILE] [--page PAGE] AMN [TYPE ...]

The model is the type's class for language models, its bare one, or the first that it has,
with its default configuration made small. transformers quantizes the same folder itself; "equal" is: the
same modules are quantized, no key is missing or left over, NF4 has the same state_dict bit
for bit, and of LLM.int8() codes and scales are those of bitsandbytes for the same numbers
and all else is the same. "other type": the same, but weights that transformers keeps in float32
are float16 as in the file that was quantized. "nothing": neither quantizes anything.
Other verdicts have their reason. A type whose model is not built small, or that
transformers does not load again itself, says so.

PAGE is docs/model-types.md, whose last part is written anew from FILE. A line of FILE is a type that is not asked again, so a sweep goes on where it was stopped.
"""
import argparse
import functools
import gc
import hashlib
import json
import pathlib
import signal
import subprocess
import sys
import tempfile
import warnings

import bitsandbytes
import bitsandbytes.functional as F
import bitsandbytes.nn.modules
import torch
import transformers as T
from models import GIVEN, OF_CLASS, SECONDS, classes, default, named
from transformers.models.auto import configuration_auto, modeling_auto
from transformers.pytorch_utils import Conv1D

warnings.filterwarnings("ignore")
T.logging.set_verbosity_error()
T.utils.logging.disable_progress_bar()
bitsandbytes.nn.modules.has_avx512bf16 = lambda: False
torch.set_num_threads(1)
PARAMETERS = 400_000_000  # what a small model has at most

# What makes a configuration small. Where all of it does not fit together, less of it is tried.
LAYERS = {k: 2 for k in ("num_hidden_layers", "n_layer", "num_layers", "n_layers", "encoder_layers", "decoder_layers", "num_encoder_layers", "num_decoder_layers",
                         "encoder_num_hidden_layers", "decoder_num_hidden_layers", "depth", "mlp_layers")}
LAYERS |= {"num_experts": 4, "num_local_experts": 4, "n_routed_experts": 4, "num_experts_per_tok": 2}
TOKENS = {"vocab_size": 128, "vocab_size_per_layer_input": 128, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 0}
WIDTHS = {k: 64 for k in ("hidden_size", "d_model", "n_embd", "dim", "emb_dim", "embedding_size", "word_embed_proj_dim", "moe_intermediate_size", "shared_expert_intermediate_size",
                          "max_position_embeddings", "n_positions")}
WIDTHS |= {k: 128 for k in ("intermediate_size", "ffn_dim", "d_ff", "encoder_ffn_dim", "decoder_ffn_dim")}
HEADS = {k: 4 for k in ("num_attention_heads", "n_head", "n_heads", "num_heads", "encoder_attention_heads", "decoder_attention_heads")} | {"num_key_value_heads": 2}
HEAD = {"head_dim": 16, "d_kv": 16}
# What some types ask of each other's sizes.
SMALL = {
    "gpt_neo": {"num_layers": 2, "attention_types": [[["global", "local"], 1]]},
    "mamba2": {"hidden_size": 64, "expand": 2, "num_heads": 8, "head_dim": 16, "n_groups": 1, "state_size": 16},
    "gemma3n_text": {"num_hidden_layers": 10, "num_kv_shared_layers": 5, "layer_types": (["sliding_attention"] * 4 + ["full_attention"]) * 2, "intermediate_size": [128] * 10,
                     "activation_sparsity_pattern": [0.0] * 10},
    # One block stands in several layers, whose weights are tied; with one of them they would not be.
    "zamba2": {"num_hidden_layers": 6, "layers_block_type": ["mamba", "hybrid"] * 3, "num_mem_blocks": 1},
    "zamba": {"num_hidden_layers": 6, "layers_block_type": ["linear_attention", "hybrid"] * 3},
    "zaya": {"num_experts_per_tok": 1},
    "reformer": {"axial_pos_embds": False},
    "mimi": {"upsample_groups": 64},
    **dict.fromkeys(("vibevoice_acoustic_tokenizer", "vibevoice_acoustic_tokenizer_encoder", "vibevoice_acoustic_tokenizer_decoder"), {"num_filters": 4, "depths": [1] * 7}),
    "kyutai_speech_to_text": {"audio_pad_token_id": 127},
    "dots3_note_vision_encoder": {"adapter_in_dim": 64, "adapter_out_dim": 64},
    "dots3_note_audio_encoder": {"adapter_input_size": 64, "adapter_out_dim": 64},
    "ernie4_5_vl_moe_text": {"rope_parameters": {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [3, 3, 2]}},
    "fun_asr_nano": {"adaptor_config": {"intermediate_size": 16}},
    "gemma4_assistant": {"text_config": {"hidden_size_per_layer_input": 0, "vocab_size_per_layer_input": 0, "num_kv_shared_layers": 3}},
    "nemotron3_diarization": {"head_config": {"audio_hidden_size": 64}},
    "inkling2_vision": {"text_hidden_size": 64},
    "molmo2_adapter": {"vision_feature_layer": [1, 0]},
    "muse_spark_audio": {"out_hidden_size": 64},
    "nemotron_h_omni_vision": {"video_temporal_patch_size": 2},
}
VARIANTS = (LAYERS | TOKENS | WIDTHS | HEADS | HEAD, LAYERS | TOKENS | WIDTHS | HEADS, LAYERS | TOKENS, LAYERS, TOKENS, {})


def small(config, values, given=None):
    """A configuration of the same type with as many of the values as it has, and what it cannot be built without."""
    given = GIVEN.get(config.model_type, {}) if given is None else given
    own = {k: v for k, v in values.items() if type(vars(config).get(k, getattr(type(config), k, None))) is int}
    own |= few(config) if "num_hidden_layers" in own else {}
    if "num_key_value_heads" in own and vars(config).get("num_key_value_heads") == vars(config).get("num_attention_heads"):
        own["num_key_value_heads"] = 4
    own |= SMALL.get(config.model_type, {}) if "num_hidden_layers" in values or "num_layers" in values else {}
    parts = {}
    for k in getattr(config, "sub_configs", {}):
        if (part := getattr(config, k, None)) is not None:
            stages = {"out_indices": part.out_indices} if getattr(part, "depths", None) and getattr(part, "out_indices", None) else {}
            parts[k] = {**small(part, values, {**stages, **given.get(k, {})} or None).to_dict(), **own.pop(k, {})}
    return type(config)(**{**given, **own, **parts})


def few(config):
    """Layers of each kind that a configuration lists, and no others."""
    n = config.num_hidden_layers
    lists = {k: v for k, v in vars(config).items() if isinstance(v, (list, tuple)) and len(v) == n > 2}
    seen, keep = set(), []
    for i in range(n):
        kind = tuple(str(v[i]) for v in lists.values())
        if lists and (kind not in seen or i == n - 1):
            seen.add(kind)
            keep.append(i)
    return {"num_hidden_layers": len(keep)} | {k: [v[i] for i in keep] for k, v in lists.items()} if lists else {}


def class_of(kind):
    names = []
    for mapping in ("MODEL_FOR_CAUSAL_LM_MAPPING_NAMES", "MODEL_FOR_MASKED_LM_MAPPING_NAMES", "MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES", "MODEL_MAPPING_NAMES"):
        name = getattr(modeling_auto, mapping).get(kind)
        names += [name] if isinstance(name, str) else list(name or ())
    found = []
    for name in names + classes()[kind]:
        try:
            found.append(named(kind, name))
        except AttributeError:
            pass
    for cls in found:  # a class for the text alone has another configuration
        if cls.config_class.model_type == kind:
            return cls
    if not found:
        raise LookupError("no class")
    return found[0]


def built(kind, cls, folder, dtype=torch.float16):
    """A small model of a class, which it saves. The first error is that of the smallest
    configuration, which says most."""
    first = None
    for values in VARIANTS:
        try:
            config = small(default(kind, cls), values, GIVEN.get(kind, {}) | OF_CLASS.get(cls.__name__, {}))
            with torch.device("meta"):
                size = sum(p.numel() for p in cls(config).parameters())
            if size > PARAMETERS:
                raise ValueError(f"{size // 1_000_000:,} million parameters, with the layers made few")
            torch.manual_seed(7)
            model = cls(config).to(dtype)
            model.save_pretrained(folder)
            return model
        except TimeoutError:
            raise
        except Exception as e:
            first = first or e
    raise first


def quantized(model):
    return {n: m for n, m in model.named_modules() if isinstance(m, (bitsandbytes.nn.Linear4bit, bitsandbytes.nn.Linear8bitLt))}


def bits(t):
    t = t.detach().contiguous()
    return (t.dtype, tuple(t.shape), t.reshape(-1).view(torch.uint8).numpy().tobytes() if t.numel() else b"")


def differences(kind, want, got, plain):
    empty = {n for x in (want, got) for n, m in quantized(x).items() if not m.weight.numel()}  # amn leaves them alone
    a, b = ({n: m for n, m in quantized(x).items() if n not in empty} for x in (want, got))
    if set(a) != set(b):
        return f"modules {sorted(set(a) ^ set(b))[:3]}"
    x, y = ({k: t for k, t in m.state_dict().items() if not any(k.startswith(n + ".") for n in empty)} for m in (want, got))
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
    load = functools.partial(T.PreTrainedModel.from_pretrained.__func__, cls)  # of some classes it wants a file of speakers or decisions too
    model, info = load(folder, device_map="cpu", dtype=torch.float16, output_loading_info=True, **more)
    return model, {k: sorted(map(str, v))[:3] for k, v in info.items() if v}


def said(e):
    return f"{type(e).__name__}: {str(e).strip().splitlines()[0] if str(e).strip() else ''}"[:160]


def one(amn, kind, cls, root):
    plain, again, ours = root / "plain", root / "again", root / "ours"
    digest = hashlib.sha256()
    try:
        model = built(kind, cls, plain)
    except Exception as e:
        return "not built", said(e), ""
    answer = lambda verdict, why: (verdict, why, digest.hexdigest()[:16])
    for to, q in (("nf4", T.BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_compute_dtype=torch.float16)), ("int8", T.BitsAndBytesConfig(load_in_8bit=True))):
        done = subprocess.run([amn, "quantize", "-f", "--json", "--to", to, "-o", ours, plain], capture_output=True, text=True)
        told = json.loads(done.stdout)
        refusal = f"{to}: {told.get('error', {}).get('message', '?')}".replace(str(plain), "")[:160]
        warned = told.get("forgotten", {}).get("breaks_again", "")  # amn says that it may not load
        for file in sorted(ours.glob("*")) if not done.returncode else ():
            digest.update(file.name.encode() + file.read_bytes())
        broken = ""
        try:
            want, wrong = loads(cls, plain, quantization_config=q)
            if not quantized(want):
                return answer("nothing", refusal) if done.returncode else answer("WRONG", f"{to}: transformers quantizes nothing")
            want.save_pretrained(again)
            _, lost = loads(cls, again)
            if wrong != lost:
                raise ValueError(lost)
        except Exception as e:
            broken = f"{to}: {said(e)}"
        if broken and done.returncode:
            return answer("breaks in transformers", broken)
        if done.returncode:
            return answer("refused", refusal)
        try:
            got, lost = loads(cls, ours)
        except Exception as e:
            return answer("breaks in transformers" if broken and warned else "WRONG", f"does not load: {said(e)}; transformers' own: {broken}; amn: {warned}")
        if broken and lost and warned:
            return answer("breaks in transformers", broken)
        if broken:
            return answer("WRONG", f"transformers' own: {broken}; ours: {lost}") if lost else answer("amn alone", broken)
        if lost := (lost if lost != wrong else None) or differences(to, want, got, model):
            return answer("other type" if str(lost).startswith("TYPE") else "WRONG", f"{to}: {lost}".replace("TYPE ", ""))
    return answer("equal", f"{len(quantized(want))} modules")


def asked(amn, kind):
    """The verdict of a type, in bounded time."""
    def late(*_):
        raise TimeoutError(f"more than {SECONDS} s")
    signal.signal(signal.SIGALRM, late)
    with tempfile.TemporaryDirectory() as tmp:
        signal.alarm(SECONDS)
        try:
            kind, _, name = kind.partition("/")
            cls = named(kind, name) if name else class_of(kind)
            name = cls.__name__
            verdict, why, digest = one(amn, kind, cls, pathlib.Path(tmp))
        except (AttributeError, ImportError, LookupError, TimeoutError) as e:
            verdict, why, digest = "not built", str(e).strip().partition("\n")[0], ""
        finally:
            signal.alarm(0)
            gc.collect()
            gc.freeze()  # the libraries, which every collection would walk
    return {"type": kind, "class": name, "verdict": verdict, "why": why, "digest": digest}


AGAIN = "\n## Loaded again\n"
MEANING = {
    "equal": "the same modules, keys and bits of the state_dict as transformers' own",
    "nothing": "no linear module: transformers quantizes nothing, and amn refuses the model",
    "other type": "equal, except that some tensors stay float16 which transformers makes float32",
    "breaks in transformers": "transformers does not load what it quantized and saved itself",
    "amn alone": "the same, but transformers loads what amn quantized",
    "refused": "transformers loads its own model, and amn refuses to quantize it",
    "WRONG": "modules differ, not fixed yet",
    "not built": "no small model could be built",
}


def page(rows):
    """What the sweep found, type by type, with the reason of all that is not equal."""
    part = {k for k, r in rows.items() if (r["verdict"], r["why"]) == ("not built", "no class")}
    of = {v: sorted(k for k, r in rows.items() if r["verdict"] == v and k not in part) for v in MEANING}
    out = [AGAIN, "A small random model of each type in F16 was quantized by amn and by transformers, in NF4 and in LLM.int8(), and loaded by transformers. The verdicts are in",
           "`crosscheck/linears/reload.jsonl`. A type with a line there is not tried again.",
           f"{sum('class' in r for r in rows.values())} of the lines name a class: they were measured after amn began to look at the class in `architectures`.", "",
           "    PYTHONPATH=.venv/quant python3 crosscheck/linears/reload.py --out crosscheck/linears/reload.jsonl --page docs/model-types.md amn",
           "    make crosscheck PART=reload          types that were wrong once, and a random choice of others", "",
           "| verdict | types | meaning |", "|---|---:|---|"]
    out += [f"| {v} | {len(of[v])} | {MEANING[v]} |" for v in MEANING if of[v]]
    out += [f"| part of others | {len(part)} | part of other configurations, without a class of its own |", "", "**equal**: " + ", ".join(of["equal"]) + ".", "",
            "| type | verdict | why |", "|---|---|---|"]
    out += [f"| {k} | {v} | {short(rows[k]['why'])} |" for v in MEANING if v != "equal" for k in of[v]]
    return "\n".join(out) + "\n\n**part of others**: " + ", ".join(sorted(part)) + ".\n"


def short(why):
    return " ".join(why.replace("|", "/").replace("<", "&lt;").split())[:120]


def main():
    flags = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("amn")
    flags.add_argument("--out", type=pathlib.Path)
    flags.add_argument("--page", type=pathlib.Path)
    flags.add_argument("types", nargs="*")
    a = flags.parse_args()
    rows = [json.loads(line) for line in a.out.read_text().splitlines()] if a.out and a.out.exists() else []
    done = {r["type"] for r in rows}
    for kind in a.types or sorted(configuration_auto.CONFIG_MAPPING_NAMES):
        if kind in done:
            continue
        rows.append(asked(a.amn, kind))
        print(json.dumps(rows[-1]), flush=True)
        if a.out:
            with a.out.open("a") as out:
                out.write(json.dumps(rows[-1]) + "\n")
    if a.page:
        text = a.page.read_text()
        a.page.write_text(text[:text.index(AGAIN)] + page({r["type"]: r for r in rows}))
    return 1 if any(r["verdict"] == "WRONG" for r in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
