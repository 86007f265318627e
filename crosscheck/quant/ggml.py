"""Every block type of GGUF, decoded by gguf-py and by ggml in C."""
import ctypes
import os

import cases as frame
import gguf
import numpy as np
import torch
from cases import Case
from gguf import quants

# Offsets of float16 scales in a block: most are given sane values, so that most
# numbers are finite; what stands there else is random, infinite and NaN too.
HALVES = {"Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "Q8_0": [0], "Q8_1": [0], "Q2_K": [80, 82], "Q3_K": [108],
          "Q4_K": [0, 2], "Q5_K": [0, 2], "Q6_K": [208], "IQ1_S": [0], "IQ2_XXS": [0], "IQ2_XS": [0], "IQ2_S": [0],
          "IQ3_XXS": [0], "IQ3_S": [0], "IQ4_NL": [0], "IQ4_XS": [0], "TQ1_0": [52], "TQ2_0": [64], "Q1_0": [0], "Q2_0": [0]}
# Types newer than gguf-py: number, elements and bytes of a block, of ggml.h.
NEWER = {"Q1_0": (41, 128, 18), "Q2_0": (42, 64, 18)}
OLD = {"Q8_1": (9, 32, 36), "Q8_K": (15, 256, 292)}


def library():
    lib = ctypes.CDLL(os.environ["CROSSCHECK_GGML"])
    class Init(ctypes.Structure):
        _fields_ = [("mem_size", ctypes.c_size_t), ("mem_buffer", ctypes.c_void_p), ("no_alloc", ctypes.c_bool)]
    lib.ggml_init.argtypes, lib.ggml_init.restype = [Init], ctypes.c_void_p
    lib.ggml_init(Init(1 << 20, None, False))  # fills ggml's table of float16
    return lib


def cases(g):
    np.seterr(all="ignore")
    lib = library()
    rng = np.random.default_rng(int(torch.randint(2**31, (1,), generator=g)))
    types = {t.name: (int(t), *gguf.GGML_QUANT_SIZES[t]) for t in quants._type_traits if t.name != "BF16"}
    for name, (number, elements, size) in sorted((types | NEWER | OLD).items()):
        cols = max(256, elements)
        rows = max(8, frame.GROWTH // cols)
        raw = blocks(rng, name, rows * cols // elements, size).reshape(rows, -1)
        write = writer(number, (rows, cols), raw)
        if name in types:
            want = quants.dequantize(raw, gguf.GGMLQuantizationType(number)).astype("<f4").reshape(rows, cols)
            yield Case(f"GGML {name}", "gguf-py 0.19", {}, None, {"t.weight": torch.from_numpy(want)}, write)
        if name == "Q8_1":  # an operand of products: neither decodes it, so d*q it is
            d = raw.reshape(-1, 36)[:, :2].copy().view("<f2").astype(np.float32)
            want = (d * raw.reshape(-1, 36)[:, 4:].view(np.int8).astype(np.float32)).reshape(rows, cols)
            yield Case(f"GGML {name}", "definition", {}, None, {"t.weight": torch.from_numpy(want)}, write)
            continue
        fn = getattr(lib, "dequantize_row_" + name.lower().replace("_k", "_K"))
        fn.argtypes, fn.restype = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64], None
        want = np.empty((rows, cols), np.float32)
        raw = np.ascontiguousarray(raw)
        fn(raw.ctypes.data, want.ctypes.data, rows * cols)
        yield Case(f"GGML {name}", "ggml 0.25.3, C", {}, None, {"t.weight": torch.from_numpy(want)}, write)


def blocks(rng, name, n, size):
    raw = rng.integers(0, 256, (n, size), dtype=np.uint8)
    sane = rng.random(n) < 0.9
    for off in HALVES.get(name, []):
        raw[sane, off:off + 2] = rng.normal(0, 0.02, int(sane.sum())).astype("<f2").view(np.uint8).reshape(-1, 2)
    if name == "Q8_K":
        raw[sane, :4] = rng.normal(0, 0.02, int(sane.sum())).astype("<f4").view(np.uint8).reshape(-1, 4)
    return raw


def writer(number, shape, raw):
    def write(folder):
        w = gguf.GGUFWriter(folder / "model.gguf", "llama")
        # Numbers that the package does not know pass as they are, with the
        # shape in elements, for any type but bytes.
        w.add_tensor_info("t.weight", shape, np.dtype(np.float32), raw.nbytes, raw_dtype=number)
        w.write_header_to_file()
        w.write_kv_data_to_file()
        w.write_ti_data_to_file()
        w.write_tensor_data(raw)
        w.close()
        return folder / "model.gguf"
    return write
