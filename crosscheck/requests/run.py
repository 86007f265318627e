"""Requests and bytes that a header costs over a network, beside other readers: python3 crosscheck/requests/run.py

All ask the same hub on loopback (hub.py), which counts, for the same two models (models.py). The
others are their own code: huggingface.js (npm), hf-mem (pip), gguf-parser-go (go), installed in
.venv/requests. What each found is compared, so that nobody saves by reading less.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

import hub
import models

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PLACE = ROOT / ".venv" / "requests"
VERSIONS = {"hf-mem": "0.5.6", "@huggingface/gguf": "0.4.6", "@huggingface/hub": "2.17.5", "github.com/gpustack/gguf-parser-go": "v0.28.1"}
TENSORS = {"gguf": 3 + 32 * 9, "safetensors": 30 * 60}


def run(*args, **more):
    return subprocess.run([str(a) for a in args], check=True, stdout=subprocess.PIPE, text=True, timeout=600, **more).stdout


def install():
    PLACE.mkdir(parents=True, exist_ok=True)
    python = PLACE / "python" / "bin" / "python"
    if not python.exists():
        venv.create(PLACE / "python", with_pip=True)
    run(python, "-m", "pip", "install", "--quiet", f"hf-mem=={VERSIONS['hf-mem']}")
    js = PLACE / "js"
    js.mkdir(exist_ok=True)
    (js / "client.mjs").write_text((HERE / "client.mjs").read_text())
    run("npm", "install", "--silent", "--no-audit", "--no-fund", *(f"{n}@{v}" for n, v in VERSIONS.items() if n.startswith("@")), cwd=js)
    go = PLACE / "go"
    go.mkdir(exist_ok=True)
    (go / "main.go").write_text((HERE / "_upstream" / "main.go").read_text())
    name = "github.com/gpustack/gguf-parser-go"
    (go / "go.mod").write_text(f"module upstream\n\ngo 1.26.0\n\nrequire {name} {VERSIONS[name]}\n")
    run("go", "mod", "tidy", cwd=go, stderr=subprocess.DEVNULL)
    run("go", "build", "-o", "upstream", ".", cwd=go)
    run("go", "build", "-o", PLACE / "amn", "./cmd/amn", cwd=ROOT / "remote")
    return python, js, go / "upstream"


def ours(address, env):
    text = run(PLACE / "amn", "inspect", "--json", "--allow-private", address, env=env)
    return len(json.loads(text)["tensors"])


def main():
    python, js, upstream = install()
    with tempfile.TemporaryDirectory() as folder:
        for name in ("vocabulary", "sharded"):
            Path(folder, name).mkdir()
        sizes = {"gguf": models.gguf(Path(folder, "vocabulary", "model.gguf")), "safetensors": models.sharded(Path(folder, "sharded"))}
        server, count = hub.start(folder)
        at = f"http://127.0.0.1:{server.server_port}"
        env = {**os.environ, "HF_ENDPOINT": at, "HF_TOKEN": "", "NO_PROXY": "*", "no_proxy": "*"}
        cases = [
            ("gguf", "amn", lambda: ours("hf://me/vocabulary/model.gguf", env)),
            ("gguf", "@huggingface/gguf", lambda: int(run("node", "client.mjs", "gguf", at, "me/vocabulary", "model.gguf", cwd=js))),
            ("gguf", "hf-mem", lambda: run(python, HERE / "hfmem.py", at, "--model-id", "me/vocabulary", "--gguf-file", "model.gguf", "--json-output", env=env) and None),
            ("gguf", "gguf-parser-go", lambda: int(run(upstream, f"{at}/me/vocabulary/resolve/main/model.gguf", env=env))),
            ("safetensors", "amn", lambda: ours("hf://me/sharded", env)),
            ("safetensors", "@huggingface/hub", lambda: int(run("node", "client.mjs", "safetensors", at, "me/sharded", cwd=js))),
            ("safetensors", "hf-mem", lambda: run(python, HERE / "hfmem.py", at, "--model-id", "me/sharded", "--json-output", env=env) and None),
        ]
        print(f"header of the GGUF: {sizes['gguf']:,} bytes; index and 30 headers of safetensors: {sizes['safetensors']:,} bytes\n")
        print("| model | reader | listings | requests of files | at once | bytes | of the header |\n|---|---|---|---|---|---|---|")
        failed = False
        for kind, name, ask in cases:
            count.reset()
            try:
                found = ask()
            except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as e:
                print(f"| {kind} | {name} | failed: {e} | | | | |", flush=True)
                failed = True
                continue
            time.sleep(1)  # what the server still sends
            if found is not None and found != TENSORS[kind]:
                raise SystemExit(f"{name} found {found} tensors, {TENSORS[kind]} are there")
            print(f"| {kind} | {name} | {count.listings} | {count.files} | {count.most} | {count.bytes:,} | {count.bytes / sizes[kind]:.2f} |", flush=True)
        server.shutdown()
        sys.exit(failed)


if __name__ == "__main__":
    main()
