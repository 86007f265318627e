"""Rows encoded as GGML's block types, with an importance matrix and without: our
bytes beside those of ggml, built for the plain processor, which has no fused
multiplication.
"""
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE / "ggml"))
import llamacpp  # noqa: E402


def main():
    elements = os.environ.get("CROSSCHECK_ELEMENTS", "1000000")
    tree = llamacpp.sources()
    folder = llamacpp.library(tree)
    refq = llamacpp.program(tree, folder, HERE / "ggml" / "refq.cpp")
    with tempfile.TemporaryDirectory() as tmp:
        exe = pathlib.Path(tmp) / "quantize"
        subprocess.run(["go", "build", "-o", str(exe), "./crosscheck/quantize"], cwd=HERE.parent, check=True)
        done = subprocess.run([exe, refq, elements, str(random.randrange(2**31))], stdout=subprocess.PIPE, text=True, check=True)
    print(json.dumps(json.loads(done.stdout)))


main()
