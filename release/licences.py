"""The licences of what the program links, with the notices that they ask to be kept."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

KEPT = re.compile(r"(LICEN[CS]E|COPYING|NOTICE)(\.(txt|md))?", re.I)


def licences(parts: list[tuple[str, str, str]]) -> bytes:
    """The texts of Go's own licence and of those of the modules, as the module cache has them; equal ones once."""
    cache, root = subprocess.run(["go", "env", "GOMODCACHE", "GOROOT"], check=True, stdout=subprocess.PIPE, text=True).stdout.split()
    folders = [("the Go runtime and standard library", Path(root))]
    for name, version, _ in parts:
        folders.append((f"{name} {version}", Path(cache, re.sub("[A-Z]", lambda c: "!" + c[0].lower(), f"{name}@{version}"))))
    named: dict[bytes, list[str]] = {}
    for name, folder in folders:
        texts = sorted(p for p in folder.iterdir() if KEPT.fullmatch(p.name))
        if not any(p.name[:3].upper() in ("LIC", "COP") for p in texts):
            raise SystemExit(f"{name}: no licence is in {folder}")
        for text in texts:
            named.setdefault(text.read_bytes().strip().replace(b"\r\n", b"\n"), []).append(name)
    head = b"Licences and notices of what the program amn is linked with.\n"
    return head + b"".join(b"\n" + b"-" * 80 + b"\n" + "".join(f"{n}\n" for n in names).encode() + b"\n" + text + b"\n" for text, names in named.items())
