"""How fast a large file is judged and hashed, beside what bounds it: the disk, and SHA-256.

    python3 crosscheck/gatebench/large.py [--size BYTES]

The file is a safetensors of random numbers. Before each command the page cache lets go of it.
"""
import argparse
import json
import os
import pathlib
import shutil
import struct
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]


def make(path, size):
    """Tensors of 1 GiB of random bytes, one block of them repeated with its number in front."""
    block, step = bytearray(os.urandom(16 << 20)), 1 << 30
    table = {f"w{i}": {"dtype": "U8", "shape": [min(step, size - o)], "data_offsets": [o, min(o + step, size)]}
             for i, o in enumerate(range(0, size, step))}
    head = json.dumps(table).encode()
    head += b" " * (-len(head) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(head)) + head)
        for o in range(0, size, len(block)):
            block[:8] = struct.pack("<Q", o)
            f.write(block[:size - o])
        f.flush()
        os.fsync(f.fileno())


def cold(path):
    with open(path, "rb") as f:
        os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def timed(command):
    began = time.monotonic()
    child = subprocess.Popen(list(map(str, command)), stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    if status:
        raise RuntimeError(f"{command}: {status}")
    return time.monotonic() - began, usage.ru_maxrss * 1024


def main():
    flags = argparse.ArgumentParser()
    flags.add_argument("--size", type=int, default=10 << 30)
    flags.add_argument("--dir", default=None)
    flags.add_argument("--runs", type=int, default=3)
    a = flags.parse_args()
    with tempfile.TemporaryDirectory(dir=a.dir) as tmp:
        amn, path = os.path.join(tmp, "amn"), os.path.join(tmp, "model.safetensors")
        subprocess.run(["go", "build", "-o", amn, "./cli/amn"], cwd=ROOT, check=True, env=os.environ | {"CGO_ENABLED": "0"})
        make(path, a.size)
        commands = {"read (dd)": ["dd", "if=" + path, "of=/dev/null", "bs=1M", "status=none"]}
        if shutil.which("openssl"):
            commands["SHA-256 (openssl)"] = ["openssl", "dgst", "-sha256", path]
        commands |= {"SHA-256 (sha256sum)": ["sha256sum", path], "amn scan --digest": [amn, "scan", "-q", "--json", "--digest", path],
                     "amn scan": [amn, "scan", "-q", "--json", path]}
        best, memory = {}, {}
        for _ in range(a.runs):  # in turn, so that a slow minute meets all of them
            for name, command in commands.items():
                cold(path)
                took, memory[name] = timed(command)
                best[name] = min(took, best.get(name, took))
        bound = max(best["read (dd)"], min(t for n, t in best.items() if n.startswith("SHA-256")))
        print(f"{a.size / 2**30:.1f} GiB, {os.cpu_count()} processors, least of {a.runs} runs\n| command | seconds | GB/s | memory | of the slower of disk and SHA-256 |\n|---|---|---|---|---|")
        for name, took in best.items():
            print(f"| {name} | {took:.2f} | {a.size / 1e9 / took:.2f} | {memory[name] / 2**20:.0f} MiB | {bound / took:.2f} |")


if __name__ == "__main__":
    main()
