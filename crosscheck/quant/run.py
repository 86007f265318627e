"""Holds every quantization scheme against the library that owns it: fresh
random models, other seeds each time, at least ELEMENTS of each scheme, decoded
by this repository's code to float32, BF16 and F16 and compared bit by bit.
`make crosscheck` runs it; by hand:

    python3 crosscheck/quant/run.py [--elements 10000000] [--python PYTHON] [MODULE ...]
    python3 crosscheck/quant/run.py --golden testdata/quant/schemes
"""
import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile

from environment import HERE, ROOT, Libraries
from modules import MODULES


def main():
    flags = argparse.ArgumentParser()
    flags.add_argument("--elements", type=int, default=10_000_000)
    flags.add_argument("--python", default=os.environ.get("CROSSCHECK_PYTHON") or str(ROOT / ".venv" / "bin" / "python"))
    flags.add_argument("--golden", metavar="FOLDER", help="write the goldens anew instead")
    flags.add_argument("modules", nargs="*")
    a = flags.parse_args()
    libraries = Libraries(a.python)
    if a.golden:
        golden(a, libraries)
        return
    rows, failed = [], False
    with tempfile.TemporaryDirectory() as tmp:
        decode = os.path.join(tmp, "decode")
        subprocess.run(["go", "build", "-o", decode, "./crosscheck/quant/decode"], cwd=ROOT, check=True)
        amn = os.path.join(tmp, "amn")
        subprocess.run(["go", "build", "-o", amn, "./cli/amn"], cwd=ROOT, check=True)
        for name in a.modules or MODULES:
            seed = random.randrange(2**31)
            print(f"{name}, seed {seed}", file=sys.stderr, flush=True)
            worker = [a.python, str(HERE / "worker.py"), decode, name, str(a.elements), str(seed)]
            done = subprocess.run(worker, stdout=subprocess.PIPE, text=True, env=libraries.environment(MODULES[name]) | {"CROSSCHECK_AMN": amn})
            if done.returncode:
                rows.append([name, "the script failed", 0, 1])
                continue
            rows += json.loads(done.stdout)
    failed = show(rows)
    sys.exit(1 if failed else 0)


def golden(a, libraries):
    shutil.rmtree(a.golden, ignore_errors=True)
    for name in MODULES:
        if name == "folders":
            continue
        subprocess.run([a.python, str(HERE / "golden.py"), a.golden, name], check=True, env=libraries.environment(MODULES[name]))


def show(rows):
    print(f"{'scheme':38} {'oracle':34} {'elements':>14} {'differences':>12}")
    for scheme, oracle, n, bad in rows:
        print(f"{scheme:38} {oracle:34} {n:14,} {bad:12,}")
    print(f"{len(rows)} rows{'':66} {sum(r[2] for r in rows):14,} {sum(r[3] for r in rows):12,}")
    return not rows or any(bad or not n for _, _, n, bad in rows)


if __name__ == "__main__":
    main()
