"""HTML for notebooks. Every text from a file is escaped."""

from __future__ import annotations

from html import escape
from typing import Iterable


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


def table(head: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """Return a table whose cells are texts from a file."""
    cells = "".join(f"<th>{clean(h)}</th>" for h in head)
    body = "".join("<tr>" + "".join(f"<td style='text-align:left'>{clean(c)}</td>" for c in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{cells}</tr></thead><tbody>{body}</tbody></table>"
