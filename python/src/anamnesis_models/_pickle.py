"""Loads pickles that the program has accepted, and nothing else that their bytes might say."""

from __future__ import annotations

import _compat_pickle
import bz2
import concurrent.futures
import hashlib
import importlib
import io
import lzma
import os
import pickle
import stat
import tempfile
import types
import zlib
from typing import Any, Callable, FrozenSet, Optional, Tuple

from . import _errors
from ._program import scan

Name = Tuple[str, str]

# The most bytes that a compressed pickle may hold.
MOST = 4 << 30

# The buffer between the unpickler and the bytes of a pickle. Long values are read past it.
BUFFER = 64 << 10

# A file of at most so many bytes is read while the program judges it, a larger one after that.
AHEAD = 1 << 30


def load_pickle(path: str | os.PathLike[str], policy: str | os.PathLike[str] | None = None, **flags: Any) -> Any:
    """Return the object of a pickle that the program accepts.

    policy is a profile, such as "tabular", or a file; the program judges the file, and
    Python's own unpickler then runs over the bytes that were judged, and finds no name but
    those of the verdict. The program names the bytes on which its verdict does not depend,
    the numbers of large arrays, and the SHA-256 of all others; these are read once more,
    compared, and kept, so a file that changes meanwhile is refused or has other numbers in
    these arrays. A file with classes of a class set is loaded with a version of their library
    that could have written it, and with no other. Raises Refused.
    """
    with open(path, "rb", buffering=0) as f:
        if not stat.S_ISREG(os.fstat(f.fileno()).st_mode):
            data, names = _judged(path, policy, ("pickle",), flags)
            return _restricted(pickle.Unpickler, names)(io.BytesIO(data)).load()
        verdict = _verdict(path, policy, ("pickle",), {**flags, "unread": True, "digest": False})
        if "sha256" in verdict.raw:  # the policy has exceptions for whole files
            return _restricted(pickle.Unpickler, _names(verdict))(io.BytesIO(_whole(f, verdict, path))).load()
        judged = _Judged(f, verdict.raw["pickles"][0], os.fspath(path))
        return _restricted(pickle.Unpickler, _names(verdict))(io.BufferedReader(judged, BUFFER)).load()


class _Judged(io.RawIOBase):
    """The bytes of a pickle that was judged.

    Those on which the verdict depends are in memory, as the program read them. The others are
    read from the file when the unpickler asks for them.
    """

    def __init__(self, file: Any, pickle_: dict[str, Any], path: str) -> None:
        self._file, self._pos, self._at = file, 0, 0
        digest, parts, at = hashlib.sha256(), [], int(pickle_["offset"])
        end = at + int(pickle_["length"])
        self._pos = at
        for part in [*pickle_["unread"], {"offset": end, "length": 0}]:
            first, after = int(part["offset"]), int(part["offset"]) + int(part["length"])
            if not at <= first <= after <= end:
                raise _errors.Failed(f"{path}: the program's answer names parts that are not in their order")
            kept = _exactly(file, at, first - at, path)
            digest.update(kept)
            parts += [(first, kept), (after, None)]
            at = after
        if digest.hexdigest() != pickle_["read_sha256"]:
            raise _errors.Failed(f"{path} changed while it was judged")
        self._parts = parts

    def readable(self) -> bool:
        return True

    def readinto(self, out: Any) -> int:
        view = memoryview(out).cast("B")
        while self._at < len(self._parts):
            end, kept = self._parts[self._at]
            n = min(len(view), end - self._pos)
            if n:
                if kept is None:
                    self._file.seek(self._pos)
                    n = self._file.readinto(view[:n]) or 0
                else:
                    start = len(kept) - (end - self._pos)
                    view[:n] = kept[start : start + n]
                self._pos += n
                return n
            if len(view) == 0:
                return 0
            self._at += 1
        return 0


def _whole(file: Any, verdict: Any, path: Any) -> bytes:
    data = file.read()
    if hashlib.sha256(data).hexdigest() != verdict.raw["sha256"]:
        raise _errors.Failed(f"{os.fspath(path)} changed while it was judged")
    return bytes(data)


def _exactly(file: Any, at: int, n: int, path: str) -> bytes:
    """Return n bytes of a file, which has them if it did not change."""
    file.seek(at)
    out = bytearray(n)
    have = 0
    with memoryview(out) as view:
        while have < n:
            got = file.readinto(view[have:])
            if not got:
                raise _errors.Failed(f"{path} changed while it was judged")
            have += got
    return bytes(out)


def load_joblib(path: str | os.PathLike[str], policy: str | os.PathLike[str] | None = None, **flags: Any) -> Any:
    """Return the object of a file of joblib, compressed or not, that the program accepts. See load_pickle."""
    import joblib.numpy_pickle as theirs

    data, names = _judged(path, policy, ("pickle", "joblib", "zlib", "gzip", "bzip2", "xz", "lzma"), flags)
    if names is None:
        data = _decompressed(data, os.fspath(path))
        names = _judged_bytes(data, path, policy, ("pickle", "joblib"), flags)
    base = theirs.NumpyUnpickler
    return _restricted(base, names)(os.fspath(path), io.BytesIO(data), ensure_native_byte_order=True).load()


def torch_load(path: str | os.PathLike[str], policy: str | os.PathLike[str] | None = None, map_location: Any = "cpu", **flags: Any) -> Any:
    """Return the object of a checkpoint of PyTorch that the program accepts. See load_pickle."""
    import torch

    data, names = _judged(path, policy, ("pth",), flags)
    unpickler = _restricted(pickle.Unpickler, names)
    module = types.SimpleNamespace(
        __name__="pickle", Unpickler=unpickler, load=lambda f, **given: unpickler(f, **given).load(), loads=lambda b, **given: unpickler(io.BytesIO(b), **given).load(),
        UnpicklingError=pickle.UnpicklingError)
    return torch.load(io.BytesIO(data), map_location=map_location, pickle_module=module, weights_only=False)


def _restricted(base: Any, names: Optional[FrozenSet[Name]]) -> Callable[..., Any]:
    """Return an unpickler that finds the names of a verdict alone."""

    class Restricted(base):  # type: ignore[misc]
        def find_class(self, module: str, name: str) -> Any:
            if names is None or (module, name) not in names and _new_name(module, name) not in names:
                raise _errors.Forbidden(f"{module}.{name} is not in the verdict")
            return super().find_class(module, name)

    return Restricted


def _new_name(module: str, name: str) -> Name:
    """Return Python 3's name for one of Python 2, as the unpickler does for protocols below 3.

    The program reports names so, and an unpickler of a later protocol finds no module of the old name.
    """
    if (module, name) in _compat_pickle.NAME_MAPPING:
        return _compat_pickle.NAME_MAPPING[module, name]
    return _compat_pickle.IMPORT_MAPPING.get(module, module), name


def _judged(path: str | os.PathLike[str], policy: Any, formats: Tuple[str, ...], flags: dict[str, Any]) -> Tuple[bytes, Optional[FrozenSet[Name]]]:
    """Return the bytes of an accepted file, and the names that they may use.

    The names are None if the program judged what is compressed in the file.
    """
    verdict, data, digest = _judged_and_read(path, policy, formats, flags)
    if digest != verdict.raw.get("sha256"):
        raise _errors.Failed(f"{os.fspath(path)} changed while it was judged")
    if verdict.format not in ("pickle", "joblib", "pth"):
        return data, None
    return data, _names(verdict)


def _judged_and_read(path: str | os.PathLike[str], policy: Any, formats: Tuple[str, ...], flags: dict[str, Any]) -> Tuple[Any, bytes, str]:
    """Return the verdict about a file, its bytes, and their SHA-256.

    The program and this process read and hash the file at the same time. The digests then tell
    whether both read the same.
    """
    found = os.stat(path)
    if not stat.S_ISREG(found.st_mode) or found.st_size > AHEAD:
        return (_verdict(path, policy, formats, flags), *_read(path))
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        judging = pool.submit(_verdict, path, policy, formats, flags)
        data, digest = _read(path)
        return judging.result(), data, digest


def _read(path: str | os.PathLike[str]) -> Tuple[bytes, str]:
    with open(path, "rb") as f:
        data = f.read()
    return data, hashlib.sha256(data).hexdigest()


def _judged_bytes(data: bytes, path: Any, policy: Any, formats: Tuple[str, ...], flags: dict[str, Any]) -> FrozenSet[Name]:
    with tempfile.NamedTemporaryFile(suffix=".pkl", delete=False) as f:
        f.write(data)
    try:
        verdict = _verdict(f.name, policy, formats, flags)
    finally:
        os.unlink(f.name)
    if hashlib.sha256(data).hexdigest() != verdict.raw.get("sha256"):
        raise _errors.Failed(f"what {os.fspath(path)} holds changed while it was judged")
    return _names(verdict)


def _verdict(path: Any, policy: Any, formats: Tuple[str, ...], flags: dict[str, Any]) -> Any:
    found = scan(path, limits=policy, **{"digest": True, **flags})
    if found.error is not None:
        raise found.error
    if len(found.files) != 1:
        raise _errors.Unsupported("not one file", os.fspath(path))
    verdict = found.files[0]
    if verdict.error is not None:
        raise verdict.error
    if verdict.skipped or verdict.format not in formats:
        raise _errors.Unsupported(f"this is {verdict.format or 'no model'}, not {formats[0]}", os.fspath(path))
    _agree(verdict, path)
    return verdict


def _names(verdict: Any) -> FrozenSet[Name]:
    """Return the names of the pickles of an accepted file: those of data, and those that the policy allows."""
    allowed = {g["name"] for g in verdict.raw.get("allowed_globals", ())}
    names = set()
    for one in verdict.raw.get("pickles", ()):
        for g in one.get("globals", ()):
            if g["status"] == "allowed" or f"{g['module']}.{g['name']}" in allowed:
                names.add((g["module"], g["name"]))
    return frozenset(names)


def _agree(verdict: Any, path: Any) -> None:
    """Refuse a file whose classes a verdict allows in other versions of their library than is installed.

    A class set says what its classes do in the versions that were read, and in no others.
    """
    for one in verdict.raw.get("pickles", ()):
        for used in one.get("sets", ()):
            try:
                found = getattr(importlib.import_module(used["module"]), "__version__", "an unknown version")
            except ImportError as e:
                raise _errors.Unsupported(f"{used['library']} is not installed ({e})", os.fspath(path)) from e
            if found not in used["versions"]:
                raise _errors.Forbidden(
                    f"{used['library']} {found} is installed, and the verdict is about {_versions(used['versions'])}: install that, or write the file again with a version that the class set {used['name']} has", os.fspath(path))


def _versions(versions: list[str]) -> str:
    if len(versions) > 3:
        return f"{len(versions)} others, {versions[0]} to {versions[-1]}"
    return " or ".join(versions)


def _decompressed(data: bytes, path: str) -> bytes:
    """Return what a file of joblib holds, which is at most MOST bytes."""
    if data[:1] == b"\x78":
        unzip: Any = zlib.decompressobj()
    elif data[:2] == b"\x1f\x8b":
        unzip = zlib.decompressobj(31)
    elif data[:3] == b"BZh":
        unzip = bz2.BZ2Decompressor()
    else:
        unzip = lzma.LZMADecompressor()
    out = unzip.decompress(data, MOST)
    if not unzip.eof or unzip.unused_data:
        raise _errors.Unsupported("one compressed stream of at most 4 GiB was expected", path)
    return out
