"""Writes this folder's .npy files with NumPy, and what NumPy reads back from
each to testdata/npy/expect.json.

Python 3.11.7, numpy 2.4.6, ml_dtypes 0.6.0. Run it in the root of the
repository; the same versions give the same bytes.
"""
import hashlib
import io
import json
import sys
import warnings

import ml_dtypes
import numpy as np
from numpy.lib import _format_impl as fmt

warnings.simplefilter("ignore")
OUT, EXPECT = "corpus/valid/npy/", {}


def put(name, a, version=None):
    f = io.BytesIO()
    fmt.write_array(f, a, version=version, allow_pickle=False)
    raw = f.getvalue()
    open(OUT + name + ".npy", "wb").write(raw)
    f.seek(0)
    major, _ = fmt.read_magic(f)
    shape, fortran, dtype = fmt._read_array_header(f, (major, 0), max_header_size=1 << 20)
    data = raw[f.tell():]
    EXPECT[name + ".npy"] = {
        "version": major,
        "header": f.tell(),
        "shape": list(shape),
        "fortran": fortran,
        "itemsize": dtype.itemsize,
        "str": dtype.str if dtype.names is None else str(dtype.descr),
        "fields": fields(dtype),
        "sha256": hashlib.sha256(data).hexdigest(),
        # the values in C order, little-endian: what a conversion must give
        "values": hashlib.sha256(values(raw)).hexdigest(),
    }


def values(raw):
    a = np.load(io.BytesIO(raw), allow_pickle=False, max_header_size=1 << 20)
    if a.dtype.names is None:
        a = a.astype(a.dtype.newbyteorder("<"))
    return a.tobytes("C")


def fields(dtype):
    if dtype.names is None:
        return []
    out = []
    for name in dtype.names:
        entry = dtype.fields[name]
        sub = entry[0]
        base, shape = (sub.subdtype if sub.subdtype else (sub, ()))
        out.append({
            "name": name, "title": entry[2] if len(entry) > 2 else "",
            "type": "" if base.names is not None else base.str, "shape": list(shape),
            "offset": entry[1], "size": sub.itemsize, "fields": fields(base),
        })
    return out


rng = np.random.default_rng(1)
for s in "b1 i1 u1".split():
    put(s, np.arange(6).astype(s).reshape(2, 3))
for s in "i2 i4 i8 u2 u4 u8 f2 f4 f8 f16 c8 c16 c32".split():
    for order, tag in ("<", "le"), (">", "be"):
        put(f"{s}-{tag}", (rng.standard_normal(6) * 100).astype(order + s).reshape(3, 2))
for s, tag in ("S3", "bytes"), ("U2", "text"):
    put(tag, np.array(["", "a", "bcd"], s))
put("text-be", np.array(["", "\u00e9", "\U0001f600\u540d"], ">U2"))
put("bytes-none", np.zeros(3, "S1")[:0])
for s, tag in ("M8[ns]", "time-ns"), ("M8[25s]", "time-25s"), (">m8[D]", "span-days-be"), ("m8", "span-generic"):
    put(tag, np.array([0, 1, -1], "i8").astype(s))
put("void3", np.frombuffer(b"abcdef", "V3"))
put("void0", np.zeros(4, "V0"))
put("scalar", np.float32(1.5).reshape(()))
put("empty", np.zeros((0,), "f4"))
put("empty-2d", np.zeros((3, 0), "f8", order="F"))
put("ones-64-dims", np.full((1,) * 64, 7, "i2"))
put("fortran-2d", np.asfortranarray(np.arange(12, dtype="f4").reshape(3, 4)))
put("fortran-3d-be", np.asfortranarray(np.arange(24, dtype=">i4").reshape(2, 3, 4)))
put("fortran-row", np.asfortranarray(np.arange(4, dtype="f4").reshape(1, 4)))
put("header-2", np.arange(3, dtype="f4"), version=(2, 0))
put("header-3", np.arange(3, dtype="f4"), version=(3, 0))
put("long-header", np.zeros(1, [(f"field{i:05}", "u1") for i in range(700)]))
put("struct", np.zeros(2, [("a", "<f4"), ("b", ">i4", (2, 3))]))
put("struct-aligned", np.zeros(2, np.dtype([("a", "i1"), ("b", "f8"), ("c", "i2")], align=True)))
put("struct-nested", np.zeros((2, 2), [("x", [("y", ">f2"), ("z", "S3", (2,))], 2), ("w", "?")]))
put("struct-title", np.zeros(1, [(("a title", "n"), "f4"), ("it's", "u1"), ('"\\\n\t\x07', "u2")]))
put("struct-latin1", np.zeros(1, [("\u00e9", "f4")]))
put("struct-utf8", np.zeros(1, [("\u540d\U0001f600", "f4"), ("\u00e9", "f4")]))
put("struct-void", np.zeros(3, []))
put("bf16", np.array([1, -2, 3.5], ml_dtypes.bfloat16))
put("f8-lost", np.array([1, -2, 3.5], ml_dtypes.float8_e4m3fn))
assert sys.version_info[:2] == (3, 11) and np.__version__ == "2.4.6" and ml_dtypes.__version__ == "0.6.0"

# Types that NumPy writes for ml_dtypes and cannot load again.
for name, t in ("f8-e5m2", ml_dtypes.float8_e5m2), ("complex32", ml_dtypes.complex32):
    np.save(OUT + name + ".npy", np.array([1, -2, 3.5], t))

json.dump(EXPECT, open("testdata/npy/expect.json", "w"), indent=1, sort_keys=True)
