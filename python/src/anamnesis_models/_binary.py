"""Finds and runs the program."""

from __future__ import annotations

import errno
import functools
import json
import os
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any, Iterable, Iterator

from . import _errors

_NAME = "amn.exe" if os.name == "nt" else "amn"


def _places() -> Iterator[Path]:
    """Yield the folders where an installer puts a wheel's programs, the likeliest first.

    PATH is not searched: another program of this name must not judge files.
    """
    yield Path(sysconfig.get_path("scripts"))
    if sys.version_info >= (3, 10):
        yield Path(sysconfig.get_path("scripts", scheme=sysconfig.get_preferred_scheme("user")))
    else:
        yield Path(sysconfig.get_path("scripts", scheme="nt_user" if os.name == "nt" else "posix_user"))
    package = Path(__file__).resolve().parent
    yield package.parent / "bin"  # pip install --target
    if len(package.parents) > 3:  # prefix/lib/pythonX.Y/site-packages/anamnesis_models
        yield package.parents[3] / "bin"


@functools.lru_cache(maxsize=None)
def _found(told: str | None) -> str:
    if told:
        if not os.path.isfile(told):
            raise FileNotFoundError(f"ANAMNESIS_AMN names {told}, which is not a file")
        return told
    looked = []
    for folder in _places():
        path = folder / _NAME
        if path.is_file():
            return str(path)
        looked.append(str(folder))
    raise FileNotFoundError(f"the program {_NAME} is not in {', '.join(looked)}: install the wheel of this platform, or set ANAMNESIS_AMN")


def binary() -> str:
    """Return the path of the program: ANAMNESIS_AMN, else the one in the wheel."""
    return _found(os.environ.get("ANAMNESIS_AMN"))


def version() -> str:
    """Return the version of the program."""
    return str(next(iter(run("version", [], [], "amn.version/1")))["version"])


def _place(path: str | os.PathLike[str]) -> str:
    """Return a path as an argument; "-" is a file, never standard input."""
    text = os.fspath(path)
    if isinstance(text, bytes):
        text = os.fsdecode(text)
    if "\x00" in text:
        raise ValueError("a path cannot hold a null character")
    return "./-" if text == "-" else text


def readable(path: str | os.PathLike[str]) -> None:
    """Raise FileNotFoundError or PermissionError if the path is one."""
    text = _place(path)
    if text.startswith("ollama:") or "://" in text:
        return  # a model in a store, or a URL: the program judges those
    os.stat(text)
    if not os.access(text, os.R_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), text)


def run(command: str, flags: Iterable[str], paths: Iterable[str | os.PathLike[str]], schema: str) -> list[dict[str, Any]]:
    """Run a command and return the objects that it prints. Raise an error that none of them reports."""
    objects, error = answers(command, flags, paths, schema)
    if error is not None:
        raise error
    return objects


def answers(command: str, flags: Iterable[str], paths: Iterable[str | os.PathLike[str]], schema: str) -> tuple[list[dict[str, Any]], Exception | None]:
    """Return the objects that a command prints, and the error that none of them reports.

    A program that was killed reported only some files, so its exit code decides.
    """
    argv = [binary(), *command.split(), "--json", "--quiet", *flags]
    places = [_place(p) for p in paths]
    if places:
        argv += ["--", *places]
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    said = done.stderr.decode("utf-8", "replace").strip()
    objects = []
    for line in done.stdout.splitlines():
        try:
            objects.append(json.loads(line))
        except ValueError as e:
            raise _errors.Failed(f"the program's answer is incomplete: {said or e}") from None
    for o in objects:
        if o.get("schema") != schema:
            raise _errors.Failed(f"the program's answer has the schema {o.get('schema')!r}, not {schema!r}: it is another version")
    told = {int(o.get("exit", 0)) for o in objects}
    if objects and (done.returncode == 0 or done.returncode in told):
        return objects, None
    return objects, _errors.of_exit(done.returncode, said.rpartition("amn: ")[2])


def run_text(command: str, flags: Iterable[str], paths: Iterable[str]) -> None:
    """Run a command that writes a file, and which refuses what the file says is refused. Raise an error if it failed."""
    argv = [binary(), *command.split(), "--quiet", *flags, "--", *(_place(p) for p in paths)]
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    error = None if done.returncode == 0 else _errors.of_exit(done.returncode, done.stderr.decode("utf-8", "replace").strip().rpartition("amn: ")[2])
    if error is not None and not isinstance(error, _errors.Refused):
        raise error
