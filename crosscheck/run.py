#!/usr/bin/env python3
"""Compares this module with the reference libraries, and prints one table: what
was compared, with which library, how many elements, how many differences.

    python3 crosscheck/run.py [--elements 10000000] [PART ...]
    python3 crosscheck/run.py --golden .

The libraries are installed below .venv/ first, with pinned versions; see
environment.py. Then the parts run one after the other. A part is a format
(safetensors: crosscheck/safetensors.py), all schemes of quantization (quant), one
module of them (quant/fp8), forget, or differential. It ends with 1 if anything differs.

Schemes are compared with the libraries that own them: fresh random models, other
seeds each time, at least so many ELEMENTS of each, decoded to float32, BF16 and
F16. --golden writes the goldens of the tests from the same modules instead.
"""
import argparse
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path = [str(HERE / "quant"), *sys.path]

from environment import Libraries  # noqa: E402
from modules import MODULES  # noqa: E402

FORMATS = sorted(p.stem for p in HERE.glob("*.py") if p.stem not in ("run", "harness", "environment"))
APART = ("forget", "differential")
INPUTS = 20_000  # of each format, in the search of a run of everything
WIDTHS = "{:<46} {:<46} {:>15} {:>12}"


def main():
    flags = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("--elements", type=int, default=10_000_000)
    flags.add_argument("--golden", metavar="ROOT", help="write the goldens of schemes anew, below its folder quant")
    flags.add_argument("parts", nargs="*", metavar="PART")
    a = flags.parse_args()
    parts = chosen(flags, a.parts)
    libraries = Libraries()
    if a.golden:
        golden(pathlib.Path(a.golden), libraries)
        return
    with tempfile.TemporaryDirectory() as tmp:
        built = pathlib.Path(tmp)
        for name, package in (("dump", "./crosscheck/dump"), ("decode", "./crosscheck/quant/decode"), ("amn", "./cli/amn"), ("tokens", "./crosscheck/tokens")):
            subprocess.run(["go", "build", "-o", str(built / name), package], cwd=ROOT, check=True)
        sys.exit(0 if table(parts, libraries, built, a.elements) else 1)


def chosen(flags, names):
    schemes = ["quant/" + m for m in MODULES]
    parts = []
    for name in names or [*FORMATS, "quant", *APART]:
        parts += schemes if name == "quant" else [name]
    for unknown in set(parts) - {*FORMATS, *schemes, *APART}:
        flags.error(f"no part {unknown}: {', '.join([*FORMATS, *schemes, *APART])}")
    return parts


def table(parts, libraries, built, elements):
    """Prints the rows as they come, so that a run which is ended early has shown
    what it found."""
    print(WIDTHS.format("scheme", "oracle", "elements", "differences"), flush=True)
    count, total, bad, good = 0, 0, 0, True
    for part in parts:
        began = time.monotonic()
        rows = run(part, libraries, built, elements)
        for scheme, oracle, n, differences in rows:
            print(WIDTHS.format(scheme, oracle, f"{n:,}", f"{differences:,}"), flush=True)
            good = good and n > 0 and differences == 0
            count, total, bad = count + 1, total + n, bad + differences
        print(f"{part}: {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
    print(WIDTHS.format(f"{count} rows", "", f"{total:,}", f"{bad:,}"))
    return good and count > 0


def run(part, libraries, built, elements):
    """The rows of a part: those its script prints, as JSON, in its last line."""
    with tempfile.TemporaryDirectory() as work:
        seed = str(random.randrange(2**31))
        env = libraries.environment()
        if part.startswith("quant/"):
            name = part.removeprefix("quant/")
            print(f"{part}: seed {seed}", file=sys.stderr, flush=True)
            script, env = ["quant/worker.py", built / "decode", name, elements, seed], libraries.environment(MODULES[name])
        elif part == "forget":
            # The dynamic map of nested scales is that of torch with AVX2 or AVX-512.
            script, env = ["forget/worker.py", built / "amn", 1], libraries.environment(["quant"]) | {"ATEN_CPU_CAPABILITY": "avx2"}
        elif part == "differential":
            script = ["differential/run.py", "--rows", "--python", libraries.python, "--count", INPUTS, "--seed", seed, "--out", ROOT / "differential-out"]
        else:
            if part == "zero":
                libraries.deepspeed()
                env = libraries.environment(["zero"])
            elif part == "tfbundle":
                libraries.tensorflow()
                env = libraries.environment(["tensorflow"])
            elif part in ("cache", "checkpoints", "convert", "groups", "layouts", "quantized", "reload", "runs", "scaled", "served", "split"):
                env = libraries.environment(["quant", "gptqmodel"])
            elif part in ("day", "libraries", "targets"):
                env = libraries.environment(["libraries", "merge", "quant", "gptqmodel"])
            elif part in ("adapters", "cases", "configured", "every", "lacks", "layers", "loads", "mapped"):
                env = libraries.environment(["loads", "libraries", "merge", "quant", "gptqmodel"])
            elif part == "hfmem":
                env = libraries.environment(["memory", "quant"])
            elif part == "merge":
                env = libraries.environment(["merge", "quant"])
            elif part == "tokens":
                env = libraries.environment(["tokens", "quant", "gptqmodel"])
            elif part in ("hdf5", "kinds", "sizes", "tflite", "whisper"):
                env = libraries.environment(["kinds", "quant"])
            elif part == "clients":
                env = libraries.environment(["clients", "libraries", "quant"])
            elif part == "remote":
                env = libraries.environment(["servers"])
            script = [part + ".py", built / "dump", work]
        command = [libraries.python, HERE / script[0], *script[1:]]
        done = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, text=True, env=env | {"CROSSCHECK_AMN": str(built / "amn"), "CROSSCHECK_TOKENS": str(built / "tokens"), "CROSSCHECK_ELEMENTS": str(elements), "CROSSCHECK_COMMIT": os.environ.get("CROSSCHECK_COMMIT") or commit()})
    try:
        last = json.loads(done.stdout.strip().splitlines()[-1])
    except (IndexError, json.JSONDecodeError):
        return [[part, f"the script ended with {done.returncode}", 0, 1]]
    if isinstance(last, dict):
        return [[f"{part}: {last['tensors']:,} tensors of {last['files']:,} files", last["versions"], last["elements"], last["differences"]]]
    return last


def commit():
    """What amn was built from."""
    return subprocess.run(["git", "describe", "--always", "--dirty", "--abbrev=8", "--exclude", "*"], cwd=ROOT, stdout=subprocess.PIPE, text=True).stdout.strip()


def golden(folder, libraries):
    for oracle in folder.glob("quant/*/testdata/*/oracle.txt"):
        shutil.rmtree(oracle.parent)
    for name, folders in MODULES.items():
        if name != "folders":
            command = [libraries.python, str(HERE / "quant" / "golden.py"), str(folder), name]
            subprocess.run(command, check=True, env=libraries.environment(folders))


if __name__ == "__main__":
    main()
