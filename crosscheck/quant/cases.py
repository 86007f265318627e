"""The frame of the cross-check of quantization schemes.

A case is a model as a library writes it and what the library's own decoder
makes of it in float32. Our decoder must give the same bits in float32, and
after one rounding in BF16 and F16.
"""
import collections
import json
import pathlib
import subprocess
import tempfile

import torch
from safetensors.torch import save_file

# One weight or several; expect maps their names to float32. A model that is not
# safetensors writes itself: write(folder) gives the path. What as_ names is whose
# arithmetic is asked for, in place of float32 rounded once.
Case = collections.namedtuple("Case", "scheme oracle tensors config expect write as_", defaults=[None, ""])

# How many elements grown shapes have; 0 leaves them as they are.
GROWTH = 0


def grown(*shapes):
    """Shapes (rows, cols, ...) with rows and cols multiplied by one factor until
    they hold about GROWTH elements."""
    for rows, cols, *rest in shapes:
        factor = max(1, round((GROWTH / (rows * cols)) ** 0.5))
        yield (rows * factor, cols * factor, *rest)


class Table:
    """Counts elements and differences by scheme and oracle."""

    def __init__(self, binary, enough):
        self.binary = binary
        self.enough = enough  # elements after which a row takes no more cases, 0 for no end
        self.rows = collections.OrderedDict()
        self.failures = []

    def check(self, cases):
        batch, held = [], 0
        for case in cases:
            if 0 < self.enough <= self.rows.get((case.scheme, case.oracle), [0])[0]:
                continue
            batch.append(case)
            held += sum(t.numel() for t in case.expect.values())
            if held > 1 << 23:
                self.decode(batch)
                batch, held = [], 0
        self.decode(batch)

    def decode(self, cases):
        for as_ in sorted({c.as_ for c in cases}):
            self.decode_as(as_, [c for c in cases if c.as_ == as_])

    def decode_as(self, as_, cases):
        with tempfile.TemporaryDirectory() as root:
            root = pathlib.Path(root)
            paths = []
            for i, case in enumerate(cases):
                folder = root / str(i)
                folder.mkdir()
                paths.append(str(case.write(folder) if case.write else store(case, folder)))
            for target, dtype in (("f32", torch.float32), ("bf16", torch.bfloat16), ("f16", torch.float16)):
                out = root / target
                out.mkdir()
                run = subprocess.run([self.binary, *(["--as", as_] if as_ else []), target, str(out), *paths], stdout=subprocess.PIPE, text=True, check=True)
                for case, line in zip(cases, run.stdout.splitlines(), strict=True):
                    self.compare(case, json.loads(line), dtype)

    def compare(self, case, got, dtype):
        row = self.rows.setdefault((case.scheme, case.oracle), [0, 0])
        if got.get("error"):
            self.fail(case, row, got["error"])
            return
        weights = {w["name"]: w for w in got.get("weights") or []}
        if set(weights) != set(case.expect):
            self.fail(case, row, f"weights {sorted(weights)}, want {sorted(case.expect)}; plain {got.get('plain')}")
            return
        for name, want in case.expect.items():
            if list(want.shape) != (weights[name]["shape"] or []):
                self.fail(case, row, f"{name}: shape {weights[name]['shape']}, want {list(want.shape)}")
                continue
            path = pathlib.Path(weights[name]["file"])
            raw = bytearray(path.read_bytes())
            path.unlink()
            have = torch.frombuffer(raw, dtype=dtype) if raw else torch.empty(0, dtype=dtype)
            bad = differences(have, want.flatten().to(dtype))
            if dtype == torch.float32:
                row[0] += have.numel()
            row[1] += bad
            if bad:
                self.failures.append(f"{case.scheme} {name}: {bad} of {have.numel()} differ ({dtype})")

    def fail(self, case, row, why):
        row[1] += 1
        self.failures.append(f"{case.scheme}: {why}")


def store(case, folder):
    """Writes the model as its library stores it; gives the path."""
    config = dict(case.config or {})
    metadata = config.pop("__metadata__", None)
    save_file({k: v.contiguous() for k, v in case.tensors.items()}, folder / "model.safetensors", metadata)
    if config:
        (folder / "config.json").write_text(json.dumps(config, indent=1) + "\n")
    return folder / "model.safetensors"


def differences(have, want):
    """How many have other bits; a NaN is a NaN, and zeros have their sign."""
    bits = torch.int32 if have.dtype == torch.float32 else torch.int16
    same = have.contiguous().view(bits) == want.contiguous().view(bits)
    same |= have.isnan() & want.isnan()
    return int((~same).sum())
