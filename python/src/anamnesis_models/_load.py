"""Loads and saves whole models, with the signatures of safetensors."""

from __future__ import annotations

import os
from typing import Any, Mapping

from . import _errors, _frameworks, _plain, _save
from ._model import Model


def load_file(filename: str | os.PathLike[str], device: Any = "cpu", *, framework: str = "torch", decode: bool = False, **flags: Any) -> dict[str, Any]:
    """Return all tensors of a file of any format, as safetensors.torch.load_file does.

    Tensors are as they are stored; decode=True puts decoded weights in the place of
    quantized ones, which those of GGUF need.
    """
    if not decode and not any(flags.values()):
        plain = _plain.load(filename, _frameworks.of(framework, device))
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


def load_checkpoint(path: str | os.PathLike[str], device: Any = "cpu", *, framework: str = "torch", decode: bool = False, **flags: Any) -> dict[str, Any]:
    """Return the tensors of a PyTorch checkpoint by name, without running its code.

    Names of nested containers are joined by dots; tensors that share a storage share it.
    Values that are no tensors are in open(path).metadata(). Raises Refused. decode=True puts
    decoded weights in the place of quantized ones.
    """
    with Model(path, framework, decode=decode, device=device, **flags) as m:
        if m.report.format != "pth":
            raise _errors.Unsupported(f"this is {m.report.format}, no PyTorch checkpoint: load_file reads it", os.fspath(path))
        return _whole(m, decode)


def save_file(tensors: Mapping[str, Any], filename: str | os.PathLike[str], metadata: Mapping[str, str] | None = None) -> None:
    """Write torch or numpy tensors as safetensors.save_file does. The file appears complete or not at all."""
    _save.save(tensors, os.fspath(filename), metadata)
