"""Models that are given as bytes or as an open file, which the program reads from a file of ours."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from typing import Any, BinaryIO, Iterator, Union

from . import _errors

Source = Union[str, "os.PathLike[str]", bytes, bytearray, memoryview, BinaryIO]


def is_path(source: object) -> bool:
    """Report whether a source is a path. Bytes are the content of a file, as safetensors.load takes them."""
    return isinstance(source, (str, os.PathLike))


def title(source: object) -> str:
    """Return what errors call a source without a path."""
    return "<file>" if hasattr(source, "read") else "<bytes>"


class Copy:
    """A copy of a source in a folder of ours, which close() removes. A path is itself."""

    def __init__(self, source: Any) -> None:
        self.folder: str | None = None
        if is_path(source):
            self.path = os.fspath(source)
            return
        data = memoryview(source).cast("B") if isinstance(source, (bytes, bytearray, memoryview)) else None
        if data is None and not hasattr(source, "read"):
            raise TypeError(f"give a path, bytes or an open file, not {type(source).__name__}")
        self.folder = tempfile.mkdtemp(prefix="anamnesis-")
        self.path = os.path.join(self.folder, "model")
        try:
            with open(self.path, "xb") as f:
                if data is not None:
                    f.write(data)
                else:
                    shutil.copyfileobj(_binary(source), f, 1 << 20)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Remove the copy. Views of it stay valid; Windows removes it when they end."""
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=os.name == "nt")
            self.folder = None


def _binary(source: Any) -> Any:
    if isinstance(source.read(0), str):
        raise TypeError("the file is open for text: open it with mode \"rb\"")
    return source


@contextlib.contextmanager
def path_of(source: Any) -> Iterator[str]:
    """Give a source a path for a while. Errors call it <bytes> or <file>."""
    copy = Copy(source)
    try:
        with named(source):
            yield copy.path
    finally:
        copy.close()


@contextlib.contextmanager
def named(source: Any) -> Iterator[None]:
    """Give refusals of a source without a path its title."""
    try:
        yield
    except _errors.Refused as e:
        if not is_path(source):
            e.path = title(source)
            e.args = (f"{e.path}: {e.message}",)
        raise
