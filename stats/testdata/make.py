"""Writes numbers of every kind, and what numpy says of them.

    python make.py        # needs numpy, ml_dtypes, safetensors, gguf
"""
import json
import math

import gguf
import ml_dtypes
import numpy as np
from safetensors.numpy import save_file

rng = np.random.default_rng(7)


def say(a):
    """a, as float64, in Python's own words."""
    f = np.asarray(a).astype(np.float64).ravel()
    good = f[np.isfinite(f)]
    bad = np.flatnonzero(~np.isfinite(f))
    mean = math.fsum(good) / good.size if good.size else 0
    bins = {}
    for x in good[good != 0]:
        exp = math.frexp(x)[1] - 1
        if exp < -127 and np.asarray(a).dtype != np.float64:
            exp = -127
        bins.setdefault(exp, [0, 0])[int(x > 0)] += 1
    return {
        "elements": int(f.size), "zeros": int((f == 0).sum()), "nan": int(np.isnan(f).sum()), "infinite": int(np.isinf(f).sum()),
        "min": float(good.min()) if good.size else 0, "max": float(good.max()) if good.size else 0,
        "mean": mean,
        "std": math.sqrt(math.fsum((x - mean) ** 2 for x in good) / good.size) if good.size else 0,
        "first": int(bad[0]) if bad.size else -1,
        "bins": [[k, *bins[k]] for k in sorted(bins)],
    }


normal = rng.standard_normal(40_001).astype(np.float32)
odd = normal.copy()
odd[[5, 35_000]] = np.nan
odd[[6, 40_000]] = [np.inf, -np.inf]
odd[100:200] = 0
odd[200:300] = np.float32(1e-40)  # subnormal
arrays = {
    "normal": normal, "odd": odd, "far": (1e6 + normal[:9000]).astype(np.float32), "none": np.zeros(0, np.float32), "nan": np.full(9, np.nan, np.float32),
    "f16": normal[:1000].astype(np.float16).reshape(10, 100), "tiny16": (normal[:999] * 1e-7).astype(np.float16),
    "f64": np.concatenate([normal[:500].astype(np.float64), [1e-310, -1e100, 0.0]]),
    "i8": rng.integers(-128, 128, 300).astype(np.int8), "u64": rng.integers(0, 1 << 62, 50).astype(np.uint64), "bool": rng.integers(0, 2, 77).astype(bool),
}
small = {"bf16": normal[:777].astype(ml_dtypes.bfloat16), "e4m3": (normal[:321] * 10).astype(ml_dtypes.float8_e4m3fn)}
save_file(arrays | small, "numbers.safetensors")
np.savez("numbers.npz", fortran=np.asfortranarray(normal[:600].reshape(20, 30)), big=normal[:400].astype(">f4"), c=np.ones(3, np.complex64))
w = gguf.GGUFWriter("blocks.gguf", "none")
q = gguf.quantize(normal[:4096].reshape(16, 256), gguf.GGMLQuantizationType.Q8_0)
w.add_tensor("q8_0", q, raw_dtype=gguf.GGMLQuantizationType.Q8_0)
w.write_header_to_file()
w.write_kv_data_to_file()
w.write_tensors_to_file()
w.close()
expected = {
    "numbers.safetensors": {k: say(v) for k, v in (arrays | small).items()},
    "numbers.npz": {"fortran": say(normal[:600]), "big": say(normal[:400])},
    "blocks.gguf": {"q8_0": say(gguf.dequantize(q, gguf.GGMLQuantizationType.Q8_0))},
}
with open("expected.json", "w") as f:
    json.dump(expected, f, indent=1)
