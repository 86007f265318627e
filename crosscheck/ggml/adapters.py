"""GGUF adapters, merged by amn and by llama.cpp's llama-export-lora.

llama-export-lora is built of its own source against llama.cpp's library (llamacpp.py; its
command line alone is ours, stub/arg.h). It writes an adapted weight as F32 where the base
has F32, else as F16, so a base in BF16 is compared with the same numbers in F32,
rounded once. Its sums are ggml_mul_mat's, whose order is the processor's: a difference is at
most a unit of float32 for each rank, and a unit of the type that is stored.
"""
import subprocess

import gguf
import llamacpp
import numpy as np
import torch

WIDTH, INNER, WORDS = 96, 160, 64
SHAPES = {"token_embd.weight": (WORDS, WIDTH), "output.weight": (WORDS, WIDTH)}
for i in range(2):
    SHAPES |= {f"blk.{i}.attn_q.weight": (WIDTH, WIDTH), f"blk.{i}.ffn_up.weight": (INNER, WIDTH), f"blk.{i}.ffn_down.weight": (WIDTH, INNER), f"blk.{i}.attn_norm.weight": (WIDTH,)}
TYPES = {"F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16}


def write(path, kind, tensors, **more):
    w = gguf.GGUFWriter(path, "llama")
    w.add_type("adapter" if more else "model")
    if more:
        w.add_string("adapter.type", "lora")
        w.add_float32("adapter.lora.alpha", more["alpha"])
    for name, t in tensors.items():
        k = "F32" if t.dim() == 1 else kind
        stored = t.to(TYPES[k])
        if k == "BF16":
            w.add_tensor(name, stored.view(torch.uint8).numpy(), raw_dtype=gguf.GGMLQuantizationType.BF16)
        else:
            w.add_tensor(name, stored.numpy())
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


def adapter(g, rank, without=()):
    """Matrices for each weight of two dimensions; those of the token embedding are the other way round."""
    out = {}
    for name, shape in SHAPES.items():
        if len(shape) == 2 and name not in without:
            rows, cols = shape
            a, b = torch.randn(rank, cols, generator=g) * 0.3, torch.randn(rows, rank, generator=g) * 0.05
            if name.startswith("token_embd"):
                a, b = torch.randn(rows, rank, generator=g) * 0.3, torch.randn(cols, rank, generator=g) * 0.05
            out |= {name + ".lora_a": a, name + ".lora_b": b}
    return out


def read(path):
    """The tensors as they are stored, and float32 of them."""
    out = {}
    for t in gguf.GGUFReader(path).tensors:
        kind = t.tensor_type.name
        raw = torch.from_numpy(np.array(t.data, copy=True))
        shape = [int(n) for n in reversed(t.shape)]
        while len(shape) > 1 and shape[0] == 1 and t.name in SHAPES and len(shape) > len(SHAPES[t.name]):
            shape = shape[1:]  # llama-export-lora writes four dimensions
        out[t.name] = (raw.view(torch.bfloat16) if kind == "BF16" else raw).reshape(shape)
    return out


def cases():
    """name, type of the base, type of the adapters, (rank, alpha, weight, weights left out) of each."""
    yield "F32", "F32", "F32", [(8, 16.0, 1.0, ())]
    yield "F32, adapter in F16", "F32", "F16", [(16, 8.0, 1.0, ("token_embd.weight",))]
    yield "F16", "F16", "F16", [(8, 16.0, 1.0, ())]
    yield "BF16", "BF16", "F32", [(8, 16.0, 1.0, ())]
    yield "alpha 0", "F32", "F32", [(5, 0.0, 0.75, ())]
    yield "two adapters", "F16", "F32", [(8, 16.0, 0.5, ()), (4, 4.0, -0.25, ())]


def merges(work, amn, Row, compare):
    exe = llamacpp.export_lora()
    for n, (name, base, kind, adapters) in enumerate(cases()):
        where = work / f"gguf{n}"
        where.mkdir()
        g = torch.Generator().manual_seed(40 + n)
        weights = {k: torch.randn(s, generator=g).to(TYPES[base]).float() for k, s in SHAPES.items()}
        write(where / "base.gguf", base, weights)
        their = where / "base.gguf"
        if base == "BF16":
            their = where / "wide.gguf"
            write(their, "F32", weights)
        files, scale = [], {k: (w.abs(), 0) for k, w in weights.items()}
        for k, (rank, alpha, weight, without) in enumerate(adapters):
            files.append(where / f"adapter{k}.gguf")
            matrices = adapter(g, rank, without)
            write(files[-1], kind, matrices, alpha=alpha)
            s = abs(weight) * (alpha / rank if alpha else 1)
            for w in weights:
                if w + ".lora_a" in matrices:
                    a, b = (matrices[w + p].to(TYPES[kind]).float().abs() for p in (".lora_a", ".lora_b"))
                    scale[w] = scale[w][0] + s * (a @ b.T if w.startswith("token_embd") else b @ a), scale[w][1] + rank
        flags = [x for f, a in zip(files, adapters) for x in ("--lora-scaled", f"{f}:{a[2]}")]
        done = subprocess.run(list(map(str, [exe, "-m", their, *flags, "-o", where / "theirs.gguf"])), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        row = Row("merge-lora: GGUF " + name, "llama-export-lora, " + llamacpp.VERSION)
        ours = amn("merge-lora", "-q", where / "base.gguf", *files, *(f"--weight={a[2]}" for a in adapters), "-o", where / "ours.gguf")
        if done.returncode or ours.returncode:
            row.wrong(f"exit {done.returncode}, {ours.returncode}: {done.stdout[-400:]}{ours.stderr}")
        else:
            want = read(where / "theirs.gguf")
            if base == "BF16":
                want = {k: t.bfloat16() if t.dim() > 1 else t for k, t in want.items()}
            compare(row, read(where / "ours.gguf"), want, scale)
        row.done()
