"""How late a command ends whose time is over, by the clock of another process.

    python3 crosscheck/cost/late.py AMN [FOLDER]

Scans inputs that are dear for their size (and the files of FOLDER, such as -keep of this command
writes) with --timeout of several times, and prints how much later than its time each run ended.
The time of a scan of an empty model, which starts and ends the program, is measured between the
runs, and taken off. The machine's load is printed: a process that has no processor is late.
"""
import bz2
import gzip
import io
import json
import lzma
import os
import pathlib
import random
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
import zlib

EMPTY = b"\x02\0\0\0\0\0\0\0{}"


def members(mode, n, name, data):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:" + mode) as t:
        for i in range(n):
            info = tarfile.TarInfo(name % i)
            info.size = len(data)
            t.addfile(info, io.BytesIO(data))
    return out.getvalue()


def zipped(n, name, data, how=zipfile.ZIP_DEFLATED):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", how) as z:
        for i in range(n):
            z.writestr(name % i, data)
    return out.getvalue()


def tensors(n):
    text = json.dumps({f"{i:08d}": {"dtype": "U8", "shape": [0], "data_offsets": [0, 0]} for i in range(n)}).encode()
    return len(text).to_bytes(8, "little") + text


def inputs():
    noise = random.Random(1).randbytes(8 << 20)
    return {
        "members.tar.xz": members("xz", 30_000, "%d/config.json", b'{"a":1}'), "packed.tar.xz": members("xz", 30_000, "%d.gz", gzip.compress(b"hello\n")),
        "bz2.tar": members("", 20_000, "%d.bz2", bz2.compress(b"hello\n")), "xz.zip": zipped(7_000, "%d.xz", lzma.compress(b"hello\n")), "zlib.zip": zipped(7_000, "%d.zlib", zlib.compress(b"hello\n" * 9)),
        "flow.yaml": b"x: {" + b"activation," * 700_000, "deep.yaml": b"a:\n" + b"".join(b" " * i + b"- b:\n" for i in range(2_000)), "list.json": b'{"a":[' + b"0," * 4_000_000 + b"0]}",
        "ints.pkl": b"\x80\x02" + b"K\x010" * 8_000_000 + b"N.", "memo.pkl": b"\x80\x02]" + b"".join(b"r" + i.to_bytes(4, "little") for i in range(2_000_000)) + b".", "text.pkl": b"(lp0\n" + b"I1\na" * 4_000_000 + b".",
        "header.safetensors": tensors(600_000), "noise.xz": lzma.compress(noise, preset=0), "zeros.gz": gzip.compress(bytes(400 << 20), 9), "template.jinja": b"{% if a %}" * 200_000, "names.npz": zipped(60_000, "%d.npy", b""),
        "graph.onnx": b"\x08\x07" + b"\x3a\x02\x0a\x00" * 2_000_000,
    }


def run(amn, path, *flags):
    began = time.monotonic()
    code = subprocess.run([amn, "scan", "-q", *flags, path], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode
    return time.monotonic() - began, code


def main():
    amn = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        files = []
        for name, data in inputs().items():
            files.append(pathlib.Path(folder, name))
            files[-1].write_bytes(data)
        tiny = pathlib.Path(folder, "tiny.safetensors")
        tiny.write_bytes(EMPTY)
        files += sorted(pathlib.Path(sys.argv[2]).rglob("*.*")) if len(sys.argv) > 2 else []
        rows, all_of = [], []
        for f in files:
            late, codes = [], set()
            for limit in (0.03, 0.1, 0.3, 1.0):
                alone = min(run(amn, tiny)[0] for _ in range(2))
                took, code = run(amn, f, "--timeout", f"{round(limit * 1000)}ms", "--max-steps", "2000000000", "--max-inflate-ratio", "100000")
                codes.add(code)
                if code == 6:
                    late.append(took - limit - alone)
            all_of += late
            rows.append((f.name, f.stat().st_size, sorted(codes), f"{1000 * max(late):.0f}" if late else "ended before"))
            print("| {} | {:,} | {} | {} |".format(rows[-1][0], rows[-1][1], ", ".join(map(str, rows[-1][2])), rows[-1][3]), flush=True)
        all_of.sort()
        print(f"{len(all_of)} runs that ended at their time; lateness in ms: median {1000 * all_of[len(all_of) // 2]:.0f}, 95 % {1000 * all_of[int(len(all_of) * 0.95)]:.0f}, most {1000 * all_of[-1]:.0f}; load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")


if __name__ == "__main__":
    main()
