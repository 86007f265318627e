"""HTML for notebooks. Every text from a file is escaped."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Iterable

if TYPE_CHECKING:
    from ._report import Tensor


def size(n: int) -> str:
    """Return a number of bytes in readable form."""
    amount, unit = float(n), "B"
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if amount < 1024 or unit == "TiB":
            break
        amount /= 1024
    return f"{n} B" if unit == "B" else f"{amount:.1f} {unit}"


def clean(text: object) -> str:
    """Return escaped text, with bytes that are not UTF-8 made visible."""
    return escape(str(text).encode("utf-8", "backslashreplace").decode("utf-8"))


def table(head: Iterable[str], rows: Iterable[Iterable[object]], caption: str = "") -> str:
    """Return a table whose cells are texts from a file. The first cell of a row is its head, which screen readers say with each other cell."""
    cells = "".join(f"<th scope='col' style='text-align:left'>{clean(h)}</th>" for h in head)
    body = ""
    for row in rows:
        first, *rest = row
        body += f"<tr><th scope='row' style='text-align:left'>{clean(first)}</th>" + "".join(f"<td style='text-align:left'>{clean(c)}</td>" for c in rest) + "</tr>"
    title = f"<caption style='text-align:left'>{clean(caption)}</caption>" if caption else ""
    return f"<table>{title}<thead><tr>{cells}</tr></thead><tbody>{body}</tbody></table>"


def verdict(path: str, ok: bool, files: Iterable[tuple[str, object]]) -> str:
    """Return what a scan said of files."""
    why = "".join(f"<li>{clean(error)}</li>" for _, error in files if error is not None)
    return f"<p><b>{clean(path)}</b>: <b>{'accepted' if ok else 'refused'}</b></p>" + (f"<ul>{why}</ul>" if why else "")


class _Module:
    """A part of the names of tensors."""

    def __init__(self) -> None:
        self.parts: dict[str, _Module] = {}
        self.tensors: list[Tensor] = []
        self.nbytes = self.count = 0


_ROWS = 2000  # rows of a tree, with modules: a notebook stores its output
_DEEP = 24  # modules within modules


def tree(tensors: Iterable[Tensor]) -> str:
    """Return tensors by module, as lists that open without a script."""
    root = _Module()
    for t in tensors:
        at = root
        *modules, name = t.name.split(".", _DEEP)
        for part in modules:
            at.nbytes, at.count = at.nbytes + t.nbytes, at.count + 1
            at = at.parts.setdefault(part, _Module())
        at.nbytes, at.count = at.nbytes + t.nbytes, at.count + 1
        at.tensors.append(t)
    left = [_ROWS]
    return f"<ul>{_branch(root, left)}</ul>" + ("" if left[0] > 0 else "<p>and more</p>")


def _branch(m: _Module, left: list[int]) -> str:
    out: list[str] = []
    for t in m.tensors:
        left[0] -= 1
        if left[0] < 0:
            return "".join(out)
        out.append(f"<li><code>{clean(t.name.split('.', _DEEP)[-1])}</code> {clean(t.dtype)} [{', '.join(map(str, t.shape))}] {size(t.nbytes)}</li>")
    for name, part in m.parts.items():
        while len(part.parts) == 1 and not part.tensors:  # a module with one part is named with it
            ((more, part),) = part.parts.items()
            name += "." + more
        left[0] -= 1
        if left[0] < 0:
            return "".join(out)
        out.append(f"<li><details><summary><code>{clean(name)}</code> {part.count:,} tensors, {size(part.nbytes)}</summary><ul>{_branch(part, left)}</ul></details></li>")
    return "".join(out)


def bars(bins: Iterable[tuple[int, int, int]], title: str) -> str:
    """Return a histogram of magnitudes: powers of two with the counts of negative and positive numbers."""
    rows = [(exp, n + p) for exp, n, p in bins]
    if not rows:
        return ""
    first, last, most = rows[0][0], rows[-1][0], max(n for _, n in rows)
    wide, high = 12, 80
    marks = "".join(
        f"<rect x='{(exp - first) * wide}' y='{high - n * high // most}' width='{wide - 2}' height='{n * high // most}' fill='currentColor'><title>2^{exp}: {n:,}</title></rect>" for exp, n in rows
    )
    label = f"{clean(title)}: magnitudes from 2^{first} to 2^{last + 1}"
    return f"<svg role='img' aria-label='{label}' width='{(last - first + 1) * wide}' height='{high}' viewBox='0 0 {(last - first + 1) * wide} {high}'>{marks}</svg>"
