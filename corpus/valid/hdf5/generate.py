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
