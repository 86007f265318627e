"""HDF5 files against h5py, PyTables and Keras, which write them in each version of the format.

Every type, shape and filter, groups in both forms, each index of chunks, chunks that were
never written, blocks of the user, and models of Keras in both of its formats."""
import io
import itertools
import os
import pathlib
import sys
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path = [p for p in sys.path if pathlib.Path(p or ".").resolve() != HERE]  # of torch.py and others
os.environ["KERAS_BACKEND"] = "torch"
import h5py
import keras
import ml_dtypes
import numpy as np
import tables

sys.path.append(str(HERE))
from harness import Check, Tensor

c = Check(f"h5py {h5py.__version__} (HDF5 {h5py.version.hdf5_version}), PyTables {tables.__version__}, Keras {keras.__version__}")
rng = np.random.default_rng(20261129)
VERSIONS = ("earliest", "v108", "v110", "v112", "v114", "latest")
FLOATS = {"f2": "F16", "f4": "F32", "f8": "F64", "c8": "C64", "c16": "C128", "b1": "BOOL"}


def tensor(d):
    if d.shape is None:
        return Tensor("F32", (0,), b"")
    if d.attrs.get("dtype") == "bfloat16":
        return Tensor("BF16", d.shape, np.asarray(d[()]).tobytes())
    base, shape = (d.dtype.base, d.shape + d.dtype.shape)
    if base.kind in "OSVU":
        return Tensor("unknown", d.shape, None)
    kind = base.str[1:]
    kind = FLOATS.get(kind) or {"i": "I", "u": "U"}[kind[0]] + str(8 * int(kind[1:]))
    return Tensor(kind, shape, np.asarray(d[()]).astype(base.newbyteorder("<")).tobytes())


def expect(path, file=None):
    want = {}

    def walk(group, prefix):
        for name, member in group.items():
            if isinstance(member, h5py.Group):
                walk(member, prefix + name + "/")
            elif isinstance(member, h5py.Dataset):
                want[prefix + name] = tensor(member)

    with h5py.File(file or path, "r") as f:
        walk(f, "")
    c.expect(path, want)


def random(dtype, shape):
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    return np.frombuffer(rng.bytes(int(np.prod(shape)) * dtype.itemsize), dtype).reshape(shape)


def types(f):
    for order, kind in itertools.product("<>", ("f2", "f4", "f8", "c8", "c16", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "b1")):
        for k, shape in enumerate([(), (1,), (7,), (3, 5), (4, 0, 2), (2, 3, 4)]):
            f[f"{kind}{'little' if order == '<' else 'big'}/{k}"] = random(order + kind if kind != "b1" else kind, shape)
    f["empty"] = h5py.Empty("f4")
    f["words"] = ["a", "bb"]
    f["pair"] = np.zeros(3, [("a", "i4"), ("b", "f8")])
    f.create_dataset("array", shape=(3,), dtype=np.dtype(("f4", (2, 2))))[...] = random("f4", (3, 2, 2))
    f["bfloat16"] = rng.normal(size=(3, 5)).astype(ml_dtypes.bfloat16)
    f["bfloat16"].attrs["dtype"] = "bfloat16"
    f.create_dataset("filled", shape=(4, 5), dtype="f4", fillvalue=7.5)
    f["tied"] = f["bfloat16"]
    f.create_dataset("lists", shape=(3,), dtype=h5py.vlen_dtype(np.int32))[0] = [1, 2]
    f.attrs["note"] = "a text"


def chunks(f):
    for shape in [(7,), (100,), (33, 65), (5, 6, 7), (3, 4, 5, 6), (1000, 3)]:
        free = tuple(None for _ in shape)
        for gzip, shuffle, sums, (kind, most) in itertools.product((None, "gzip", "lzf"), (False, True), (False, True), (("as-is", None), ("free", free), ("one", free[:1] + shape[1:]), ("more", tuple(3 * n + 1 for n in shape)))):
            f.create_dataset(f"{'x'.join(map(str, shape))}/{gzip}-{shuffle}-{sums}-{kind}", data=random("f4", shape), chunks=tuple(max(1, (n + 2) // 3) for n in shape), compression=gzip, shuffle=shuffle, fletcher32=sums, maxshape=most)
    for n, size in ((5000, 1), (3000, 2), (70000, 10)):
        for kind, most in (("fixed", None), ("growing", (None,))):
            f.create_dataset(f"many/{n}-{kind}", data=random("f4", (n,)), chunks=(size,), maxshape=most)
    for kind, most in (("second", (60, None)), ("both", (None, None))):
        for gzip in (None, "gzip"):
            f.create_dataset(f"two/{kind}-{gzip}", data=random("i4", (60, 100)), chunks=(2, 3), maxshape=most, compression=gzip)
    for n, most, at in ((5000, None, 3000), (5000, (None,), 3000), (200000, (None,), 150000)):
        f.create_dataset(f"holes/{n}-{most}", shape=(n,), dtype="f4", chunks=(1,), maxshape=most, fillvalue=2)[at] = 5
    early = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    early.set_chunk((3, 4))
    early.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
    h5py.Dataset(h5py.h5d.create(f.id, b"implicit", h5py.h5t.NATIVE_FLOAT, h5py.h5s.create_simple((10, 10), (20, 20)), early))[...] = random("f4", (10, 10))


def groups(f):
    for i in range(300):
        f[f"many/layer_{i:03d}/w"] = np.full(2, i, "f4")
    for i in range(100):
        f["many"].attrs[f"a{i}"] = np.bytes_(f"value {i} " * 50)
    f["many"].attrs["short"] = "a text"
    f.create_group("none")
    for i in range(30):
        f.create_group(f"tracked/{i}", track_order=True)[f"z{i * 7 % 30}"] = np.arange(i, dtype="i4")
    for i in range(2000):
        f.create_group(f"wide/g{i}")
    f["größe/später"] = random("f4", (2, 3))
    f.create_group("ünder/b").create_dataset("ä", data=random("f4", (2,)))


def h5py_files():
    for version, (name, write) in itertools.product(VERSIONS, (("types", types), ("chunks", chunks), ("groups", groups))):
        for before in (0, 512, 8192) if write is types else (0,):
            path = c.path(f"{name}-{version}-{before}.h5")
            with h5py.File(path, "w", libver="latest" if version == "latest" else (version, version if version != "earliest" else "v108"), userblock_size=before) as f:
                write(f)
            expect(path)


def tables_files():
    path = c.path("tables.h5")
    with tables.open_file(path, "w") as f:
        for k, (lib, level) in enumerate((("zlib", 1), ("zlib", 9), (None, 0))):
            filters = tables.Filters(level, lib or "zlib", shuffle=k == 0, fletcher32=k == 1)
            f.create_carray(f"/c{k}", "array", obj=random("f4", (20, 30)), filters=filters, createparents=True)
            f.create_earray(f"/e{k}", "array", obj=random("i2", (20, 3)), filters=filters, createparents=True)
        f.create_array("/", "plain", random("f8", (3, 4)))
        f.create_table("/", "table", {"a": tables.Int32Col(), "b": tables.Float64Col()})
        f.create_vlarray("/", "texts", tables.VLUnicodeAtom()).append("a")
    expect(path)


def keras_files():
    keras.utils.set_random_seed(1)
    model = keras.Sequential([keras.layers.Input((8, 8, 3)), keras.layers.Conv2D(4, 3), keras.layers.BatchNormalization(), keras.layers.Flatten(), keras.layers.Dense(5)])
    for name, save in (("model.h5", model.save), ("model.weights.h5", model.save_weights)):
        save(c.path(name))
        expect(c.path(name))
    model.save(c.path("model.keras"))
    with zipfile.ZipFile(c.path("model.keras")) as archive:
        expect(c.path("model.keras"), io.BytesIO(archive.read("model.weights.h5")))


h5py_files()
tables_files()
keras_files()
c.finish()
