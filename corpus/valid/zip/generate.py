"""Writes this folder's archives with Python's zipfile, Info-ZIP, jar and torch,
and what zipfile reads back from each to parser/zip/testdata/expect.json.

Python 3.11.7, Info-ZIP 3.0, OpenJDK's jar (version printed), torch 2.15.0. Run
it in the root of the repository. The archives of zip and jar hold the time of
the run, all others are the same bytes each time.
"""
import hashlib
import io
import json
import os
import subprocess
import tempfile
import zipfile

import torch

OUT, EXPECT = os.path.abspath("corpus/valid/zip") + "/", {}
TEXT = b"the quick brown fox jumps over the lazy dog\n" * 20


class Stream(io.RawIOBase):
    """A file that cannot seek: sizes follow the data."""

    def __init__(self):
        self.data = b""

    def writable(self):
        return True

    def write(self, data):
        self.data += bytes(data)
        return len(data)


def info(name, method=zipfile.ZIP_STORED, **more):
    i = zipfile.ZipInfo(name)
    i.compress_type = method
    for k, v in more.items():
        setattr(i, k, v)
    return i


def python(name, write, file=None):
    with zipfile.ZipFile(file or OUT + name, "w") as z:
        write(z)
    if file:
        open(OUT + name, "wb").write(file.data)


STORED, DEFLATED = zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED


def both(z):
    z.writestr(info("stored.txt"), TEXT)
    z.writestr(info("deflated.txt", DEFLATED), TEXT)
    z.writestr(info("empty.txt"), b"")
    z.writestr(info("empty-deflated.txt", DEFLATED), b"")


def big(z):
    for name, method in ("a", STORED), ("b", DEFLATED):
        with z.open(info(name, method), "w", force_zip64=True) as f:
            f.write(TEXT)


def names(z):
    for name in "a/b/c", "名前", "été", "white space", "%s", "CON", "a.b.c", "semi;colon", "..dots", "dots..", "a/...", "C:":
        z.writestr(info(name), name)


def folders(z):
    z.writestr(info("d/", external_attr=0o40775 << 16 | 0x10), b"")
    z.writestr(info("d/f", external_attr=0o100644 << 16), b"x")
    z.writestr(info("e/"), b"")


def comments(z):
    z.writestr(info("a", comment=b"of the member", extra=b"UT\x05\x00\x01\x00\x00\x00\x00"), b"x")
    z.comment = b"of the archive"


python("empty.zip", lambda z: None)
python("both.zip", both)
python("zip64.zip", big)
python("names.zip", names)
python("folders.zip", folders)
python("comments.zip", comments)
python("stream.zip", both, Stream())
python("stream-zip64.zip", big, Stream())

with tempfile.TemporaryDirectory() as tmp:
    os.chdir(tmp)
    os.makedirs("d")
    open("d/a.txt", "wb").write(TEXT)
    open("d/b.bin", "wb").write(bytes(300))  # compressible: Info-ZIP sets deflate hints on a stored member too
    for f in "d", "d/a.txt", "d/b.bin":
        os.utime(f, (315619200 + 86400,) * 2)
        os.chmod(f, 0o755)
    for level in "0", "1", "9":
        subprocess.run(["zip", "-q", "-r", "-" + level, OUT + f"infozip-{level}.zip", "d"], check=True)
    data = subprocess.run("zip -q -r - d | cat", shell=True, check=True, stdout=subprocess.PIPE).stdout
    open(OUT + "infozip-stream.zip", "wb").write(data)
    torch.save({"a": torch.arange(5.0), "none": torch.zeros(0), "b": torch.ones(3, dtype=torch.int8)}, "model.pt")
    os.rename("model.pt", OUT + "torch.zip")

for name in sorted(os.listdir(OUT)):
    if not name.endswith(".zip"):
        continue
    with zipfile.ZipFile(OUT + name) as z:
        assert z.testzip() is None
        EXPECT[name] = [
            {"name": i.filename, "method": i.compress_type, "flags": i.flag_bits, "size": i.file_size, "comp": i.compress_size, "crc": i.CRC,
             "header": i.header_offset, "sha256": hashlib.sha256(z.read(i)).hexdigest()}
            for i in z.infolist()
        ]
os.chdir(os.path.dirname(os.path.abspath(OUT + "..")) + "/..")
json.dump(EXPECT, open("parser/zip/testdata/expect.json", "w"), indent=1)
