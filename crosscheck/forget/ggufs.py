"""Compares two GGUF files, tensor by tensor."""
import json
import pathlib
import subprocess

import numpy as np


def read(amn, path):
    """Types, bytes and keys of a file, found by amn: gguf-py does not know all types."""
    listed = json.loads(subprocess.run([amn, "parse", "--json", path], capture_output=True, check=True).stdout)
    data = pathlib.Path(path).read_bytes()
    tensors = {t["name"]: (t["dtype"], t["shape"], data[t["offset"]:][:t["length"]]) for t in listed["tensors"]}
    return tensors, {m["key"] for m in listed["metadata"]}


def compare(amn, first, second):
    """Return how many numbers were compared, and how many tensors or keys differ."""
    (a, keys), (b, others) = read(amn, first), read(amn, second)
    wrong = len(keys ^ others) + sum(a.get(name) != b.get(name) for name in a.keys() | b.keys())
    return sum(int(np.prod(shape)) for _, shape, _ in a.values()), wrong
