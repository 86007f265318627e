"""The services that docs/hosts.md shows, asked by the programs it names, as printed."""
import os
import pathlib
import pickle
import re
import shutil
import socket
import subprocess
import sys
import time

import clamd

import hostile


class Evil:
    def __reduce__(self):
        return print, ("it ran",)


def blocks(language):
    text = (pathlib.Path(hostile.ROOT) / "docs" / "hosts.md").read_text()
    return re.findall(rf"(?ms)^```{language}[^\n]*\n(.*?)^```", text)


def serve(amn, *args):
    return subprocess.Popen([amn, "serve", *args], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def wait(ask):
    for _ in range(600):
        try:
            return ask()
        except (OSError, clamd.ClamdError):
            time.sleep(0.1)
    raise TimeoutError("the service does not answer")


def folder_of(folder):
    (folder / "honest").mkdir(exist_ok=True)
    (folder / "hostile").mkdir(exist_ok=True)
    for name in ("model.pt", "model.safetensors"):
        (folder / "honest" / name).write_bytes(b"\x02\x00\x00\x00\x00\x00\x00\x00{}")
    (folder / "hostile" / "model.pt").write_bytes(pickle.dumps(Evil()))


def requested(amn, folder):
    """The block for requests accepts an honest file and raises for a hostile one."""
    folder_of(folder)
    with socket.create_server(("127.0.0.1", 0)) as s:
        port = s.getsockname()[1]
    block = next(b for b in blocks("python") if "requests" in b).replace("localhost:8080", f"127.0.0.1:{port}")
    service, wrong = serve(amn, "--listen", f"127.0.0.1:{port}"), []
    try:
        wait(lambda: socket.create_connection(("127.0.0.1", port)).close())
        for kind, refused in (("honest", False), ("hostile", True)):
            done = subprocess.run([sys.executable, "-c", block], cwd=folder / kind, capture_output=True, text=True)
            if (done.returncode != 0) != refused or refused and "pickle.global" not in done.stderr:
                wrong.append(f"{kind}: exit {done.returncode}, {done.stdout}{done.stderr}")
    finally:
        service.terminate()
        service.wait()
    return 2, wrong


def foldered(amn, folder):
    """The curl lines for folders and texts, as printed: the digest of a form is what find and sha256sum print."""
    with socket.create_server(("127.0.0.1", 0)) as s:
        port = s.getsockname()[1]
    own = folder / "folder"
    own.mkdir()
    (own / "model.safetensors").write_bytes(b"\x02\x00\x00\x00\x00\x00\x00\x00{}")
    ask = next(b for b in blocks("sh") if "dir_hash" in b).replace("localhost:8080", f"127.0.0.1:{port}")
    find = next(b for b in blocks("sh") if b.startswith("find ."))
    service, wrong = serve(amn, "--listen", f"127.0.0.1:{port}"), []
    try:
        wait(lambda: socket.create_connection(("127.0.0.1", port)).close())
        done = subprocess.run(["bash", "-ec", ask], cwd=own, capture_output=True, text=True)
        here = subprocess.run(["bash", "-ec", find], cwd=own, capture_output=True, text=True).stdout.split()[0]
        if done.stdout.split() != [f'"dir_hash":"{here}"', f'"dir_hash":"{here}"', '"accepted":true']:
            wrong.append(f"exit {done.returncode}, {done.stdout}{done.stderr}, find prints {here}")
    finally:
        service.terminate()
        service.wait()
    return 2, wrong


def receipts(amn, folder):
    """The block for receipts, with a key made as printed, takes an honest file and no other."""
    folder_of(folder)
    with socket.create_server(("127.0.0.1", 0)) as s:
        port = s.getsockname()[1]
    make = next(b for b in blocks("sh") if "genpkey" in b).splitlines()[0]
    block = next(b for b in blocks("python") if "receipt.check" in b).replace("localhost:8080", f"127.0.0.1:{port}")
    env = {**os.environ, "PYTHONPATH": str(pathlib.Path(hostile.ROOT) / "python" / "src"), "PATH": f"{pathlib.Path(amn).resolve().parent}{os.pathsep}{os.environ['PATH']}"}
    subprocess.run(make, shell=True, cwd=folder, check=True, capture_output=True)
    service, wrong = serve(amn, "--listen", f"127.0.0.1:{port}", "--receipt-key", str(folder / "receipt.pem")), []
    try:
        wait(lambda: socket.create_connection(("127.0.0.1", port)).close())
        for kind, refused in (("honest", False), ("hostile", True)):
            shutil.copy(folder / "receipt.pub", folder / kind)
            done = subprocess.run([sys.executable, "-c", block], cwd=folder / kind, capture_output=True, text=True, env=env)
            if (done.returncode != 0) != refused or refused and "BadReceipt: the file is refused: forbidden" not in done.stderr:
                wrong.append(f"{kind}: exit {done.returncode}, {done.stdout}{done.stderr}")
    finally:
        service.terminate()
        service.wait()
    return 2, wrong


def replaced(amn, folder):
    """The clamd package asks as it asks ClamAV: the block as printed, then every command."""
    folder_of(folder)
    path = folder / "c.sock"
    block = next(b for b in blocks("python") if "clamd" in b).replace("/run/amn/clamd.sock", str(path))
    service, wrong = serve(amn, "--clamd", f"unix:{path}", "--root", str(folder)), []
    try:
        gate = clamd.ClamdUnixSocket(str(path))
        wait(gate.ping)
        said = re.search(r"# (\{.*\})", block).group(1)
        for kind in ("honest", "hostile"):
            got = subprocess.run([sys.executable, "-c", re.sub(r"(gate\.instream\(.*?\))\s+#.*", r"print(\1)", block)], cwd=folder / kind, capture_output=True, text=True)
            want = said if kind == "hostile" else "{'stream': ('OK', None)}"
            if got.stdout.strip() != want:
                wrong.append(f"{kind}: {got.stdout}{got.stderr}, the page says {want}")
        honest, bad = folder / "honest" / "model.pt", folder / "hostile" / "model.pt"
        asked = [
            (gate.ping(), "PONG"), (gate.version().split()[0], "anamnesis"),
            (gate.scan(str(honest))[str(honest)][0], "OK"), (gate.scan(str(bad))[str(bad)][0], "FOUND"),
            (gate.contscan(str(folder / "hostile"))[str(bad)][0], "FOUND"), (gate.multiscan(str(folder / "honest"))[str(folder / "honest")][0], "OK"),
            (gate.scan("/etc/passwd")["/etc/passwd"][0], "ERROR"),
        ]
        wrong += [f"question {i}: {got!r}, not {want!r}" for i, (got, want) in enumerate(asked) if got != want]
    finally:
        service.terminate()
        service.wait()
    return 2 + len(asked), wrong


def proxied(amn, folder):
    """nginx with the block as printed, a port and a certificate of its own: an honest file, a
    hostile one, and one that is refused by its first bytes, most of which is never sent."""
    nginx, path = shutil.which("nginx") or "/usr/sbin/nginx", folder / "http.sock"
    if not pathlib.Path(nginx).exists():
        raise RuntimeError("there is no nginx: apt-get install nginx-light")
    folder_of(folder)
    with socket.create_server(("127.0.0.1", 0)) as s:
        port = s.getsockname()[1]
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", folder / "key.pem", "-out", folder / "cert.pem", "-days", "2", "-subj", "/CN=localhost"],
                   check=True, capture_output=True)
    block = blocks("nginx")[0].replace("/run/amn/http.sock", str(path))
    block = block.replace("listen 443 ssl;", f"listen 127.0.0.1:{port} ssl; ssl_certificate {folder}/cert.pem; ssl_certificate_key {folder}/key.pem;")
    temporary = "".join(f"{name}_temp_path {folder}/{name};" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    (folder / "nginx.conf").write_text(f"daemon off; pid {folder}/pid; error_log {folder}/errors; {'user root;' if os.geteuid() == 0 else ''}"
                                       f"events {{}} http {{ access_log off; {temporary} {block} }}")
    service, wrong = serve(amn, "--listen", f"unix:{path}", "--limits", "strict"), []
    front = subprocess.Popen([nginx, "-c", str(folder / "nginx.conf"), "-p", str(folder)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    rubbish = folder / "rubbish.pt"
    rubbish.write_bytes(os.urandom(64 << 20))
    try:
        wait(lambda: socket.create_connection(("127.0.0.1", port)).close())
        wait(lambda: socket.socket(socket.AF_UNIX).connect(str(path)))
        for file, want in ((folder / "honest" / "model.safetensors", "200"), (folder / "hostile" / "model.pt", "403"), (rubbish, "415")):
            got = subprocess.run(["curl", "-sSk", "-T", file, "-o", folder / "answer", "-w", "%{http_code} %{size_upload}", f"https://127.0.0.1:{port}/v1/check?name={file.name}"], capture_output=True, text=True)
            code, sent = got.stdout.split()
            if code != want or file == rubbish and int(sent) > 16 << 20:
                wrong.append(f"{file.name}: {code}, {sent} bytes sent, {got.stderr}")
    finally:
        for p in (front, service):
            p.terminate()
            p.wait()
    return 3, wrong


CHECKS = [
    ("what docs/hosts.md shows for nginx", "nginx", proxied),
    ("what docs/hosts.md shows for requests", "requests 2.34.2", requested),
    ("what docs/hosts.md shows for folders", "curl", foldered),
    ("what docs/hosts.md shows of receipts", "requests 2.34.2", receipts),
    ("what docs/hosts.md shows in the place of clamd", "clamd 1.0.2", replaced),
]
