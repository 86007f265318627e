"""Archives in which nothing is of this machine: no times, no owners, no order of a folder."""

from __future__ import annotations

import gzip
import io
import tarfile
import zipfile

# A file: its bytes and its mode.
Files = dict[str, tuple[bytes, int]]


def packed(data: bytes) -> bytes:
    """Data under gzip, without a name and a time."""
    out = io.BytesIO()
    with gzip.GzipFile(fileobj=out, mode="wb", compresslevel=9, mtime=0, filename="") as z:
        z.write(data)
    return out.getvalue()


def plain_tar(files: Files, owners: dict[str, int] | None = None) -> bytes:
    """A tar archive. A name that ends with a slash is a folder; owners are numbers, root's unless said."""
    plain = io.BytesIO()
    folders: set[str] = set()

    def folder(t: tarfile.TarFile, name: str, mode: int) -> None:
        if name in folders or name == ".":
            return
        folders.add(name)
        entry = tarfile.TarInfo(name)
        entry.type, entry.mode = tarfile.DIRTYPE, mode
        entry.uid = entry.gid = (owners or {}).get(name, 0)
        t.addfile(entry)

    with tarfile.open(fileobj=plain, mode="w", format=tarfile.GNU_FORMAT) as t:
        for name, (data, mode) in sorted(files.items()):
            parts = name.rstrip("/").split("/")
            for depth in range(1, len(parts)):
                folder(t, "/".join(parts[:depth]), 0o755)
            if name.endswith("/"):
                folder(t, name.rstrip("/"), mode)
                continue
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(data), mode
            t.addfile(entry, io.BytesIO(data))
    return plain.getvalue()


def tar(files: Files) -> bytes:
    """The same under gzip."""
    return packed(plain_tar(files))


def zipped(files: Files) -> bytes:
    """A zip archive, for Windows."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as z:
        for name, (data, mode) in sorted(files.items()):
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.compress_type, entry.create_system, entry.external_attr = zipfile.ZIP_DEFLATED, 3, (0o100000 | mode) << 16
            z.writestr(entry, data, compresslevel=9)
    return out.getvalue()
