#!/usr/bin/env python3
"""Kills jobs at random moments and goes on with --resume: each result must have the bytes of a job that nobody killed.

    python3 crosscheck/killed.py [--size MB] [--kills N] [--from file,https,hf,s3] [--jobs quantize,merge] [--to nf4] [--seed N] [--work DIR]

The jobs are those of each command that writes a model: quantize, dequantize, convert, edit, merge, merge-lora, split and join. The model is a folder of shards of random
BF16 numbers, 2 GB without --size; https reads its first shard alone. merge reads files only, and join folders. Of each source and job one run goes to its end and is timed; then N
runs get kill -9, each after a random part of that time, and go on with --resume. After a kill no file may be under the target's name, and what is under the hidden name is no model: its first eight
bytes are zeros, so no reader takes it. The doubles of a server, of a hub and of a bucket are of this program, on this machine alone; they need the amn of remote/.
"""
import argparse
import hashlib
import http.server
import json
import os
import pathlib
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parent.parent
SHA = "5" * 40


def model(folder, megabytes, seed):
    """A folder of shards of at most 500 MB, with the names of a Llama."""
    folder.mkdir(parents=True)
    r, rows, cols = random.Random(seed), 4096, 4096
    block = b"".join(struct.pack("<H", 0x3C00 | r.getrandbits(1) << 15 | r.getrandbits(9)) for _ in range(1 << 16))
    each = rows * cols * 2
    count = max(1, megabytes * 1000 * 1000 // each)
    index, parts = {}, [list(range(count))[i:i + 15] for i in range(0, count, 15)]
    for n, part in enumerate(parts):
        name = f"model-{n + 1:05d}-of-{len(parts):05d}.safetensors"
        header = {f"model.layers.{k}.self_attn.o_proj.weight": {"dtype": "BF16", "shape": [rows, cols], "data_offsets": [i * each, (i + 1) * each]} for i, k in enumerate(part)}
        index |= {t: name for t in header}
        text = json.dumps(header).encode()
        text += b" " * (-len(text) % 8)
        with open(folder / name, "wb") as f:
            f.write(struct.pack("<Q", len(text)) + text)
            for k in part:
                for i in range(each // len(block)):
                    at = r.randrange(len(block) // 2) * 2
                    f.write(block[at:] + block[:at])
    (folder / "model.safetensors.index.json").write_text(json.dumps({"metadata": {"total_size": count * each}, "weight_map": index}))
    (folder / "config.json").write_text('{"model_type": "llama", "architectures": ["LlamaForCausalLM"]}')


class Double(http.server.BaseHTTPRequestHandler):
    """A server of files, a hub and a bucket in one."""
    protocol_version = "HTTP/1.1"
    folder = None

    def log_message(self, *_):
        pass

    def answer(self, body, kind):
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def do_HEAD(self):
        self.do_GET()

    def do_GET(self):
        url = urllib.parse.urlsplit(self.path)
        files = sorted(p for p in self.folder.iterdir() if p.is_file())
        if url.path.startswith("/api/models/me/model/revision/"):
            return self.answer(json.dumps({"sha": SHA, "siblings": [{"rfilename": p.name, "size": p.stat().st_size} for p in files]}).encode(), "application/json")
        if "list-type=2" in url.query:
            rows = "".join(f"<Contents><Key>folder/{p.name}</Key><Size>{p.stat().st_size}</Size><ETag>&quot;{p.name}&quot;</ETag></Contents>" for p in files)
            return self.answer(f'<?xml version="1.0"?><ListBucketResult><Name>models</Name><KeyCount>{len(files)}</KeyCount><IsTruncated>false</IsTruncated>{rows}</ListBucketResult>'.encode(), "application/xml")
        path = self.folder / url.path.rsplit("/", 1)[-1]
        if not path.is_file():
            self.send_response(404)
            self.send_header("Content-Length", "0")
            return self.end_headers()
        size = path.stat().st_size
        first, last, status = 0, size - 1, 200
        if m := re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", "")):
            first, last, status = int(m[1]), min(size - 1, int(m[2] or size - 1)), 206
        self.send_response(status)
        self.send_header("ETag", f'"{path.name}"')
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("Content-Length", str(last - first + 1))
        if status == 206:
            self.send_header("Content-Range", f"bytes {first}-{last}/{size}")
        self.end_headers()
        if self.command == "HEAD":
            return
        with open(path, "rb") as f:
            f.seek(first)
            left = last - first + 1
            try:
                while left > 0:
                    p = f.read(min(left, 1 << 20))
                    self.wfile.write(p)
                    left -= len(p)
            except OSError:
                pass  # the client was killed


class Server(http.server.ThreadingHTTPServer):
    def handle_error(self, *_):
        pass  # a client that was killed resets its connections


def digest(folder):
    h = hashlib.sha256()
    for p in sorted(folder.iterdir()):
        h.update(p.name.encode() + b"\0")
        with open(p, "rb") as f:
            while part := f.read(1 << 20):
                h.update(part)
    return h.hexdigest()


JOBS = ("quantize", "dequantize", "convert", "edit", "merge", "merge-lora", "split", "join")


def adapter(folder):
    """An adapter of PEFT for the model's first matrix."""
    folder.mkdir()
    shapes = {"A": (2, 4096), "B": (4096, 2)}
    header = {f"base_model.model.model.layers.0.self_attn.o_proj.lora_{k}.weight": {"dtype": "F32", "shape": list(v), "data_offsets": [32768 * (k == "B"), 32768 * (1 + (k == "B"))]} for k, v in shapes.items()}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    (folder / "adapter_model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + struct.pack("<f", 0.01) * 16384)
    (folder / "adapter_config.json").write_text(json.dumps({"peft_type": "LORA", "r": 2, "lora_alpha": 4, "target_modules": ["o_proj"]}))


def arguments(job, to, source, tmp):
    """The arguments of a job beside its target, and the extension of a target that is one file; None if the job does not read the source."""
    one = source == "https"
    file = ".safetensors" if one else ""
    if job == "merge" and source != "file" or job == "join" and one:
        return None
    return {
        "quantize": (["--to", to], file), "dequantize": ([], file), "convert": (["--to", "safetensors", "--cast", "f16"], file), "edit": (["--set", "made=here"], file), "merge": ([], ""),
        "merge-lora": ([], file), "split": (["--max-size", "200MB"], ""), "join": ([], ".safetensors"),
    }[job]


def unfinished(tmp, target):
    """What of an unfinished output a program could take for a model."""
    partial = tmp / f".{target.name}.amn-partial"
    files = [partial] if partial.is_file() else sorted(partial.glob("**/*.safetensors")) if partial.is_dir() else []
    for f in files:
        with open(f, "rb") as r:
            if r.read(8).strip(b"\0"):
                yield f.name


def main():
    a = argparse.ArgumentParser()
    a.add_argument("--size", type=int, default=2000)
    a.add_argument("--kills", type=int, default=20)
    a.add_argument("--from", dest="sources", default="file,https,hf,s3")
    a.add_argument("--jobs", default=",".join(JOBS))
    a.add_argument("--to", default="nf4")
    a.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    a.add_argument("--work")
    a.add_argument("--amn", help="the program, if it is built already")
    a.add_argument("--remote", help="the program of remote/, if it is built already")
    o = a.parse_args()
    if unknown := set(o.jobs.split(",")) - set(JOBS):
        a.error(f"no job {', '.join(sorted(unknown))}: {', '.join(JOBS)}")
    print(f"seed {o.seed}", flush=True)
    r, bad = random.Random(o.seed), 0
    with tempfile.TemporaryDirectory(dir=o.work, prefix="killed-") as tmp:
        tmp = pathlib.Path(tmp)
        local, remote = pathlib.Path(o.amn or tmp / "amn").resolve(), pathlib.Path(o.remote or tmp / "amn-remote").resolve()
        if not o.amn:
            subprocess.run(["go", "build", "-o", local, "./cli/amn"], cwd=ROOT, check=True)
        if o.sources != "file" and not o.remote:
            subprocess.run(["go", "build", "-o", remote, "./cmd/amn"], cwd=ROOT / "remote", check=True)
        plain, coded = tmp / "folder", tmp / "coded"
        model(plain, o.size, o.seed)
        adapter(tmp / "adapter")
        (tmp / "recipe.json").write_text(json.dumps({"merge_method": "linear", "dtype": "bfloat16", "models": [{"model": "folder", "parameters": {"weight": 0.5}}, {"model": "coded-back", "parameters": {"weight": 0.5}}]}))
        server = Server(("127.0.0.1", 0), Double)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        at = f"http://127.0.0.1:{server.server_port}"
        env = os.environ | {"HF_ENDPOINT": at, "AWS_ENDPOINT_URL": at, "AWS_ENDPOINT_URL_S3": at, "AWS_ACCESS_KEY_ID": "me", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_REGION": "us-east-1", "HOME": str(tmp), "AMN_STATE": str(tmp / "state")}
        subprocess.run([str(local), "quantize", "-q", "--to", "fp8", "-o", coded, plain], env=env, check=True)
        subprocess.run([str(local), "dequantize", "-q", "-o", tmp / "coded-back", coded], env=env, check=True)
        for job in o.jobs.split(","):
            for source in o.sources.split(","):
                if given := arguments(job, o.to, source, tmp):
                    bad += tried(o, r, job, source, *given, tmp, {"dequantize": coded}.get(job, plain), at, env, local, remote)
        server.shutdown()
    sys.exit(bad > 0)


def tried(o, r, job, source, flags, ext, tmp, folder, at, env, local, remote):
    """Kills one job from one source; how much went wrong."""
    Double.folder, bad = folder, 0
    first = sorted(p.name for p in folder.glob("*.safetensors"))[0]
    address = {"file": str(folder), "https": f"{at}/{first}", "hf": "hf://me/model", "s3": "s3://models/folder"}[source]
    read = [str(tmp / "recipe.json")] if job == "merge" else [str(next(folder.glob("*.safetensors")))] if job == "split" and source == "file" else [address]
    if job == "split" and source in ("hf", "s3"):
        read = [f"{address}/{first}"]
    command = [str(local)] if source == "file" else [str(remote), "--allow-private"]
    whole, target = tmp / f"whole{ext}", tmp / f"out{ext}"

    def run(target, *more):
        return [*command, job, "-q", "--no-sync", *flags, *more, "-o", str(target), *read, *([str(tmp / "adapter")] if job == "merge-lora" else [])]

    began = time.time()
    subprocess.run(run(whole), env=env, check=True)
    took = time.time() - began
    killed, exits, seen = 0, 0, 0
    while killed < o.kills:
        p = subprocess.Popen(run(target, "--resume"), env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        try:
            _, said = p.communicate(timeout=r.uniform(0.02, 0.3) * took)
            if p.returncode:
                bad += 1
                print(f"{job}, {source}: exit {p.returncode}: {said.decode()[-300:]}")
                break
            exits += 1  # it was at its end before it was killed: again, from nothing
            seen += compare(whole, target)
            remove(target)
        except subprocess.TimeoutExpired:
            p.kill()
            p.wait()
            killed += 1
            for left in ([target.name] if target.exists() else []) + list(unfinished(tmp, target)):
                bad += 1
                print(f"{job}, {source}: {left} looks whole after a kill")
    p = subprocess.run(run(target, "--resume"), env=env, capture_output=True, text=True)
    same = p.returncode == 0 and compare(whole, target)
    left = [n.name for n in tmp.iterdir() if "partial" in n.name or "journal" in n.name or "amn-mark" in n.name]
    size = (folder / first).stat().st_size if source == "https" else sum(n.stat().st_size for n in folder.iterdir())
    print(f"{job} from {source}: {size // 1000**2} MB, {took:.1f} s at a stretch; {killed} kills, {exits} jobs ended between ({seen} of them with the same bytes), the last has {'the same bytes' if same else 'OTHER BYTES ' + p.stderr[-300:]}; left over: {left or 'nothing'}", flush=True)
    remove(target)
    remove(whole)
    return bad + (not same) + bool(left) + (seen != exits)


def compare(a, b):
    if a.is_dir():
        return digest(a) == digest(b)
    with open(a, "rb") as f, open(b, "rb") as g:
        return hashlib.file_digest(f, "sha256").digest() == hashlib.file_digest(g, "sha256").digest()


def remove(path):
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


if __name__ == "__main__":
    main()
