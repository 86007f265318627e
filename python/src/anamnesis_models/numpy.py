"""The functions of safetensors.numpy, for every format."""

from __future__ import annotations

import os
from typing import Any, Mapping

from . import _load
from ._given import Source


def load_file(filename: Source, *, decode: bool = True, **flags: Any) -> dict[str, Any]:
    """Return all tensors of a file as arrays; see anamnesis_models.load_file."""
    return _load.load_file(filename, framework="numpy", decode=decode, **flags)


def load(data: bytes, *, decode: bool = True, **flags: Any) -> dict[str, Any]:
    """Return all tensors of a file whose content is given."""
    return _load.load_file(data, framework="numpy", decode=decode, **flags)


def save_file(tensor_dict: Mapping[str, Any], filename: str | os.PathLike[str], metadata: Mapping[str, str] | None = None) -> None:
    """Write arrays as safetensors."""
    _load.save_file(tensor_dict, filename, metadata)
