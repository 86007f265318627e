#!/usr/bin/env python3
"""Times merging and the small jobs beside the Python way, as whole processes, one after the other and
interleaved, and prints medians, ratios and the most memory that each held.

    CROSSCHECK_AMN=./amn python3 crosscheck/mergebench/run.py [--folder DIR] [--runs 3] [--layers 10] [JOB ...]
    python3 crosscheck/mergebench/run.py make MADE 10    the models, once; then --made MADE, so that an idle machine is needed for the runs alone

The models are random ones of Llama's shapes in BF16, above 1 GB; the adapter has rank 16
on every linear layer. The Python way is what its library documents: PEFT's
merge_and_unload and save_pretrained, mergekit's run_merge with lazy loading, and
safetensors' load_file and save_file for an edit, a cast and new names, torch.load of a checkpoint
that holds more than tensors, hashlib's SHA-256 of the file and of each tensor, and torch's
own functions for what numbers there are. Starting Python and importing is part
of it, as starting amn is. Neither waits for the disk: amn runs with --no-sync, as no
library syncs; "synced" is amn as it runs by default. "of CPU" is the ratio of the processors' time, which a
busy machine changes less. Run it with a Python that has the packages of
requirements.txt and with quant and merge laid over it (environment.py).
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

AMN = os.environ.get("CROSSCHECK_AMN", "./amn")

PEFT = """
import sys, torch, transformers, peft
base, adapter, out = sys.argv[1:]
m = transformers.AutoModelForCausalLM.from_pretrained(base, dtype="auto")
peft.PeftModel.from_pretrained(m, adapter).merge_and_unload().save_pretrained(out)
"""
MERGEKIT = """
import json, sys
import mergekit.config, mergekit.merge, mergekit.options
recipe, out = sys.argv[1:]
r = json.load(open(recipe))
import pathlib
folder = pathlib.Path(recipe).parent
def absolute(v):
    if isinstance(v, dict):
        return {k: str(folder / x) if k in ("model", "base_model") else absolute(x) for k, x in v.items()}
    return [absolute(x) for x in v] if isinstance(v, list) else v
r = absolute(r) | {"dtype": "float32", "out_dtype": "bfloat16"}
mergekit.merge.run_merge(mergekit.config.MergeConfiguration.model_validate(r), out,
                         mergekit.options.MergeOptions(copy_tokenizer=False, write_model_card=False, quiet=True, lazy_unpickle=True))
"""
SAVE = """
import sys
from safetensors.torch import load_file, save_file
source, out = sys.argv[1:]
save_file(load_file(source), out, metadata={"format": "pt", "name": "mine"})
"""

CAST = """
import sys, torch
from safetensors.torch import load_file, save_file
source, out = sys.argv[1:]
save_file({k: v.to(torch.float16) for k, v in load_file(source).items()}, out, metadata={"format": "pt"})
"""
RENAME = """
import sys
from safetensors.torch import load_file, save_file
source, out = sys.argv[1:]
save_file({k.replace("model.", "net.", 1): v for k, v in load_file(source).items()}, out, metadata={"format": "pt"})
"""
UNPACK = """
import sys, torch
from safetensors.torch import save_file
source, out = sys.argv[1:]
save_file(torch.load(source, map_location="cpu", weights_only=False)["state_dict"], out)
"""
HASH = """
import hashlib, sys, torch
from safetensors import safe_open
with open(sys.argv[1], "rb") as f:
    print(hashlib.file_digest(f, "sha256").hexdigest())
with safe_open(sys.argv[1], "pt") as f:
    for name in f.keys():
        t = f.get_tensor(name)
        print(name, hashlib.sha256(t.contiguous().view(torch.uint8).numpy()).hexdigest())
"""
STATS = """
import sys, torch
from safetensors import safe_open
with safe_open(sys.argv[1], "pt") as f:
    for name in f.keys():
        t = f.get_tensor(name).float()
        n = t[t.isfinite()]
        e = torch.frexp(n).exponent
        print(name, n.min(), n.max(), n.double().mean(), n.double().std(), (t == 0).sum(), t.isnan().sum(), t.isinf().sum(), torch.bincount((e + 200).flatten()).nonzero().numel())
"""


def make(folder, layers):
    import peft
    import torch
    import transformers
    torch.manual_seed(1)
    config = transformers.LlamaConfig(hidden_size=2048, intermediate_size=5632, num_hidden_layers=layers, num_attention_heads=16, num_key_value_heads=16,
                                      vocab_size=32000, tie_word_embeddings=False)
    model = transformers.LlamaForCausalLM(config).to(torch.bfloat16)
    for name in ("base", "a", "b"):
        model.save_pretrained(folder / name, max_shard_size="50GB")
        for p in model.parameters():
            p.data.add_(0.01 * torch.randn_like(p))
    tuned = peft.get_peft_model(model, peft.LoraConfig(r=16, lora_alpha=32, target_modules="all-linear"))
    for name, p in tuned.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(p, std=0.02)
    tuned.save_pretrained(folder / "adapter")
    del tuned
    from safetensors.torch import load_file
    torch.save({"state_dict": load_file(folder / "base" / "model.safetensors"), "hyper_parameters": argparse.Namespace(rate=1e-4)}, folder / "last.ckpt")
    weight = {"weight": 0.5, "density": 0.3}
    recipes = {
        "linear": {"merge_method": "linear", "models": [{"model": m, "parameters": {"weight": 0.5}} for m in ("a", "b")]},
        "slerp": {"merge_method": "slerp", "base_model": "a", "models": [{"model": "b"}], "parameters": {"t": 0.4}},
        "ties": {"merge_method": "ties", "base_model": "base", "models": [{"model": m, "parameters": weight} for m in ("a", "b")]},
        "dare_ties": {"merge_method": "dare_ties", "base_model": "base", "models": [{"model": m, "parameters": weight} for m in ("a", "b")]},
        "dare_linear": {"merge_method": "dare_linear", "base_model": "base", "models": [{"model": m, "parameters": weight} for m in ("a", "b")]},
    }
    for name, r in recipes.items():
        if name == "slerp":
            r["models"] = [{"model": "a"}, {"model": "b"}]
        (folder / f"{name}.json").write_text(json.dumps(r))
    return recipes


def measure(command):
    began = time.monotonic()
    p = subprocess.Popen(list(map(str, command)), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    text = p.stderr.read()
    _, status, usage = os.wait4(p.pid, 0)
    p.returncode = status
    if status:
        sys.exit(f"{command}: {status}: {text.decode()[-2000:]}")
    return time.monotonic() - began, usage.ru_maxrss / 1024, usage.ru_utime + usage.ru_stime


def main():
    flags = argparse.ArgumentParser()
    flags.add_argument("--folder")
    flags.add_argument("--runs", type=int, default=3)
    flags.add_argument("--layers", type=int, default=10)
    flags.add_argument("--made", help="models that were made before")
    flags.add_argument("jobs", nargs="*")
    a = flags.parse_args()
    with tempfile.TemporaryDirectory(dir=a.folder) as tmp:
        folder = pathlib.Path(a.made or tmp)
        if not a.made:  # in a process of its own, so that this one stays small
            subprocess.run([sys.executable, __file__, "make", folder, str(a.layers)], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        size = sum(f.stat().st_size for f in (folder / "base").iterdir())
        print(f"models of {size / 1e9:.2f} GB, {os.cpu_count()} processors, {a.runs} runs")
        jobs = [("merge-lora", [AMN, "merge-lora", "-q", "-f", folder / "base", folder / "adapter", "-o", folder / "o1"],
                 [sys.executable, "-c", PEFT, folder / "base", folder / "adapter", folder / "o2"])]
        for name in ("linear", "slerp", "ties", "dare_ties", "dare_linear"):
            jobs.append((f"merge: {name}", [AMN, "merge", "-q", "-f", folder / f"{name}.json", "-o", folder / "o1"],
                         [sys.executable, "-c", MERGEKIT, folder / f"{name}.json", folder / "o2"]))
        source = folder / "base" / "model.safetensors"
        jobs.append(("edit", [AMN, "edit", "-q", "-f", "--set", "name=mine", "-o", folder / "o3.safetensors", source], [sys.executable, "-c", SAVE, source, folder / "o4.safetensors"]))
        small = [("cast", ["convert", "-q", "-f", "--cast", "f16", "--cast-all", "-o", folder / "o3.safetensors", source], CAST, source),
                 ("rename", ["edit", "-q", "-f", "--rename", "model.*=net.*", "-o", folder / "o3.safetensors", source], RENAME, source),
                 ("tensors-only", ["convert", "-q", "-f", "--to", "safetensors", "--tensors-only", "--select", "state_dict", "-o", folder / "o3.safetensors", folder / "last.ckpt"], UNPACK, folder / "last.ckpt")]
        for name, ours, theirs, of in small:
            jobs.append((name, [AMN, *ours], [sys.executable, "-c", theirs, of, folder / "o4.safetensors"]))
        jobs.append(("hash", [AMN, "hash", "-q", source], [sys.executable, "-c", HASH, source]))
        jobs.append(("stats", [AMN, "stats", "-q", source], [sys.executable, "-c", STATS, source]))
        jobs = [j for j in jobs if not a.jobs or j[0].split(": ")[-1] in a.jobs]
        print(f"{'job':<18} {'amn s':>7} {'Python s':>9} {'ratio':>6} {'of CPU':>7} {'synced s':>9} {'amn MiB':>8} {'Python MiB':>11}")
        for name, ours, theirs in jobs:
            writes = "-o" in ours
            runs = [(measure(ours + ["--no-sync"] * writes), measure(theirs), measure(ours) if writes else (0, 0, 0)) for _ in range(a.runs)]
            x, y, z = (statistics.median(r[k][0] for r in runs) for k in (0, 1, 2))
            m, n = (max(r[k][1] for r in runs) for k in (0, 1))
            c, d = (statistics.median(r[k][2] for r in runs) for k in (0, 1))
            synced = f"{z:.2f}" if writes else "-"
            print(f"{name:<18} {x:>7.2f} {y:>9.2f} {y / x:>6.1f} {d / c:>7.1f} {synced:>9} {m:>8.0f} {n:>11.0f}", flush=True)


if sys.argv[1:2] == ["make"]:
    make(pathlib.Path(sys.argv[2]), int(sys.argv[3]))
else:
    main()
