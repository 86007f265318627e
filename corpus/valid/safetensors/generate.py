"""Writes this folder's .safetensors files with the reference library's numpy
and torch front ends and with MLX, and what the reference reads back from each
to testdata/safetensors/expect.json.

Python 3.11.7, safetensors 0.8.0, numpy 2.4.6, torch 2.15.0, mlx 0.32.4. Run it
in the root of the repository; the same versions give the same bytes, but for
the order of the two keys in metadata-two.
"""
import hashlib
import json

import mlx.core as mx
import numpy as np
import safetensors
import safetensors.numpy
import safetensors.torch
import torch

OUT, EXPECT = "corpus/valid/safetensors/", {}


def note(name):
    data = open(OUT + name, "rb").read()
    with safetensors.safe_open(OUT + name, framework="np") as f:
        meta = f.metadata()
    EXPECT[name] = {
        "header": int.from_bytes(data[:8], "little"),
        "metadata": meta or {},
        "tensors": {
            key: {"dtype": t["dtype"], "shape": t["shape"], "sha256": hashlib.sha256(t["data"]).hexdigest()}
            for key, t in safetensors.deserialize(data)
        },
    }


def numpy(name, tensors, metadata=None):
    safetensors.numpy.save_file(tensors, OUT + name, metadata=metadata)
    note(name)


def pytorch(name, tensors, metadata=None):
    safetensors.torch.save_file(tensors, OUT + name, metadata=metadata)
    note(name)


def random(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)))


# Every type that each front end can write.
rng = np.random.default_rng(3)
numpy("numpy-types.safetensors", {
    "tensor of " + t: rng.integers(0, 2, (2, 3)).astype(t)
    for t in ("bool", "int8", "uint8", "int16", "uint16", "float16", "int32", "uint32", "float32", "complex64", "float64", "int64", "uint64")
})
types = [torch.bfloat16, torch.float16, torch.float32, torch.float64, torch.complex64, torch.bool, torch.uint8, torch.int8,
         torch.int16, torch.uint16, torch.int32, torch.uint32, torch.int64, torch.uint64,
         torch.float8_e4m3fn, torch.float8_e5m2, torch.float8_e4m3fnuz, torch.float8_e5m2fnuz]
tensors = {str(t): random(2, 4).abs().to(t) for t in types}
raw = torch.arange(8, dtype=torch.uint8).reshape(2, 4)
tensors["torch.float8_e8m0fnu"] = raw.clone().view(torch.float8_e8m0fnu)
tensors["torch.float4_e2m1fn_x2"] = raw.clone().view(torch.float4_e2m1fn_x2)
pytorch("torch-types.safetensors", tensors)

# Shapes at their edges.
numpy("shapes.safetensors", {
    "scalar": np.array(7, "float32"), "one": np.ones(1, "float32"), "none": np.ones(0, "float32"), "none of 3x0x5": np.ones((3, 0, 5), "int64"),
    "64 dimensions": np.ones((1,) * 63 + (2,), "uint8"), "odd": np.ones((3, 1, 7), "uint8"), "none too": np.ones((0, 0), "uint8"),
})

# Names of any script, and those that JSON escapes.
names = ["", " ", "weight", "модель.слои.0", "層.0.重み", "طبقة", "emoji 😀", 'quote "', "back\\slash", "tab\tnewline\nreturn\rfeed\fback\b", "nul\0",
         "\x01\x1f\x7f", "a/b/../c", "line\u2028separator", "<&>", "x" * 300]
numpy("names.safetensors", {n: np.full(1, i, "uint8") for i, n in enumerate(names)}, {"ключ \"": "значение\n"})

numpy("no-tensors.safetensors", {})
numpy("no-tensors-metadata.safetensors", {}, {"format": "np"})
pytorch("metadata-one.safetensors", {"w": random(2, 2).to(torch.bfloat16)}, {"format": "pt"})
pytorch("metadata-two.safetensors", {"w": random(2, 2)}, {"format": "pt", "step": "1000"})
numpy("metadata-empty.safetensors", {"w": np.ones(2, "float32")}, {})


class Tied(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = torch.nn.Embedding(4, 2)
        self.head = torch.nn.Linear(2, 4, bias=False)
        self.head.weight = self.embed.weight
        with torch.no_grad():
            self.embed.weight.copy_(random(4, 2))


safetensors.torch.save_model(Tied(), OUT + "tied.safetensors")
note("tied.safetensors")

# MLX pads nothing and orders the fields of an entry by name.
mx.save_safetensors(OUT + "mlx.safetensors", {"w": mx.arange(6, dtype=mx.bfloat16).reshape(2, 3), "b": mx.array([1.5, -2.5]), "n": mx.array(3, dtype=mx.uint8)})
note("mlx.safetensors")
mx.save_safetensors(OUT + "mlx-metadata.safetensors", {"layers.0.w": mx.ones((3,), dtype=mx.float16), "layers.1.w": mx.zeros((0, 4))}, {"format": "mlx"})
note("mlx-metadata.safetensors")

with open("testdata/safetensors/expect.json", "w") as f:
    json.dump(EXPECT, f, indent=1, sort_keys=True)
    f.write("\n")
