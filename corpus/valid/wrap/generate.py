"""Writes the honest archives and streams of this folder.

Written with Python 3.11.7 (tarfile, zipfile, gzip, bz2, lzma of liblzma 5.4), joblib 1.6 and
zstandard 0.25: python3 generate.py, in this folder.
"""
import bz2
import gzip
import hashlib
import io
import json
import lzma
import struct
import tarfile
import zipfile

import joblib
import zstandard

header = json.dumps({"w": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}).encode()
header += b" " * (-len(header) % 8)
model = struct.pack("<Q", len(header)) + header + bytes(8)
files = [("model/README.md", b"A note.\n"), ("model/" + "long" * 30 + "/w.safetensors", model)]


def tar(form, start=""):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=form) as t:
        if start:
            d = tarfile.TarInfo("./")
            d.type = tarfile.DIRTYPE
            t.addfile(d)
        for name, data in files:
            i = tarfile.TarInfo(start + name)
            i.size, i.mtime = len(data), 1.5 if form == tarfile.PAX_FORMAT else 1
            t.addfile(i, io.BytesIO(data))
    return out.getvalue()


def write(name, data):
    with open(name, "wb") as f:
        f.write(data)


write("gnu.tar", tar(tarfile.GNU_FORMAT))
write("pax.tar", tar(tarfile.PAX_FORMAT, "./"))
write("pax.tar.gz", gzip.compress(tar(tarfile.PAX_FORMAT), mtime=0))
write("two.bz2", bz2.compress(model) + bz2.compress(model))
write("two.gz", gzip.compress(model, mtime=0) + gzip.compress(b"", mtime=0))
write("two.zst", zstandard.compress(model) + zstandard.ZstdCompressor(write_checksum=True).compress(bytes(300_000)))
joblib.dump({"a": [1.0, 2.0]}, "joblib.pkl", compress=3)
with zipfile.ZipFile("deflated.zip", "w", zipfile.ZIP_DEFLATED) as z:
    for name, data in files:
        z.writestr(zipfile.ZipInfo(name), data)


# A text of two kinds of runs, so that every kind of match and of literal occurs.
text = b"".join(b"%d the quick brown fox %s" % (i * 7919 % 1000, b"ab" * (i % 40)) for i in range(400)) + bytes(4000)
for name, check in [("none", lzma.CHECK_NONE), ("crc32", lzma.CHECK_CRC32), ("crc64", lzma.CHECK_CRC64), ("sha256", lzma.CHECK_SHA256)]:
    write(name + ".xz", lzma.compress(text, check=check))
for preset in (0, 9):
    write("preset-%d.xz" % preset, lzma.compress(text, preset=preset))
for lc, lp, pb in [(0, 0, 0), (0, 4, 4), (4, 0, 2)]:
    row = {"lc": lc, "lp": lp, "pb": pb, "dict_size": 4096}
    write("lc%d-lp%d-pb%d.xz" % (lc, lp, pb), lzma.compress(text, filters=[{"id": lzma.FILTER_LZMA2, **row}]))
    write("lc%d-lp%d-pb%d.lzma" % (lc, lp, pb), lzma.compress(text, format=lzma.FORMAT_ALONE, filters=[{"id": lzma.FILTER_LZMA1, **row}]))
noise = b"".join(hashlib.sha256(b"%d" % i).digest() for i in range(400))
write("two.xz", lzma.compress(noise) + lzma.compress(b"") + lzma.compress(text, check=lzma.CHECK_CRC32) + bytes(8))
