"""Models of transformers, quantized by amn in one command and by llama-quantize: every
tensor has the same type and bytes, the keys are the same, and llama.cpp computes the
same logits of both, bit for bit: a dense model and one of experts, with an importance
matrix and without. Which mixes is said by CROSSCHECK_FORMATS.
"""
import json
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
# The modules gguf.py and others of this folder must not stand before the libraries.
sys.path = [p for p in sys.path if pathlib.Path(p or ".").resolve() != HERE]
sys.path[:0] = [str(HERE / "ggml"), str(HERE / "runs"), str(HERE / "forget"), str(HERE.parent / "quant" / "ggml" / "mix" / "testdata")]
import generate  # noqa: E402
import llamacpp  # noqa: E402
import models  # noqa: E402
import numpy as np  # noqa: E402
import reference  # noqa: E402
import torch  # noqa: E402
from ggufs import compare, read  # noqa: E402

WORK = pathlib.Path(sys.argv[2])
AMN = os.environ["CROSSCHECK_AMN"]
MIXES = os.environ.get("CROSSCHECK_FORMATS", "q4_k_m q2_k q2_k_s q3_k_s q3_k_m q3_k_l q4_k_s q5_k_s q5_k_m q6_k q8_0 q4_0 iq4_xs iq4_nl iq3_s iq3_m iq3_xxs iq2_m tq2_0 mxfp4_moe").split()
WIDE = {"hidden_size": 512, "intermediate_size": 768}
FAMILIES = {
    "llama": lambda: (models.tf.LlamaConfig(**models.sizes(**WIDE)), models.tf.LlamaForCausalLM, models.sentencepiece, None),
    "mixtral": lambda: (models.tf.MixtralConfig(**models.sizes(**WIDE), num_local_experts=4, num_experts_per_tok=2), models.tf.MixtralForCausalLM, models.sentencepiece, None),
}
rng = np.random.default_rng()


def run(*command):
    done = subprocess.run([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        print(command, done.stdout[-400:], file=sys.stderr)
    return done.returncode


def family(name, quantize, logits):
    folder, plain, matrix = WORK / f"big-{name}", WORK / f"{name}.gguf", WORK / f"{name}-matrix.gguf"
    folder.mkdir()
    models.FAMILIES[folder.name] = FAMILIES[name]
    models.make(folder.name, folder, torch.float16)
    bad = bool(run(AMN, "convert", "-q", folder, "--to", "gguf", "-o", plain))
    shapes = {n: tuple(s) for n, (_, s, _) in read(AMN, plain)[0].items()}
    generate.matrix(matrix, {"tensors": shapes}, lambda shape, kind: (rng.exponential(size=shape) + 0.01).astype(kind))
    tokens = [1, *rng.integers(3, models.VOCAB - 8, 15)]
    for mix in MIXES:
        row = [f"runs: {name} as {mix}, logits too", llamacpp.VERSION, 0, int(bad)]
        for flags in ([], ["--imatrix", matrix]):
            theirs, ours = WORK / "theirs.gguf", WORK / "ours.gguf"
            refused = bool(run(quantize, *flags, plain, theirs, mix.upper(), 2))
            if refused != bool(run(AMN, "forget", "-q", "-f", "--to", mix, *flags, "-o", ours, folder)):
                row[3] += 1
                continue
            if refused:  # types that want a matrix, without one
                continue
            n, wrong = compare(AMN, theirs, ours)
            want, got = reference.logits(logits, theirs, tokens)[0], reference.logits(logits, ours, tokens)[0]
            same = want is not None and got is not None and want.tobytes() == got.tobytes()
            row[2], row[3] = row[2] + n, row[3] + wrong + (not same)
        rows.append(row)


rows = []
tree = llamacpp.sources()
program = llamacpp.program(tree, llamacpp.library(tree), HERE / "runs" / "logits.cpp")
for name in FAMILIES:
    family(name, llamacpp.quantize(tree), program)
print(json.dumps(rows))
