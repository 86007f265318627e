"""Writes the honest files of this folder, with h5py 3.16.0: python3 generate.py, in this folder."""
import h5py
import numpy as np

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
