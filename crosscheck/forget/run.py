"""Holds `amn forget` against bitsandbytes and transformers, on fresh random models.
`make crosscheck` runs it; by hand:

    python3 crosscheck/forget/run.py [--rounds 1] [--python PYTHON]

codes: every stored tensor of every weight, against what bitsandbytes' own quantizer
makes of the same numbers: the same bits. loads: models of several architectures,
quantized here as folders, are loaded by transformers; each dequantized weight has
the bits of the one that transformers quantized itself, and the logits are the same.
"""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.append(str(ROOT / "crosscheck" / "quant"))


def main():
    flags = argparse.ArgumentParser()
    flags.add_argument("--rounds", type=int, default=1)
    flags.add_argument("--python", default=os.environ.get("CROSSCHECK_PYTHON") or str(ROOT / ".venv" / "bin" / "python"))
    a = flags.parse_args()
    from environment import Libraries

    libraries = Libraries(a.python)
    with tempfile.TemporaryDirectory() as tmp:
        amn = os.path.join(tmp, "amn")
        subprocess.run(["go", "build", "-o", amn, "./cli/amn"], cwd=ROOT, check=True)
        worker = [a.python, str(pathlib.Path(__file__).with_name("worker.py")), amn, str(a.rounds)]
        # The order in which torch adds is that of a processor it knows nothing of.
        done = subprocess.run(worker, env=libraries.environment(["quant"]) | {"ATEN_CPU_CAPABILITY": "default"})
    sys.exit(done.returncode)


if __name__ == "__main__":
    main()
