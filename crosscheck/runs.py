"""Models of transformers as llama.cpp runs them: for each family a tiny random one is
made, amn and llama.cpp's own converter write it, tensors and keys are compared byte
for byte, llama.cpp runs amn's file, and its logits are held against transformers'.

    python3 crosscheck/run.py runs          CROSSCHECK_FAMILIES=llama2,qwen2 for some of them

The keys that describe a model to people are not compared: see runs/reference.py.
"""
import json
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path = [p for p in sys.path if pathlib.Path(p).resolve() != HERE]  # of gguf.py and others
sys.path[:0] = [str(HERE / "ggml"), str(HERE / "runs")]
os.environ |= {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}

import llamacpp  # noqa: E402
import models  # noqa: E402
import numpy as np  # noqa: E402
import reference  # noqa: E402
import torch  # noqa: E402

WORK = pathlib.Path(sys.argv[2])
AMN = os.environ["CROSSCHECK_AMN"]
MOST = 1e-3  # of the standard deviation of the logits
GELU = {"gemma": 1e-2, "gemma2": 1e-2, "gemma3": 1e-2, "starcoder2": 1e-2, "gpt2": 1e-2}  # llama.cpp has GELU as a table of F16
TYPES = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}
rows = []


def amn(*args):
    done = subprocess.run([AMN, *map(str, args)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return "" if done.returncode == 0 else done.stdout.strip() or f"exit {done.returncode}"


def wrong(what, why):
    print(f"{what}: {why}", file=sys.stderr)
    return 1


def same(what, got, want):
    bad = 0
    for kind, a, b in zip(("key", "tensor"), got, want):
        for name in sorted(set(a) | set(b)):
            if a.get(name) != b.get(name):
                show = lambda x: "nothing" if x is None else str(x[:2] if kind == "tensor" else x)[:160]  # noqa: E731
                bad += wrong(what, f"{kind} {name}: {show(a.get(name))}, want {show(b.get(name))}")
    return bad


def family(name, converter, run):
    counted = bad = 0
    for kind, dtype in TYPES.items():
        folder = WORK / f"tiny{list(models.FAMILIES).index(name)}-{kind}"  # llama.cpp goes by names: "phi3"
        folder.mkdir()
        model, pre = models.make(name, folder, dtype)
        ours, theirs = WORK / f"{name}-{kind}.gguf", WORK / f"{name}-{kind}-reference.gguf"
        extra = ["--gguf-kv", f"tokenizer.ggml.pre={pre}"] if pre else []
        if why := amn("convert", folder, "--to", "gguf", "-o", ours, *extra):
            bad += wrong(name, why)
            continue
        converter.write(folder, theirs, kind, pre)
        got, want = converter.read(ours), converter.read(theirs)
        counted += sum(int(np.prod(t[1])) for t in want[1].values())
        bad += same(f"{name} {kind}", got, want)
        if kind == "f32":
            bad += runs(name, model, run, ours)
    rows.append([f"runs: {name}", f"llama.cpp's converter, and its logits in F32", counted, bad])


def runs(name, model, run, path):
    tokens = [1, *np.random.default_rng(1).integers(3, models.VOCAB - 8, 23)]
    with torch.no_grad():
        want = model(torch.tensor([tokens])).logits[0].float().numpy()
    got, why = reference.logits(run, path, tokens)
    if got is None:
        return wrong(name, f"llama.cpp does not run it: {why}")
    off = float(np.abs(got - want).max() / want.std())
    print(f"{name}: logits differ by {off:.2g} of their deviation", file=sys.stderr)
    return 0 if off <= GELU.get(name, MOST) else wrong(name, f"logits differ by {off:.3g}")


def main():
    tree = llamacpp.sources()
    converter = reference.Converter(tree)
    run = llamacpp.program(tree, llamacpp.library(tree), HERE / "runs" / "logits.cpp")
    chosen = os.environ.get("CROSSCHECK_FAMILIES")
    for name in chosen.split(",") if chosen else models.FAMILIES:
        family(name, converter, run)
    print(json.dumps(rows))


main()
