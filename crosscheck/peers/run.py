"""Measures our kernels and their peers, interleaved in one run, and prints ratios.

  make bench-peers PYTHON=python-with-crosscheck/requirements.txt

Each peer is a process that waits for the name of an entry; in every round each
of them is asked in turn, and the best of the rounds counts. Sources are 64 Ki
elements of random codes under the scales of a model, 32 of them in rotation.

Peers: the published Rust crate (cargo builds it), ggml's C (from the sdist of
llama-cpp-python; GGML names a built tree, else it is fetched and built), and in
this process gguf-py, torch and bitsandbytes. One that is not there is left out
and said to be.
"""
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
TOP = HERE.parent.parent
CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "anamnesis-peers"
ROUNDS = int(os.environ.get("ROUNDS", "5"))
SDIST = "llama-cpp-python==0.3.36"
SOURCES, ELEMS = 32, 64 << 10

# Elements and bytes of a block, and where its float16 scales stand.
BLOCKS = {
    "Q8_0": (32, 34, [0]), "Q4_0": (32, 18, [0]), "Q4_1": (32, 20, [0, 2]), "Q5_0": (32, 22, [0]), "Q5_1": (32, 24, [0, 2]),
    "Q2_K": (256, 84, [80, 82]), "Q3_K": (256, 110, [108]), "Q4_K": (256, 144, [0, 2]), "Q5_K": (256, 176, [0, 2]),
    "Q6_K": (256, 210, [208]), "IQ1_S": (256, 50, [0]), "IQ2_XXS": (256, 66, [0]), "IQ2_XS": (256, 74, [0]), "IQ2_S": (256, 82, [0]),
    "IQ3_XXS": (256, 98, [0]), "IQ3_S": (256, 110, [0]), "IQ4_NL": (32, 18, [0]), "IQ4_XS": (256, 136, [0]),
    "TQ1_0": (256, 54, [52]), "TQ2_0": (256, 66, [64]), "MXFP4": (32, 17, []),
}
PLAIN = {"FP8": ELEMS, "INT8": ELEMS, "NF4": ELEMS // 2, "encode-NF4": 64,
         # 1024 inputs and 64 outputs in groups of 128; act: the groups are out of order
         "GPTQ-4": ELEMS // 2, "GPTQ-8": ELEMS, "GPTQ-4-act": ELEMS // 2, "AWQ": ELEMS // 2}


def source(name, rng):
    if name in PLAIN:
        return rng.integers(0, 256, SOURCES * PLAIN[name], dtype=np.uint8)
    n, size, halves = BLOCKS[name]
    p = rng.integers(0, 256, (SOURCES * ELEMS // n, size), dtype=np.uint8)
    for at in halves:
        p[:, at + 1] = p[:, at + 1] & 0x83 | 0x1C
    if name == "MXFP4":
        p[:, 0] = p[:, 0] & 7 | 112
    return p


class Child:
    """A peer in its own process."""

    def __init__(self, command):
        self.p = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, name, path):
        self.p.stdin.write(f"{name} {path}\n")
        self.p.stdin.flush()
        return float(self.p.stdout.readline())


def build_ours():
    CACHE.mkdir(parents=True, exist_ok=True)
    subprocess.run(["go", "build", "-o", CACHE / "ours", "./crosscheck/peers"], cwd=TOP, check=True)
    return Child([CACHE / "ours"])


def build_rust():
    subprocess.run(["cargo", "build", "--release", "--quiet", "--target-dir", CACHE / "rust"], cwd=HERE / "rust", check=True,
                   env=dict(os.environ, RUSTFLAGS="-C target-cpu=native"))
    return Child([CACHE / "rust/release/peer"])


def build_ggml():
    tree = Path(os.environ.get("GGML", CACHE / "ggml"))
    if not (tree / "lib").exists():
        tree.mkdir(parents=True, exist_ok=True)
        subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", ":all:", SDIST], cwd=tree, check=True)
        subprocess.run("tar xzf *.tar.gz --strip-components 1", shell=True, cwd=tree, check=True)
        off = [f"-DLLAMA_BUILD_{x}=OFF" for x in ("COMMON", "TESTS", "TOOLS", "EXAMPLES", "SERVER", "APP")]
        subprocess.run(["cmake", "-S", "vendor/llama.cpp", "-B", "lib", "-DCMAKE_BUILD_TYPE=Release", "-DBUILD_SHARED_LIBS=OFF",
                        "-DGGML_OPENMP=OFF", "-DGGML_CCACHE=OFF", "-DLLAMA_OPENSSL=OFF", "-DCMAKE_C_FLAGS=-march=native", *off], cwd=tree, check=True)
        subprocess.run(["cmake", "--build", "lib", "--target", "ggml-base"], cwd=tree, check=True)
    include = next(p for p in tree.rglob("ggml/include/ggml.h")).parent
    library = next(p for p in tree.rglob("libggml-base.a"))
    subprocess.run(["gcc", "-O3", "-march=native", "-I", include, HERE / "ggml/peer.c", library, "-lstdc++", "-lm", "-lpthread", "-o", CACHE / "ggml-peer"],
                   check=True)
    return Child([CACHE / "ggml-peer"])


class Python:
    """gguf-py, torch and bitsandbytes, in this process on one thread."""

    def __init__(self):
        self.runs = {}

    def ask(self, name, path):
        key = name
        if key not in self.runs:
            self.runs[key] = self.make(name, path)
        run = self.runs[key]
        if run is None:
            return 0.0
        best, i = 0.0, 0
        for _ in range(5):
            begin = time.perf_counter_ns()
            run(i % SOURCES)
            i += 1
            best = max(best, ELEMS / (time.perf_counter_ns() - begin))
        return best


class GgufPy(Python):
    def make(self, name, path):
        import gguf
        what, _, to = name.partition("/")
        if to != "F32" or what not in BLOCKS:
            return None
        n, size, _ = BLOCKS[what]
        data = np.fromfile(path, np.uint8).reshape(SOURCES, -1)
        t = getattr(gguf.GGMLQuantizationType, what)
        return lambda i: gguf.dequantize(data[i], t)


class Torch(Python):
    def make(self, name, path):
        import torch
        torch.set_num_threads(1)
        what, _, to = name.partition("/")
        if to != "BF16" or what not in ("FP8", "INT8"):
            return None
        data = torch.from_numpy(np.fromfile(path, np.uint8).reshape(SOURCES, -1))
        scale = torch.rand(512, 1) / 64
        if what == "FP8":
            data = data.view(torch.float8_e4m3fn).reshape(SOURCES, 512, 128)
            return lambda i: (data[i].float() * scale).bfloat16()
        data = data.view(torch.int8).reshape(SOURCES, 16, 4096)
        return lambda i: (data[i].float() * scale[:16] * 0.007874015718698502).bfloat16()


class BitsAndBytes(Python):
    def make(self, name, path):
        if name not in ("NF4/BF16", "encode-NF4/BF16"):
            return None
        import torch
        import bitsandbytes.functional as f
        torch.set_num_threads(1)
        x = torch.randn(16, 4096, dtype=torch.bfloat16)
        if name.startswith("encode"):
            return lambda i: f.quantize_4bit(x, blocksize=64, quant_type="nf4")
        q, state = f.quantize_4bit(x, blocksize=64, quant_type="nf4")
        return lambda i: f.dequantize_4bit(q, state)


def start(name, make):
    try:
        return make()
    except Exception as e:  # a peer that is not there is left out, and said to be
        print(f"{name}: left out: {e}")
        return None


def main():
    peers = {"ours": build_ours()}
    for name, make in (("rust crate", build_rust), ("ggml C", build_ggml), ("gguf-py", GgufPy), ("torch", Torch), ("bitsandbytes", BitsAndBytes)):
        peer = start(name, make)
        if peer:
            peers[name] = peer
    rng, best = np.random.default_rng(1), {}
    with tempfile.TemporaryDirectory() as folder:
        names = [f"{w}/{t}" for w in BLOCKS for t in ("BF16", "F32")] + [f"{w}/BF16" for w in PLAIN]
        for w in list(BLOCKS) + list(PLAIN):
            source(w, rng).tofile(f"{folder}/{w}")
        for _ in range(ROUNDS):
            for name in names:
                for who in list(peers):
                    try:
                        rate = peers[who].ask(name, f"{folder}/{name.split('/')[0]}")
                    except Exception as e:
                        print(f"{who}: left out: {e}")
                        del peers[who]
                        continue
                    best[name, who] = max(best.get((name, who), 0), rate)
    others = [p for p in peers if p != "ours"]
    print(f"billions of elements a second, 64 Ki elements, one thread, best of {ROUNDS} rounds; in brackets how many times as fast ours is\n")
    print("| entry | ours | " + " | ".join(others) + " |\n|---|---|" + "---|" * len(others))
    for name in names:
        ours = best[name, "ours"]
        cells = [f"{best[name, p]:.2f} ({ours / best[name, p]:.1f}x)" if best.get((name, p)) else "-" for p in others]
        print(f"| {name.replace('/', ' to ')} | {ours:.2f} | " + " | ".join(cells) + " |")


main()
