"""Reports as notebooks show them. Every text of a file is escaped."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Iterable

if TYPE_CHECKING:
    from ._report import Finding, Report, Scan

_SHOWN = 50  # rows of tensors: a notebook stores what it shows


def size(n: int) -> str:
    """A count of bytes as people read it."""
    amount, unit = float(n), "B"
    for unit in ("B", "KB", "MB", "GB", "TB"):
        if amount < 1024 or unit == "TB":
            break
        amount /= 1024
    return f"{n} B" if unit == "B" else f"{amount:.1f} {unit}"


def _clean(text: object) -> str:
    """Text for a page: escaped, and bytes that are not UTF-8 shown as such."""
    return escape(str(text).encode("utf-8", "backslashreplace").decode("utf-8"))


def _table(head: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    cells = "".join(f"<th>{_clean(h)}</th>" for h in head)
    body = "".join("<tr>" + "".join(f"<td style='text-align:left'>{_clean(c)}</td>" for c in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{cells}</tr></thead><tbody>{body}</tbody></table>"


def _findings(list_: Iterable[Finding]) -> str:
    rows = [(f.severity, f.code, f.text) for f in list_]
    return _table(("severity", "finding", ""), rows) if rows else ""


def report(r: Report) -> str:
    """A report as a notebook shows it."""
    if r.error is not None:
        return f"<p><b>refused</b>: {_clean(r.error)}</p>"
    head = f"<p><b>{_clean(r.path)}</b>: {_clean(r.format)}, {len(r.tensors):,} tensors, {size(r.nbytes)}; bodies {_clean(r.bodies)}</p>"
    groups = _table(("type", "tensors", "bytes"), ((g.dtype, f"{g.tensors:,}", size(g.nbytes)) for g in r.groups))
    shown = r.tensors[:_SHOWN]
    tensors = _table(("tensor", "type", "shape", "bytes"), ((t.name, t.dtype, " x ".join(map(str, t.shape)), size(t.nbytes)) for t in shown))
    more = f"<p>and {len(r.tensors) - len(shown):,} more</p>" if len(r.tensors) > len(shown) else ""
    return head + _findings(r.findings) + groups + f"<details><summary>tensors</summary>{tensors}{more}</details>"


def scan(s: Scan) -> str:
    """A scan as a notebook shows it."""
    rows = [("skipped" if f.skipped else "accepted" if f.ok else "refused", f.path, f.format, f.skipped or ("" if f.error is None else f.error)) for f in s.files]
    failed = "" if s.error is None else f"<p><b>refused</b>: {_clean(s.error)}</p>"
    return failed + _table(("verdict", "file", "format", "why"), rows)
