"""Writes the honest files of this folder, with h5py 3.16.0 (HDF5 2.0.0), Keras 3.15.1 and PyTables
3.11.1: python3 generate.py, in this folder."""
import os

os.environ["KERAS_BACKEND"] = "numpy"
import h5py
import keras
import ml_dtypes
import numpy as np
import tables

with h5py.File("small.h5", "w") as f:
    f.attrs["model_config"] = '{"class_name": "Sequential", "config": {"name": "m", "layers": []}}'
    f.attrs["note"] = np.bytes_(b"a text of a fixed length")
    g = f.create_group("layers")
    g["w"] = np.arange(6, dtype=np.float32).reshape(2, 3)
    g["again"] = g["w"]

with h5py.File("chunks.h5", "w") as f:
    f.create_dataset("w", data=np.zeros((8, 8), np.float16), chunks=(4, 8), compression="gzip", shuffle=True, fletcher32=True)
    f.create_dataset("later", shape=(3,), dtype=np.int8)
    f["words"] = ["a", "bb"]
    f["empty"] = h5py.Empty("f4")
    f.attrs["list"] = [1, 2]
    f.attrs["names"] = ["a", "b"]

with h5py.File("newer.h5", "w", libver="latest", track_order=True) as f:
    f.attrs["model_config"] = '{"class_name": "Sequential", "config": {"name": "m", "layers": []}}'
    for i in range(8):
        f.attrs[f"a{i}"] = i if i else "a text"
    f.attrs["long"] = np.arange(600)
    g = f.create_group("layers")
    for i in range(9):
        g[f"w{i}"] = np.arange(6, dtype=np.float32).reshape(2, 3)
    g["b"] = np.int8(1)
    f.create_dataset("one", data=np.zeros((4, 4), np.float32), chunks=(4, 4), compression="gzip")
    f.create_dataset("grows", data=np.zeros((4, 4), np.int8), chunks=(2, 4), maxshape=(None, 4))

with h5py.File("links.h5", "w", libver=("v108", "v108"), userblock_size=512) as f:
    for i in range(200):
        f[f"a dataset with a name that is long {i}"] = np.int8(1) if i == 0 else f["a dataset with a name that is long 0"]
    for i in range(7):
        f["a dataset with a name that is long 0"].attrs[f"a{i}"] = "a text"

# Newer forms: superblock 3, headers with checksums, groups and attributes in heaps, and each
# index of chunks: one for all, a place for each, fixed and growing arrays, a tree.
with h5py.File("indexes.h5", "w", libver="latest") as f:
    f.attrs["note"] = "a text"
    f.attrs["long"] = np.bytes_("x" * 70000)
    a = np.arange(24, dtype=np.float32).reshape(4, 6)
    f.create_dataset("chunks/single", data=a, chunks=(4, 6))
    f.create_dataset("chunks/single-gzip", data=a, chunks=(4, 6), compression="gzip")
    f.create_dataset("chunks/fixed", data=a, chunks=(2, 3), compression="lzf", shuffle=True)
    f.create_dataset("chunks/growing", data=a, chunks=(1, 2), maxshape=(4, None))
    f.create_dataset("chunks/growing-sum", data=a, chunks=(2, 2), maxshape=(None, 6), fletcher32=True)
    f.create_dataset("chunks/tree", data=a, chunks=(3, 4), maxshape=(None, None), compression="gzip")
    f.create_dataset("chunks/tree-plain", data=a, chunks=(3, 4), maxshape=(None, None))
    d = f.create_dataset("chunks/pages", shape=(1400,), dtype=np.uint8, chunks=(1,), fillvalue=9)
    d[1300] = 1
    d = f.create_dataset("chunks/blocks", shape=(300,), dtype=np.uint8, chunks=(1,), maxshape=(None,))
    d[290:] = 1
    p = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    p.set_chunk((2, 4))
    p.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
    h5py.Dataset(h5py.h5d.create(f["chunks"].id, b"implicit", h5py.h5t.NATIVE_FLOAT, h5py.h5s.create_simple((4, 6), (8, 6)), p))[...] = a
    for i in range(12):
        f[f"many/{i}"] = np.int8(i)
        f["many"].attrs[f"a{i}"] = np.bytes_("value %2d " % i * 60)

# Every type with a name here, and some that are listed.
with h5py.File("types.h5", "w") as f:
    for t in ("<f2", ">f4", "<f8", "<c8", ">c16", "i1", "u1", ">i2", "<u2", "<i4", ">u4", "<i8", ">u8", "?"):
        f[t.replace("<", "l").replace(">", "b").replace("?", "bool")] = np.arange(3).astype(t)
    f["bfloat16"] = np.arange(3).astype(ml_dtypes.bfloat16)
    f["bfloat16"].attrs["dtype"] = "bfloat16"
    f["array"] = np.zeros(2, np.dtype(("f4", (2, 2))))
    f["pair"] = np.zeros(2, [("a", "i4"), ("b", "f8", (2,))])
    f["list"] = np.array([np.arange(2), np.arange(3)], dtype=object).astype(h5py.vlen_dtype(np.int32))
    f["enum"] = np.zeros(2, h5py.enum_dtype({"A": 0, "B": 5}, basetype="i2"))
    f["compact"] = np.float32(1.5)
    f["reference"] = f["compact"].ref
    f.create_dataset("filled", shape=(2, 3), dtype="f4", fillvalue=2.5)
    f.attrs["count"] = 7
    f.attrs["ratio"] = np.float32(0.5)

with h5py.File("filled.h5", "w") as f:
    f.create_dataset("array", shape=(2,), dtype=np.dtype(("f4", (2, 2))))[...] = np.arange(8, dtype=np.float32).reshape(2, 2, 2)
    f.create_dataset("filled", shape=(2, 3), dtype="f4", fillvalue=2.5)
    f.create_dataset("chunks", shape=(4, 5), dtype="f4", fillvalue=2.5, chunks=(2, 3))[1, 4] = 1

# A block of the user before the file: a text, and what MATLAB writes.
with h5py.File("user.h5", "w", userblock_size=512) as f:
    f["w"] = np.arange(3, dtype=np.float32)
with open("user.h5", "r+b") as raw:
    raw.write(b"made by hand\n")
with h5py.File("matlab.mat", "w", userblock_size=512) as f:
    f["w"] = np.arange(6, dtype=np.float64).reshape(2, 3)
    f["w"].attrs["MATLAB_class"] = np.bytes_("double")
with open("matlab.mat", "r+b") as raw:
    raw.write(b"MATLAB 7.3 MAT-file, Platform: GLNXA64, Created on: Sun Nov 29 00:00:00 2026 HDF5 schema 1.00 .".ljust(116) + bytes(8) + b"\0\2IM")

with tables.open_file("tables.h5", "w") as f:
    f.create_carray("/", "array", obj=np.arange(12, dtype=np.int32).reshape(3, 4), filters=tables.Filters(1, "zlib"))
    f.create_earray("/group", "growing", obj=np.arange(5, dtype=np.float64), createparents=True, chunkshape=(4,))
    f.create_table("/", "table", {"a": tables.Int32Col(), "b": tables.Float64Col()}, chunkshape=(4,))
    v = f.create_vlarray("/", "texts", tables.VLUnicodeAtom(), chunkshape=(4,))
    v.append("a")

keras.utils.set_random_seed(1)
model = keras.Sequential([keras.layers.Input((3,)), keras.layers.Dense(2, name="dense")])
model.save_weights("keras.weights.h5")
model.save("keras.h5")

# Names that are not ASCII: HDF5 makes groups of the newer form of those that have them, and leaves in the
# superblock and in the entries where the members were before.
with h5py.File("names.h5", "w") as f:
    f["größe/kernel"] = np.arange(6, dtype=np.float32).reshape(2, 3)
    f["größe/später"] = np.arange(3, dtype=np.float32)
    f["plain/w"] = np.int8(1)

with h5py.File("root.h5", "w") as f:
    f.create_dataset("größe", data=np.arange(3, dtype=np.float32))
