"""The functions of safetensors.torch, for every format."""

from __future__ import annotations

import os
from typing import Any, Mapping

from . import _load
from ._given import Source


def load_file(filename: Source, device: Any = "cpu", *, decode: bool = True, **flags: Any) -> dict[str, Any]:
    """Return all tensors of a file; see anamnesis_models.load_file."""
    return _load.load_file(filename, device, framework="torch", decode=decode, **flags)


def load(data: bytes, device: Any = "cpu", *, decode: bool = True, **flags: Any) -> dict[str, Any]:
    """Return all tensors of a file whose content is given."""
    return _load.load_file(data, device, framework="torch", decode=decode, **flags)


def save_file(tensors: Mapping[str, Any], filename: str | os.PathLike[str], metadata: Mapping[str, str] | None = None) -> None:
    """Write tensors as safetensors."""
    _load.save_file(tensors, filename, metadata)
