"""Files of numpy: every type, both orders, both byte orders, structured types,
header versions, and npz archives, stored and deflated."""
import io
import sys
import warnings
import zipfile

import ml_dtypes
import numpy as np

from harness import Check, Tensor

c = Check(f"numpy {np.__version__}, ml_dtypes {ml_dtypes.__version__}")
rng = np.random.default_rng(20261122)

TYPES = {
    "BOOL": "?", "I8": "i1", "U8": "u1", "I16": "i2", "U16": "u2", "I32": "i4", "U32": "u4", "I64": "i8", "U64": "u8",
    "F16": "f2", "F32": "f4", "F64": "f8", "C64": "c8", "C128": "c16",
}
# What this module calls the one array of a .npy, as numpy.savez does.
NAME = "arr_0"
SHAPES = [(), (0,), (1,), (7,), (3, 5), (4, 0, 2), (2, 3, 4), (2,) * 6]


def bits(dtype, shape):
    n = int(np.prod(shape)) * dtype.itemsize
    raw = rng.integers(0, 256, n, dtype=np.uint8)
    if dtype.kind == "b":
        raw &= 1
    return np.frombuffer(raw.tobytes(), dtype=dtype).reshape(shape)


def dense(a):
    return np.ascontiguousarray(a.astype(a.dtype.newbyteorder("<"), copy=False)).tobytes()


def npy():
    for name, code in TYPES.items():
        for end in "<>":
            for order in "CF":
                for k, shape in enumerate(SHAPES):
                    a = np.array(bits(np.dtype(end + code), shape), order=order, copy=True)
                    path = c.path(f"{name}-{'le' if end == '<' else 'be'}-{order}-{k}.npy")
                    np.save(path, a)
                    c.expect(path, {NAME: Tensor(name, shape, dense(a))})


def versions():
    for version in [(1, 0), (2, 0), (3, 0)]:
        a = bits(np.dtype("<f4"), (5, 3))
        path = c.path(f"version-{version[0]}.npy")
        with open(path, "wb") as f:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                np.lib.format.write_array(f, a, version=version)
        c.expect(path, {NAME: Tensor("F32", a.shape, dense(a))})


def other():
    """Types without an element type here: listed, with numpy's own name."""
    for k, d in enumerate(["S5", "U7", "V3", "M8[ns]", "m8[us]", [("a", "<f4"), ("b", "<i2", (2, 3))], [("x", [("y", "<u1")])]]):
        a = np.zeros((3, 2), dtype=d)
        path = c.path(f"other-{k}.npy")
        np.save(path, a)
        c.expect(path, {NAME: Tensor("unknown", a.shape, None)})
    a = bits(np.dtype("<u2"), (4, 4)).view(ml_dtypes.bfloat16)
    path = c.path("bf16.npy")
    np.save(path, a)
    c.expect(path, {NAME: Tensor("BF16", a.shape, a.tobytes())})
    path = c.path("object.npy")
    np.save(path, np.array([{}, 1], dtype=object), allow_pickle=True)
    c.refuse(path, "forbidden")


def npz():
    for save, what in [(np.savez, "stored"), (np.savez_compressed, "deflated")]:
        for k in range(12):
            arrays, want = {}, {}
            for j in range(rng.integers(1, 12)):
                name = list(TYPES)[rng.integers(len(TYPES))]
                d = np.dtype("<>"[rng.integers(2)] + TYPES[name])
                a = np.array(bits(d, SHAPES[rng.integers(len(SHAPES))]), order="CF"[rng.integers(2)], copy=True)
                key = ["w", "layer/0/kernel", "имя", "a b", "x.y"][j % 5] + str(j)
                arrays[key], want[key] = a, Tensor(name, a.shape, dense(a))
            path = c.path(f"{what}-{k}.npz")
            save(path, **arrays)
            c.expect(path, want)
        path = c.path(f"{what}-none.npz")
        save(path)
        c.expect(path, {})
        zeros = np.zeros(((16 << 20) - 32,), dtype=np.float32)  # with its header just 64 MiB
        path = c.path(f"{what}-zeros.npz")
        save(path, z=zeros)
        c.expect(path, {"z": Tensor("F32", zeros.shape, zeros.tobytes())})


def streamed():
    """Archives written without seeking: sizes stand in data descriptors."""
    for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        out = io.BytesIO()

        class Pipe(io.RawIOBase):
            def writable(self):
                return True

            def write(self, p):
                return out.write(p)

        a = bits(np.dtype("<i8"), (6, 7))
        with zipfile.ZipFile(Pipe(), "w", method) as z:
            for name in ("a", "b"):
                with z.open(name + ".npy", "w") as f:
                    np.lib.format.write_array(f, a)
        path = c.path(f"streamed-{method}.npz")
        with open(path, "wb") as f:
            f.write(out.getvalue())
        c.expect(path, {n: Tensor("I64", a.shape, dense(a)) for n in ("a", "b")})


npy()
versions()
other()
npz()
streamed()
c.finish()
