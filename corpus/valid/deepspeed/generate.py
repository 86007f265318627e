"""Writes the honest checkpoints of this folder with deepspeed 0.19.8 and torch 2.15.0: python3 generate.py, in this folder.

Each is a folder in a ZIP archive. What zero_to_fp32 makes of them is in parser/deepspeed/testdata.
"""
import pathlib
import sys
import tempfile
import zipfile

import torch

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.append(str(ROOT / "crosscheck/kinds"))
import zero_shards  # noqa: E402

NAMES = ["two-two", "two-three", "three-two", "three-tied"]

if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as work:
        folders = zero_shards.write(pathlib.Path(work), NAMES) if len(sys.argv) == 1 else [pathlib.Path(sys.argv[1]) / n for n in NAMES]
        for folder in folders:
            with zipfile.ZipFile(pathlib.Path(__file__).parent / (folder.name + ".zip"), "w") as z:
                for file in sorted(folder.rglob("*")):
                    if file.suffix == ".pt" or file.name == "latest":
                        z.writestr(zipfile.ZipInfo(str(file.relative_to(folder))), file.read_bytes())
            torch.save(zero_shards.merged(folder), ROOT / "parser/deepspeed/testdata" / (folder.name + ".pt"))
