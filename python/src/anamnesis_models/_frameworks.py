"""Types of numpy and torch, and their views of bytes."""

from __future__ import annotations

import functools
import importlib.util
import sys
from dataclasses import dataclass
from typing import Any, Callable

from ._report import Tensor

_HOST = sys.byteorder


@dataclass(frozen=True)
class Type:
    """A data type of the framework."""

    dtype: Any
    size: int


# Names in a report, in numpy (or ml_dtypes), and in torch.
_NAMES = (
    ("BOOL", 1, "bool", "bool"),
    ("U8", 1, "uint8", "uint8"),
    ("I8", 1, "int8", "int8"),
    ("U16", 2, "uint16", "uint16"),
    ("I16", 2, "int16", "int16"),
    ("U32", 4, "uint32", "uint32"),
    ("I32", 4, "int32", "int32"),
    ("U64", 8, "uint64", "uint64"),
    ("I64", 8, "int64", "int64"),
    ("F16", 2, "float16", "float16"),
    ("BF16", 2, "ml_dtypes.bfloat16", "bfloat16"),
    ("F32", 4, "float32", "float32"),
    ("F64", 8, "float64", "float64"),
    ("C32", 4, "", "complex32"),
    ("C64", 8, "complex64", "complex64"),
    ("C128", 16, "complex128", "complex128"),
    ("F8_E4M3", 1, "ml_dtypes.float8_e4m3fn", "float8_e4m3fn"),
    ("F8_E5M2", 1, "ml_dtypes.float8_e5m2", "float8_e5m2"),
    ("F8_E4M3FNUZ", 1, "ml_dtypes.float8_e4m3fnuz", "float8_e4m3fnuz"),
    ("F8_E5M2FNUZ", 1, "ml_dtypes.float8_e5m2fnuz", "float8_e5m2fnuz"),
    ("F8_E8M0", 1, "ml_dtypes.float8_e8m0fnu", "float8_e8m0fnu"),
)
_COMPLEX = {"C32", "C64", "C128"}


class Storage:
    """Bytes that tensors share, with a copy if they cannot be used in place."""

    def __init__(self, begin: int, end: int) -> None:
        self.begin, self.end = begin, end
        self.copies: dict[int, Any] = {}


Storages = Callable[[Tensor], Storage]


def own(t: Tensor) -> Storage:
    """Return the storage of a tensor that shares none."""
    return Storage(t.offset, t.offset + t.length)


class NumPy:
    """Views as numpy.ndarray. BF16 and the 8-bit floats need ml_dtypes."""

    name = "numpy"

    def __init__(self) -> None:
        import numpy

        self._np = numpy
        self.types: dict[str, Type] = {}
        more: Any = None
        try:
            import ml_dtypes as more
        except ImportError:
            pass  # those types are then reported as unknown
        for name, size, theirs, _ in _NAMES:
            module: Any = numpy
            if theirs.startswith("ml_dtypes."):
                module, theirs = more, theirs[len("ml_dtypes.") :]
            kind = getattr(module, theirs, None) if theirs and module is not None else None
            if name == "BOOL":
                kind = numpy.bool_
            if kind is not None:
                self.types[name] = Type(numpy.dtype(kind), size)

    def flat(self, buffer: Any, t: Tensor, count: int, storages: Storages) -> Any:
        kind = self.types[t.dtype]
        if t.order == _HOST or kind.size == 1:
            return self._np.frombuffer(buffer, kind.dtype, count, t.offset)
        if kind.dtype.kind in "biufc":  # numpy's own types have a byte order
            return self._np.frombuffer(buffer, kind.dtype.newbyteorder(), count, t.offset)
        return self._np.frombuffer(buffer, f"u{kind.size}", count, t.offset).byteswap().view(kind.dtype)

    def shaped(self, flat: Any, t: Tensor) -> Any:
        if t.strides is None:
            return flat.reshape(t.shape)
        step = flat.dtype.itemsize
        return self._np.ndarray(t.shape, flat.dtype, flat, t.first * step, tuple(s * step for s in t.strides))

    def empty(self, t: Tensor) -> Any:
        return self._np.zeros(t.shape, self.types[t.dtype].dtype)

    def place(self, array: Any) -> Any:
        return array


class Torch:
    """Views as torch.Tensor."""

    name = "torch"

    def __init__(self, device: Any = "cpu") -> None:
        import torch

        self._torch, self._device = torch, device
        self._view = torch.frombuffer
        self.types: dict[str, Type] = {}
        for name, size, _, ours in _NAMES:
            kind = getattr(torch, ours, None)
            if kind is not None:
                self.types[name] = Type(kind, size)

    def flat(self, buffer: Any, t: Tensor, count: int, storages: Storages) -> Any:
        kind = self.types[t.dtype]
        swap = 0
        if t.order != _HOST:  # torch has no types of the other byte order, so bytes are swapped
            swap = kind.size // 2 if t.dtype in _COMPLEX else kind.size
        if swap <= 1 and t.offset % kind.size == 0:
            return self._view(buffer, dtype=kind.dtype, count=count, offset=t.offset)
        storage = storages(t)
        # Some processors refuse unaligned numbers. The whole storage is copied, once, so that
        # tensors that share it still do.
        copied = storage.copies.get(swap)
        if copied is None:
            copied = self._torch.frombuffer(buffer, dtype=self._torch.uint8, count=storage.end - storage.begin, offset=storage.begin)
            copied = copied.view(-1, swap).flip(1).contiguous().view(-1) if swap > 1 else copied.clone()
            storage.copies[swap] = copied
        at = t.offset - storage.begin
        return copied[at : at + count * kind.size].view(kind.dtype)

    def shaped(self, flat: Any, t: Tensor) -> Any:
        if t.strides is not None:
            return flat.as_strided(t.shape, t.strides, t.first)
        return flat if len(t.shape) == 1 else flat.view(t.shape)

    def empty(self, t: Tensor) -> Any:
        return self._torch.empty(t.shape, dtype=self.types[t.dtype].dtype)

    def place(self, tensor: Any) -> Any:
        return tensor if self._device in ("cpu", None) else tensor.to(self._device)


@functools.lru_cache(maxsize=None)
def _numpy() -> NumPy:
    return NumPy()


@functools.lru_cache(maxsize=None)
def _torch() -> Torch:
    return Torch()


def _inferred(device: Any) -> str:
    """Return the framework that the program uses: the one that is imported, else the one that is installed."""
    if "torch" in sys.modules or device not in ("cpu", None):
        return "torch"
    if "numpy" in sys.modules:
        return "numpy"
    installed = [name for name in ("torch", "numpy") if importlib.util.find_spec(name) is not None]
    if not installed:
        raise ImportError("tensors need a framework: install torch or numpy")
    if len(installed) > 1:
        raise TypeError("torch and numpy are both installed, and neither is imported: say framework=\"torch\" or framework=\"numpy\"")
    return installed[0]


def check(name: str | None, device: Any) -> None:
    """Raise ValueError for a name that is none, without importing the framework."""
    if name not in (None, "torch", "pt", "numpy", "np"):
        raise ValueError(f"framework {name!r}: give torch or numpy")
    if name in ("numpy", "np") and device not in ("cpu", None):
        raise ValueError("numpy has no devices")


def of(name: str | None, device: Any = "cpu") -> Any:
    """Return the framework with a name, or the one in use for None."""
    if name is None:
        name = _inferred(device)
    check(name, device)
    if name in ("torch", "pt"):
        return _torch() if device == "cpu" else Torch(device)
    return _numpy()
