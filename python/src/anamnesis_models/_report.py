"""The program's reports as values."""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from typing import Any, Sequence

from ._types import Severity
from ._html import bars, clean, size, table, tree

_SHOWN = 200  # findings shown: a notebook stores its output


def _text(o: dict[str, Any], name: str, default: str = "") -> str:
    """Return a text field; bytes that are not UTF-8 are escaped as for os.fsencode."""
    coded = o.get(name + "_base64")
    if coded is not None:
        return base64.b64decode(coded).decode("utf-8", "surrogateescape")
    return str(o.get(name, default))


def _ints(list_: Sequence[Any]) -> tuple[int, ...]:
    return tuple(int(n) for n in list_)  # strings above 2^53


@dataclass(frozen=True)
class Tensor:
    """A tensor as it is stored."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    nbytes: int  #: size when stored densely
    offset: int  #: of its first byte in the file of its part
    length: int  #: stored bytes
    stored: str  #: the file's name of the type
    strides: tuple[int, ...] | None = None  #: in elements; None is row-major
    first: int = 0  #: first element, counted from offset
    order: str = "little"
    storage: str = ""
    part: int = 0  #: index in Report.files
    inflated: bool = False  #: stored in a compressed member

    def _repr_html_(self) -> str:
        facts = [("type", self.dtype), ("shape", " x ".join(map(str, self.shape))), ("bytes", f"{self.nbytes:,}"), ("offset", f"{self.offset:#x}")]
        return table(("tensor", self.name), facts)


@dataclass(frozen=True)
class Group:
    """The tensors of one type."""

    dtype: str
    tensors: int
    elements: int
    nbytes: int


@dataclass(frozen=True)
class Finding:
    """Something to know about an accepted file."""

    code: str
    severity: Severity
    where: str
    text: str
    offset: int | None = None


@dataclass(frozen=True)
class Scheme:
    """The quantized weights with the same format."""

    scheme: str
    layout: str
    weights: int
    stored: int
    decoded: int


@dataclass(frozen=True)
class Bound:
    """A quantized weight and the tensors that it is stored in."""

    name: str
    shape: tuple[int, ...]
    parts: tuple[str, ...]


@dataclass(frozen=True)
class Quantized:
    """The quantized weights of a model; error says why they cannot be decoded."""

    target: str
    error: str = ""
    weights: int = 0
    stored: int = 0
    decoded: int = 0
    schemes: tuple[Scheme, ...] = ()
    bound: tuple[Bound, ...] = ()
    left_out: tuple[str, ...] = ()  #: scales that only inference needs


@dataclass(frozen=True)
class Report:
    """What a file is. For a refused file, error says why and the lists are empty."""

    path: str
    format: str
    bodies: str = "not read"  #: "verified" if all of the file was read
    tensors: tuple[Tensor, ...] = field(default=(), repr=False)
    groups: tuple[Group, ...] = ()
    metadata: dict[str, Any] = field(default_factory=dict, repr=False)
    files: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    quantized: Quantized | None = field(default=None, repr=False)
    error: Exception | None = None
    raw: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)  #: the object that the program printed

    @property
    def nbytes(self) -> int:
        return sum(g.nbytes for g in self.groups)

    @property
    def elements(self) -> int:
        return sum(g.elements for g in self.groups)

    def _repr_html_(self) -> str:
        if self.error is not None:
            return f"<p><b>refused</b>: {clean(self.error)}</p>"
        head = f"<p><b>{clean(self.path)}</b>: {clean(self.format)}, {len(self.tensors):,} tensors, {size(self.nbytes)}; data {clean(self.bodies)}</p>"
        found = table(("severity", "finding", "what"), ((f.severity, f.code, f.text) for f in self.findings), "Findings") if self.findings else ""
        groups = table(("type", "tensors", "bytes"), ((g.dtype, f"{g.tensors:,}", size(g.nbytes)) for g in self.groups), "Types")
        return head + found + groups + f"<details><summary>Tensors by module</summary>{tree(self.tensors)}</details>"


@dataclass(frozen=True)
class Stats:
    """What the numbers of a tensor are. Those of a weight are the decoded ones."""

    name: str
    dtype: str  #: or the scheme that decoded it
    shape: tuple[int, ...]
    elements: int
    zeros: int = 0
    nan: int = 0
    infinite: int = 0
    min: float | None = None  #: of the finite numbers; None where there are none
    max: float | None = None
    mean: float | None = None
    std: float | None = None
    bins: tuple[tuple[int, int, int], ...] = field(default=(), repr=False)  #: power of two, negative and positive numbers

    def _repr_html_(self) -> str:
        facts: list[tuple[str, object]] = [("type", self.dtype), ("shape", " x ".join(map(str, self.shape))), ("numbers", f"{self.elements:,}")]
        facts += [(n, "none" if x is None else f"{x:.6g}") for n, x in (("min", self.min), ("max", self.max), ("mean", self.mean), ("std", self.std))]
        facts += [(n, f"{x:,}") for n, x in (("zeros", self.zeros), ("NaN", self.nan), ("infinite", self.infinite))]
        return table(("tensor", self.name), facts) + bars(self.bins, self.name)


def stats(o: dict[str, Any]) -> Stats:
    """Return the statistics in an object of stats."""
    return Stats(
        name=_text(o, "name"),
        dtype=_text(o, "type"),
        shape=_ints(o["shape"]),
        elements=int(o["elements"]),
        zeros=int(o.get("zeros", 0)),
        nan=int(o.get("nan", 0)),
        infinite=int(o.get("infinite", 0)),
        min=o.get("min"),
        max=o.get("max"),
        mean=o.get("mean"),
        std=o.get("std"),
        bins=tuple((int(b["exp"]), int(b["negative"]), int(b["positive"])) for b in o.get("bins", ())),
    )


@dataclass(frozen=True)
class Scanned:
    """The verdict about one file."""

    path: str
    format: str
    ok: bool
    safe: bool | None  #: the verdict on its pickles; None if nothing was judged
    weights_only: bool | None  #: whether PyTorch's restricted loader would load it
    findings: tuple[Finding, ...] = ()
    globals: tuple[tuple[str, str], ...] = ()  #: (name, status) of each global that a pickle names
    skipped: str = ""  #: what an unjudged file without a model is: a text, a picture
    error: Exception | None = None
    raw: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)


@dataclass(frozen=True)
class Scan:
    """The verdict about several files; true if some were judged and all of those accepted."""

    files: tuple[Scanned, ...]
    error: Exception | None = None  #: why the scan as a whole failed: nothing was judged, or the program was killed

    @property
    def ok(self) -> bool:
        return self.error is None and any(not f.skipped for f in self.files) and all(f.ok for f in self.files)

    def __bool__(self) -> bool:
        return self.ok

    def raise_refused(self) -> None:
        """Raise the error of the first refused file."""
        for f in self.files:
            if f.error is not None:
                raise f.error
        if self.error is not None:
            raise self.error

    def _repr_html_(self) -> str:
        rows = [(f.path, "skipped" if f.skipped else "accepted" if f.ok else "refused", f.format, f.skipped or ("" if f.error is None else f.error)) for f in self.files]
        failed = "" if self.error is None else f"<p><b>refused</b>: {clean(self.error)}</p>"
        found = [(f.path, x.severity, x.code, x.text) for f in self.files for x in f.findings][:_SHOWN]
        more = table(("file", "severity", "finding", "what"), found, "Findings") if found else ""
        return failed + table(("file", "verdict", "format", "why"), rows, "Verdicts") + more


@dataclass(frozen=True)
class Written:
    """What a conversion wrote."""

    path: str
    format: str
    output: str
    written: bool
    nbytes: int
    target: str
    weights: int  #: number decoded or quantized
    passthrough: int
    raw: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)


def finding(o: dict[str, Any]) -> Finding:
    return Finding(o["code"], o["severity"], o["where"], o["text"], int(o["offset"]) if "offset" in o else None)


def _tensor(o: dict[str, Any]) -> Tensor:
    """Return a tensor. A frozen class sets its fields one by one, which would take most of a report's time, so they are set at once."""
    get = o.get
    name, dtype, strides = get("name"), get("dtype"), get("strides")
    if dtype is None:
        dtype = _text(o, "dtype")
    made: Tensor = object.__new__(Tensor)
    made.__dict__.update(
        name=_text(o, "name") if name is None else name,
        dtype=dtype,
        shape=tuple(map(int, o["shape"])),
        nbytes=int(o["bytes"]),
        offset=int(o["offset"]),
        length=int(o["length"]),
        stored=get("stored") or _text(o, "stored", dtype),
        strides=None if strides is None else _ints(strides),
        first=int(get("first", 0)),
        order=get("order", "little"),
        storage=get("storage") or _text(o, "storage"),
        part=int(get("part", 0)),
        inflated=bool(get("inflated", False)),
    )
    return made


def _quantized(o: dict[str, Any]) -> Quantized:
    if "error" in o:
        return Quantized(o["target"], error=o["error"])
    return Quantized(
        target=o["target"],
        weights=int(o["weights"]),
        stored=int(o["stored"]),
        decoded=int(o["decoded"]),
        schemes=tuple(Scheme(s["scheme"], s["layout"], int(s["weights"]), int(s["stored"]), int(s["decoded"])) for s in o["schemes"]),
        bound=tuple(Bound(_text(b, "name"), _ints(b["shape"]), tuple(_text(p, "name") for p in b["parts"])) for b in o["bound"]),
        left_out=tuple(_text(p, "name") for p in o.get("left_out_scales", ())),
    )


def _value(o: dict[str, Any]) -> Any:
    if "value_base64" in o:
        return base64.b64decode(o["value_base64"])
    return o.get("value")


def report(o: dict[str, Any], error: Exception | None) -> Report:
    """Return the report in an object of inspect, parse or verify."""
    return Report(
        path=_text(o, "path"),
        format=o["format"],
        bodies=o.get("bodies", "not read"),
        tensors=tuple(_tensor(t) for t in o.get("tensors", ())),
        groups=tuple(Group(_text(g, "dtype"), int(g["tensors"]), int(g["elements"]), int(g["bytes"])) for g in o.get("groups", ())),
        metadata={_text(m, "key"): _value(m) for m in o.get("metadata", ())},
        files=tuple(_text(f, "path") for f in o.get("files", ())),
        findings=tuple(finding(f) for f in o.get("findings", ())),
        quantized=_quantized(o["quantized"]) if "quantized" in o else None,
        error=error,
        raw=o,
    )
