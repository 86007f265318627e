"""Two programs by turns: amn scan over the same files of each kind.

    make bench-turns OLD=/tmp/amn-before NEW=/tmp/amn-after

Each kind has a folder of its own. The programs judge it one after the other, again and again, and the
medians of their processor time (user and system) are compared: what else the machine does meets both.
"""
import argparse
import bz2
import gzip
import io
import json
import lzma
import os
import pathlib
import pickle
import random
import statistics
import struct
import subprocess
import tarfile
import tempfile
import zipfile

from run import checkpoint, npy, safetensors


def gguf(body):
    pairs = b"".join(struct.pack("<Q", len(k)) + k.encode() + struct.pack("<IQ", 8, len(v)) + v.encode() for k, v in (("general.architecture", "llama"), ("general.name", "x")))
    words = b"".join(struct.pack("<Q", 5) + b"w%04d" % i for i in range(2000))
    pairs += struct.pack("<Q", 21) + b"tokenizer.ggml.tokens" + struct.pack("<IIQ", 9, 8, 2000) + words
    body = body[: len(body) // 32 * 32]
    info = struct.pack("<Q", 1) + b"w" + struct.pack("<IQIQ", 1, len(body), 24, 0)  # I8
    head = b"GGUF" + struct.pack("<IQQ", 3, 1, 3) + pairs + info
    return head + bytes(-len(head) % 32) + body


def packed(rand, body):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as t:
        for name, data in (("config.json", b'{"hidden_size":8}'), ("model.safetensors", safetensors(body))):
            i = tarfile.TarInfo(name)
            i.size = len(data)
            t.addfile(i, io.BytesIO(data))
    return out.getvalue()


def kinds(rand):
    body = lambda: rand.randbytes(int(2 ** rand.uniform(10, 17)))
    text = lambda: json.dumps({f"layer.{i}": [rand.random(), rand.randrange(99), "word" * rand.randrange(5)] for i in range(800)}).encode()
    honest = lambda: {"step": 1, "loss": [rand.random() for _ in range(2000)], "names": ["a%d" % i for i in range(500)]}

    def zipped():
        out = io.BytesIO()
        checkpoint(out, body(), honest())
        return out.getvalue()

    return {
        "safetensors": (".safetensors", lambda: safetensors(body())),
        "gguf": (".gguf", lambda: gguf(body())),
        "npy": (".npy", lambda: npy(body())),
        "checkpoint": (".pt", zipped),
        "pickle": (".pkl", lambda: pickle.dumps(honest(), protocol=4)),
        "json": (".json", text),
        "yaml": (".yaml", lambda: b"".join(b"key_%d: [%d, %d, word]\n" % (i, i, i) for i in range(2000))),
        "tar": (".tar", lambda: packed(rand, body())),
        "tar.gz": (".tar.gz", lambda: gzip.compress(packed(rand, body()), 6)),
        "tar.bz2": (".tar.bz2", lambda: bz2.compress(packed(rand, body()))),
        "tar.xz": (".tar.xz", lambda: lzma.compress(packed(rand, body()), preset=1)),
        "hostile": (".pt", lambda: b"cos\nsystem\n(S'id'\ntR."),
    }


def spent(command):
    with open(os.devnull, "wb") as null:
        child = subprocess.Popen(command, stdout=null, stderr=null)
        _, _, usage = os.wait4(child.pid, 0)
    return usage.ru_utime + usage.ru_stime


def main():
    p = argparse.ArgumentParser()
    p.add_argument("old")
    p.add_argument("new")
    p.add_argument("--files", type=int, default=150)
    p.add_argument("--turns", type=int, default=9)
    o = p.parse_args()
    rand = random.Random(1)
    print("| files | old | new | new to old |\n|---|---|---|---|")
    total = [0, 0]
    with tempfile.TemporaryDirectory() as tmp:
        for kind, (ext, make) in kinds(rand).items():
            folder = pathlib.Path(tmp) / kind
            folder.mkdir()
            for i in range(o.files):
                (folder / f"f{i:04}{ext}").write_bytes(make())
            times = [], []
            for turn in range(o.turns + 1):
                for which in (0, 1) if turn % 2 else (1, 0):
                    t = spent([(o.old, o.new)[which], "scan", "-q", "--unlooked", "report", str(folder)])
                    if turn:  # the first warms the caches
                        times[which].append(t)
            old, new = map(statistics.median, times)
            total[0], total[1] = total[0] + old, total[1] + new
            print(f"| {kind} | {old * 1000:.0f} ms | {new * 1000:.0f} ms | {new / old:.2f} |", flush=True)
    print(f"| all | {total[0] * 1000:.0f} ms | {total[1] * 1000:.0f} ms | {total[1] / total[0]:.2f} |")


if __name__ == "__main__":
    main()
