"""Doors that stood open at dab6e128, tried against a program from outside: what each line does to
a host, a checkout or a client, and whether the program lets it.

    python3 crosscheck/edges/edges.py --amn AMN --remote AMN_REMOTE --tree TREE [PART ...]

AMN is a built cli/amn, AMN_REMOTE a built remote/cmd/amn, TREE the repository that they were
built from, in which library.go.txt and lock.go.txt of this folder are compiled. Each case prints whether
the door is open, and what was seen. The exit code is 1 if a door is open, or if a case could not
be tried.

    python3 crosscheck/edges/edges.py --before OLD OLD_REMOTE OLD_TREE --amn ... --table crosscheck/edges/README.md

tries both programs, and writes the table. A case that the old program passes proves nothing: the
exit code is 1 then, too.
"""
import argparse
import base64
import gzip
import hashlib
import http.server
import io
import json
import lzma
import os
import pathlib
import random
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE.parent / "clients"))
import double  # noqa: E402

EVIL = b"cposix\nsystem\n(S'id'\ntR."
EMPTY = b"\x02\0\0\0\0\0\0\0{}"
CASES = []


class Cannot(Exception):
    """A case that could not be tried."""


def case(line):
    def add(f):
        CASES.append((line, f))
        return f
    return add


def safetensors(tensors):
    """A file of float32 tensors by name: a list of numbers each."""
    import struct
    header, body = {}, b""
    for name, numbers in tensors.items():
        data = struct.pack(f"<{len(numbers)}f", *numbers)
        header[name] = {"dtype": "F32", "shape": [len(numbers)], "data_offsets": [len(body), len(body) + len(data)]}
        body += data
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + body


def matrices(tensors):
    """The same for matrices: rows of numbers each."""
    import struct
    header, body = {}, b""
    for name, rows in tensors.items():
        data = b"".join(struct.pack(f"<{len(r)}f", *r) for r in rows)
        header[name] = {"dtype": "F32", "shape": [len(rows), len(rows[0])], "data_offsets": [len(body), len(body) + len(data)]}
        body += data
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + body


def slow(ops=1_500_000):
    """A small archive whose pickle takes a while to read before it runs os.system. It packs well, and less well than
    what is refused for that."""
    rand, block = random.Random(1), bytearray(b"K\x010" * 10_000)
    body = []
    for _ in range(ops // 10_000):
        for i in range(100):
            block[1 + 3 * i] = rand.randrange(256)
        body.append(bytes(block))
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as z:
        z.writestr("model.bin", b"\x80\x02" + b"".join(body) + EVIL.replace(b"posix", b"os"))
    return out.getvalue()


# Operations of a pickle: a quarter of a second of a fast processor. The archive is below 200 times smaller, which is refused for
# that, and below 256 KB, which net/http reads at once.
LONG = 10_000_000


class Program:
    """A program under test, and a new folder for each case."""

    def __init__(self, amn, remote, tree):
        self.amn, self.remote, self.tree = (os.path.abspath(p) if p else None for p in (amn, remote, tree))
        self.dir, self.built = None, {}

    def run(self, *args, cwd=None, env=None, remote=False, timeout=120, stdin=None):
        program = self.remote if remote else self.amn
        if not program:
            raise Cannot("no such program was given")
        began = time.monotonic()
        try:
            r = subprocess.run([program, *args], cwd=cwd or self.dir, env={**os.environ, "NO_PROXY": "*", "no_proxy": "*", "GITHUB_ACTIONS": "", **(env or {})}, input=stdin, capture_output=True, timeout=timeout)
        except subprocess.TimeoutExpired:
            return argparse.Namespace(code=None, out="", err="", text="", seconds=time.monotonic() - began)
        out, err = r.stdout.decode(errors="replace"), r.stderr.decode(errors="replace")
        return argparse.Namespace(code=r.returncode, out=out, err=err, text=" ".join((out + err).split()), seconds=time.monotonic() - began)

    def path(self, name, data=None):
        p = pathlib.Path(self.dir, name)
        p.parent.mkdir(parents=True, exist_ok=True)
        if data is not None:
            p.write_bytes(data if isinstance(data, bytes) else data.encode())
        return p

    def demo(self, name, to):
        source = ROOT / "testdata/demo" / name
        (shutil.copytree if source.is_dir() else shutil.copy)(source, self.path(to))

    def go(self, name):
        """A program of this folder, compiled among the packages of the tree."""
        if name not in self.built:
            where = pathlib.Path(self.tree, "cli", "amn-edges-" + name)  # of the tree by the overlay alone
            overlay = pathlib.Path(tempfile.mkdtemp()) / "overlay.json"
            files = {str(where / "main.go"): str(HERE / (name + ".go.txt"))}
            if name == "lock":
                where = pathlib.Path(self.tree, "internal", "amn-edges-lock")
                files = {str(where / "main.go"): str(HERE / "lock.go.txt")}
            overlay.write_text(json.dumps({"Replace": files}))
            target = str(overlay.parent / name)
            r = subprocess.run(["go", "build", "-overlay", str(overlay), "-o", target, "./" + str(where.relative_to(self.tree))], cwd=self.tree, env={**os.environ, "CGO_ENABLED": "1"}, capture_output=True, text=True)
            if r.returncode:
                raise Cannot(f"{name} does not compile there: {r.stderr[-600:]}")
            self.built[name] = target
        return self.built[name]

    def library(self, what):
        return subprocess.run([self.go("library"), what], capture_output=True, text=True, timeout=120).stdout.strip()


class Service:
    """amn serve on a port of its own."""

    def __init__(self, p, *args):
        self.log = []
        self.process = subprocess.Popen([p.amn, "serve", "--listen", "localhost:0", *args], cwd=p.dir, stderr=subprocess.PIPE, text=True, preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL))  # nohup ignores it
        self.address = None
        for line in self.process.stderr:
            if found := re.search(r"msg=listening address=(\S+):(\d+)", line):
                self.address = (found[1].strip("[]"), int(found[2]))
                break
        if not self.address:
            raise Cannot("the service does not start")
        threading.Thread(target=lambda: self.log.extend(self.process.stderr), daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def connect(self, send, timeout=100):
        c = socket.create_connection(self.address, timeout=timeout)
        try:
            c.sendall(send)
        except OSError:
            pass
        return c

    def put(self, name, data, half=False, timeout=100):
        """The status and the body; None if no answer comes."""
        try:
            with self.connect(f"PUT /v1/check?name={name} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {len(data)}\r\n\r\n".encode() + data, timeout) as c:
                if half:
                    c.shutdown(socket.SHUT_WR)
                said = b""
                while piece := c.recv(65536):
                    said += piece
        except OSError:
            return None, b""
        found = re.match(rb"HTTP/1\.1 (\d+)", said)
        return (int(found[1]), said.partition(b"\r\n\r\n")[2]) if found else (None, b"")

    def together(self, n, *args, **keys):
        answers = [None] * n

        def one(i):
            answers[i] = self.put(*args, **keys)

        all_of = [threading.Thread(target=one, args=(i,)) for i in range(n)]
        [t.start() for t in all_of]
        [t.join() for t in all_of]
        return answers


def statuses(answers):
    counts = {}
    for status, _ in answers:
        counts[status] = counts.get(status, 0) + 1
    return ", ".join(f"{n} × {s or 'no answer'}" for s, n in sorted(counts.items(), key=lambda x: str(x[0])))


def accepted(answers):
    return any(s and s < 400 for s, _ in answers)


# 1: what is not judged

@case("`serve`: 40 hostile archives at once, `--slots 1 --idle 500ms`")
def forty(p):
    with Service(p, "--slots", "1", "--idle", "500ms") as s:  # most wait for longer than that, on any machine
        got = s.together(40, "upload.zip", slow(6_000_000))
    return accepted(got), statuses(got)


@case("`serve`: one hostile archive, `--idle 50ms`")
def one_slow(p):
    data = slow(LONG)
    with Service(p, "--idle", "50ms") as s:
        got = [s.put("upload.zip", data) for _ in range(5)]
    return accepted(got), statuses(got)


@case("`serve --isolate`: the same")
def one_slow_isolated(p):
    data = slow(LONG)
    with Service(p, "--isolate", "--idle", "50ms") as s:
        got = [s.put("upload.zip", data) for _ in range(5)]
    return accepted(got), statuses(got)


@case("`serve`: a hostile upload, then a half close, 50 times")
def half_close(p):
    with Service(p) as s:
        got = [s.put("upload.zip", slow(300_000), half=True) for _ in range(50)]
    return accepted(got), statuses(got)


@case("`handler.Handler`: a cancelled request")
def cancelled(p):
    said = p.library("cancelled")
    return said == "200", "status " + (said or "none")


# 2: whose package

@case("documents that install PyPI's `anamnesis`")
def pypi(p):
    found = []
    for f in pathlib.Path(p.tree).rglob("*"):
        if f.suffix in (".md", ".toml", ".yml", ".yaml", ".py", ".cfg") and ".venv" not in f.parts and f.is_file() and "crosscheck" not in f.parts:
            text = f.read_text(errors="replace")
            if re.search(r"pip insta[l]l (-\S+ )*[\"']?anamnesis(?![-_\w])[^`\n]*$", text, re.M) or re.search(r'^name = "anamnesis"$', text, re.M):
                found.append(str(f.relative_to(p.tree)))
    return bool(found), ", ".join(sorted(found)[:4]) or "none"


# 3: what is written

def checkout(p):
    p.path("home/.bashrc", "# mine\n")
    p.path("checkout/model.pkl", b"c$(touch X)\nsystem\n(S'x'\ntR.")
    p.path("checkout/good.safetensors", EMPTY)
    return p.path("checkout")


@case("`scan --output sarif=` through a link of the checkout")
def through_link(p):
    where = checkout(p)
    os.symlink("../home/.bashrc", where / "amn.sarif")
    r = p.run("scan", "--format", "github", "--output", "sarif=amn.sarif", "--", ".", cwd=where)
    changed = p.path("home/.bashrc").read_text() != "# mine\n"
    return changed, f"exit {r.code}, .bashrc {'was written' if changed else 'is as it was'}"


@case("`scan --output` through a dangling link")
def dangling(p):
    where = checkout(p)
    os.symlink("../home/new", where / "amn.sarif")
    r = p.run("scan", "--output", "sarif=amn.sarif", "--", ".", cwd=where)
    made = p.path("home/new").exists()
    return made, f"exit {r.code}, a file outside {'was made' if made else 'was not made'}"


def keys(p):
    subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", str(p.path("key.pem"))], check=True, capture_output=True)
    subprocess.run(["openssl", "pkey", "-in", str(p.path("key.pem")), "-pubout", "-out", str(p.path("key.pub"))], check=True, capture_output=True)


@case("`scan --output`, `--bom`, `--attest` onto a file of the scanned folder")
def onto(p):
    keys(p)
    seen = []
    for what, args in {"junit": ["--output", "junit=%s"], "bom": ["--bom", "%s"], "attest": ["--attest", "%s", "--key", str(p.path("key.pem"))]}.items():
        folder = what + "/model"
        p.path(folder + "/m.safetensors", EMPTY)
        target = p.path(folder + "/weights.pkl", EVIL)
        r = p.run("scan", *[a % target if "%s" in a else a for a in args], folder)
        seen.append((what, r.code, target.read_bytes() != EVIL))
    return any(code == 0 or changed for _, code, changed in seen), ", ".join(f"{w}: exit {c}{', replaced' if x else ''}" for w, c, x in seen)


@case("`inspect --html` replaces any file")
def html_replaces(p):
    p.path("m.safetensors", EMPTY)
    target = p.path("thesis.txt", "mine")
    r = p.run("inspect", "--html", str(target), "m.safetensors")
    return target.read_text() != "mine", f"exit {r.code}"


@case("`inspect --html` says Accepted of a folder that is refused")
def html_says(p):
    p.path("model/a.safetensors", EMPTY)
    p.path("model/b.pkl", EVIL)
    p.run("inspect", "--html", "page.html", "model")
    page, scanned = p.path("page.html"), p.run("scan", "model").code
    text = page.read_text() if page.exists() else ""
    says = "accepted" if '"accepted":true' in text else "refused" if '"accepted":false' in text else "nothing"
    return says == "accepted" and scanned == 7, f"scan: exit {scanned}; the page: {says}"


@case("`hash -f -o` follows a link")
def hash_link(p):
    p.path("m/m.safetensors", EMPTY)
    p.path("home/file", "mine")
    os.symlink("../home/file", p.path("m/manifest.json"))
    r = p.run("hash", "-f", "-o", "m/manifest.json", "m/m.safetensors")
    return p.path("home/file").read_text() != "mine", f"exit {r.code}"


# 4: evidence

def attest(p, *args):
    keys(p)
    r = p.run("scan", "-q", "--attest", str(p.path("model.att")), "--key", str(p.path("key.pem")), *args, "model")
    return r.code


def verify(p):
    r = p.run("verify", "--attestation", str(p.path("model.att")), "--key", str(p.path("key.pub")), "model")
    return r.code


@case("`verify --attestation`: an index names `model.sig` as its shard, then it is swapped")
def sig_as_shard(p):
    p.path("model/model.sig", safetensors({"a": [1]}))
    p.path("model/model.safetensors.index.json", json.dumps({"metadata": {"total_size": 4}, "weight_map": {"a": "model.sig"}}))
    first = attest(p)
    p.path("model/model.sig", safetensors({"a": [2]}))
    code = verify(p) if p.path("model.att").exists() else "none"
    return code == 0, f"attested: exit {first}; verified after the swap: {code}"


@case("`verify --attestation`: files under `.git` behind a link, added afterwards")
def git_behind_link(p):
    p.path("model/m.safetensors", EMPTY)
    p.path("model/.git/evil/config.json", "{}")
    os.symlink(".git/evil", p.path("model/unet"))
    first = attest(p)
    p.path("model/.git/evil/diffusion_pytorch_model.bin", EVIL)
    code = verify(p) if p.path("model.att").exists() else "none"
    return code == 0, f"attested: exit {first}; verified after: {code}"


@case("`verify --attestation`: a `model.sig` that is a pickle, added afterwards")
def bare_sig(p):
    p.path("model/m.safetensors", EMPTY)
    first = attest(p)
    p.path("model/model.sig", EVIL)
    code = verify(p) if p.path("model.att").exists() else "none"
    return code == 0, f"attested: exit {first}; verified after: {code}"


# 5: names of sources

def served(p):
    d = double.Double()
    env = {"HF_ENDPOINT": f"http://{d.host}", "AWS_ENDPOINT_URL_S3": f"http://{d.host}", "AWS_ACCESS_KEY_ID": "me", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_REGION": "us-east-1", "AWS_EC2_METADATA_DISABLED": "true",
           "DOCKER_CONFIG": str(p.path("docker"))}
    return d, env


@case("`scan hf://`: a name with a percent escape is another file's")
def percent(p):
    d, env = served(p)
    good = (ROOT / "testdata/demo/checkpoint.pt").read_bytes()
    evil = EVIL + b"\0" * (len(good) - len(EVIL))  # as long
    for line in p.run("parse", "--json", str(ROOT / "testdata/demo/checkpoint.pt")).out.splitlines():
        names = {t["name"]: "model%2D00001.bin" for t in json.loads(line)["tensors"]}
    d.hub["me/m"] = {"config.json": b"{}", "model%2D00001.bin": evil, "model-00001.bin": good, "pytorch_model.bin.index.json": json.dumps({"weight_map": names}).encode()}
    r = p.run("scan", "--allow-private", "hf://me/m", env=env, remote=True)
    return r.code == 0, f"exit {r.code}; the hub was asked for {', '.join(sorted({n for _, n, _ in d.sent})) or 'no file'}"


@case("`scan oci://`: a manifest with `layers` and `LAYERS`")
def two_layers(p):
    d, env = served(p)
    good, evil = EMPTY, EVIL
    layer = lambda data, title: {"mediaType": "application/octet-stream", "digest": "sha256:" + double.sha256(data), "size": len(data), "annotations": {"org.opencontainers.image.title": title}}  # noqa: E731
    config = b"{}"
    head = f'"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","config":{{"mediaType":"application/vnd.oci.empty.v1+json","digest":"sha256:{double.sha256(config)}","size":2}}'
    manifest = ("{" + head + ',"layers":' + json.dumps([layer(evil, "model.pkl")]) + ',"LAYERS":' + json.dumps([layer(good, "m.safetensors")]) + "}").encode()
    d.registry["me/m"] = (manifest, "application/vnd.oci.image.manifest.v1+json", {"sha256:" + double.sha256(b): b for b in (good, evil, config)})
    r = p.run("scan", "--allow-private", f"oci://{d.host}/me/m:latest", env=env, remote=True)
    return r.code == 0, f"exit {r.code}"


def titled(p, title):
    d, env = served(p)
    data, config = EMPTY, b"{}"
    manifest = json.dumps({"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
                           "config": {"mediaType": "application/vnd.oci.empty.v1+json", "digest": "sha256:" + double.sha256(config), "size": 2},
                           "layers": [{"mediaType": "application/octet-stream", "digest": "sha256:" + double.sha256(data), "size": len(data), "annotations": {"org.opencontainers.image.title": title}}]}).encode()
    d.registry["me/m"] = (manifest, "application/vnd.oci.image.manifest.v1+json", {"sha256:" + double.sha256(b): b for b in (data, config)})
    return p.run("scan", "--allow-private", f"oci://{d.host}/me/m:latest", env=env, remote=True)


@case("`scan oci://`: titles with NUL or `..\\`")
def titles(p):
    codes = {shown: titled(p, title).code for shown, title in {"NUL": "a\0.safetensors", "..\\": "..\\a.safetensors"}.items()}
    return 0 in codes.values(), ", ".join(f"{k}: exit {v}" for k, v in codes.items())


@case("`scan hf://o/r@..`")
def dots(p):
    d, env = served(p)
    d.hub["me/m"] = {"m.safetensors": EMPTY}
    asked = []
    answer = d.answer
    d.answer = lambda path, *rest: (asked.append(path), answer(path, *rest))[1]
    r = p.run("scan", "--allow-private", "hf://me/m@..", env=env, remote=True)
    return bool(asked), f"exit {r.code}; asked for {asked}"


# 6: time

class Dripping:
    """A server that sends a byte each second."""

    def __init__(self):
        data = safetensors({"a": [0.0] * 25_000})

        class Handler(http.server.BaseHTTPRequestHandler):
            def log_message(self, *_):
                pass

            def do_GET(self):
                span = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
                first, last = (int(span[1]), min(int(span[2] or len(data) - 1), len(data) - 1)) if span else (0, len(data) - 1)
                self.send_response(206 if span else 200)
                self.send_header("Content-Length", str(last - first + 1))
                self.send_header("ETag", '"1"')
                if span:
                    self.send_header("Content-Range", f"bytes {first}-{last}/{len(data)}")
                self.end_headers()
                try:
                    for byte in data[first:last + 1] if self.command == "GET" else b"":
                        self.wfile.write(bytes([byte]))
                        time.sleep(1)
                except OSError:
                    pass

            do_HEAD = do_GET

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}/m.safetensors"


@case("`scan --timeout 2s` of a server at one byte a second")
def dripping(p):
    r = p.run("scan", "--allow-private", "--timeout", "2s", Dripping().url, remote=True, timeout=30)
    return r.code is None or r.code == 0, f"exit {r.code} after {r.seconds:.1f} s" if r.code is not None else "still at it after 30 s"


@case("`scan --timeout 2s` of a bucket that lists empty pages for ever")
def pages(p):
    d, env = served(p)
    d.buckets["endless"] = {}
    d.pages["endless"] = "<IsTruncated>true</IsTruncated><NextContinuationToken>more</NextContinuationToken>"
    r = p.run("scan", "--allow-private", "--timeout", "2s", "s3://endless/m", env=env, remote=True, timeout=30)
    return r.code is None or r.code == 0, f"exit {r.code} after {r.seconds:.1f} s" if r.code is not None else "still at it after 30 s"


@case("`scan --baseline` with 10,000 entries, for one pickle: over 1.5 s of the processor")
def baseline(p):
    p.path("a.pkl", EVIL)
    p.run("scan", "--output", "baseline=known.json", "a.pkl")
    known = json.loads(p.path("known.json").read_text())
    entries = next(v for v in known.values() if isinstance(v, list) and v)
    entry = entries[0]
    entries[:0] = [{**entry, **({"sha256": hashlib.sha256(str(i).encode()).hexdigest()} if "sha256" in entry else {}), **({"path": f"a{i}.pkl"} if "path" in entry else {})} for i in range(10_000)]
    p.path("known.json", json.dumps(known))
    took, code = seconds(p, "scan", "--baseline", "known.json", "a.pkl")
    return code is None or took > 1.5, f"exit {code} after {took:.1f} s of the processor"


@case("a policy with 7,000 entries of `ignore`, for one pickle: over 1.5 s of the processor")
def ignoring(p):
    p.path("a.pkl", EVIL)
    text = {"version": 2, "ignore": [{"rule": "pickle.global", "reason": "known", "sha256": hashlib.sha256(str(i).encode()).hexdigest()} for i in range(7_000)]}
    p.path("policy.json", json.dumps(text, separators=(",", ":")))
    took, code = seconds(p, "scan", "--limits", "policy.json", "a.pkl")
    if code not in (7, None):
        raise Cannot(f"exit {code}")
    return took > 1.5, f"exit {code} after {took:.1f} s of the processor"


@case("`hash --check` of a manifest that states a model 3,000 times: it is read as often")
def repeated(p):
    p.demo("model.safetensors", "m.safetensors")
    p.run("hash", "-o", "manifest.json", "m.safetensors")
    text = p.path("manifest.json").read_text().strip()
    p.path("manifest.json", (text + "\n") * 3000)
    r = p.run("hash", "--check", "manifest.json", timeout=60)
    return r.code in (0, None), f"exit {r.code} after {r.seconds:.1f} s" if r.code is not None else "still at it after 60 s"


# 7: what is replaced, compared, computed

@case("`-f` onto a folder (split, convert, dequantize) removes what is not the model's")
def force(p):
    seen = []
    for name, args in {"split": ["split", "--max-tensors", "2", str(ROOT / "testdata/demo/tiny.gguf")], "convert": ["convert", "--to", "safetensors", str(ROOT / "testdata/demo/sharded")], "dequantize": ["dequantize", str(ROOT / "testdata/demo/llama-fp8")]}.items():
        r0 = p.run(*args, "-o", name)
        mine = {n: p.path(f"{name}/{n}", "mine") for n in ("thesis.txt", "secrets.json", "optimizer.pt", "backup.gguf")}
        r = p.run(*args, "-f", "-o", name)
        lost = [n for n, f in mine.items() if not f.exists() or f.read_text() != "mine"]
        if r0.code:
            raise Cannot(f"{name}: exit {r0.code} {r0.text[:200]}")
        seen.append((name, r.code, lost))
    return any(lost for _, _, lost in seen), "; ".join(f"{n}: exit {c}, {len(lost)} of 4 lost" for n, c, lost in seen)


@case("`hash -f -o m m` replaces the model by its manifest")
def hash_itself(p):
    p.path("m", EMPTY)
    r = p.run("hash", "-f", "-o", "m", "m")
    return p.path("m").read_bytes() != EMPTY, f"exit {r.code}"


@case("`hash --check` with the right file digest and wrong tensors")
def wrong_tensors(p):
    p.path("m.safetensors", safetensors({"a": [1, 2], "b": [3]}))
    p.run("hash", "-o", "manifest.json", "m.safetensors")
    right = json.loads(p.path("manifest.json").read_text())
    seen = {}

    def swap(what, change):
        wrong = json.loads(json.dumps(right))
        change(wrong["tensors"])
        p.path("manifest.json", json.dumps(wrong) + "\n")
        seen[what] = p.run("hash", "--check", "manifest.json").code

    swap("a digest", lambda t: t[0].update(sha256="0" * 64))
    swap("a shape", lambda t: t[0].update(shape=[1, 2]))
    swap("one dropped", lambda t: t.pop())
    return 0 in seen.values(), ", ".join(f"{k}: exit {v}" for k, v in seen.items())


@case("`merge-lora` with a lora_alpha of 1e308 writes infinities")
def alpha(p):
    p.path("base/config.json", json.dumps({"architectures": ["LlamaForCausalLM"], "model_type": "llama"}))
    p.path("base/model.safetensors", matrices({"model.layers.0.self_attn.q_proj.weight": [[1, 2], [3, 4]]}))
    p.path("adapter/adapter_config.json", json.dumps({"peft_type": "LORA", "r": 1, "lora_alpha": 1e308, "target_modules": ["q_proj"], "task_type": "CAUSAL_LM", "base_model_name_or_path": "base"}))
    prefix = "base_model.model.model.layers.0.self_attn.q_proj."
    p.path("adapter/adapter_model.safetensors", matrices({prefix + "lora_A.weight": [[1, 1]], prefix + "lora_B.weight": [[1], [1]]}))
    r = p.run("merge-lora", "-o", "out", "base", "adapter")
    if r.code != 0 and "infinit" not in r.text and "1e+308" not in r.text and "range" not in r.text:
        raise Cannot(f"exit {r.code}: {r.text[:300]}")
    return r.code == 0, f"exit {r.code}"


@case("`verify oci://` says `bodies verified` of a blob with another digest")
def blob(p):
    d, env = served(p)
    config, good, other = b"{}", safetensors({"a": [1]}), safetensors({"a": [2]})
    digest = "sha256:" + double.sha256(good)
    manifest = json.dumps({"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
                           "config": {"mediaType": "application/vnd.oci.empty.v1+json", "digest": "sha256:" + double.sha256(config), "size": 2},
                           "layers": [{"mediaType": "application/octet-stream", "digest": digest, "size": len(good), "annotations": {"org.opencontainers.image.title": "m.safetensors"}}]}).encode()
    d.registry["me/m"] = (manifest, "application/vnd.oci.image.manifest.v1+json", {digest: other, "sha256:" + double.sha256(config): config})
    r = p.run("verify", "--allow-private", f"oci://{d.host}/me/m:latest", env=env, remote=True)
    return r.code == 0, f"exit {r.code}"


@case("a password of docker's configuration goes to another port of its host")
def password(p):
    (d, env), other = served(p), double.Double()
    got = []
    d.answer = lambda path, query, headers: (401, {"WWW-Authenticate": f'Bearer realm="http://{other.host}/token",service="x"'}, b"")
    other.answer = lambda path, query, headers: (got.append(headers.get("Authorization")), (200, {"Content-Type": "application/json"}, b'{"token":"t"}'))[1]
    p.path("docker/config.json", json.dumps({"auths": {d.host: {"auth": base64.b64encode(b"me:secret").decode()}}}))
    r = p.run("scan", "--allow-private", f"oci://{d.host}/me/m:latest", env=env, remote=True)
    return any(got), f"exit {r.code}, {sum(1 for g in got if g)} of {len(got)} requests there with a password"


# 8: work, and who waits for it

def seconds(p, *args):
    """The processor seconds of a run, and its exit code."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    r = p.run(*args)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, r.code


@case("30,000 packed members of a tar.xz of 58 KB, 7,000 of a ZIP of 1.1 MB: over a second for a megabyte and a tenth for each that is inflated")
def tiny_members(p):
    out, packed = io.BytesIO(), gzip.compress(b"hello\n")
    with tarfile.open(fileobj=out, mode="w:xz") as t:
        for i in range(30_000):
            info = tarfile.TarInfo(f"{i}.gz")
            info.size = len(packed)
            t.addfile(info, io.BytesIO(packed))
    p.path("a.tar.xz", out.getvalue())
    out, packed = io.BytesIO(), lzma.compress(b"hello\n")
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as z:
        for i in range(7_000):
            z.writestr(f"{i}.xz", packed)
    p.path("a.zip", out.getvalue())
    open_, says = False, []
    for name, most in ("a.tar.xz", 1 + 0.1 * 30_000 * 1024 / 2**20), ("a.zip", len(out.getvalue()) / 2**20 + 0.1 * 7_000 * len(packed) / 2**20):
        took = min(seconds(p, "scan", "-q", name)[0] for _ in range(3))
        open_ = open_ or took > most
        says.append(f"{name}: {took:.1f} s of the processor, of {most:.1f}")
    return open_, "; ".join(says)


@case("a config.json of 60 MiB in a tar.xz of 9 KB")
def one_member(p):
    data = b'{"a":[' + b"0," * (30 << 20) + b"0]}"
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:xz") as t:
        info = tarfile.TarInfo("config.json")
        info.size = len(data)
        t.addfile(info, io.BytesIO(data))
    p.path("a.tar.xz", out.getvalue())
    took, code = seconds(p, "scan", "-q", "a.tar.xz")
    return code == 0, f"exit {code} after {took:.1f} s of the processor"


def limited(p, path, most):
    """Whether a policy of so many steps refuses the path for it."""
    p.path("steps.json", json.dumps({"max_steps": most}))
    r = p.run("scan", "--limits", "steps.json", path, timeout=200)
    return r.code == 6 and "steps" in r.text


@case("YAML of `x: {activation,activation,...` costs no more steps than its bytes")
def yaml(p):
    p.path("m/m.safetensors", EMPTY)
    p.path("m/config.yaml", "x: {" + "activation," * 90_000)
    n = limited(p, "m", 2 * 11 * 90_000)
    return not n, f"{'more' if n else 'fewer'} than two steps a byte"


@case("a file of one byte, of thousands in a folder, costs fewer than 100 steps")
def tiny_files(p):
    p.path("m/m.safetensors", EMPTY)
    for i in range(100):
        p.path(f"m/{i}.txt", "x")
    p.path("steps.json", json.dumps({"max_steps": 100}))
    r = p.run("scan", "--limits", "steps.json", "m")
    refused = len(re.findall(r"^limit .*\.txt", r.out, re.M))
    return refused < 100, f"{refused} of 100 files are refused by a policy of 100 steps"


def tiny_tar(n=7000):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as t:
        for i in range(n):
            info = tarfile.TarInfo(f"t/{i}.txt")
            info.size = 6
            t.addfile(info, io.BytesIO(b"hello\n"))
    return out.getvalue()


@case("one tenant's 90 clients, which ask again: another tenant is told that the service is busy")
def ninety(p):
    p.path("tokens", "a" * 20 + "\n" + "b" * 20 + "\n")
    os.chmod(p.path("tokens"), 0o600)
    with Service(p, "--tokens", str(p.path("tokens")), "--slots", "2", "--limits", "server") as s:
        dear, answers, waited, ended = slow(LONG), [], [], threading.Event()

        def ask(token, name, data):
            try:
                with s.connect(f"PUT /v1/check?name={name} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token * 20}\r\nConnection: close\r\nContent-Length: {len(data)}\r\n\r\n".encode() + data, 60) as c:
                    return c.recv(20)[9:12].decode() or "nothing"
            except OSError as e:
                return type(e).__name__

        def crowd():
            while not ended.is_set():
                answers.append(ask("a", "a.zip", dear))
                ended.wait(0.05)  # the queue is full as long as they are there

        [threading.Thread(target=crowd, daemon=True).start() for _ in range(90)]
        time.sleep(3)
        for _ in range(5):
            waited.append(ask("b", "m.safetensors", EMPTY))
        ended.set()
        judged = answers.count("403")
    return waited != ["200"] * 5, f"the other's: {', '.join(waited)}; {judged} of the crowd's were judged by then"


@case("clients at one byte a second hold all uploads (16 of 16); `--idle 2s`")
def drips(p):
    with Service(p, "--idle", "2s", "--max-uploads", "16", "--per-tenant", "16") as s:
        clients = [s.connect(b"PUT /v1/check?name=m.bin HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n\x80") for _ in range(16)]
        ended = threading.Event()

        def drip(c):
            try:
                while not ended.wait(1):
                    c.sendall(b"\x02")
            except OSError:
                pass

        for c in clients:
            threading.Thread(target=drip, args=(c,), daemon=True).start()
        time.sleep(16)
        status, _ = s.put("m.safetensors", EMPTY)
        ended.set()
    return status != 200, f"after 16 s another upload gets {status}"


@case("a client that does not read its answers holds up pages and checks")
def no_reader(p):
    header = json.dumps({f"{i:0160d}": {"dtype": "U8", "shape": [0], "data_offsets": [0, 0]} for i in range(70_000)}, separators=(",", ":")).encode()
    many = len(header).to_bytes(8, "little") + header
    with Service(p, "--ui", "--min-rate", "0") if "--min-rate" in p.run("serve", "--help").out else Service(p, "--ui") as s:
        with socket.socket() as c:
            c.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            c.connect(s.address)
            c.sendall(f"PUT /v1/check?format=page&name=m.safetensors HTTP/1.1\r\nHost: x\r\nContent-Length: {len(many)}\r\n\r\n".encode() + many)
            time.sleep(15)  # its page is made, and not read
            page, _ = s.put("m.safetensors&format=page", EMPTY, timeout=20)
            checked = s.together(8, "m.safetensors", EMPTY, timeout=20)
    return page != 200 or any(status != 200 for status, _ in checked), f"another page: {page or 'none'}; /v1/check: {statuses(checked)}"


@case("SIGTERM beside clients that are stuck: over 15 s")
def sigterm(p):
    with Service(p, "--ui") as s:
        stuck = [s.connect(b"PUT /v1/check HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nabc"), s.connect(b"PUT /v1/check HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n"), s.connect(b"")]
        time.sleep(1)
        began = time.monotonic()
        s.process.send_signal(signal.SIGTERM)
        try:
            s.process.wait(60)
        except subprocess.TimeoutExpired:
            pass
        took = time.monotonic() - began
        del stuck
    return took > 15, f"{took:.1f} s"


@case("SIGHUP ends the service")
def sighup(p):
    with Service(p) as s:
        s.process.send_signal(signal.SIGHUP)
        time.sleep(2)
        status, _ = s.put("m.safetensors", EMPTY)
    return status != 200, f"afterwards an upload gets {status}"


# 9: small

@case("the zero `Verdict` is accepted")
def zero(p):
    said = p.library("zero")
    return said == "true", f"Accepted() is {said}"


@case("`Upload.Spool` after `Close` leaks")
def spool(p):
    said = p.library("spool")
    return said != "0", f"{said} bytes of spool are held"


@case("`Budget.Drop(100)` gives -100")
def drop(p):
    said = p.library("drop")
    return said != "0", f"what is used: {said} bytes"


@case("a nil budget panics")
def nil_budget(p):
    said = p.library("budget")
    return said != "error", said


@case("a nil `next` panics")
def nil_next(p):
    said = p.library("next")
    return said != "error", said


@case("an index that contradicts its shards, in a .tar")
def contradicting(p):
    files = {"model.safetensors.index.json": json.dumps({"metadata": {"total_size": 4}, "weight_map": {"b": "model-00001-of-00001.safetensors"}}).encode(), "model-00001-of-00001.safetensors": safetensors({"a": [1]})}
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as t:
        for n, data in files.items():
            p.path("m/" + n, data)
            info = tarfile.TarInfo(n)
            info.size = len(data)
            t.addfile(info, io.BytesIO(data))
    p.path("m.tar", out.getvalue())
    folder, tar = p.run("scan", "m").code, p.run("scan", "m.tar").code
    return tar == 0 or folder == 0, f"folder: exit {folder}, tar: exit {tar}"


@case("a file that is swapped while it is judged, without a digest")
def swapped(p):
    said = p.library("swapped")
    return said != "refused", said


@case("a locked process signals its parent by a socket's owner (F_SETOWN, O_ASYNC)")
def fcntl(p):
    said = subprocess.run([p.go("lock"), "signal"], capture_output=True, text=True, timeout=60).stdout.strip()
    return said != "refused", said


@case("a locked process writes to its spool by mmap")
def mapped(p):
    said = subprocess.run([p.go("lock"), "map"], capture_output=True, text=True, timeout=60).stdout.strip()
    return said != "refused", said


def attempt(p, f):
    """Whether the door is open (None if it could not be tried), and what was seen."""
    p.dir = tempfile.mkdtemp(prefix="amn-edges-")
    try:
        return f(p)
    except Cannot as e:
        return None, f"could not be tried: {e}"
    finally:
        for at, folders, _ in os.walk(p.dir):
            for d in folders:
                os.chmod(os.path.join(at, d), 0o700) if not os.path.islink(os.path.join(at, d)) else None
        shutil.rmtree(p.dir, ignore_errors=True)


def main():
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # nohup ignores it, and so would the services that are sent it
    a = argparse.ArgumentParser()
    a.add_argument("--amn", required=True)
    a.add_argument("--remote")
    a.add_argument("--tree", default=str(ROOT))
    a.add_argument("--before", nargs=3, metavar=("AMN", "REMOTE", "TREE"))
    a.add_argument("--table")
    a.add_argument("parts", nargs="*")
    o = a.parse_args()
    now, before = Program(o.amn, o.remote, o.tree), Program(*o.before) if o.before else None
    rows, wrong = [], 0
    for line, f in CASES:
        if o.parts and f.__name__ not in o.parts:
            continue
        old = attempt(before, f) if before else (True, "")
        new = attempt(now, f)
        bad = new[0] is not False or old[0] is not True
        wrong += bad
        rows.append((line, old[1], new[1], f.__name__))
        print(("WRONG " if bad else "ok    ") + f"{f.__name__}: {line}\n         " + (f"before ({'open' if old[0] else 'not open' if old[0] is False else '?'}): {old[1]}\n         now: " if before else "") + new[1], flush=True)
    print(f"{len(rows)} doors, {wrong} wrong")
    if o.table:
        page = pathlib.Path(o.table)
        text = page.read_text()
        begin, end = "<!-- doors: written by crosscheck/edges/edges.py -->\n", "<!-- /doors -->"
        kept = {row.rsplit("`", 2)[1]: row for row in text.partition(begin)[2].partition(end)[0].splitlines() if row.endswith("` |")}
        cell = lambda s: s.replace("|", "\\|").replace("\n", " ")  # noqa: E731
        kept.update((c, f"| {cell(line)} | {cell(b)} | {cell(n)} | `{c}` |") for line, b, n, c in rows)
        table = "| what was tried | before | now | case |\n|---|---|---|---|\n" + "".join(kept[f.__name__] + "\n" for _, f in CASES if f.__name__ in kept)
        head, _, rest = text.partition(begin)
        page.write_text(head + begin + table + end + rest.partition(end)[2])
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
