"""Tensors of a file: views of it, or decoded copies."""

from __future__ import annotations

import builtins
import math
import mmap
import os
import shutil
import tempfile
from types import TracebackType
from typing import Any, Iterator

from . import _errors, _frameworks, _given, _page, _program
from ._given import Source
from ._page import Page
from ._report import Report, Stats, Tensor
from ._types import Framework, Target

_SHM = "/dev/shm"


def _mark(info: os.stat_result) -> tuple[int, int, int, int]:
    """Return values that change when the file does."""
    return info.st_dev, info.st_ino, info.st_size, info.st_mtime_ns


def _marks(path: str) -> dict[str, tuple[int, int, int, int]]:
    """Return the marks of a file, or of the files in a folder or beside an index, by absolute path."""
    folder = os.path.abspath(path if os.path.isdir(path) else os.path.dirname(path))
    out = {}
    try:
        with os.scandir(folder) as entries:
            for e in entries:
                try:
                    out[os.path.join(folder, e.name)] = _mark(os.stat(os.path.join(folder, e.name)))
                except OSError:
                    continue  # a link to nowhere
    except OSError:
        pass  # the program reports what is wrong with the path
    return out


class _File:
    """A mapped file of the model. Writes to a view stay in memory and never reach the file."""

    def __init__(self, path: str, marks: dict[str, tuple[int, int, int, int]]) -> None:
        with builtins.open(path, "rb", buffering=0) as f:
            info = os.fstat(f.fileno())
            if marks.get(os.path.abspath(path)) != _mark(info):
                raise _errors.Failed(f"{path} changed while it was opened")
            self.size = info.st_size
            self.map = mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_COPY) if self.size else None


def _room(need: int) -> str | None:
    """Return a folder in memory for decoded tensors if there is one with room, else None for the system's default."""
    try:
        if os.access(_SHM, os.W_OK) and shutil.disk_usage(_SHM).free > need + need // 8 + (1 << 20):
            return _SHM
    except OSError:
        pass
    return None


class Model:
    """The tensors of a model by name; see :func:`open`."""

    def __init__(self, path: Source, framework: Framework | None = None, *, decode: bool = True, to: Target = "bf16", device: Any = "cpu", **flags: Any) -> None:
        self._framework, self._device = framework, device
        _frameworks.check(framework, device)
        self._source: str = str(path) if _given.is_path(path) else _given.title(path)
        self._copy = _given.Copy(path)
        self._path = self._copy.path
        self._flags, self._to = flags, to
        self._closed = True
        try:
            with _given.named(path):
                self._read(decode)
        except BaseException:
            self._copy.close()
            raise
        self._closed = False

    def _read(self, decode: bool) -> None:
        self._marks = _marks(self._path)
        self.report: Report = _program.inspect(self._path, to=self._to, **self._flags)
        self._tensors: dict[str, Tensor] = {}
        for t in self.report.tensors:
            if t.name in self._tensors:
                raise _errors.Unsupported("two tensors have one name", self._path)
            self._tensors[t.name] = t
        self._bound: dict[str, tuple[int, ...]] = {}
        if decode:
            self._bind()
        self._files: dict[int, _File] = {}
        self._places: dict[int, str | None] = {}
        self._storages: dict[tuple[int, str], _frameworks.Storage] | None = None

    @property
    def _lib(self) -> Any:
        """The framework, which is only needed for tensors."""
        return _frameworks.of(self._framework, self._device)

    def _storage(self, t: Tensor) -> _frameworks.Storage:
        """Return the bytes of a tensor and of those that share its storage, since tensors of a checkpoint may be tied."""
        if self._storages is None:
            self._storages = {}
            for o in self._tensors.values():
                if not o.storage or o.inflated:
                    continue
                s = self._storages.setdefault((o.part, o.storage), _frameworks.own(o))
                s.begin, s.end = min(s.begin, o.offset), max(s.end, o.offset + o.length)
        return self._storages.get((t.part, t.storage)) or _frameworks.own(t)

    def _bind(self) -> None:
        """Replace the tensors that store quantized weights by the weights."""
        q = self.report.quantized
        if q is None:
            return
        if q.error:
            raise _errors.Unsupported(f"{q.error} (decode=False gives tensors as they are stored)", self._path)
        for name in q.left_out:
            self._tensors.pop(name, None)
        for b in q.bound:
            for part in b.parts:
                self._tensors.pop(part, None)
        self._bound = {b.name: b.shape for b in q.bound}

    def keys(self) -> list[str]:
        """Return the names of the tensors; quantized weights have those of the unquantized model."""
        self._check()
        return [*self._tensors, *self._bound]

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def __len__(self) -> int:
        return len(self._tensors) + len(self._bound)

    def __contains__(self, name: object) -> bool:
        return name in self._tensors or name in self._bound

    def metadata(self) -> dict[str, Any]:
        """Return the metadata of the file, without lists."""
        return dict(self.report.metadata)

    def shape(self, name: str) -> tuple[int, ...]:
        """Return the shape of a tensor without reading it."""
        if name in self._bound:
            return self._bound[name]
        return self._tensors[name].shape

    def get_tensor(self, name: str) -> Any:
        """Return a tensor: a view of the file, or decoded by the program if it is quantized or compressed."""
        self._check()
        if name in self._bound:
            return self._lib.place(self._decoded([name])[name])
        t = self._tensors[name]
        if t.inflated or not self._plain(t):
            return self._lib.place(self._decoded([name])[name])
        return self._lib.place(self._view(t))

    __getitem__ = get_tensor

    def get_slice(self, name: str) -> Slice:
        """Return a tensor that is read when it is sliced, as safetensors does: model.get_slice("w")[:10].

        Of a tensor that is stored plainly only the slice is read. A quantized or compressed one
        is decoded whole first.
        """
        self._check()
        if name not in self:
            raise KeyError(name)
        return Slice(self, name)

    def stats(self, name: str, *, stored: bool = False) -> Stats:
        """Read all numbers of a tensor: extremes, mean, deviation, zeros, NaN and a histogram. stored=True reads codes, not the decoded weight."""
        self._check()
        if name not in self and not any(t.name == name for t in self.report.tensors):
            raise KeyError(name)
        return _program.stats(self._path, name, stored=stored or name not in self, **self._flags)

    def page(self) -> Page:
        """Judge the file, which reads all of it, and return the page of `amn inspect --html`. Notebooks show it."""
        self._check()
        return _page.page(self._path, **self._flags)

    def load(self) -> dict[str, Any]:
        """Return all tensors; those that need decoding are decoded in one run."""
        self._check()
        views = {n: self._view(t) for n, t in self._tensors.items() if not t.inflated and self._plain(t)}
        rest = [n for n in self.keys() if n not in views]
        if rest:
            views.update(self._decoded(None if not views else rest))
        return {n: self._lib.place(views[n]) for n in self.keys()}

    def close(self) -> None:
        """Close the file. Tensors that were returned stay valid."""
        self._files, self._storages, self._closed = {}, None, True
        self._copy.close()

    def __enter__(self) -> Model:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<anamnesis_models.Model {self._source!r}: {self.report.format}, {len(self)} tensors>"

    def _repr_html_(self) -> str:
        return self.report._repr_html_()

    def _check(self) -> None:
        if self._closed:
            raise ValueError("the model is closed")

    def _plain(self, t: Tensor) -> bool:
        """Report whether a tensor has a type of the framework and is in a file that can be mapped."""
        return t.dtype in self._lib.types and self._where(t.part) is not None

    def _where(self, part: int) -> str | None:
        """Return the file of a part; None if it has no path, like a model in a store."""
        if part not in self._places:
            self._places[part] = self._place(part)
        return self._places[part]

    def _place(self, part: int) -> str | None:
        path = self.report.path
        if not self.report.files:
            return path if os.path.isfile(path) else None
        folder = path if os.path.isdir(path) else os.path.dirname(path)
        place = os.path.join(folder, self.report.files[part])
        return place if os.path.isfile(place) else None

    def _view(self, t: Tensor) -> Any:
        """Return a view of the file, after checking its range against the mapped file."""
        file = self._files.get(t.part)
        if file is None:
            where = self._where(t.part)
            assert where is not None
            file = self._files[t.part] = _File(where, self._marks)
        size = self._lib.types[t.dtype].size
        count = math.prod(t.shape)
        if count == 0:
            return self._lib.empty(t)
        if t.strides is not None:
            if t.first < 0 or min(t.strides, default=0) < 0:
                raise _errors.Failed(f"{self._path}: the strides of {t.name!r} are negative")
            last = t.first + sum((n - 1) * s for n, s in zip(t.shape, t.strides))
            count = max(t.length // size, last + 1)
        end = t.offset + count * size
        if t.offset < 0 or file.map is None or end > file.size or end > t.offset + t.length:
            raise _errors.Failed(f"{self._path}: {t.name!r} lies outside of the file")
        return self._lib.shaped(self._lib.flat(file.map, t, count, self._storage), t)

    def _decoded(self, names: list[str] | None) -> dict[str, Any]:
        """Return tensors as the program decodes them, via safetensors in memory; None means all."""
        q = self.report.quantized
        need = q.decoded if q is not None and not q.error else self.report.nbytes
        folder = tempfile.mkdtemp(prefix="anamnesis-", dir=_room(need))
        try:
            written = os.path.join(folder, "decoded.safetensors")
            flags = {**self._flags, "tensor": None if names is None else [_program.pattern(n) for n in names]}
            if names is not None and len(names) > 512:
                flags["tensor"] = None  # too many patterns for a command line: decode the whole model
            if self._bound:
                _program.remember(self._path, written, to=self._to, copy=True, **flags)
            else:
                _program.convert(self._path, written, to="safetensors", **flags)
            with Model(written, self._lib.name, decode=False) as m:
                wanted = m.keys() if names is None else names
                return {n: m._view(m._tensors[n]) for n in wanted}
        finally:
            shutil.rmtree(folder, ignore_errors=os.name == "nt")  # mapped files stay valid; Windows cannot delete them


class Slice:
    """A tensor that is read when it is sliced."""

    def __init__(self, model: Model, name: str) -> None:
        self._model, self._name = model, name

    def get_shape(self) -> list[int]:
        """Return the shape, without reading the tensor."""
        return list(self._model.shape(self._name))

    def get_dtype(self) -> str:
        """Return the type as safetensors names it; of a quantized weight, the one that it is decoded to."""
        t = self._model._tensors.get(self._name)
        return self._model._to.upper() if t is None else t.dtype

    def __getitem__(self, key: Any) -> Any:
        m = self._model
        m._check()
        t = m._tensors.get(self._name)
        if t is None or t.inflated or not m._plain(t):
            return m._lib.place(m._decoded([self._name])[self._name][key])
        return m._lib.place(m._view(t)[key])

    def __len__(self) -> int:
        return self.get_shape()[0]


def open(path: Source, framework: Framework | None = None, *, decode: bool = True, to: Target = "bf16", device: Any = "cpu", **flags: Any) -> Model:
    """Open a model of any format: a path, bytes, or a file that is open for reading. Its tensors are accessed by name.

    The framework is "torch" or "numpy"; without it, the one that is imported, else the only one
    that is installed.

    What the file stores plainly is a view over it, copied nowhere; writes to one stay in
    memory. Quantized weights stand under the names of the unquantized model, decoded to the
    type of ``to`` by the program; decode=False gives tensors as they are stored. Raises
    Refused. Flags of ``amn inspect`` about quantization and limits are keywords.
    """
    return Model(path, framework, decode=decode, to=to, device=device, **flags)
