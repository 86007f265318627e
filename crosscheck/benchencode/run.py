"""Measures our encoders beside ggml's and bitsandbytes', interleaved in one run, on one thread.

  make bench-encode PYTHON=python-with-crosscheck/quant/requirements.txt

ggml is built twice from the sdist of llama-cpp-python: as it is shipped, and with
-march=native, which lets the compiler fuse and so changes bytes. In every round each is asked in
turn, and the best of the rounds counts. A peer that is not there is left out and said to be.
ENCODERS names some of the entries; ROUNDS is how many rounds there are.
"""
import os
import pathlib
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parent.parent
sys.path.append(str(HERE.parent / "ggml"))
import llamacpp  # noqa: E402

CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / "anamnesis-encode"
ROUNDS = int(os.environ.get("ROUNDS", "3"))
GGML = """Q8_0 Q4_0 Q4_1 Q5_0 Q5_1 Q2_K Q3_K Q4_K Q5_K Q6_K IQ4_NL IQ4_XS IQ3_S IQ3_XXS IQ2_S IQ1_M
    MXFP4 NVFP4 TQ1_0 TQ2_0 Q1_0 Q2_0""".split()
MATRIX = """Q4_0 Q4_1 Q5_0 Q5_1 Q2_K Q3_K Q4_K Q5_K Q6_K IQ4_NL IQ4_XS
    IQ3_S IQ3_XXS IQ2_S IQ2_XS IQ2_XXS IQ1_S IQ1_M""".split()
FAST = "Q8_0 Q4_0 MXFP4 NVFP4".split()
OTHERS = "FP8-blocks FP8-rows NF4 INT8-rows".split()


class Child:
    """A peer in its own process."""

    def __init__(self, path, **env):
        self.p = subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=dict(os.environ, **env))

    def ask(self, entry):
        self.p.stdin.write(entry + "\n")
        self.p.stdin.flush()
        return float(self.p.stdout.readline())


def ours():
    subprocess.run(["go", "build", "-o", CACHE / "ours", "./crosscheck/benchencode"], cwd=TOP, check=True)
    return CACHE / "ours"


def ggml(kind, flags):
    tree, folder = llamacpp.sources(), CACHE / kind
    if not (folder / "ggml/src/libggml-base.a").exists():
        options = [f"-D{o}" for o in llamacpp.OPTIONS]
        llamacpp.run("cmake", "-S", tree, "-B", folder, *options, "-DCMAKE_C_FLAGS=" + flags, "-DCMAKE_CXX_FLAGS=" + flags)
        llamacpp.run("cmake", "--build", folder, "--target", "ggml-base")
    exe = CACHE / ("ggml-" + kind)
    llamacpp.run("gcc", "-O2", "-w", "-I", tree / "ggml/include", HERE / "ggml/peer.c", folder / "ggml/src/libggml-base.a",
                 "-lstdc++", "-lm", "-lpthread", "-o", exe)
    return Child(exe)


class BitsAndBytes:
    def __init__(self):
        import bitsandbytes.functional
        import torch
        torch.set_num_threads(1)
        self.f, self.x = bitsandbytes.functional, torch.randn(32, 4096) * 0.02

    def ask(self, entry):
        runs = {"NF4 plain": lambda: self.f.quantize_4bit(self.x, blocksize=64, quant_type="nf4"),
                "INT8-rows plain": lambda: self.f.int8_vectorwise_quant(self.x.half())}
        if entry not in runs:
            return 0.0
        best = 0.0
        for _ in range(5):
            begin = time.perf_counter()
            runs[entry]()
            best = max(best, self.x.numel() / (time.perf_counter() - begin) / 1e6)
        return best


def main():
    CACHE.mkdir(parents=True, exist_ok=True)
    exe, peers = ours(), {}
    makers = [("amn, AVX2", lambda: Child(exe, AMN_CPU="avx2")), ("amn", lambda: Child(exe)), ("scalar", lambda: Child(exe, AMN_CPU="generic")),
              ("ggml", lambda: ggml("stock", "-ffp-contract=off")), ("ggml, native", lambda: ggml("native", "-march=native")),
              ("bitsandbytes", BitsAndBytes)]
    for name, make in makers:
        try:
            peers[name] = make()
        except Exception as e:
            print(f"{name}: left out: {e}")
    entries = [k + " plain" for k in GGML] + [k + " matrix" for k in MATRIX] + [k + " plain" for k in OTHERS]
    entries += [k + " " + how for how in ("memory", "both", "bf16") for k in [*FAST, *OTHERS, "read"]]
    some = os.environ.get("ENCODERS", "").split()
    entries = [e for e in entries if not some or e.split()[0] in some]
    best = {}
    for _ in range(ROUNDS):
        for entry in entries:
            for who, peer in peers.items():
                best[entry, who] = max(best.get((entry, who), 0), peer.ask(entry))
    names = list(peers)
    print(f"millions of elements a second, one thread, best of {ROUNDS} rounds; in brackets how many times as fast amn is\n")
    print("| type | from | " + " | ".join(names) + " |\n|---|---|" + "---|" * len(names))
    said = {"plain": "cache", "matrix": "cache, importance", "memory": "memory, codes to the cache",
            "both": "memory, codes to memory", "bf16": "BF16 in memory, codes to the cache"}
    for entry in entries:
        kind, how = entry.split()
        cells = []
        for who in names:
            rate = best[entry, who]
            cells.append("-" if not rate else f"{rate:,.0f}" + ("" if who.startswith("amn") else f" ({best[entry, 'amn'] / rate:.1f}x)"))
        print(f"| {kind} | {said[how]} | " + " | ".join(cells) + " |")


main()
