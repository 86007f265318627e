"""The services that docs/hosts.md shows, asked by the programs it names, as printed."""
import pathlib
import pickle
import re
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
    (folder / "honest" / "model.pt").write_bytes(b"\x02\x00\x00\x00\x00\x00\x00\x00{}")
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


CHECKS = [
    ("what docs/hosts.md shows for requests", "requests 2.34.2", requested),
    ("what docs/hosts.md shows in the place of clamd", "clamd 1.0.2", replaced),
]
