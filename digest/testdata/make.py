"""Writes one model in several formats, and the digests of its arrays by hashlib.

numpy 2, torch 2 and safetensors write the files: python digest/testdata/make.py
"""
import hashlib, os
import numpy as np, torch
from safetensors.numpy import save_file

here = os.path.dirname(os.path.abspath(__file__))
rng = np.random.default_rng(7)
model = {
    "w.f32": rng.standard_normal((5, 7)).astype(np.float32),
    "w.f16": rng.standard_normal((3, 4, 2)).astype(np.float16),
    "n.i64": rng.integers(-2**62, 2**62, (11,)),
    "b.u8": rng.integers(0, 255, (0, 3)).astype(np.uint8),
    "d.f64": rng.standard_normal((2, 9)),
}
path = lambda name: os.path.join(here, name)
save_file({k: np.ascontiguousarray(v) for k, v in model.items()}, path("a.safetensors"))
np.savez(path("a.npz"), **model)
np.savez(path("big.npz"), **{k: v.astype(v.dtype.newbyteorder(">")) for k, v in model.items()})
torch.save({k: torch.from_numpy(v.copy()) for k, v in model.items()}, path("a.pt"))
torch.save({k: torch.from_numpy(np.ascontiguousarray(v.T)).permute(*reversed(range(v.ndim))) for k, v in model.items()}, path("strided.pt"))
with open(path("sums.txt"), "w") as f:
    for k, v in model.items():
        le = np.ascontiguousarray(v.astype(v.dtype.newbyteorder("<")))
        f.write(f"{k} {hashlib.sha256(le.tobytes()).hexdigest()}\n")
