#!/usr/bin/env python3
"""Holds this module against the reference libraries.

Builds a virtual environment in .venv/ with the versions of requirements.txt, and
crosscheck/dump; then runs every crosscheck/<format>.py and prints one table.
CROSSCHECK_PYTHON names a Python that has the libraries already.
Arguments choose formats: run.py safetensors npy.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
NOT_FORMATS = {"run", "harness"}


def python():
    """The Python that has the reference libraries, installed if need be."""
    given = os.environ.get("CROSSCHECK_PYTHON")
    if given:
        return given
    venv = ROOT / ".venv"
    exe = venv / "bin" / "python"
    stamp = venv / "crosscheck.txt"
    wanted = (HERE / "requirements.txt").read_text()
    if not exe.exists():
        subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
    if not stamp.exists() or stamp.read_text() != wanted:
        subprocess.run([str(exe), "-m", "pip", "install", "-q", "-r", str(HERE / "requirements.txt")], check=True)
        stamp.write_text(wanted)
    return str(exe)


def main():
    chosen = sys.argv[1:] or sorted(p.stem for p in HERE.glob("*.py") if p.stem not in NOT_FORMATS)
    exe = python()
    rows, failed = [], False
    with tempfile.TemporaryDirectory() as tmp:
        dump = os.path.join(tmp, "dump")
        subprocess.run(["go", "build", "-o", dump, "./crosscheck/dump"], cwd=ROOT, check=True)
        for name in chosen:
            work = os.path.join(tmp, name)
            os.mkdir(work)
            done = subprocess.run([exe, str(HERE / (name + ".py")), dump, work], stdout=subprocess.PIPE, text=True)
            lines = done.stdout.strip().splitlines()
            if done.returncode not in (0, 1) or not lines:
                rows.append((name, "-", "-", "-", "the script failed"))
                failed = True
                continue
            r = json.loads(lines[-1])
            rows.append((name, r["files"], r["tensors"], r["differences"], r["versions"]))
            failed = failed or r["differences"] != 0 or r["files"] == 0
    print(f"{'format':<14}{'files':>7}{'tensors':>9}{'differences':>13}  against")
    for r in rows:
        print(f"{r[0]:<14}{r[1]:>7}{r[2]:>9}{r[3]:>13}  {r[4]}")
    total = [sum(r[i] for r in rows if isinstance(r[i], int)) for i in (1, 2, 3)]
    print(f"{'all':<14}{total[0]:>7}{total[1]:>9}{total[2]:>13}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
