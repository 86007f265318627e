"""A hub on loopback that counts: the endpoints that clients ask for headers of models, with ranges.

Listings are as the hub's: a revision with its siblings, a tree, information of paths. Files
are those of a folder. What is counted is what the server sent: requests for files, requests
for listings, and bytes of the answers' bodies.
"""

import json
import re
import socket
import threading
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

PIECE = 1 << 16
SHA = "0123456789abcdef0123456789abcdef01234567"


class Count:
    def __init__(self):
        self.lock = threading.Lock()
        self.reset()

    def reset(self):
        self.files = self.listings = self.bytes = 0
        self.open = self.most = 0


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def setup(self):
        # What stands in the system's own buffer was not sent: on a network it never is.
        self.request.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, PIECE)
        super().setup()

    folder: Path
    count: Count

    def log_message(self, *_):
        pass

    def send(self, body, status=200, headers=(), kind="application/json", head=False):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        if not head:
            self.out(body, 0)

    def out(self, body, counted=1):
        """Sends in pieces, and counts what was taken: a client that had enough closes."""
        for at in range(0, len(body), PIECE):
            piece = body[at : at + PIECE]
            try:
                self.wfile.write(piece)
            except OSError:
                self.close_connection = True
                return False
            with self.count.lock:
                self.count.bytes += counted * len(piece)
        return True

    def do_HEAD(self):
        self.answer(head=True)

    def do_GET(self):
        self.answer()

    def do_POST(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.answer()

    def answer(self, head=False):
        path = urllib.parse.unquote(urllib.parse.urlsplit(self.path).path)
        if m := re.fullmatch(r"/api/models/me/([\w-]+)(/.*)?", path):
            with self.count.lock:
                self.count.listings += 1
            return self.listing(m[1], m[2] or "", head)
        if m := re.fullmatch(r"/me/([\w-]+)/(?:resolve|raw)/[^/]+/(.+)", path):
            with self.count.lock:
                self.count.files += 1
                self.count.open += 1
                self.count.most = max(self.count.most, self.count.open)
            try:
                return self.file(self.folder / m[1] / m[2], head)
            finally:
                with self.count.lock:
                    self.count.open -= 1
        self.send(b"{}", 404, head=head)

    def listing(self, model, rest, head):
        files = sorted((p for p in (self.folder / model).iterdir() if p.is_file()), key=lambda p: p.name)
        if rest.startswith("/tree"):
            value = [{"type": "file", "path": p.name, "size": p.stat().st_size, "oid": SHA} for p in files]
        elif rest.startswith("/paths-info"):
            value = [{"type": "file", "path": p.name, "size": p.stat().st_size, "oid": SHA} for p in files]
        else:
            value = {"id": f"me/{model}", "_id": SHA, "sha": SHA, "private": False, "gated": False, "downloads": 0, "likes": 0, "tags": [], "lastModified": "2026-01-01T00:00:00.000Z", "siblings": [{"rfilename": p.name, "size": p.stat().st_size} for p in files]}
        self.send(json.dumps(value).encode(), head=head)

    def file(self, path, head):
        if not path.is_file():
            return self.send(b"", 404, head=head)
        size = path.stat().st_size
        headers = [("ETag", f'"{path.name}-{size}"'), ("Accept-Ranges", "bytes"), ("X-Repo-Commit", SHA)]
        ranges = self.ranges(size)
        if ranges is None:
            with open(path, "rb") as f:
                return self.whole(f, size, headers, head)
        parts = []
        with open(path, "rb") as f:
            for begin, end in ranges:
                f.seek(begin)
                parts.append((begin, end, f.read(end - begin + 1)))
        if len(parts) == 1:
            begin, end, body = parts[0]
            headers.append(("Content-Range", f"bytes {begin}-{end}/{size}"))
            kind = "application/octet-stream"
        else:
            kind = "multipart/byteranges; boundary=between"
            body = b"".join(f"\r\n--between\r\nContent-Type: application/octet-stream\r\nContent-Range: bytes {b}-{e}/{size}\r\n\r\n".encode() + d for b, e, d in parts) + b"\r\n--between--\r\n"
        self.send(body, 206, headers, kind, True)
        if not head:
            self.out(body)

    def whole(self, f, size, headers, head):
        """The file in pieces, counted as they go: a client that asks for no range may stop early."""
        self.send_response(200)
        for name, value in [*headers, ("Content-Length", str(size)), ("Content-Type", "application/octet-stream")]:
            self.send_header(name, value)
        self.end_headers()
        while not head and (piece := f.read(PIECE)):
            if not self.out(piece):
                return

    def ranges(self, size):
        given = self.headers.get("Range")
        if not given:
            return None
        out = []
        for one in given.removeprefix("bytes=").split(","):
            begin, _, end = one.strip().partition("-")
            if begin == "":
                out.append((max(0, size - int(end)), size - 1))
            else:
                out.append((int(begin), min(size - 1, int(end) if end else size - 1)))
        return out


def start(folder):
    count = Count()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Counting", (Handler,), {"folder": Path(folder), "count": count}))
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server, count
