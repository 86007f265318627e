"""The program's reports as values."""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from typing import Any, Sequence

from ._html import clean, size, table

_SHOWN = 50  # rows of tensors shown: a notebook stores its output


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
    severity: str
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
        head = f"<p><b>{clean(self.path)}</b>: {clean(self.format)}, {len(self.tensors):,} tensors, {size(self.nbytes)}; bodies {clean(self.bodies)}</p>"
        found = table(("severity", "finding", ""), ((f.severity, f.code, f.text) for f in self.findings)) if self.findings else ""
        groups = table(("type", "tensors", "bytes"), ((g.dtype, f"{g.tensors:,}", size(g.nbytes)) for g in self.groups))
        shown = self.tensors[:_SHOWN]
        tensors = table(("tensor", "type", "shape", "bytes"), ((t.name, t.dtype, " x ".join(map(str, t.shape)), size(t.nbytes)) for t in shown))
        more = f"<p>and {len(self.tensors) - len(shown):,} more</p>" if len(self.tensors) > len(shown) else ""
        return head + found + groups + f"<details><summary>tensors</summary>{tensors}{more}</details>"


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
        rows = [("skipped" if f.skipped else "accepted" if f.ok else "refused", f.path, f.format, f.skipped or ("" if f.error is None else f.error)) for f in self.files]
        failed = "" if self.error is None else f"<p><b>refused</b>: {clean(self.error)}</p>"
        return failed + table(("verdict", "file", "format", "why"), rows)


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
