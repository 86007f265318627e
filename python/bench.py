"""Times loading with anamnesis, torch.load and safetensors in one run: python bench.py [SIZE TENSORS]...

A size is in bytes, or with kB, MB or GB. All take turns, seven times, in this process, with the file in
the system's cache; the best and the median are printed, so that a machine that others keep busy shows. "load" makes the tensors; "load and
sum" touches every byte of them, as a model that runs does.
"""

import statistics
import sys
import tempfile
import time
from pathlib import Path

import safetensors.torch
import torch

import anamnesis_models


ROUNDS = 7


def once(f):
    begin = time.perf_counter()
    made = f()
    took = time.perf_counter() - begin
    del made
    return took


def summed(load):
    return lambda: [t.view(torch.int32).sum() for t in load().values()]


UNITS = {"kB": 1000, "MB": 10**6, "GB": 10**9}
USUAL = ("1kB", 1, "100MB", 300, "2GB", 300)


def size_of(text):
    for unit, n in UNITS.items():
        if text.endswith(unit):
            return int(text[: -len(unit)]) * n
    return int(text)


def main(size, count):
    with tempfile.TemporaryDirectory() as folder:
        plain, pickled = Path(folder, "a.safetensors"), Path(folder, "a.pt")
        tensors = {f"layer.{i}.weight": torch.rand(size_of(size) // (4 * count)) for i in range(count)}
        safetensors.torch.save_file(tensors, plain)
        torch.save(tensors, pickled)
        del tensors
        rows = {
            "safetensors.torch.load_file": lambda: safetensors.torch.load_file(plain),
            "anamnesis_models.load_file": lambda: anamnesis_models.load_file(plain),
            "torch.load": lambda: torch.load(pickled, weights_only=True),
            "torch.load, mmap=True": lambda: torch.load(pickled, weights_only=True, mmap=True),
            "anamnesis_models.load_checkpoint": lambda: anamnesis_models.load_checkpoint(pickled),
        }
        print(f"{size} in {count} tensors; anamnesis {anamnesis_models.version()}, torch {torch.__version__}, safetensors {safetensors.__version__}")
        times = {(name, touch): [] for name in rows for touch in (False, True)}
        for _ in range(ROUNDS):
            for (name, touch), taken in times.items():
                taken.append(once(summed(rows[name]) if touch else rows[name]) * 1e3)
        for name in rows:
            said = (f"{min(t):9.2f} ms (median {statistics.median(t):9.2f})" for t in (times[name, False], times[name, True]))
            print(f"{name:30} load {next(said)}   load and sum {next(said)}")


if __name__ == "__main__":
    given = sys.argv[1:] or USUAL
    for size, count in zip(given[::2], given[1::2]):
        main(size, int(count))
