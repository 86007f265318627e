"""One server on loopback that is a hub, a registry, a bucket and a server of files, and that has
under each name exactly what it was told. It unescapes a path once, and does nothing else to it.
"""
import hashlib
import json
import re
import ssl
import subprocess
import threading
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from xml.sax.saxutils import escape

COMMIT = "0123456789abcdef0123456789abcdef01234567"


def sha256(data):
    return hashlib.sha256(data).hexdigest()


class Double:
    def __init__(self):
        self.hub = {}       # files by repository
        self.listings = {}  # what a hub lists, as text, instead of its files
        self.registry = {}  # manifest, its type, and blobs by digest, by repository
        self.buckets = {}   # objects by bucket
        self.pages = {}     # the listing of a bucket, as text, instead of its objects
        self.web = {}       # files by unescaped path
        self.sent = []      # (repository, name, sha256) of what the hub sent
        double = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_GET(self):
                path, _, query = self.path.partition("?")
                status, headers, body = double.answer(path, urllib.parse.parse_qs(query, keep_blank_values=True), self.headers)
                span = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
                if status == 200 and span and int(span[1]) < len(body):
                    first, last = int(span[1]), min(int(span[2] or len(body) - 1), len(body) - 1)
                    headers = {**headers, "Content-Range": f"bytes {first}-{last}/{len(body)}"}
                    status, body = 206, body[first:last + 1]
                self.send_response(status)
                for name, value in {"Content-Length": str(len(body)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                if self.command == "GET":
                    self.wfile.write(body)

            do_HEAD = do_GET

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.host = f"127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def over_tls(self, folder):
        """The same behind TLS, for a client that does not check certificates; its host."""
        key, certificate = folder / "key.pem", folder / "certificate.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=127.0.0.1", "-days", "1", "-keyout", str(key), "-out", str(certificate)], check=True, stderr=subprocess.DEVNULL)
        server, context = ThreadingHTTPServer(("127.0.0.1", 0), self.server.RequestHandlerClass), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return f"127.0.0.1:{server.server_port}"

    def answer(self, path, query, headers):
        if path.startswith("/api/models/"):
            return self.listing(path.removeprefix("/api/models/"))
        if path.startswith("/v2/"):
            return self.of_registry(path)
        first, _, rest = path[1:].partition("/")
        if first in self.buckets:
            return self.of_bucket(first, rest, query)
        found = re.fullmatch(r"/([^/]+/[^/]+)/resolve/[^/]+/(.*)", path)
        if found and found[1] in self.hub:
            name = urllib.parse.unquote(found[2])
            data = self.hub[found[1]].get(name)
            if data is None:
                return 404, {"X-Error-Code": "EntryNotFound", "X-Repo-Commit": COMMIT}, b""
            self.sent.append((found[1], name, sha256(data)))
            return 200, {"ETag": f'"{hashlib.sha1(data).hexdigest()}"', "X-Repo-Commit": COMMIT}, data
        data = self.web.get(urllib.parse.unquote(path))
        return (404, {}, b"") if data is None else (200, {"ETag": f'"{sha256(data)[:16]}-1"'}, data)

    def listing(self, rest):
        repo = "/".join(rest.split("/")[:2])
        if repo not in self.hub:
            return 404, {"X-Error-Code": "RepoNotFound"}, b"{}"
        files = self.hub[repo]
        kind = {"Content-Type": "application/json"}
        if "/tree/" in rest:
            return 200, kind, json.dumps([{"type": "file", "path": n, "size": len(d), "oid": hashlib.sha1(d).hexdigest()} for n, d in files.items() if n == "a.bin" or repo not in self.listings]).encode()
        siblings = self.listings.get(repo) or '"siblings":' + json.dumps([{"rfilename": n, "size": len(d)} for n, d in files.items()])
        return 200, kind, (f'{{"id":"{repo}","modelId":"{repo}","sha":"{COMMIT}","private":false,"tags":[],"downloads":0,"likes":0,' + siblings + "}").encode()

    def of_registry(self, path):
        found = re.fullmatch(r"/v2/(.+)/(manifests|blobs)/([^/]+)", path)
        if path == "/v2/":
            return 200, {"Docker-Distribution-Api-Version": "registry/2.0"}, b"{}"
        if not found or found[1] not in self.registry:
            return 404, {}, b""
        manifest, kind, blobs = self.registry[found[1]]
        name = urllib.parse.unquote(found[3])
        if found[2] == "manifests":
            return 200, {"Content-Type": kind, "Docker-Content-Digest": "sha256:" + sha256(manifest)}, manifest
        return (200, {"Content-Type": "application/octet-stream"}, blobs[name]) if name in blobs else (404, {}, b"")

    def of_bucket(self, bucket, rest, query):
        if rest or "list-type" not in query:
            data = self.buckets[bucket].get(urllib.parse.unquote(rest))
            return (404, {}, b"") if data is None else (200, {"ETag": f'"{hashlib.md5(data).hexdigest()}"'}, data)
        prefix, encoded = query.get("prefix", [""])[0], query.get("encoding-type") == ["url"]
        written = urllib.parse.quote if encoded else escape
        page = self.pages.get(bucket) or "".join(
            f"<Contents><Key>{written(k)}</Key><Size>{len(d)}</Size></Contents>" for k, d in sorted(self.buckets[bucket].items()) if k.startswith(prefix))
        if encoded:
            page += "<EncodingType>url</EncodingType>"
        return 200, {"Content-Type": "application/xml"}, f"<ListBucketResult><Name>{bucket}</Name>{page}</ListBucketResult>".encode("utf-8", "surrogatepass")
