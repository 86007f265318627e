"""Writes this folder's .npz files with NumPy, and what NumPy reads back from
each to testdata/npz/expect.json.

Python 3.11.7, numpy 2.4.6, ml_dtypes 0.6.0. Run it in the root of the
repository; the same versions give the same bytes.
"""
import hashlib
import io
import json
import zipfile

import ml_dtypes
import numpy as np

OUT, EXPECT = "corpus/valid/npz/", {}


class Stream(io.RawIOBase):
    """A file that cannot seek: sizes follow the data."""

    def __init__(self):
        self.data = b""

    def writable(self):
        return True

    def write(self, data):
        self.data += bytes(data)
        return len(data)


def note(name):
    npz = np.load(OUT + name, allow_pickle=False)
    EXPECT[name] = [
        {"name": key, "str": a.dtype.str, "shape": list(a.shape), "sha256": hashlib.sha256(a.astype(a.dtype.newbyteorder("<")).tobytes("C")).hexdigest()}
        for key, a in ((key, npz[key]) for key in npz.files) if isinstance(a, np.ndarray)
    ]


rng = np.random.default_rng(2)
arrays = {
    "w": rng.standard_normal((4, 5)).astype("f4"), "bias": np.arange(5, dtype=">f8"),
    "t": np.asfortranarray(np.arange(6, dtype="i2").reshape(2, 3)), "s": np.float16(2.5).reshape(()), "none": np.zeros((0, 3), "u1"),
}
np.savez(OUT + "stored.npz", **arrays)
np.savez_compressed(OUT + "deflated.npz", **arrays)
np.savez(OUT + "unnamed.npz", np.arange(3), np.eye(2, dtype="f4"))
np.savez(OUT + "empty.npz")
np.savez(OUT + "names.npz", **{"a/b": np.arange(2), "layer:0": np.arange(2), "名前": np.arange(2), "été .npy": np.arange(2), "": np.arange(2), "%s %d": np.arange(1)})
np.savez(OUT + "case.npz", W=np.arange(2), w=np.arange(3))
np.savez(OUT + "bf16.npz", x=np.array([1, -2, 3.5], ml_dtypes.bfloat16))
np.savez(OUT + "struct.npz", x=np.zeros(2, [("a", "f4"), ("b", "i2", (2,))]))
np.savez_compressed(OUT + "zeros.npz", x=np.zeros(1 << 18, "f4"))
for save, name in (np.savez, "stream-stored.npz"), (np.savez_compressed, "stream-deflated.npz"):
    out = Stream()
    save(out, **arrays)
    open(OUT + name, "wb").write(out.data)
np.savez(OUT + "with-readme.npz", x=np.arange(2))
with zipfile.ZipFile(OUT + "with-readme.npz", "a") as z:
    z.writestr(zipfile.ZipInfo("README.txt"), "not an array")
for name in "stored deflated unnamed empty names case bf16 struct zeros stream-stored stream-deflated with-readme".split():
    note(name + ".npz")
assert np.__version__ == "2.4.6" and ml_dtypes.__version__ == "0.6.0"
json.dump(EXPECT, open("testdata/npz/expect.json", "w"), indent=1, sort_keys=True)
