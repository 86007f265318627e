"""Writes the values of every small float, and how float32 rounds to the targets.

Run: pip install ml_dtypes==0.6.0 numpy==2.4.6 && python testdata/quant/floats.py

codes_TYPE.f32 holds the value of every code. round.f32, round.f16 and
round.bf16 hold the same numbers before and after one rounding: random bits,
every float16 with its midpoints, and the edges of the ranges.
"""
import pathlib

import ml_dtypes as m
import numpy as np

HERE = pathlib.Path(__file__).parent
np.seterr(all="ignore")
CODES = {"F8_E4M3": m.float8_e4m3fn, "F8_E5M2": m.float8_e5m2, "F8_E4M3FNUZ": m.float8_e4m3fnuz,
         "F8_E5M2FNUZ": m.float8_e5m2fnuz, "F8_E8M0": m.float8_e8m0fnu}
for name, t in CODES.items():
    (HERE / f"codes_{name}.f32").write_bytes(np.arange(256, dtype=np.uint8).view(t).astype("<f4").tobytes())
for name, t, n in [("F6_E2M3", m.float6_e2m3fn, 64), ("F6_E3M2", m.float6_e3m2fn, 64), ("F4", m.float4_e2m1fn, 16)]:
    (HERE / f"codes_{name}.f32").write_bytes(np.arange(n, dtype=np.uint8).view(t).astype("<f4").tobytes())

rng = np.random.default_rng(7)
halves = np.arange(0, 0x7C01, 7, dtype=np.uint16).view(np.float16).astype(np.float32).view(np.uint32)
bits = np.concatenate([rng.integers(0, 2**32, 4000, dtype=np.uint32), halves, halves + 0x0FFF, halves + 0x1000,
                       halves + 0x1001, (halves + 0x1000) | 0x80000000,
                       np.arange(0x33000000 - 4, 0x33000000 + 4, dtype=np.uint32),
                       np.arange(0x477FE000, 0x47801000, 0x400, dtype=np.uint32),
                       np.array([0, 0x80000000, 1, 0x7F7FFFFF, 0xFF7FFFFF, 0x7F7F8000, 0x7F7F7FFF, 0x7F800000, 0xFF800000], np.uint32)])
x = bits.view("<f4")
x = x[~np.isnan(x)]
(HERE / "round.f32").write_bytes(x.tobytes())
(HERE / "round.f16").write_bytes(x.astype("<f2").tobytes())
(HERE / "round.bf16").write_bytes(x.astype(m.bfloat16).tobytes())
