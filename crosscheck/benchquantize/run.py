"""A model of the size of Llama 2 7B to Q4_K_M: amn beside llama-quantize, by turns in one run,
and the tensors of their files are compared. Then the table of encoders, of crosscheck/benchencode.

    make bench-quantize PYTHON=.venv/bin/python       22 GB of disk, half an hour of an idle machine

The weights are random and lie in BF16; LAYERS is how many layers there are (32), ROUNDS how often
each is run (2), TO another mix. TABLE=0 leaves out the table. llama-quantize is built once, ggml's C
as it is shipped (-O3, no contraction); CROSSCHECK_LLAMA_QUANTIZE names one that is there.
MODEL names a file for the model, which is made unless it is there, and stays. PREPARE=1 ends when it
is there and all is built: on a machine with other work only what is measured then has to be alone.
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "ggml"))
import gguf  # noqa: E402
import llamacpp  # noqa: E402
import numpy as np  # noqa: E402

HIDDEN, INNER, HEADS, VOCABULARY = 4096, 11008, 32, 32000
LAYERS, ROUNDS, TO = int(os.environ.get("LAYERS", "32")), int(os.environ.get("ROUNDS", "2")), os.environ.get("TO", "q4_k_m")
POOL = (1 << 26) - 5  # random numbers; a divisor of no shape
# Seconds of the clock and of processors, and the largest resident memory, of one process.
ONCE = """import resource, subprocess, sys, time
began = time.monotonic()
code = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode
u = resource.getrusage(resource.RUSAGE_CHILDREN)
print(time.monotonic() - began, u.ru_utime + u.ru_stime, u.ru_maxrss // 1024)
sys.exit(code)"""


def shapes():
    list_ = {"token_embd.weight": (VOCABULARY, HIDDEN), "output_norm.weight": (HIDDEN,), "output.weight": (VOCABULARY, HIDDEN)}
    for i in range(LAYERS):
        at = f"blk.{i}."
        list_ |= {at + n + ".weight": (HIDDEN, HIDDEN) for n in ("attn_q", "attn_k", "attn_v", "attn_output")}
        list_ |= {at + n + ".weight": (INNER, HIDDEN) for n in ("ffn_gate", "ffn_up")}
        list_ |= {at + "ffn_down.weight": (HIDDEN, INNER), at + "attn_norm.weight": (HIDDEN,), at + "ffn_norm.weight": (HIDDEN,)}
    return list_


def make(path):
    """Writes one tensor after the other; each begins at a place of its own in many random numbers."""
    w = gguf.GGUFWriter(path, "llama")
    for add, value in ((w.add_block_count, LAYERS), (w.add_context_length, 4096), (w.add_embedding_length, HIDDEN), (w.add_feed_forward_length, INNER),
                       (w.add_head_count, HEADS), (w.add_head_count_kv, HEADS), (w.add_layer_norm_rms_eps, 1e-5)):
        add(value)
    plain, half = gguf.GGMLQuantizationType.F32, gguf.GGMLQuantizationType.BF16
    for name, shape in shapes().items():
        n = int(np.prod(shape))
        bytes_ = [n * 2, n * 4][len(shape) == 1]
        stored = shape if len(shape) == 1 else (shape[0], 2 * shape[1])  # gguf-py asks for bytes
        w.add_tensor_info(name, stored, np.dtype(np.float32) if len(shape) == 1 else np.dtype(np.uint8), bytes_, raw_dtype=[half, plain][len(shape) == 1])
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_ti_data_to_file()
    rng = np.random.default_rng(1)
    some = (rng.standard_normal(POOL, np.float32) * np.float32(0.02)).view(np.uint32).__rshift__(16).astype(np.uint16)
    for shape in shapes().values():
        if len(shape) == 1:
            w.write_tensor_data(np.ones(shape, np.float32))
        else:
            w.write_tensor_data(np.resize(np.roll(some, rng.integers(POOL)), shape).view(np.uint8))
    w.close()


def timed(out, command):
    out.unlink(missing_ok=True)
    done = subprocess.run([sys.executable, "-c", ONCE, *map(str, command)], stdout=subprocess.PIPE, text=True)
    if done.returncode or not out.exists():
        sys.exit(f"{command[0]} ended with {done.returncode}")
    return [float(x) for x in done.stdout.split()]


def quantizer(tree):
    """llama-quantize: unlike that of other parts, which only compare bytes, not built for a short build."""
    given = os.environ.get("CROSSCHECK_LLAMA_QUANTIZE")
    if given:
        return pathlib.Path(given)
    folder = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / "anamnesis-encode" / "llama-quantize"
    exe = folder / "bin" / "llama-quantize"
    if not exe.exists():
        options = [o.replace("COMMON=OFF", "COMMON=ON").replace("TOOLS=OFF", "TOOLS=ON") for o in llamacpp.OPTIONS]
        flags = ["CMAKE_C_FLAGS=-ffp-contract=off", "CMAKE_CXX_FLAGS=-ffp-contract=off", "CMAKE_CXX_FLAGS_RELEASE=-O1 -DNDEBUG"]  # all that takes time is C
        llamacpp.run("cmake", "-S", tree, "-B", folder, *("-D" + o for o in options + flags))
        llamacpp.run("cmake", "--build", folder, "--target", "llama-quantize", "-j", os.cpu_count())
    return exe


def main():
    amn, tree = os.environ["CROSSCHECK_AMN"], llamacpp.sources()
    quantize, threads = quantizer(tree), os.cpu_count()
    with tempfile.TemporaryDirectory(dir=os.environ.get("BENCH_DIR")) as tmp:
        model, ours, theirs = (pathlib.Path(tmp) / n for n in ("model.gguf", "amn.gguf", "llama-quantize.gguf"))
        model = pathlib.Path(os.environ.get("MODEL", model))
        count = sum(int(np.prod(shape)) for shape in shapes().values())
        if not model.exists():
            unfinished = model.with_suffix(".part")
            make(unfinished)
            unfinished.rename(model)
        if os.environ.get("PREPARE") == "1":
            sys.exit()
        commands = {"amn": (ours, [amn, "quantize", "-q", "--no-sync", "--to", TO, "--threads", threads, "-o", ours, model]),
                    "llama-quantize": (theirs, [quantize, model, theirs, TO.upper(), threads])}
        took = {name: [] for name in commands}
        for _ in range(ROUNDS):
            for name, (out, command) in commands.items():
                took[name].append(timed(out, command))
        print(f"{count / 1e9:.2f} billion numbers in BF16 ({model.stat().st_size / 1e9:.1f} GB) to {TO}, {threads} threads, {ROUNDS} rounds by turns\n")
        print("| | minutes of each round | minutes of processors, least | MiB resident |\n|---|---|---|---|")
        for name, all_ in took.items():
            print(f"| {name} | {', '.join(f'{a[0] / 60:.2f}' for a in all_)} | {min(a[1] for a in all_) / 60:.2f} | {max(a[2] for a in all_):.0f} |")
        best = {name: min(a[0] for a in all_) for name, all_ in took.items()}
        same = subprocess.run([amn, "diff", "-q", ours, theirs], stdout=subprocess.DEVNULL).returncode == 0
        print(f"\namn takes {best['amn'] / best['llama-quantize']:.2f} of the time; the tensors of both files are " + ("equal" if same else "NOT equal"), flush=True)
    if os.environ.get("TABLE") != "0":
        subprocess.run([sys.executable, HERE.parent / "benchencode" / "run.py"], check=True)
    sys.exit(0 if same else 1)


main()
