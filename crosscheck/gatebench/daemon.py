"""Uploads a second by clamd's own protocol: through amn serve --clamd, and through ClamAV's clamd where it is
installed. ClamAV publishes its signatures as a download; here it has one, so its figure is the least that it needs.
"""
import contextlib
import os
import pathlib
import shutil
import socket
import struct
import subprocess
import threading
import time

CONFIG = """LocalSocket {socket}
DatabaseDirectory {folder}
TemporaryDirectory {folder}
Foreground yes
User {user}
StreamMaxLength 100M
"""


def instream(path, body):
    """One answer of INSTREAM; a connection for each file, as most clients do it."""
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(path)
        s.sendall(b"zINSTREAM\0" + struct.pack(">I", len(body)) + body + struct.pack(">I", 0))
        answer = b""
        while part := s.recv(4096):
            answer += part
        return answer


def waits(path, child):
    for _ in range(600):
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as s:
            s.connect(path)
            s.sendall(b"zPING\0")
            if s.recv(16).startswith(b"PONG"):
                return
        if child.poll() is not None:
            break
        time.sleep(0.1)
    raise RuntimeError("the daemon does not answer")


def rate(command, path, uploads, body):
    child = subprocess.Popen(list(map(str, command)), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        waits(path, child)
        wrong, workers = [], os.cpu_count() or 1

        def client(n):
            for _ in range(n):
                answer = instream(path, body)
                if b"OK" not in answer:
                    wrong.append(answer)

        threads = [threading.Thread(target=client, args=(uploads // workers,)) for _ in range(workers)]
        began = time.monotonic()
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        took = time.monotonic() - began
        if wrong:
            raise RuntimeError(f"answers {wrong[:3]}")
        status = pathlib.Path(f"/proc/{child.pid}/status").read_text()
        peak = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")) * 1024
        return uploads // workers * workers / took, peak
    finally:
        child.terminate()
        child.wait()


def daemons(amn, tmp, uploads, body):
    """A name, uploads a second, and the most memory, for each daemon."""
    path = os.path.join(tmp, "amn.sock")
    yield "amn serve --clamd", *rate([amn, "serve", "-q", "--clamd", "unix:" + path], path, uploads, body)
    clamd = shutil.which("clamd") or shutil.which("clamd", path="/usr/sbin:/usr/local/sbin")
    if not clamd:
        return
    folder = pathlib.Path(tmp) / "clamav"
    folder.mkdir()
    folder.chmod(0o777)
    # A signature of one file: MD5, length, name.
    (folder / "one.hdb").write_text("44d88612fea8a8f36de82e1278abb02f:68:Eicar-Test-Signature\n")
    path = str(folder / "clamd.sock")
    user = subprocess.run(["id", "-un"], capture_output=True, text=True, check=True).stdout.strip()
    (folder / "clamd.conf").write_text(CONFIG.format(socket=path, folder=folder, user=user))
    yield "clamd with one signature", *rate([clamd, "--config-file", folder / "clamd.conf"], path, uploads, body)
