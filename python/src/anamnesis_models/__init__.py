"""Untrusted model files: what they are, whether they are safe, and their tensors.

The work is done by the program ``amn``, a static binary that the wheel carries; only a plain
safetensors file is opened without it. Nothing of a file is ever run, and what the program cannot explain is refused: each function raises a
:class:`Refused`, whose class says why.

    import anamnesis_models

    state = anamnesis_models.load_checkpoint("model.pt")      # torch tensors; no code in the file runs
    verdict = anamnesis_models.scan("models/")                # is it safe to load them?
    with anamnesis_models.open("model.gguf") as model:        # views of the file; quantized tensors are decoded
        weight = model["blk.0.attn_q.weight"]
"""

from ._binary import binary, version
from ._errors import (
    Failed,
    Forbidden,
    LimitReached,
    Malformed,
    Refused,
    Truncated,
    Unsupported,
)
from ._load import load_checkpoint, load_file, save_file
from ._model import Model, open
from ._pickle import load_joblib, load_pickle, torch_load
from ._program import convert, forget, inspect, inspect_all, remember, scan, verify
from ._report import Bound, Finding, Group, Quantized, Report, Scan, Scanned, Scheme, Tensor, Written

__all__ = [
    "Bound",
    "Failed",
    "Finding",
    "Forbidden",
    "Group",
    "LimitReached",
    "Malformed",
    "Model",
    "Quantized",
    "Refused",
    "Report",
    "Scan",
    "Scanned",
    "Scheme",
    "Tensor",
    "Truncated",
    "Unsupported",
    "Written",
    "binary",
    "convert",
    "forget",
    "inspect",
    "inspect_all",
    "load_checkpoint",
    "load_file",
    "load_joblib",
    "load_pickle",
    "open",
    "remember",
    "save_file",
    "scan",
    "torch_load",
    "verify",
    "version",
]
