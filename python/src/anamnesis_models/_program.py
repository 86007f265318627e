"""Functions for the commands of the program."""

from __future__ import annotations

import contextlib
import errno
import os
from typing import Any, Iterable, Union

from . import _errors, _report
from ._binary import answers, readable, run
from ._given import Source, is_path, path_of, title
from ._report import Report, Scan, Scanned, Stats, Written
from ._types import Target

Path = Union[str, "os.PathLike[str]"]


def options(given: dict[str, Any]) -> list[str]:
    """Return keyword arguments as flags: max_total="1GiB" becomes --max-total=1GiB.

    A list repeats the flag, True is the flag without a value; None and False omit it.
    """
    flags = []
    for name, value in given.items():
        flag = "--" + name.replace("_", "-")
        if value is None or value is False:
            continue
        if value is True:
            flags.append(flag)
            continue
        for one in value if isinstance(value, (list, tuple)) else [value]:
            flags.append(f"{flag}={os.fspath(one) if isinstance(one, os.PathLike) else one}")
    return flags


def _reports(command: str, paths: Iterable[Path], given: dict[str, Any]) -> list[Report]:
    out = []
    for o in run(command, options(given), paths, f"amn.{command}/1"):
        out.append(_report.report(o, _errors.of_object(o, _report._text(o, "path"))))
    return out


def _only(reports: list[Report], path: Path) -> Report:
    if len(reports) != 1:
        raise ValueError(f"{os.fspath(path)} holds {len(reports)} models: inspect_all reports about each")
    if reports[0].error is not None:
        raise reports[0].error
    return reports[0]


def inspect(path: Source, **flags: Any) -> Report:
    """Report what one file or model is, from its header: of a path, bytes, or an open file. Raise Refused.

    Flags of ``amn inspect`` are keywords: verify=True, limits="strict", to="f32",
    max_total="64MiB", timeout="5s".
    """
    with path_of(path) as place:
        readable(place)
        return _only(_reports("inspect", [place], flags), place)


def inspect_all(*paths: Path, **flags: Any) -> list[Report]:
    """Report about several files and folders (recursive=True). Refused ones have an error."""
    return _reports("inspect", paths, flags) if paths else []


def verify(path: Source, **flags: Any) -> Report:
    """Read all of a file and check it. Raise Refused."""
    with path_of(path) as place:
        readable(place)
        return _only(_reports("verify", [place], flags), place)


def stats(path: Source, name: str, *, stored: bool = False, **flags: Any) -> Stats:
    """Read all numbers of one tensor. Raise Refused, or KeyError for a name that the model does not have."""
    with path_of(path) as place:
        readable(place)
        o = run("stats", options({"tensor": [pattern(name)], "stored": stored, **flags}), [place], "amn.stats/1")[0]
        error = _errors.of_object(o, _report._text(o, "path"))
        if error is not None:
            raise error
        found = [t for t in o["tensors"] if _report._text(t, "name") == name]
        if not found:
            raise KeyError(name)
        return _report.stats(found[0])


def pattern(name: str) -> str:
    """Return a pattern for --tensor that matches only this name."""
    return "".join("\\" + c if c in "*?[]\\" else c for c in name)


def scan(*paths: Source, **flags: Any) -> Scan:
    """Judge whether files and folders are safe to load: paths, bytes, or open files. The result is true if all were accepted."""
    with contextlib.ExitStack() as copies:
        places = [copies.enter_context(path_of(p)) for p in paths]
        titles = {place: title(p) for place, p in zip(places, paths) if not is_path(p)}
        objects, error = answers("scan", options(flags), places, "amn.scan/1")
        if error is not None and (not objects or isinstance(error, ValueError)):
            raise error
        return Scan(tuple(_scanned(o, titles) for o in objects), error)


def _scanned(o: dict[str, Any], titles: dict[str, str]) -> Scanned:
    path = _report._text(o, "path")
    path = titles.get(path, path)
    skipped = _report._text(o, "skipped")
    error = None if skipped else _errors.of_object(o, path)
    pickles = o.get("pickles", ())
    return Scanned(
        path=path,
        format=o.get("format", ""),
        ok=error is None,
        safe=o.get("safe"),
        weights_only=o.get("weights_only"),
        findings=tuple(_report.finding(f) for f in o.get("findings", ())),
        globals=tuple((f"{_report._text(g, 'module')}.{_report._text(g, 'name')}", g["status"]) for p in pickles for g in p.get("globals", ())),
        skipped=skipped,
        error=error,
        raw=o,
    )


def _write(command: str, path: Path, output: Path | None, given: dict[str, Any]) -> Written:
    readable(path)
    if output is not None:
        if os.path.lexists(output) and not given.get("force"):
            raise FileExistsError(errno.EEXIST, "it exists; force=True replaces it", os.fspath(output))
        given = {**given, "output": os.fspath(output)}
    objects = run(command, options(given), [path], f"amn.{command}/1")
    o = objects[0]
    error = _errors.of_object(o, _report._text(o, "path"))
    if isinstance(error, ValueError) and str(error).endswith("it exists; --force replaces it"):
        raise FileExistsError(errno.EEXIST, "it exists; force=True replaces it", _report._text(o, "output"))
    if error is not None:
        raise error
    return Written(
        path=_report._text(o, "path"),
        format=o["format"],
        output=_report._text(o, "output"),
        written=bool(o.get("written")),
        nbytes=int(o.get("bytes", 0)),
        target=o.get("target", ""),
        weights=int(o.get("weights", 0)),
        passthrough=int(o.get("passthrough", 0)),
        raw=o,
    )


def remember(path: Path, output: Path | None = None, *, to: Target = "bf16", **flags: Any) -> Written:
    """Write safetensors with every quantized weight decoded. Raise FileExistsError for an output that exists, unless force=True."""
    return _write("remember", path, output, {"to": to, **flags})


def convert(path: Path, output: Path | None = None, *, to: str, **flags: Any) -> Written:
    """Write a model in another format: to="safetensors", "gguf", "npz", "bnb-nf4"."""
    return _write("convert", path, output, {"to": to, **flags})


def forget(path: Path, output: Path | None = None, *, to: str, **flags: Any) -> Written:
    """Quantize a model: to="nf4", "fp8", "w4a16", or a mix of llama.cpp for GGUF."""
    return _write("forget", path, output, {"to": to, **flags})


dequantize = remember
quantize = forget
