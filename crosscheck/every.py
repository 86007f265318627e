"""Every model type that transformers builds, quantized by amn and loaded again: no key missing, unexpected, mismatched or
initialized, all parameters and all answers those of the folder that `amn dequantize` makes of the same file.

    python3 crosscheck/run.py every          CROSSCHECK_TYPES="qwen3_moe bert" CROSSCHECK_FORMATS="fp8 w4a16" for some
    every.py DUMP WORK                       as run.py calls it
                                             CROSSCHECK_LEDGER=FILE: a line of JSON for each answer (contract/ledger.py); what it has is
                                             not asked again, but with CROSSCHECK_AGAIN=1 if another amn than CROSSCHECK_COMMIT wrote it,
                                             as in loads.py. Without one, the ordinary types alone
                                             CROSSCHECK_JOBS=2: types at once
                                             CROSSCHECK_FIRST=N: no more than so many types

Each type has a process of its own, forked from one that has imported the libraries, with bounded memory and processor time. Widths
are whole groups (256 and 512). A line of the ledger is one of loads.py, with the class, and with what the model ran with. Verdicts
beside those of loads.py:

    numbers     as there, or no input is known with which the model runs here: parameters and buffers are compared alone
    breaks      transformers does not load again what it saved itself
    not built   no small model could be built, or nobody builds this type alone
"""
import collections
import datetime
import gc
import json
import os
import pathlib
import resource
import shutil
import signal
import sys
import tempfile
import time

import loads
import reload as small
import torch
import transformers as T
from transformers.models.auto.configuration_auto import CONFIG_MAPPING_NAMES

HERE = pathlib.Path(__file__).resolve().parent
WIDTH = "whole"
SECONDS, MEMORY = 300, 10 << 30  # of processor time and of data, of one type
ORDINARY = """llama qwen2 qwen3 qwen3_moe mixtral mistral gemma3 gemma3_text phi3 deepseek_v3 gpt_oss bert whisper vit t5 llava qwen2_5_vl qwen3_vl clip glm4_moe gemma2
    deepseek_v2 llama4 mistral3 granite cohere2 olmo2 smollm3 starcoder2 qwen3_next nemotron_h falcon_h1 roberta modernbert siglip wav2vec2 hubert""".split()


def build(kind, root):
    """A small model, saved; its class."""
    cls = small.class_of(kind)
    base = small.LAYERS | small.TOKENS | loads.SIZES
    small.VARIANTS = (base | small.HEADS, base, small.LAYERS | small.TOKENS, small.LAYERS, small.TOKENS, {})
    small.SMALL[kind] = small.SMALL.get(kind, {}) | loads.OWN.get(kind, {})
    small.built(kind, cls, root / "plain", torch.bfloat16)
    return cls


def of(kind, formats, root, older):
    """(target, class, verdict, why, elements, input, what else the row has) of each target."""
    try:
        cls = build(kind, root)
    except Exception as e:
        name, why = "", "no class of its own: part of other configurations" if str(e) == "no class" else small.said(e)
        yield from ((to, name, "not built", why, 0, "", {}) for to in formats)
        return
    left = []
    for to in formats:  # what was loaded before is not loaded again, and needs no input
        old = older.get((kind, to))
        try:
            wrote = loads.Wrote(to, root)
        except Exception as e:
            yield to, cls.__name__, "WRONG", small.said(e), 0, "", {}
            continue
        digest = wrote.digest()
        if more := loads.again(old, digest):
            yield to, old["class"], old["verdict"], old["why"], old["elements"], old["ran"], more
        elif wrote.refused:
            yield to, cls.__name__, *loads.one(to, cls, root, None, wrote), "", {"wrote": digest}
        else:
            left.append((to, wrote, digest))
    if not left:
        return
    try:
        model, info = cls.from_pretrained(root / "plain", dtype=torch.bfloat16, device_map="cpu", output_loading_info=True)
        lost = {k: sorted(map(str, v))[:3] for k, v in info.items() if v}
        why = f"its own folder loads with {lost}" if lost else ""
    except Exception as e:
        if "INTERNAL ASSERT FAILED" in str(e):
            raise  # about this machine, not about the model
        why = f"does not load its own folder: {small.said(e)}".replace(str(root / "plain"), "FOLDER")
    if why:
        yield from ((to, cls.__name__, "breaks", why, 0, "", {}) for to, _, _ in left)
        return
    fed = loads.Feed(model)
    del model
    for to, wrote, digest in left:
        try:
            verdict, why, n = loads.one(to, cls, root, fed, wrote)
        except Exception as e:
            if os.environ.get("CROSSCHECK_TRACE"):
                raise
            verdict, why, n = "WRONG", small.said(e), 0
        if verdict == "equal" and not fed.how:
            verdict, why = "numbers", f"{why}; not run: {fed.what}"
        yield to, cls.__name__, verdict, why, n, " ".join(fed.what) if fed.how else "", {"wrote": digest}
        gc.collect()


def row(kind, to, cls, verdict, why, n, ran, more):
    return {"type": kind, "class": cls, "width": WIDTH, "to": to, "verdict": verdict, "why": why[:300], "elements": n, "ran": ran, "date": datetime.date.today().isoformat(), "versions": loads.versions(to), **more}


def child(kind, formats, work, ledger, older):
    """One type, in a process of its own."""
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 5))
    signal.signal(signal.SIGXCPU, signal.SIG_DFL)
    root = pathlib.Path(tempfile.mkdtemp(dir=work))
    for answer in of(kind, formats, root, older):
        r = row(kind, *answer)
        loads.asked_before.add(ledger, r)
        print(*list(r.values())[:7], r["ran"], f"{time.process_time():.0f} s", file=sys.stderr, flush=True)


def known(ledger):
    return {(r["type"], r["to"]): r for r in loads.known(ledger) if r["width"] == WIDTH}


def sweep(types, formats, work, ledger, jobs):
    older = {(r["type"], r["to"]): r for r in loads.asked_before.rows(ledger) if r["width"] == WIDTH}
    running, left = {}, collections.deque(types)
    while left or running:
        if left and len(running) < jobs:
            kind = left.popleft()
            had = known(ledger)
            if asked := [t for t in formats if (kind, t) not in had]:
                sub = tempfile.mkdtemp(dir=work)
                if pid := os.fork():
                    running[pid] = kind, asked, sub
                else:
                    code = 1
                    try:
                        child(kind, asked, sub, ledger, older)
                        code = 0
                    finally:
                        os._exit(code)
            continue
        pid, status = os.wait()
        kind, asked, sub = running.pop(pid)
        had, why = known(ledger), f"more than {SECONDS} s of processor time" if os.WIFSIGNALED(status) and os.WTERMSIG(status) in (signal.SIGXCPU, signal.SIGKILL) else f"the process ended with status {status}"
        for to in asked:
            if (kind, to) in had:
                continue
            if older.get((kind, to), {}).get("verdict", "not built") != "not built":
                print(kind, to, why, "where it was asked before: asked again next time", file=sys.stderr, flush=True)
            else:
                loads.asked_before.add(ledger, row(kind, to, "", "not built", why, 0, "", {}))
        shutil.rmtree(sub, ignore_errors=True)


def order(kinds):
    """The types that people use first, then those whose tensors transformers joins, of which most went wrong, then the others."""
    rows = (HERE.parent / "internal" / "loaders" / "merged.txt").read_text().splitlines()
    joined = {k for line in rows if not line.startswith("#") for k in line.partition("|")[0].split()}
    common = [k for k in ORDINARY if k in kinds]
    return common + [k for k in kinds if k in joined and k not in common] + [k for k in kinds if k not in joined and k not in common]


def main():
    work = sys.argv[2]
    ledger = os.environ.get("CROSSCHECK_LEDGER") or os.path.join(work, "ledger.jsonl")
    formats = os.environ.get("CROSSCHECK_FORMATS", "").split() or loads.TARGETS
    kinds = sorted(CONFIG_MAPPING_NAMES)
    types = os.environ.get("CROSSCHECK_TYPES", "").split() or (order(kinds) if os.environ.get("CROSSCHECK_LEDGER") else [k for k in ORDINARY if k in kinds])
    had = known(ledger)
    types = [k for k in types if any((k, t) not in had for t in formats)][:int(os.environ.get("CROSSCHECK_FIRST") or len(types))]
    small.classes()
    if types:
        with tempfile.TemporaryDirectory(dir=work) as tmp:
            list(of("llama", formats, pathlib.Path(tmp), {}))  # what the libraries import late is imported once
    gc.collect()
    gc.freeze()
    sweep(types, formats, work, ledger, int(os.environ.get("CROSSCHECK_JOBS") or 1))
    if "CROSSCHECK_LEDGER" in os.environ:
        loads.asked_before.pack(ledger)
    out = []
    for to in formats:
        rows = [r for (kind, t), r in known(ledger).items() if t == to]
        count = collections.Counter(r["verdict"] for r in rows)
        out.append([f"every type to {to}: " + ", ".join(f"{n} {v}" for v, n in count.items()), f"transformers {T.__version__}", sum(r["elements"] for r in rows), count["WRONG"]])
    print(json.dumps(out))


if __name__ == "__main__":
    main()
