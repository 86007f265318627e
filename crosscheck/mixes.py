"""GGUF models quantized by amn quantize and by llama-quantize: tensor by tensor the same
types and bytes, and the same keys, for every mix that is written, with an importance
matrix and without. llama-quantize is built from the sources of llama-cpp-python, which
takes ten minutes of one core once; CROSSCHECK_LLAMA_QUANTIZE names one that is there.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
# The module gguf.py of this folder must not stand before the library.
sys.path = [p for p in sys.path if pathlib.Path(p or ".").resolve() != HERE]
sys.path += [str(HERE / "ggml"), str(HERE / "forget"), str(HERE.parent / "quant" / "ggml" / "mix" / "testdata")]
import numpy as np  # noqa: E402

import generate  # noqa: E402
import llamacpp  # noqa: E402
from ggufs import compare  # noqa: E402

MODELS = {
    "llama": generate.model("llama", 3, 8, 2, width=512),
    "odd columns": generate.model("llama", 2, 8, 8, width=288),
    "columns that no block fits": generate.model("llama", 2, 4, 4, width=80),
    "experts": generate.model("llama", 2, 8, 2, experts=4),
}
rng = np.random.default_rng()


def weights(shape, kind):
    return (0.05 * rng.standard_normal(shape)).astype(kind)


def importance(shape, kind):
    return (rng.exponential(size=shape) + 0.01).astype(kind)


def run(*command):
    return subprocess.run([str(c) for c in command], capture_output=True).returncode


def main():
    amn, quantize = os.environ["CROSSCHECK_AMN"], llamacpp.quantize(llamacpp.sources())
    listed = json.loads(subprocess.run([amn, "formats", "--json"], capture_output=True, check=True).stdout)
    rows = {m: [f"forget --to {m}", llamacpp.VERSION, 0, 0] for m in listed["mixes"]}
    with tempfile.TemporaryDirectory() as tmp:
        model, matrix, theirs, ours = (os.path.join(tmp, n + ".gguf") for n in ("model", "matrix", "theirs", "ours"))
        for m in MODELS.values():
            generate.write(model, m, weights)
            generate.matrix(matrix, m, importance)
            for mix, row in rows.items():
                for flags in ([], ["--imatrix", matrix]):
                    refused = run(quantize, *flags, model, theirs, mix.upper(), 2)
                    if bool(run(amn, "forget", "-q", "-f", "--to", mix, *flags, "-o", ours, model)) != bool(refused):
                        row[3] += 1
                    elif not refused:
                        n, wrong = compare(amn, theirs, ours)
                        row[2] += n
                        row[3] += wrong
                    for path in (theirs, ours):
                        pathlib.Path(path).unlink(missing_ok=True)
    print(json.dumps(list(rows.values())))


main()
