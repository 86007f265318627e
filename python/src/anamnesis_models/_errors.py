"""Errors: why a file was refused."""

from __future__ import annotations

from typing import Any


class Refused(Exception):
    """A file was not accepted. The subclass says why.

    kind is the class's name in the program: "malformed", "truncated", "unsupported",
    "limit", "forbidden". where and offset are the place in the file, where one is known.
    """

    kind = "refused"

    def __init__(self, message: str, path: str = "", where: str = "", offset: int | None = None) -> None:
        super().__init__(f"{path}: {message}" if path else message)
        self.message, self.path, self.where, self.offset = message, path, where, offset


class Malformed(Refused):
    """No file with this beginning could be valid."""

    kind = "malformed"


class Truncated(Refused):
    """A longer file with this beginning could be valid."""

    kind = "truncated"


class Unsupported(Refused):
    """Valid, but not supported."""

    kind = "unsupported"


class LimitReached(Refused):
    """A limit was reached; axis names it, flag is the option that raises it."""

    kind = "limit"

    def __init__(self, message: str, path: str = "", where: str = "", offset: int | None = None, axis: str = "", flag: str = "") -> None:
        super().__init__(message, path, where, offset)
        self.axis, self.flag = axis, flag


class Forbidden(Refused):
    """The file holds code, or something that the policy refuses."""

    kind = "forbidden"


class Failed(Exception):
    """Nothing is known about the file: the disk, the program or the system failed."""


_BY_KIND = {c.kind: c for c in (Malformed, Truncated, Unsupported, LimitReached, Forbidden)}
_BY_EXIT = {3: Malformed, 4: Truncated, 5: Unsupported, 6: LimitReached, 7: Forbidden}


def of_exit(code: int, text: str) -> Exception:
    """Return the error for a run that printed no object."""
    text = text or f"the program ended with {code}"
    if code == 2:
        return ValueError(text)
    return _BY_EXIT[code](text) if code in _BY_EXIT else Failed(text)


def of_object(o: dict[str, Any], path: str) -> Exception | None:
    """Return the error that an object reports, or None."""
    kind, e = o.get("class"), o.get("error") or {}
    if kind == "ok" or kind == "differs":
        return None
    message = e.get("message") or f"{kind}"
    if kind == "usage":
        return ValueError(message)
    if kind not in _BY_KIND:
        return Failed(f"{path}: {message}")
    offset = int(e["offset"]) if "offset" in e else None
    if kind == "limit":
        return LimitReached(message, path, e.get("where", ""), offset, e.get("axis", ""), e.get("flag", ""))
    return _BY_KIND[kind](message, path, e.get("where", ""), offset)
