"""Writes quant/*/testdata: of every scheme the smallest case of the
cross-check as the library wrote it, and the float32 that the library decodes.
run.py --golden starts it for each module: golden.py ROOT MODULE.

The versions stand in the requirements files, and in each folder's oracle.txt.
"""
import importlib
import pathlib
import re
import sys
import warnings

import torch

from cases import store

warnings.filterwarnings("ignore")
root = pathlib.Path(sys.argv[1])
# The folders of quant that have other names than the libraries' cases begin with.
FOLDERS = {"bitsandbytes": "bnb", "comfyui": "comfy", "int8": "w8a8", "metal": "mlx", "mxfp8": "fp8", "packed": "compressed", "sparse": "compressed"}
smallest = {}
with torch.no_grad():
    for case in importlib.import_module(sys.argv[2]).cases(torch.Generator().manual_seed(1)):
        size = sum(t.numel() for t in case.expect.values())
        if not case.write and (case.scheme not in smallest or size < smallest[case.scheme][0]):
            smallest[case.scheme] = (size, case)
for scheme, (_, case) in sorted(smallest.items()):
    name = re.sub(r"[^a-z0-9]+", "-", scheme.lower()).strip("-")
    first = name.partition("-")[0]
    folder = root / "quant" / FOLDERS.get(first, first) / "testdata" / name
    folder.mkdir(parents=True)
    store(case, folder)
    for weight, want in case.expect.items():
        (folder / f"{weight}.f32").write_bytes(want.contiguous().float().numpy().astype("<f4").tobytes())
    (folder / "oracle.txt").write_text(f"{scheme}\n{case.oracle}\n" + (f"as {case.as_}\n" if case.as_ else ""))
