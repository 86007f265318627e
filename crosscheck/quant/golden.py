"""Writes testdata/quant/schemes: of every scheme the smallest case of the
cross-check as the library wrote it, and the float32 that the library decodes.

    python crosscheck/quant/golden.py testdata/quant/schemes

The versions stand in requirements.txt, and in each folder's oracle.txt.
"""
import importlib
import json
import pathlib
import re
import shutil
import sys
import warnings

import torch
from safetensors.torch import save_file

from run_modules import MODULES

warnings.filterwarnings("ignore")
root = pathlib.Path(sys.argv[1])
shutil.rmtree(root, ignore_errors=True)
smallest = {}
for name in MODULES:
    for case in importlib.import_module(name).cases(torch.Generator().manual_seed(1)):
        size = sum(t.numel() for t in case.expect.values())
        if case.scheme not in smallest or size < smallest[case.scheme][0]:
            smallest[case.scheme] = (size, case)
for scheme, (_, case) in sorted(smallest.items()):
    folder = root / re.sub(r"[^a-z0-9]+", "-", scheme.lower()).strip("-")
    folder.mkdir(parents=True)
    config = dict(case.config or {})
    save_file({k: v.contiguous() for k, v in case.tensors.items()}, folder / "model.safetensors", config.pop("__metadata__", None))
    if config:
        (folder / "config.json").write_text(json.dumps(config, indent=1) + "\n")
    for weight, want in case.expect.items():
        (folder / f"{weight}.f32").write_bytes(want.contiguous().float().numpy().astype("<f4").tobytes())
    zero = "\nThe sign of a zero is free.\n" if case.either_zero else "\n"
    (folder / "oracle.txt").write_text(f"{scheme}\n{case.oracle}{zero}")
