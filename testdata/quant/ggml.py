"""Writes ggml_TYPE.raw (blocks) and ggml_TYPE.f32 (their values) with gguf-py.

Run: pip install gguf==0.19.0 numpy==2.4.6 && python testdata/quant/ggml.py

The blocks are random bytes with sane scales, then random bytes as they come
(huge, subnormal, infinite and NaN scales among them), then every special
float16 in the place of the scale. NaN is compared as NaN.
"""
import pathlib
import struct
import sys

import gguf
import numpy as np
from gguf import quants as q

HERE = pathlib.Path(__file__).parent
SPECIAL = [0x0000, 0x8000, 0x0001, 0x8001, 0x03FF, 0x0400, 0x7BFF, 0xFBFF, 0x7C00, 0xFC00, 0x7E00, 0x3C00]
# Offsets of float16 scales in a block.
SCALES = {"Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "Q8_0": [0], "Q2_K": [80, 82], "Q3_K": [108],
          "Q4_K": [0, 2], "Q5_K": [0, 2], "Q6_K": [208], "IQ1_S": [0], "IQ2_XXS": [0], "IQ2_XS": [0], "IQ2_S": [0],
          "IQ3_XXS": [0], "IQ3_S": [0], "IQ4_NL": [0], "IQ4_XS": [0], "TQ1_0": [52], "TQ2_0": [64]}

rng = np.random.default_rng(20261121)
np.seterr(all="ignore")
for t in sorted(q._type_traits, key=lambda t: t.name):
    if t.name == "BF16":
        continue
    elems, size = gguf.GGML_QUANT_SIZES[t]
    n = max(4, 1024 // elems)
    sane = rng.integers(0, 256, (n, size), dtype=np.uint8)
    for off in SCALES.get(t.name, []):
        h = rng.normal(0, 0.02, n).astype("<f2").view(np.uint8).reshape(n, 2)
        sane[:, off:off + 2] = h
    wild = rng.integers(0, 256, (n, size), dtype=np.uint8)
    special = rng.integers(0, 256, (len(SPECIAL), size), dtype=np.uint8)
    for i, bits in enumerate(SPECIAL):
        for off in SCALES.get(t.name, []):
            special[i, off:off + 2] = np.frombuffer(struct.pack("<H", bits), np.uint8)
    raw = np.concatenate([sane, wild, special])
    out = q.dequantize(raw, t).astype("<f4")
    (HERE / f"ggml_{t.name}.raw").write_bytes(raw.tobytes())
    (HERE / f"ggml_{t.name}.f32").write_bytes(out.tobytes())
    print(t.name, raw.shape, out.size, file=sys.stderr)

# Neither gguf-py nor ggml decodes Q8_1 (its consumer is a dot product), so its
# golden is the definition, d*q, in numpy.
raw = rng.integers(0, 256, (24, 36), dtype=np.uint8)
raw[:12, :2] = rng.normal(0, 0.02, 12).astype("<f2").view(np.uint8).reshape(12, 2)
d = raw[:, :2].copy().view("<f2").astype(np.float32)
(HERE / "ggml_Q8_1.raw").write_bytes(raw.tobytes())
(HERE / "ggml_Q8_1.f32").write_bytes((d * raw[:, 4:].view(np.int8).astype(np.float32)).astype("<f4").tobytes())
