"""Opens plain safetensors files without the program.

A process takes longer to start than a small file to load. What every rule of the program
takes is told here by a few checks; whatever is not, for any reason, is left to the
program, which knows more, says why it refuses, and is asked about every other format.
"""

from __future__ import annotations

import builtins
import json
import mmap
import os
import pickle
import re
import stat
from typing import Any

from ._frameworks import own
from ._report import Tensor

_MOST = 4 << 20  # of a header, in bytes
_WHOLE = 1 << 53  # of a count of elements
_TAR = 512  # size of a tar archive's first block
_TAR_SUM = slice(148, 156)
_ASCII = bytes(range(128))
_ZIP_TAIL = 22 + (1 << 16)  # the part of a file in which a ZIP archive's end may be

_FIELDS = {"dtype", "shape", "data_offsets"}
_MINUS = re.compile(r"[\[,:]\s*-")

# Operands of pickle instructions: their size, or the size of the length before them.
_INSTRUCTIONS = frozenset(v[0] for n, v in vars(pickle).items() if n.isupper() and isinstance(v, bytes) and len(v) == 1)
_NOTHING = frozenset(b"(012N]})aeldtbsuQRo\x81\x85\x86\x87\x88\x89\x8f\x90\x91\x92\x93\x94\x97\x98")
_ARGUMENT = {ord("K"): 1, ord("M"): 2, ord("J"): 4, ord("h"): 1, ord("q"): 1, ord("j"): 4, ord("r"): 4, 0x80: 1}
_LENGTH = {ord("U"): 1, ord("T"): 4, ord("X"): 4, ord("C"): 1, ord("B"): 4, 0x8C: 1}


# Tensors of these types hold no quantized weight, of any scheme: codes are smaller or narrower
# integers, or floats of 8 bits.
_NO_CODES = {"F64", "F32", "F16", "BF16", "I64", "BOOL", "C64"}


def load(path: str | os.PathLike[str], lib: Any, whole: bool = False) -> dict[str, Any] | None:
    """Return all tensors as views of the file, or None if the program must decide: with whole, about what may be a quantized weight too."""
    name = os.fspath(path)
    if not isinstance(name, str) or not name.endswith(".safetensors"):
        return None
    try:
        with builtins.open(name, "rb", buffering=0, opener=_opener) as f:
            info = os.fstat(f.fileno())
            if not stat.S_ISREG(info.st_mode) or info.st_size < 10:
                return None
            data = mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_COPY)
    except (OSError, ValueError):
        return None
    tensors = _tensors(data, info.st_size)
    if tensors is None or any(t.dtype not in lib.types or whole and t.dtype not in _NO_CODES for t in tensors):
        return None
    out = {}
    for t in tensors:
        size = lib.types[t.dtype].size
        if t.length:
            view = lib.shaped(lib.flat(data, t, t.length // size, own), t)
        else:
            view = lib.empty(t)
        out[t.name] = lib.place(view)
    return out


def _opener(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))  # opening a pipe without a writer must not block


def _tensors(data: Any, size: int) -> list[Tensor] | None:
    """Return the tensors in the order of their bytes, or None."""
    n = int.from_bytes(data[:8], "little")
    if n > min(_MOST, size - 8) or data[8] != ord("{") or not _nothing_else(data, size):
        return None
    text = data[8 : 8 + n]
    # Escapes could hide a name; only spaces may follow the object.
    if b"\\" in text or not text.rstrip(b" ").endswith(b"}"):
        return None
    try:
        plain = text.decode("utf-8")
        if _MINUS.search(plain):
            return None
        header = json.loads(plain, object_pairs_hook=_once)
    except (ValueError, RecursionError):
        return None
    meta = header.pop("__metadata__", None)
    if meta is not None and not _strings(meta, header):
        return None
    return _tiled(header, 8 + n, size)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("a name appears twice")
    return made


def _strings(meta: Any, header: dict[str, Any]) -> bool:
    """Return metadata if it consists of strings and names no tensor, as it does for tied ones."""
    return type(meta) is dict and all(type(v) is str and v not in header for v in meta.values())


def _tiled(header: dict[str, Any], begin: int, size: int) -> list[Tensor] | None:
    """Return the tensors if they are complete and contiguous up to the file's end."""
    rows = []
    for name, entry in header.items():
        if type(entry) is not dict or entry.keys() != _FIELDS:
            return None
        dtype, shape, place = entry["dtype"], entry["shape"], entry["data_offsets"]
        if type(dtype) is not str or dtype not in _SIZES or type(shape) is not list or len(shape) > 32 or type(place) is not list or len(place) != 2:
            return None
        count = whole = 1
        for d in shape:
            if type(d) is not int or d < 0:
                return None
            count *= d
            whole *= d or 1
            if whole >= _WHOLE:
                return None
        at, end = place
        if type(at) is not int or type(end) is not int or not 0 <= at <= end or count * _SIZES[dtype] != end - at:
            return None
        rows.append((at, end, name, dtype, tuple(shape)))
    rows.sort(key=_place)
    made, last = [], 0
    for at, end, name, dtype, shape in rows:
        if at != last:
            return None
        made.append(Tensor(name, dtype, shape, end - at, begin + at, end - at, dtype))
        last = end
    return made if begin + last == size else None


def _place(row: tuple[Any, ...]) -> tuple[int, int]:
    return row[0], row[1]


_SIZES = {
    **dict.fromkeys(("BOOL", "U8", "I8", "F8_E5M2", "F8_E4M3", "F8_E8M0", "F8_E4M3FNUZ", "F8_E5M2FNUZ"), 1),
    **dict.fromkeys(("I16", "U16", "F16", "BF16"), 2),
    **dict.fromkeys(("I32", "U32", "F32"), 4),
    **dict.fromkeys(("C64", "F64", "I64", "U64"), 8),
}


def _nothing_else(data: Any, size: int) -> bool:
    """Report whether no other loader takes the file for a tar archive, a ZIP archive or a pickle."""
    return not _may_be_tar(data[:_TAR]) and data.find(b"PK\x05\x06", max(0, size - _ZIP_TAIL)) < 0 and _no_program(data, size)


def _may_be_tar(head: bytes) -> bool:
    """Report whether the first block states its own checksum in a form that tarfile reads."""
    if len(head) < _TAR:
        return False
    field = head[_TAR_SUM]
    if field[0] in (0x80, 0xFF) or b"_" in field or b"-" in field:
        return True
    others = head[: _TAR_SUM.start] + b" " * len(field) + head[_TAR_SUM.stop :]
    total = sum(others)
    signed = total - 256 * len(others.translate(None, _ASCII))
    return signed == 0 or any(b"%o" % n in field for n in (total, signed) if n > 0)


def _no_program(data: Any, size: int) -> bool:
    """Report whether unpickling fails: at a byte that is not an instruction, or outside of the file."""
    at = 0
    for _ in range(8):
        if at >= size:
            return True
        op = data[at]
        at += 1
        if op not in _INSTRUCTIONS:
            return True
        if op in _ARGUMENT:
            at += _ARGUMENT[op]
        elif op in _LENGTH:
            at += _LENGTH[op]
            at += int.from_bytes(data[at - _LENGTH[op] : at], "little")
        elif op not in _NOTHING:
            return False
    return False
