"""Pieces of a page for a notebook. Every text of a file is escaped."""

from __future__ import annotations

from html import escape
from typing import Iterable


def size(n: int) -> str:
    """A count of bytes as people read it."""
    amount, unit = float(n), "B"
    for unit in ("B", "KB", "MB", "GB", "TB"):
        if amount < 1024 or unit == "TB":
            break
        amount /= 1024
    return f"{n} B" if unit == "B" else f"{amount:.1f} {unit}"


def clean(text: object) -> str:
    """Text for a page: escaped, and bytes that are not UTF-8 shown as such."""
    return escape(str(text).encode("utf-8", "backslashreplace").decode("utf-8"))


def table(head: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """A table; its cells are texts of a file."""
    cells = "".join(f"<th>{clean(h)}</th>" for h in head)
    body = "".join("<tr>" + "".join(f"<td style='text-align:left'>{clean(c)}</td>" for c in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{cells}</tr></thead><tbody>{body}</tbody></table>"
