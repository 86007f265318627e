"""Writes what bitsandbytes makes of chosen numbers.

Run: pip install bitsandbytes==0.50.2 torch==2.15.0 safetensors numpy && python quant/bnb/testdata/encode/generate.py

Each file holds the float32 numbers as "input", and beside them what the library
stores for a weight called "w". mean.safetensors holds torch's means of the
leading numbers of "input".
"""
import os

os.environ["ATEN_CPU_CAPABILITY"] = "avx2"  # before torch: its dynamic map, and its order of adding

import pathlib

import bitsandbytes.functional as F
import numpy as np
import torch
from bitsandbytes.backends.default.ops import _get_4bit_quantize_bounds
from safetensors.torch import save_file

torch.set_num_threads(1)
HERE = pathlib.Path(__file__).parent
g = torch.Generator().manual_seed(20)


def four(name, x, kind="nf4", block=64, nested=False):
    codes, state = F.quantize_4bit(x, quant_type=kind, blocksize=block, compress_statistics=nested)
    tensors = {"input": x.contiguous().clone(), "w": codes} | {f"w.{k}": v.contiguous() for k, v in state.as_dict(packed=True).items()}
    save_file(tensors, HERE / f"{name}.safetensors")


def eight(name, x):
    codes, scales, _ = F.int8_vectorwise_quant(x.clone())
    save_file({"input": x.contiguous().clone(), "w": codes, "SCB": scales}, HERE / f"{name}.safetensors")


def edges(kind):
    """Blocks whose absmax is 1 or close: numbers on every bound and beside it."""
    bounds, _ = _get_4bit_quantize_bounds(kind, torch.device("cpu"))
    values = F.get_4bit_type(kind, device="cpu")
    at = torch.cat([bounds, values]).numpy()
    at = np.concatenate([at, np.nextafter(at, np.float32(2)), np.nextafter(at, np.float32(-2)), -at,
                         np.float32([0.0, -0.0, 1e-45, -1e-45, 1e-38, -1e-38, 1.2e-38])])
    at = at[np.abs(at) <= 1]
    rows = []
    for scale in (1, 0.7, 3, 1e-37, 1e-38, 9e-39, 1e-42, 1e38):
        for top in (1, -1):
            row = np.zeros(-(-len(at) // 63) * 64, np.float32).reshape(-1, 64)
            row[:, 1:].flat[:len(at)] = at
            row[:, 0] = top
            rows.append(row * np.float32(scale))
    return torch.tensor(np.concatenate(rows))


for kind in ("nf4", "fp4"):
    four(f"{kind}-edges", edges(kind), kind)
    four(f"{kind}-random-64", torch.randn((9, 320), generator=g) * 0.02, kind)
    four(f"{kind}-random-32", torch.randn((5, 96), generator=g), kind, 32)
    four(f"{kind}-random-4096", torch.randn((3, 4096), generator=g), kind, 4096)
    four(f"{kind}-partial", torch.randn((7, 50), generator=g), kind, 128)
    four(f"{kind}-odd", torch.randn((3, 67), generator=g), kind)
    four(f"{kind}-one", torch.tensor([[-0.25]]), kind)
    four(f"{kind}-zeros", torch.cat([torch.zeros(64), -torch.zeros(64), torch.randn(64, generator=g), torch.zeros(9)]), kind)
    four(f"{kind}-tiny-partial", torch.tensor([1e-45, -3e-39, 9e-39, 0.0, -0.0]), kind)
    four(f"{kind}-huge", torch.tensor([3.4028235e38, -3.4028235e38, 1e38, 1e-45, 1.7e38, -2.1e38]).repeat(20), kind)
    four(f"{kind}-nested", torch.randn((65, 320), generator=g) * torch.rand((65, 1), generator=g), kind, 64, True)
    four(f"{kind}-nested-partial", torch.randn((257, 33), generator=g), kind, 32, True)

spread = torch.exp(torch.randn(64 * 300, generator=g) * 3).reshape(-1, 64)
four("nested-spread", spread, "nf4", 64, True)
four("nested-equal", torch.ones(32 * 270).reshape(-1, 32), "nf4", 32, True)
four("nested-one", torch.ones((1, 7)), "fp4", 64, True)
four("nested-tiny", torch.rand((300, 32), generator=g) * 1e-40, "nf4", 32, True)
# Scales that stand, their mean taken off, on the edges of the nested steps.
steps = (2 * (torch.arange(0, 65536, 199) + 0.5) / 65535 - 1).float()
four("nested-steps", torch.cat([steps + 1, 2 - steps]).reshape(-1, 1) * torch.ones((1, 32)), "nf4", 32, True)

eight("int8-random", torch.randn((40, 96), generator=g) * torch.rand((40, 1), generator=g))
halves = (torch.arange(-127, 127) + 0.5) / 127
eight("int8-ties", torch.cat([torch.tensor([[s]]) * torch.cat([torch.tensor([1.0]), halves]).reshape(1, -1) for s in (1.0, 127.0, 254.0, -0.3, 1e30, 1e-30)]))
eight("int8-zeros", torch.cat([torch.zeros((2, 33)), -torch.zeros((1, 33)), torch.randn((2, 33), generator=g)]))
eight("int8-tiny", torch.cat([torch.rand((1, 33), generator=g) * s for s in (1e-45, 1e-40, 1e-38, 1.2e-38, 3e-37, 4e-37, 1e-36)]))
eight("int8-huge", torch.randn((3, 17), generator=g).clamp(-3, 3) * 1e38)

numbers = torch.rand(40000, generator=g)
counts = torch.cat([torch.arange(1, 140), torch.tensor([255, 256, 1000, 1023, 1024, 1025, 2047, 2048, 4095, 4096, 4097, 8191, 10007, 32767, 32768, 39999, 40000])])
means = torch.stack([numbers[: int(n)].clone().mean() for n in counts])
save_file({"input": numbers, "count": counts, "mean": means}, HERE / "mean.safetensors")

# What quantizing takes, in float64.
x = torch.cat([torch.randn(80000, generator=g) * 0.05, torch.zeros(64)])
codes, state = F.quantize_4bit(x, quant_type="nf4", blocksize=64)
table = F.get_4bit_type("nf4", device="cpu")
nibbles = torch.stack([codes.flatten() >> 4, codes.flatten() & 15], 1).flatten().long()[: x.numel()]
y = table[nibbles] * state.absmax.repeat_interleave(64)[: x.numel()]
a, b = x.numpy().astype(np.float64), y.numpy().astype(np.float64)
stats = [np.abs(a - b).mean(), np.sqrt(((a - b) ** 2).mean()) / np.sqrt((a**2).mean()), np.abs(a - b).max(),
         a @ b / (np.linalg.norm(a) * np.linalg.norm(b))]
save_file({"stats": torch.tensor(stats, dtype=torch.float64), "input": x, "absmax": state.absmax, "w": codes}, HERE / "distortion.safetensors")
