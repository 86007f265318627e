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

from importlib import metadata as _metadata

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
from ._load import load, load_checkpoint, load_file, save_file
from ._model import Model, Slice, open
from ._page import Page, page
from ._pickle import load_joblib, load_pickle, torch_load
from ._program import convert, dequantize, forget, inspect, inspect_all, quantize, remember, scan, stats, verify
from ._report import Bound, Finding, Group, Quantized, Report, Scan, Scanned, Scheme, Stats, Tensor, Written
from ._types import Framework, Severity, Target

try:
    #: The version of this package. version() is that of the program.
    __version__: str = _metadata.version("anamnesis-models")
except _metadata.PackageNotFoundError:  # a checkout on the path
    __version__ = "0.0.0"

__all__ = [
    "Bound",
    "Failed",
    "Finding",
    "Forbidden",
    "Framework",
    "Group",
    "LimitReached",
    "Malformed",
    "Model",
    "Page",
    "Quantized",
    "Refused",
    "Report",
    "Scan",
    "Scanned",
    "Scheme",
    "Severity",
    "Slice",
    "Stats",
    "Target",
    "Tensor",
    "Truncated",
    "Unsupported",
    "Written",
    "__version__",
    "binary",
    "convert",
    "dequantize",
    "forget",
    "inspect",
    "inspect_all",
    "load",
    "load_checkpoint",
    "load_file",
    "load_joblib",
    "load_pickle",
    "open",
    "page",
    "quantize",
    "remember",
    "save_file",
    "scan",
    "stats",
    "torch_load",
    "verify",
    "version",
]
