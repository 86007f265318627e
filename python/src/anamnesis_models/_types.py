"""The words that arguments take."""

from __future__ import annotations

from typing import Literal

Framework = Literal["torch", "pt", "numpy", "np"]
Target = Literal["f32", "bf16", "f16"]
Severity = Literal["danger", "warning", "note"]
