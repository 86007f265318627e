"""Time to load, beside torch.load and safetensors, in one run: python bench.py [MB] [tensors].

Each is the best of seven, in this process, with the file in the system's cache. "load" makes the
tensors; "load and sum" touches every byte of them, as a model that runs does.
"""

import sys
import tempfile
import time
from pathlib import Path

import safetensors.torch
import torch

import anamnesis


def best(f):
    times = []
    for _ in range(7):
        begin = time.perf_counter()
        f()
        times.append(time.perf_counter() - begin)
    return min(times)


def summed(load):
    return lambda: [t.view(torch.int32).sum() for t in load().values()]


def main(megabytes=512, count=300):
    with tempfile.TemporaryDirectory() as folder:
        plain, pickled = Path(folder, "a.safetensors"), Path(folder, "a.pt")
        tensors = {f"layer.{i}.weight": torch.rand((megabytes << 20) // (4 * count)) for i in range(count)}
        safetensors.torch.save_file(tensors, plain)
        torch.save(tensors, pickled)
        del tensors
        rows = {
            "safetensors.torch.load_file": lambda: safetensors.torch.load_file(plain),
            "anamnesis.load_file": lambda: anamnesis.load_file(plain),
            "torch.load": lambda: torch.load(pickled, weights_only=True),
            "torch.load, mmap=True": lambda: torch.load(pickled, weights_only=True, mmap=True),
            "anamnesis.load_checkpoint": lambda: anamnesis.load_checkpoint(pickled),
        }
        print(f"{megabytes} MB in {count} tensors; anamnesis {anamnesis.version()}, torch {torch.__version__}, safetensors {safetensors.__version__}")
        for name, load in rows.items():
            print(f"{name:30} load {best(load) * 1e3:8.1f} ms   load and sum {best(summed(load)) * 1e3:8.1f} ms")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
