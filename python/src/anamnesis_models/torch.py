"""The functions of safetensors.torch, for every format."""

from __future__ import annotations

import os
from typing import Any, Mapping

from . import _load


def load_file(filename: str | os.PathLike[str], device: Any = "cpu", *, decode: bool = False, **flags: Any) -> dict[str, Any]:
    """Return all tensors of a file; see anamnesis_models.load_file."""
    return _load.load_file(filename, device, framework="torch", decode=decode, **flags)


def save_file(tensors: Mapping[str, Any], filename: str | os.PathLike[str], metadata: Mapping[str, str] | None = None) -> None:
    """Write tensors as safetensors."""
    _load.save_file(tensors, filename, metadata)
