"""Writes safetensors."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from typing import Any, Mapping

_NUMPY = {
    "bool": "BOOL",
    "uint8": "U8",
    "int8": "I8",
    "uint16": "U16",
    "int16": "I16",
    "uint32": "U32",
    "int32": "I32",
    "uint64": "U64",
    "int64": "I64",
    "float16": "F16",
    "bfloat16": "BF16",
    "float32": "F32",
    "float64": "F64",
    "complex64": "C64",
    "float8_e4m3fn": "F8_E4M3",
    "float8_e5m2": "F8_E5M2",
    "float8_e8m0fnu": "F8_E8M0",
}
# The order of safetensors, which aligns every tensor: larger types first, types of equal size
# in the reverse order of its list, then by name.
_ORDER = ("U64", "I64", "F64", "C64", "F32", "U32", "I32", "BF16", "F16", "U16", "I16", "F8_E8M0", "F8_E4M3", "F8_E5M2", "I8", "U8", "BOOL")


def _of_torch(name: str, t: Any) -> tuple[str, list[int], Any]:
    import torch

    kind = _NUMPY.get(str(t.dtype).removeprefix("torch."))
    if kind is None:
        raise TypeError(f"{name!r}: safetensors has no type for {t.dtype}")
    if t.layout != torch.strided:
        raise ValueError(f"{name!r} is sparse: make it dense first")
    if not t.is_contiguous():
        raise ValueError(f"{name!r} is not contiguous: call contiguous() first")
    flat = t.detach().cpu().reshape(-1)
    return kind, list(t.shape), flat.view(torch.uint8).numpy().data if flat.numel() else b""


def _of_numpy(name: str, t: Any) -> tuple[str, list[int], Any]:
    import numpy

    kind = _NUMPY.get(t.dtype.name)
    if kind is None:
        raise TypeError(f"{name!r}: safetensors has no type for {t.dtype}")
    if t.dtype.byteorder == ">" or (t.dtype.byteorder == "=" and sys.byteorder == "big"):
        t = t.byteswap()
    shape = list(t.shape)
    return kind, shape, numpy.ascontiguousarray(t).reshape(-1).view(numpy.uint8).data if t.size else b""


def _shared(tensors: Mapping[str, Any]) -> None:
    """Refuse tensors that share bytes: they would be written twice and no longer share them."""
    seen: list[tuple[int, int, str]] = []
    for name, t in tensors.items():
        if hasattr(t, "untyped_storage") and t.numel() and t.device.type == "cpu":
            seen.append((t.data_ptr(), t.data_ptr() + t.numel() * t.element_size(), name))
    seen.sort()
    for (_, end, a), (begin, _, b) in zip(seen, seen[1:]):
        if begin < end:
            raise RuntimeError(f"{a!r} and {b!r} share memory: give one of them, or clone() it")


def save(tensors: Mapping[str, Any], filename: str, metadata: Mapping[str, str] | None) -> None:
    """Write a temporary file beside the target, then rename it."""
    _shared(tensors)
    parts = []
    for name, t in tensors.items():
        if not isinstance(name, str):
            raise TypeError(f"names are text, not {type(name).__name__}")
        if name == "__metadata__":
            raise ValueError("a tensor cannot be called __metadata__")
        kind, shape, data = (_of_torch if hasattr(t, "untyped_storage") else _of_numpy)(name, t)
        parts.append((_ORDER.index(kind), name, kind, shape, data))
    parts.sort(key=lambda p: (p[0], p[1].encode("utf-8")))
    header: dict[str, Any] = {}
    if metadata is not None:
        for key, value in metadata.items():
            if not isinstance(key, str) or not isinstance(value, str):
                raise TypeError("metadata is text by text")
        header["__metadata__"] = dict(metadata)
    at = 0
    for _, name, kind, shape, data in parts:
        header[name] = {"dtype": kind, "shape": shape, "data_offsets": [at, at + len(data)]}
        at += len(data)
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode("utf-8")
    text += b" " * (-len(text) % 8)
    folder = os.path.dirname(os.path.abspath(filename))
    handle, temporary = tempfile.mkstemp(prefix=".anamnesis-", dir=folder)
    try:
        with os.fdopen(handle, "wb") as f:
            f.write(len(text).to_bytes(8, "little") + text)
            for part in parts:
                f.write(part[4])
            f.flush()
            os.fsync(f.fileno())
        if os.name == "posix":
            mask = os.umask(0)
            os.umask(mask)
            os.chmod(temporary, 0o666 & ~mask)
        os.replace(temporary, filename)
    except BaseException:
        os.unlink(temporary)
        raise
