"""Files of torch.save: zip and legacy, every type, views, tied and nested
tensors, protocols 2 to 5, a training checkpoint."""
# The folder of this script must not hide the library of the same name.
import sys

HERE = sys.path.pop(0)
import os
import warnings

import numpy as np
import torch

sys.path.append(HERE)
from harness import Check, Tensor

warnings.filterwarnings("ignore", "ComplexHalf support is experimental")
c = Check(f"torch {torch.__version__}")
rng = np.random.default_rng(20261123)

TYPES = {
    "F64": torch.float64, "F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16, "I64": torch.int64, "I32": torch.int32,
    "I16": torch.int16, "I8": torch.int8, "U8": torch.uint8, "BOOL": torch.bool, "U64": torch.uint64, "U32": torch.uint32,
    "U16": torch.uint16, "C32": torch.complex32, "C64": torch.complex64, "C128": torch.complex128, "F8_E4M3": torch.float8_e4m3fn,
    "F8_E5M2": torch.float8_e5m2, "F8_E4M3FNUZ": torch.float8_e4m3fnuz, "F8_E5M2FNUZ": torch.float8_e5m2fnuz,
    "F8_E8M0": torch.float8_e8m0fnu,
}
NAMES = {v: k for k, v in TYPES.items()}
SHAPES = [(), (0,), (1,), (7,), (3, 5), (2, 0, 4), (2, 3, 4, 5)]
saved = 0


def bits(dtype, shape):
    n = int(np.prod(shape)) * torch.empty((), dtype=dtype).element_size()
    if n == 0:
        return torch.empty(shape, dtype=dtype)
    raw = torch.from_numpy(rng.integers(0, 256, n, dtype=np.uint8))
    if dtype == torch.bool:
        raw &= 1
    return raw.view(dtype).reshape(shape)


def want(t):
    """The elements of a tensor, whatever its strides, through torch itself."""
    t = t.detach()
    dense = t.contiguous().reshape(-1).view(torch.uint8).numpy().tobytes() if t.numel() else b""
    return Tensor(NAMES[t.dtype], tuple(t.shape), dense)


def save(obj, tensors, **options):
    """Both layouts of one object."""
    global saved
    saved += 1
    for zipped in (True, False):
        path = c.path(f"{saved}-{'zip' if zipped else 'legacy'}.pt")
        torch.save(obj, path, _use_new_zipfile_serialization=zipped, **options)
        c.expect(path, {name: want(t) for name, t in tensors.items()})


for dtype in TYPES.values():
    for shape in SHAPES:
        t = bits(dtype, shape)
        save({"w": t}, {"w": t})

for dtype in (torch.float32, torch.bfloat16, torch.int8, torch.float8_e4m3fn, torch.complex64):
    base = bits(dtype, (6, 8))
    views = {
        "whole": base, "transposed": base.t(), "window": base[1:4, 2:7], "sparse": base[::2, ::3], "row": base[2],
        "repeated": base[:1].expand(4, 8), "empty": base[:, :0], "tied": base,
    }
    save(views, views)

model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4), torch.nn.LSTM(4, 2))
state = model.state_dict()
save(state, dict(state))

adam = torch.optim.Adam(model.parameters())
for p in model.parameters():
    p.grad = torch.ones_like(p)
adam.step()
ones, zeros = torch.ones(2), torch.zeros(3)
inside = {f"model.{n}": t for n, t in state.items()} | {"list.0": ones, "list.1.x": zeros}
for i, s in adam.state_dict()["state"].items():
    inside |= {f"optimizer.state.{i}.{n}": t for n, t in s.items()}
save({"model": state, "optimizer": adam.state_dict(), "epoch": 3, "list": [ones, {"x": zeros}]}, inside)

for protocol in (2, 3, 4, 5):
    t = torch.arange(5)
    save({"w": t, "p": torch.nn.Parameter(t.float())}, {"w": t, "p": t.float()}, pickle_protocol=protocol)

# Every kind of checkpoint that the corpus knows, in each layout and protocol.
# Where torch cannot read its own file (legacy files of the newer types), what was
# saved is what must be found.
sys.dont_write_bytecode = True
sys.path.append(os.path.join(HERE, "..", "corpus", "valid", "pth"))
import generate

KNOWN = set(generate.NAMES.values())
for case in generate.cases():
    for legacy in (False, True):
        for protocol in (2, 3, 4, 5):
            data = generate.save(case, legacy, protocol)
            path = c.path(f"{case.name}-{'legacy' if legacy else 'zip'}-{protocol}.pt")
            with open(path, "wb") as f:
                f.write(data)
            c.expect(path, {
                name: Tensor(dtype, tuple(shape), body) if dtype in KNOWN else Tensor("unknown", tuple(shape), None)
                for name, dtype, shape, body in generate.expected(case, data)
            })

c.finish()
