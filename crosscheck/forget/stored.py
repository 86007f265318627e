"""What groups.py and scaled.py share: models that amn quantize stored, beside what a
library makes of the same numbers.
"""
import os
import subprocess
import sys

import torch
from safetensors.torch import load_file, save_file


def amn(*args):
    subprocess.run([os.environ["CROSSCHECK_AMN"], *map(str, args)], check=True, stdout=subprocess.DEVNULL)


def differ(a, b):
    """How many bytes of two tensors differ; all, if they are of two kinds."""
    if a is None or a.dtype != b.dtype or a.shape != b.shape:
        return max(1, b.numel())
    a, b = (x.contiguous().reshape(-1).view(torch.uint8) for x in (a, b))
    return int((a != b).sum())


def compare(model, root, to, library):
    """The numbers of a model that amn stores as a target, and how many bytes differ from
    what library(name, weight, target) makes of each."""
    save_file(model, root / "in.safetensors")
    amn("forget", "-q", "-f", "--to", to, "-o", root / "out.safetensors", root / "in.safetensors")
    got = load_file(root / "out.safetensors")
    n = bad = 0
    for name, w in model.items():
        n += w.numel()
        for k, v in library(name, w, to).items():
            d = differ(got.pop(k, None), v)
            if d:
                print(f"{to}, {w.dtype}: {k} {tuple(w.shape)}: {d} differ", file=sys.stderr)
            bad += d
    return n, bad + len(got)


def codes(numbers, shapes, elements, root, to, library):
    """The same of fresh models, until there were so many elements: numbers(type, shapes)
    makes one."""
    n = bad = 0
    grown = [(a * f, b * f) for f in (1, 3) for a, b in shapes]
    while n < elements:
        for kind in (torch.bfloat16, torch.float16, torch.float32):
            more, wrong = compare(numbers(kind, grown), root, to, library)
            n, bad = n + more, bad + wrong
    return n, bad
