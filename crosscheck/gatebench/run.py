"""One run of amn scan and of the scanners beside it, over the same folder.

    make bench-gate

2,000 mixed files are made from a seed: checkpoints, pickles, safetensors, GGUF, npy and npz, honest and
hostile. Each scanner judges the folder once to warm the page cache, then again with a clock; then a part of
the files, one process for each, which is the time to a first verdict. clamd, where it is installed, has one
signature and is asked by its socket, as amn serve --clamd is. serve is asked by as many connections as there are processors. What is printed
is the table of docs/performance.md. GATEBENCH names a Python that has requirements.txt.
"""
import argparse
import http.client
import json
import os
import pathlib
import pickle
import random
import shutil
import struct
import subprocess
import sys
import tempfile
import threading
import time
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE))
import daemon  # noqa: E402

ROOT = HERE.parents[1]
VENV = ROOT / ".venv" / "gatebench"


def python():
    given = os.environ.get("GATEBENCH")
    if given:
        return pathlib.Path(given)
    exe = VENV / "bin" / "python"
    if not exe.exists():
        subprocess.run([sys.executable, "-m", "venv", str(VENV)], check=True)
        subprocess.run([str(exe), "-m", "pip", "install", "-q", "-r", str(HERE / "requirements.txt")], check=True)
    return exe


def safetensors(body):
    head = json.dumps({"w": {"dtype": "U8", "shape": [len(body)], "data_offsets": [0, len(body)]}}).encode()
    head += b" " * (-len(head) % 8)
    return struct.pack("<Q", len(head)) + head + body


def npy(body):
    head = ("{'descr': '|u1', 'fortran_order': False, 'shape': (%d,), }" % len(body)).encode()
    head += b" " * (-(len(head) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + body


class Evil:
    def __reduce__(self):
        return os.system, ("true",)


def checkpoint(path, body, value):
    with zipfile.ZipFile(path, "w") as z:
        z.writestr("archive/data.pkl", pickle.dumps(value, protocol=2))
        z.writestr("archive/version", "3\n")
        z.writestr("archive/data/0", body)


def files(folder, count, seed):
    rand = random.Random(seed)
    folder.mkdir()
    for i in range(count):
        kind, body = rand.randrange(8), rand.randbytes(int(2 ** rand.uniform(8, 18)))
        place = folder / f"{i % 20:02}"
        place.mkdir(exist_ok=True)
        name = str(place / f"f{i:05}")
        honest = {"step": i, "loss": [rand.random() for _ in range(50)], "names": ["a", "b"]}
        match kind:
            case 0 | 1:
                pathlib.Path(name + ".safetensors").write_bytes(safetensors(body))
            case 2:
                pathlib.Path(name + ".npy").write_bytes(npy(body))
            case 3:
                with zipfile.ZipFile(name + ".npz", "w") as z:
                    z.writestr("w.npy", npy(body))
            case 4 | 5:
                checkpoint(name + ".pt", body, honest)
            case 6:
                pathlib.Path(name + ".pkl").write_bytes(pickle.dumps(honest, protocol=rand.choice([2, 4])))
            case 7:
                checkpoint(name + ".pt", body, Evil())
    return sorted(p for p in folder.rglob("*") if p.is_file())


def timed(command):
    """Seconds, and the most memory that the process held."""
    began = time.monotonic()
    with open(os.devnull, "wb") as null:
        child = subprocess.Popen(list(map(str, command)), stdout=null, stderr=null)
        _, _, usage = os.wait4(child.pid, 0)
    return time.monotonic() - began, usage.ru_maxrss * 1024


def scanners(amn, exe):
    bin_ = exe.parent
    list_ = {
        "amn scan": lambda p: [amn, "scan", "-q", "--unlooked", "report", p],
        "picklescan": lambda p: [bin_ / "picklescan", "-p", p],
        "modelscan": lambda p: [bin_ / "modelscan", "-p", p],
        "modelaudit": lambda p: [bin_ / "modelaudit", "scan", "--format", "json", p],
    }
    return {name: f for name, f in list_.items() if shutil.which(str(f("x")[0]))}


def percentile(values, q):
    return sorted(values)[min(len(values) - 1, int(len(values) * q))]


def serve(amn, uploads, size):
    """Uploads a second through serve, by one connection for each processor."""
    with tempfile.TemporaryDirectory() as tmp:
        log = open(os.path.join(tmp, "log"), "w+")
        child = subprocess.Popen([amn, "serve", "--listen", "localhost:0"], stderr=log)
        try:
            port = None
            while port is None:
                time.sleep(0.05)
                log.seek(0)
                for line in log.read().splitlines():
                    if "msg=listening" in line:
                        port = int(line.rsplit(":", 1)[1].strip('"'))
            body, wrong = safetensors(os.urandom(size)), []

            def client(n):
                c = http.client.HTTPConnection("localhost", port)
                for _ in range(n):
                    c.request("PUT", "/v1/check?name=m.safetensors", body=body)
                    r = c.getresponse()
                    r.read()
                    if r.status != 200:
                        wrong.append(r.status)

            workers = os.cpu_count() or 1
            threads = [threading.Thread(target=client, args=(uploads // workers,)) for _ in range(workers)]
            began = time.monotonic()
            for t in threads:
                t.start()
            for t in threads:
                t.join()
            took = time.monotonic() - began
            if wrong:
                raise RuntimeError(f"answers {wrong[:5]}")
            with open(f"/proc/{child.pid}/status") as f:
                peak = next(int(line.split()[1]) for line in f if line.startswith("VmHWM")) * 1024
            return uploads // workers * workers / took, peak
        finally:
            child.terminate()
            child.wait()


def main():
    flags = argparse.ArgumentParser()
    flags.add_argument("--files", type=int, default=2000)
    flags.add_argument("--cold", type=int, default=10, help="files that are judged one by one")
    flags.add_argument("--uploads", type=int, default=2000)
    flags.add_argument("--seed", type=int, default=1)
    a = flags.parse_args()
    exe = python()
    with tempfile.TemporaryDirectory() as tmp:
        amn = os.path.join(tmp, "amn")
        subprocess.run(["go", "build", "-o", amn, "./cli/amn"], cwd=ROOT, check=True, env=os.environ | {"CGO_ENABLED": "0"})
        folder = pathlib.Path(tmp) / "files"
        made = files(folder, a.files, a.seed)
        size = sum(p.stat().st_size for p in made)
        print(f"{len(made)} files of {size / 1e6:.0f} MB, {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}", flush=True)
        subprocess.run(["cat", *map(str, made)], stdout=subprocess.DEVNULL, check=True)
        print("| scanner | files a second | against amn | memory | one file, median | one file, 99 of 100 |\n|---|---|---|---|---|---|", flush=True)
        first = None
        for name, command in scanners(amn, exe).items():
            took, memory = timed(command(folder))
            first = first or took
            one = [timed(command(p))[0] for p in random.Random(a.seed).sample(made, a.cold * (10 if name == "amn scan" else 1))]
            print(f"| {name} | {len(made) / took:,.0f} | {took / first:.0f}x the time | {memory / 2**20:.0f} MiB | {percentile(one, 0.5) * 1e3:.0f} ms | {percentile(one, 0.99) * 1e3:.0f} ms |", flush=True)
        for name, rate, peak in daemon.daemons(amn, tmp, a.uploads, safetensors(random.Random(a.seed).randbytes(100_000))):
            print(f"{name}: {rate:,.0f} streams of 100 kB a second, {peak / 2**20:.0f} MiB resident at most", flush=True)
        rate, peak = serve(amn, a.uploads, 100_000)
        print(f"serve: {rate:,.0f} uploads of 100 kB a second, {peak / 2**20:.0f} MiB resident at most", flush=True)


if __name__ == "__main__":
    main()
