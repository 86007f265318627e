"""Loads and saves whole models, with the signatures of safetensors."""

from __future__ import annotations

import os
from typing import Any, Mapping, cast

from . import _errors, _frameworks, _given, _plain, _save
from ._given import Source
from ._model import Model
from ._types import Framework


def load_file(filename: Source, device: Any = "cpu", *, framework: Framework | None = None, decode: bool = True, **flags: Any) -> dict[str, Any]:
    """Return all tensors of a file of any format, as safetensors.torch.load_file does.

    The file is a path, bytes, or open for reading. Quantized weights are decoded; decode=False
    gives tensors as they are stored.
    """
    if _given.is_path(filename) and not any(flags.values()):
        plain = _plain.load(cast("str | os.PathLike[str]", filename), _frameworks.of(framework, device), whole=decode)
        if plain is not None:
            return plain
    with Model(filename, framework, decode=decode, device=device, **flags) as m:
        return _whole(m, decode)


def _whole(m: Model, decode: bool) -> dict[str, Any]:
    if not decode:
        for t in m.report.tensors:
            if t.dtype not in m._lib.types:
                raise TypeError(f"{t.name!r} is stored as {t.dtype}, which {m._lib.name} has no type for: decode=True decodes it")
    return m.load()


def load_checkpoint(path: Source, device: Any = "cpu", *, framework: Framework = "torch", decode: bool = True, **flags: Any) -> dict[str, Any]:
    """Return the tensors of a PyTorch checkpoint by name, without running its code.

    Names of nested containers are joined by dots; tensors that share a storage share it.
    Values that are no tensors are in open(path).metadata(). Raises Refused. decode=False
    gives quantized weights as they are stored.
    """
    with Model(path, framework, decode=decode, device=device, **flags) as m:
        if m.report.format != "pth":
            raise _errors.Unsupported(f"this is {m.report.format}, no PyTorch checkpoint: load_file reads it", m._source)
        return _whole(m, decode)


def load(data: bytes, device: Any = "cpu", *, framework: Framework | None = None, decode: bool = True, **flags: Any) -> dict[str, Any]:
    """Return all tensors of a file whose content is given, as safetensors.torch.load does."""
    return load_file(data, device, framework=framework, decode=decode, **flags)


def save_file(tensors: Mapping[str, Any], filename: str | os.PathLike[str], metadata: Mapping[str, str] | None = None) -> None:
    """Write torch or numpy tensors as safetensors.save_file does. The file appears complete or not at all."""
    _save.save(tensors, os.fspath(filename), metadata)
