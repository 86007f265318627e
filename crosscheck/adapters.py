"""Adapters of many types of models, merged by amn and by PEFT: transformers' report of the merged folder must be empty, and the
model must answer what PEFT's merge_and_unload answers.

    python3 crosscheck/run.py adapters       CROSSCHECK_TYPES="gpt2 t5" CROSSCHECK_ADAPTERS="head resized" for some
    adapters.py DUMP WORK                    as run.py calls it
                                             CROSSCHECK_LEDGER=FILE: a line of JSON for each answer; what it has is not asked again

    linear      every linear module but the head, Conv1D too
    head        the output layer
    embedding   the input embedding
    both        both, in one adapter that keeps them tied (ensure_weight_tying)
    whole       the output layer is saved whole (modules_to_save)
    kept tied   the input embedding is, and the output layer stays tied to it (ensure_weight_tying)
    resized     after resize_token_embeddings
    tokens      trainable_token_indices
    added       trainable_token_indices after resize_token_embeddings
    experts     target_parameters: the stacked experts, which transformers saves one by one

Every type is tried with tied embeddings and without, where its configuration has the choice. The names of the modules are those that
the model itself gives its embeddings and its output layer. Verdicts:

    equal       no key is missing, unexpected, mismatched or initialized, and the answers differ by no more than roundings
    refused     amn writes nothing, and says why
    not merged  PEFT does not train, save, load or merge it, with its reason; or its own merged model answers other than the adapted one
    WRONG       all else
"""
import collections
import datetime
import gc
import json
import os
import pathlib
import sys
import tempfile
import traceback
import warnings

import loads  # its path too
import peft
import reload as small
import torch
import transformers as T
from feed import Feed
from safetensors.torch import load_file
from targets import amn

warnings.filterwarnings("ignore")
TYPES = """llama qwen2 gemma2 gemma3_text gpt2 openai-gpt gpt_neo gptj gpt_neox gpt_bigcode opt bloom mpt falcon phi codegen ctrl biogpt cohere granite mamba
    bert roberta distilbert albert electra deberta-v2 xlm-roberta modernbert t5 mt5 bart mbart marian pegasus blenderbot m2m_100 led whisper xglm
    qwen3_moe mixtral qwen2_moe olmoe deepseek_v3 glm4_moe gpt_oss granitemoe llama4_text jamba minimax nemotron_h""".split()
MAMBA = ("falcon_h1", "mamba", "mamba2", "falcon_mamba", "nemotron_h")  # PEFT refuses to adapt their out_proj
OWN = loads.OWN | {"nemotron_h": {"moe_intermediate_size": 192}}  # of a square expert, the shapes do not say which parameter is meant
SHAPES = ["linear", "head", "embedding", "both", "whole", "kept tied", "resized", "tokens", "added", "experts"]


def name_of(model, module):
    return next((n for n, m in model.named_modules(remove_duplicate=False) if m is module), None) if module is not None else None


def arguments(shape, model):
    """LoraConfig's arguments, and by how many rows the vocabulary grows; None where the model has no such modules."""
    embedding, head = (name_of(model, m) for m in (model.get_input_embeddings(), model.get_output_embeddings()))
    linear = [n for n, m in model.named_modules() if type(m).__name__ in ("Linear", "Conv1D") and n != head and m.weight.numel()]
    stacks = [n for n, p in model.named_parameters() if p.dim() == 3 and "experts" in n]
    some = dict(r=4, lora_alpha=8, target_modules=linear)
    if any(type(m).__name__ == "Conv1D" for m in model.modules()):
        some["fan_in_fan_out"] = True
    if model.config.model_type in MAMBA:
        linear[:] = [n for n in linear if not n.endswith(".out_proj")]
    plain = [n for n in linear if type(model.get_submodule(n)).__name__ == "Linear"]
    return {
        "linear": (some, 0) if linear else None,
        "head": (dict(r=4, lora_alpha=8, target_modules=[head]), 0) if head else None,
        "embedding": (dict(r=4, lora_alpha=8, target_modules=[embedding]), 0) if embedding else None,
        "both": (dict(r=4, lora_alpha=8, target_modules=[embedding, head], ensure_weight_tying=True), 0) if head and embedding else None,
        "whole": (some | dict(modules_to_save=[head]), 0) if head else None,
        "kept tied": (some | dict(modules_to_save=[embedding], ensure_weight_tying=True), 0) if head and embedding else None,
        "resized": (some, 5) if embedding else None,
        "tokens": (some | dict(trainable_token_indices={embedding: [9, 3, 5]}), 0) if embedding else None,
        "added": (some | dict(trainable_token_indices={embedding: [-1, 3]}), 5) if embedding else None,
        "experts": (dict(r=4, lora_alpha=8, target_modules=plain[:1], target_parameters=stacks), 0) if stacks and plain else None,
    }[shape]


def roused(model, seed):
    """Gives an adapter numbers as training leaves them."""
    g = torch.Generator().manual_seed(seed)
    for name, p in model.named_parameters():
        if "lora_" in name or "modules_to_save" in name or "trainable_tokens" in name:
            with torch.no_grad():
                p.copy_((torch.randn(p.shape, generator=g) * (0.3 if "_A" in name else 0.05)).to(p.dtype))
    return model


def one(shape, kind, cls, root, fed):
    plain, adapter, ours = root / "plain", root / "adapter", root / "ours"

    def base(more=0):
        model = cls.from_pretrained(plain, dtype=torch.float32, device_map="cpu")
        if more:
            torch.manual_seed(3)
            model.resize_token_embeddings(model.get_input_embeddings().weight.shape[0] + more)
        return model

    model = base()
    asked = arguments(shape, model)
    if asked is None:
        return None
    config, more = asked
    rows = model.get_input_embeddings().weight.shape[0] + more if more else 0
    if "trainable_token_indices" in config and more:
        config["trainable_token_indices"] = {k: [t % rows for t in v] for k, v in config["trainable_token_indices"].items()}
    try:
        tuned = roused(peft.get_peft_model(base(more), peft.LoraConfig(task_type=None, **config)), 100)
        tuned.save_pretrained(adapter)
        if more and not any(v.shape[0] == rows for k, v in load_file(adapter / "adapter_model.safetensors").items() if "lora_" not in k):
            more = 0  # PEFT saves no rows where vocab_size is inside text_config: its users load the adapter beside the base as it was
        again = peft.PeftModel.from_pretrained(base(more), adapter)
        before = fed(again.get_base_model())
        merged = again.merge_and_unload()
        want = fed(merged)
    except Exception as e:
        if os.environ.get("CROSSCHECK_TRACE"):
            traceback.print_exc()
        return "not merged", small.said(e), 0
    faithful = loads.apart(before, want, 1e-3)
    done = amn("merge-lora", "--json", "-f", "-o", ours, plain, adapter)
    if done.returncode:
        return "refused", json.loads(done.stdout.splitlines()[0])["error"]["message"][:300], 0
    try:
        got, info = cls.from_pretrained(ours, dtype=torch.float32, device_map="cpu", output_loading_info=True)
    except Exception as e:
        return "WRONG", f"does not load: {small.said(e)}", 0
    if lost := {k: sorted(map(str, v))[:3] for k, v in info.items() if v}:
        return "WRONG", f"loads with {lost}", 0
    y, n = fed(got), sum(p.numel() for p in got.parameters())
    if not (d := loads.apart(want, y, 1e-4)):
        return "equal", "" if not faithful else f"PEFT's merged model answers other than the adapted one, by {faithful:.3g}", n
    if faithful and not loads.apart(before, y, 1e-4):
        return "equal", f"as the adapted model; PEFT's merged one differs from it by {faithful:.3g}", n
    return "WRONG", f"answers differ by {d:.3g}", n


def of(kind, tied, shapes, root):
    """(shape, class, verdict, why, elements) of each."""
    try:
        cls = small.class_of(kind)
        base = small.LAYERS | small.TOKENS | small.WIDTHS
        small.VARIANTS = (base | small.HEADS | small.HEAD, base | small.HEADS, small.LAYERS | small.TOKENS, small.LAYERS)
        own = small.SMALL.get(kind, {}) | OWN.get(kind, {})
        small.SMALL[kind] = own | {"tie_word_embeddings": tied}
        small.built(kind, cls, root / "plain", torch.float32)
        small.SMALL[kind] = own
        model = cls.from_pretrained(root / "plain", dtype=torch.float32, device_map="cpu")
        head = model.get_output_embeddings()
        if head is None and not tied or head is not None and (head.weight is model.get_input_embeddings().weight) != tied:
            return  # the class leaves no choice
        fed = Feed(model)
        if not fed.how:
            raise ValueError(fed.what)
    except Exception as e:
        if os.environ.get("CROSSCHECK_TRACE"):
            traceback.print_exc()
        for shape in shapes:
            yield shape, "", "not built", small.said(e), 0
        return
    for shape in shapes:
        try:
            answer = one(shape, kind, cls, root, fed)
        except Exception as e:
            if os.environ.get("CROSSCHECK_TRACE"):
                traceback.print_exc()
            answer = "WRONG", small.said(e), 0
        if answer:
            yield shape, cls.__name__, *answer
        gc.collect()


VERSIONS = {"transformers": T.__version__, "peft": peft.__version__, "torch": torch.__version__.partition("+")[0]}


def answers(types, shapes, work, ledger):
    lines = [json.loads(line) for line in open(ledger)] if ledger and os.path.exists(ledger) else []
    known = {(r["type"], r["tied"], r["adapter"]) for r in lines}
    yield from lines
    for kind in types:
        for tied in (True, False):
            asked = [s for s in shapes if (kind, tied, s) not in known]
            if not asked:
                continue
            with tempfile.TemporaryDirectory(dir=work) as tmp:
                for shape, cls, verdict, why, n in of(kind, tied, asked, pathlib.Path(tmp)):
                    row = {"type": kind, "class": cls, "tied": tied, "adapter": shape, "verdict": verdict, "why": why.replace(tmp, "FOLDER"), "elements": n, "date": datetime.date.today().isoformat(), "versions": VERSIONS}
                    print(*list(row.values())[:7], file=sys.stderr, flush=True)
                    if ledger:
                        with open(ledger, "a") as f:
                            print(json.dumps(row), file=f)
                    yield row
            gc.collect()


def main():
    types, shapes = (os.environ.get(k, "").split(",") if os.environ.get(k) else d for k, d in (("CROSSCHECK_TYPES", TYPES), ("CROSSCHECK_ADAPTERS", SHAPES)))
    rows, verdicts = collections.defaultdict(lambda: [0, 0]), collections.defaultdict(collections.Counter)
    for r in answers(types, shapes, sys.argv[2], os.environ.get("CROSSCHECK_LEDGER")):
        rows[r["adapter"]][0] += r["elements"]
        rows[r["adapter"]][1] += r["verdict"] == "WRONG"
        verdicts[r["adapter"]][r["verdict"]] += 1
    print(json.dumps([[f"adapters, {s}: " + ", ".join(f"{n} {v}" for v, n in verdicts[s].items()), f"peft {peft.__version__}, transformers {T.__version__}", *rows[s]] for s in rows]))


if __name__ == "__main__":
    main()
