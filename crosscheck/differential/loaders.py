"""The loaders that files are given to: each a function of a path that returns what
it read, as rows of name, type, shape and digest, or raises.

A new loader is a function and a row in LOADERS. It runs in a process that is
forked from one that has imported everything (WARM calls each loader once, so that
nothing is imported later).
"""
import collections
import importlib
import logging
import lzma
import os
import pathlib
import pickle
import sys
import tarfile
import warnings
import zipfile

import numpy as np

import ggml
from hashes import digest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.append(str(ROOT / "corpus" / "valid" / "pth"))
# A loader of pickles imports what they name. The modules of vm's allowlist are
# Python's, NumPy's and PyTorch's own, of data: they are there before any file is
# read, so that every other import is an effect. A test compares the list.
MODULES = (
    "_codecs", "argparse", "builtins", "collections", "copyreg", "datetime", "numpy", "numpy._core.defchararray", "numpy._core.memmap",
    "numpy._core.multiarray", "numpy._core.numeric", "numpy._core.records", "numpy.char", "numpy.core.defchararray", "numpy.core.memmap",
    "numpy.core.multiarray", "numpy.core.numeric", "numpy.core.records", "numpy.matrixlib.defmatrix", "numpy.rec", "pathlib", "pathlib._local",
    "torch", "torch._tensor", "torch._utils", "torch.cuda", "torch.cuda.sparse", "torch.nn.parameter", "torch.serialization", "torch.sparse",
    "torch.storage", "torch.tensor", "torch.torch_version", "types",
)


def import_modules():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in MODULES:
            try:
                importlib.import_module(name)
            except ImportError:
                continue  # other versions have it
    # Newer versions of Python give the classes this name, too.
    sys.modules.setdefault("pathlib._local", pathlib)


FORMATS = ("gguf", "npy", "npz", "pickle", "pth", "safetensors")
MOST = 2000  # rows: a file of many tensors says nothing that one of few does not


# ---- NumPy

NUMPY = {"b1": "BOOL", "i1": "I8", "u1": "U8", "i2": "I16", "u2": "U16", "i4": "I32", "u4": "U32", "i8": "I64", "u8": "U64",
         "f2": "F16", "f4": "F32", "f8": "F64", "c8": "C64", "c16": "C128"}


def array_row(name, a):
    """An array as a row. What NumPy has no number for is compared by name and shape."""
    dtype = NUMPY.get(a.dtype.str[1:]) if a.dtype.fields is None and a.dtype.subdtype is None else None
    if dtype is None or a.dtype.metadata:
        return [name, None, list(a.shape), None]
    return [name, dtype, list(a.shape), digest(little(a))]


def numpy_load(allow_pickle):
    def load(path):
        got = np.load(path, allow_pickle=allow_pickle)
        if not isinstance(got, np.lib.npyio.NpzFile):
            return [array_row("arr_0", got)] if isinstance(got, np.ndarray) else [["value", type(got).__name__, [], None]]
        with got:
            rows = []
            for name in got.files:
                a = got[name]
                # What is no array is read as bytes.
                rows.append(array_row(name, a) if isinstance(a, np.ndarray) else [name, "bytes", [len(a)], None])
            return rows
    return load


# ---- PyTorch

def torch_rows(obj):
    import generate
    rows = []
    leaves = list(generate.leaves(obj))[:MOST]
    count = collections.Counter(row.name for row in leaves)
    for row in leaves:
        known = row.dtype in KNOWN
        data = one_nan(row.dtype, row.data)
        rows.append([row.exact if count[row.name] > 1 else row.name, row.dtype if known else "unknown", row.shape, digest(data) if known else None])
    return rows


def one_nan(dtype, data):
    """16-bit floats with one NaN for all: where a view negates them, torch quiets a
    NaN or does not, and drops its sign or does not, by how many elements there are."""
    if dtype not in ("F16", "BF16", "C32"):
        return data
    words = np.frombuffer(data, "<u2").copy()
    infinity = 0x7f80 if dtype == "BF16" else 0x7c00
    words[words & 0x7fff > infinity] = 0x7fff
    return words.tobytes()


KNOWN = set()


def torch_load(weights_only):
    import generate
    import torch
    KNOWN.update(v for v in generate.NAMES.values())

    def load(path):
        # Where a tensor was does not matter: the machines differ.
        try:
            return torch_rows(torch.load(path, weights_only=weights_only))
        except RuntimeError as e:
            if "deserialize object on" not in str(e) and "know how to restore data location" not in str(e):
                raise
            return torch_rows(torch.load(path, weights_only=weights_only, map_location="cpu"))
    return load


def torch_jit(path):
    import torch
    module = torch.jit.load(path, map_location="cpu")
    return [["module", type(module).__name__, [], None]]


# ---- others

def safetensors_open(path):
    import safetensors
    with safetensors.safe_open(path, "np") as f:
        keys = list(f.keys())
    with open(path, "rb") as f:
        rows = safetensors.deserialize(f.read())
    if sorted(keys) != sorted(name for name, _ in rows):
        raise AssertionError("safe_open and deserialize differ")
    return [[name, t["dtype"], list(t["shape"]), digest(t["data"])] for name, t in rows]


def gguf_py(path):
    from gguf import GGUFReader
    reader = GGUFReader(path)
    for f in reader.fields.values():
        f.contents()
    rows = []
    for t in reader.tensors:
        data = t.data
        if t.tensor_type.name == "BF16" and reader.byte_order == "S":
            data = data.view(">u2")  # which gguf-py leaves as bytes
        rows.append([t.name, t.tensor_type.name, [int(n) for n in reversed(t.shape)], digest(little(data))])
    return rows


def little(a):
    return a.astype(a.dtype.newbyteorder("<"), copy=False).tobytes()


def python_pickle(path):
    with open(path, "rb") as f:
        return [["value", type(pickle.load(f)).__name__, [], None]]


def joblib_load(path):
    import joblib
    return [["value", type(joblib.load(path)).__name__, [], None]]


PACKED = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ\0")  # gzip, bzip2, xz


def tar_open(path):
    """Everything that Python's tarfile finds, as its plain opening does. It tries
    four methods in turn, each with an exception of its own: what the first block of
    each refuses is asked directly, which is five times as fast."""
    with open(path, "rb") as f:
        head = f.read(1 << 12)
    if set(tarfile.TarFile.OPEN_METH) == {"tar", "gz", "bz2", "xz"} and not (
            begins_tar(head) or head.startswith(PACKED) or begins_lzma(head)):
        raise tarfile.ReadError("no method opens it")
    with tarfile.open(path) as t:
        return [[m.name, "member", [m.size], None] for m in t.getmembers()]


def begins_tar(head):
    try:
        tarfile.TarInfo.frombuf(head[:tarfile.BLOCKSIZE], tarfile.ENCODING, "surrogateescape")
    except (tarfile.EmptyHeaderError, tarfile.TruncatedHeaderError, tarfile.InvalidHeaderError):
        return False
    except tarfile.HeaderError:
        return True  # two blocks of zeros are an archive of nothing
    return True


def begins_lzma(head):
    """The old format of lzma has no magic."""
    try:
        lzma.LZMADecompressor().decompress(head, 1)
    except lzma.LZMAError:
        return False
    return True


def zip_open(path):
    with zipfile.ZipFile(path) as z:
        return [[i.filename, "member", [i.file_size], digest(z.read(i)) if i.file_size < 1 << 20 else None] for i in z.infolist()]


def table():
    """Name of a loader and its function, everything imported."""
    import_modules()
    import torch._subclasses.schema_check_mode  # noqa: F401, which torch imports late
    native = ggml.load()
    return ({"ggml": native} if native else {}) | {
        "torch.load": torch_load(False), "torch.load weights_only": torch_load(True), "torch.jit.load": torch_jit,
        "numpy": numpy_load(False), "numpy allow_pickle": numpy_load(True), "safetensors": safetensors_open, "gguf-py": gguf_py,
        "pickle": python_pickle, "joblib": joblib_load, "tarfile": tar_open, "zipfile": zip_open,
    }


def versions():
    import importlib.metadata
    names = ("torch", "numpy", "safetensors", "gguf", "joblib")
    return {n: importlib.metadata.version(n) for n in names} | {"python": sys.version.split()[0]}


def warm(loaders):
    """Calls every loader on honest and hopeless files, so that all that is
    imported when needed is there."""
    import tempfile
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    # What is compressed is no input here, and joblib makes gigabytes of it.
    valid = [p for form in FORMATS for p in sorted((ROOT / "corpus" / "valid" / form).iterdir())]
    with tempfile.TemporaryDirectory() as tmp:
        bad = os.path.join(tmp, "bad")
        files = [p for p in valid if p.suffix not in (".txt", ".py", ".pyc") and p.is_file() and p.stat().st_size < 1 << 16]
        for path in files:
            data = path.read_bytes()
            for cut in (data, data[: len(data) // 2], data[:-1]):
                with open(bad, "wb") as f:
                    f.write(cut)
                for load in loaders.values():
                    attempt(load, bad)
        # Programs that name nothing but what stands for data.
        import pickles
        for seed in range(300):
            with open(bad, "wb") as f:
                f.write(pickles.checkpoint(seed, 0.05 * (seed % 3)))
            attempt(loaders["torch.load"], bad)
            attempt(loaders["torch.load weights_only"], bad)


def attempt(load, path):
    try:
        load(path)
    except BaseException as e:
        repr(e)
