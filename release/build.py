"""Builds what a release holds, the same bytes from the same commit:

    python3 release/build.py --version v1.2.3 --out dist

archives for every platform with the program, its pages for man and its completions;
packages for Debian and Ubuntu; the list of what was linked (CycloneDX); SHA256SUMS.
It needs Python, Go and this tree, and fetches nothing but what go.sum names.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import io
import json
import os
import re
import subprocess
import tarfile
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MODULE = "github.com/anamnesis-go/anamnesis"
TARGETS = (
    "linux/amd64",
    "linux/arm64",
    "linux/386",
    "linux/arm",
    "darwin/amd64",
    "darwin/arm64",
    "windows/amd64",
    "windows/arm64",
)
DEBIAN = {"linux/amd64": "amd64", "linux/arm64": "arm64", "linux/386": "i386", "linux/arm": "armhf"}
DOCUMENTS = ("LICENSE", "NOTICE", "README.md", "SECURITY.md", "CHANGELOG.md", "docs/cli.md")


def go(*args: str, **env: str) -> str:
    """What the go command prints."""
    whole = {**os.environ, "CGO_ENABLED": "0", "GOFLAGS": "-mod=readonly", "GOTOOLCHAIN": "local", **env}
    return subprocess.run(["go", *args], cwd=ROOT, env=whole, check=True, stdout=subprocess.PIPE, text=True).stdout


def program(target: str, version: str, folder: Path) -> Path:
    """The program for a platform."""
    system, arch = target.split("/")
    out = folder / ("amn.exe" if system == "windows" else "amn")
    flags = f"-s -w -buildid= -X {MODULE}/cli.version={version}"
    more = {"GOARM": "7"} if arch == "arm" else {}
    go("build", "-trimpath", "-buildvcs=false", "-ldflags", flags, "-o", str(out), "./cli/amn", GOOS=system, GOARCH=arch, **more)
    return out


def pages(host: Path) -> dict[str, bytes]:
    """Pages for man and completions, as the program itself prints them."""
    said = lambda *args: subprocess.run([str(host), *args], check=True, stdout=subprocess.PIPE).stdout
    files = {"man/amn.1": said("man")}
    listed = re.findall(r"^\.BR (amn\\-\S+) \(1\)", files["man/amn.1"].decode(), re.M)
    for name in listed:
        command = name.replace("\\-", "-")
        files[f"man/{command}.1"] = said("man", *command.split("-")[1:])
    for shell, name in (("bash", "amn.bash"), ("zsh", "_amn"), ("fish", "amn.fish"), ("powershell", "amn.ps1")):
        files[f"completion/{name}"] = said("completion", shell)
    return files


def tar(files: dict[str, tuple[bytes, int]]) -> bytes:
    """A compressed archive in which nothing is of this machine: no times, no owners."""
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.GNU_FORMAT) as t:
        folders: set[str] = set()
        for name, (data, mode) in sorted(files.items()):
            for depth in range(1, len(name.split("/"))):
                folder = "/".join(name.split("/")[:depth])
                if folder not in folders and folder != ".":
                    folders.add(folder)
                    entry = tarfile.TarInfo(folder)
                    entry.type, entry.mode = tarfile.DIRTYPE, 0o755
                    t.addfile(entry)
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(data), mode
            t.addfile(entry, io.BytesIO(data))
    out = io.BytesIO()
    with gzip.GzipFile(fileobj=out, mode="wb", compresslevel=9, mtime=0, filename="") as z:
        z.write(plain.getvalue())
    return out.getvalue()


def zipped(files: dict[str, tuple[bytes, int]]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as z:
        for name, (data, mode) in sorted(files.items()):
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.compress_type, entry.create_system, entry.external_attr = zipfile.ZIP_DEFLATED, 3, (0o100000 | mode) << 16
            z.writestr(entry, data, compresslevel=9)
    return out.getvalue()


def debian(arch: str, version: str, binary: bytes, extra: dict[str, bytes]) -> bytes:
    """A package as deb(5) describes it."""
    data = {"./usr/bin/amn": (binary, 0o755)}
    for name, text in extra.items():
        base = name.split("/")[-1]
        if name.startswith("man/"):
            data[f"./usr/share/man/man1/{base}.gz"] = (gzip.compress(text, 9, mtime=0), 0o644)
    data["./usr/share/bash-completion/completions/amn"] = (extra["completion/amn.bash"], 0o644)
    data["./usr/share/zsh/vendor-completions/_amn"] = (extra["completion/_amn"], 0o644)
    data["./usr/share/fish/vendor_completions.d/amn.fish"] = (extra["completion/amn.fish"], 0o644)
    data["./usr/share/doc/anamnesis/copyright"] = ((ROOT / "LICENSE").read_bytes() + (ROOT / "NOTICE").read_bytes(), 0o644)
    size = sum(len(d) for d, _ in data.values()) // 1024 + 1
    control = (
        f"Package: anamnesis\nVersion: {version.removeprefix('v').replace('-', '~')}\nArchitecture: {arch}\nMaintainer: the anamnesis project <{MODULE}>\n"
        f"Installed-Size: {size}\nSection: utils\nPriority: optional\nHomepage: https://{MODULE}\n"
        "Description: reads machine-learning model files that nobody vouches for\n Says what a file is, whether it is safe to load, and converts it. Nothing of a file\n is ever run.\n"
    )
    out = b"!<arch>\n"
    for name, text in (("debian-binary", b"2.0\n"), ("control.tar.gz", tar({"./control": (control.encode(), 0o644)})), ("data.tar.gz", tar(data))):
        out += f"{name:<16}{0:<12}{0:<6}{0:<6}{'100644':<8}{len(text):<10}`\n".encode() + text + b"\n" * (len(text) % 2)
    return out


def linked(binary: Path, version: str) -> bytes:
    """What the program links, as CycloneDX 1.6: read from the program itself."""
    parts = []
    for line in go("version", "-m", str(binary)).splitlines():
        fields = line.split("\t")
        if len(fields) > 4 and fields[1] == "dep":
            name, number, digest = fields[2:5]
            parts.append({"type": "library", "name": name, "version": number, "purl": f"pkg:golang/{name}@{number}", "properties": [{"name": "go.sum", "value": digest}]})
    tool = go("env", "GOVERSION").strip().removeprefix("go")
    parts.append({"type": "library", "name": "std", "version": tool, "purl": f"pkg:golang/std@{tool}"})
    whole = {"bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1, "metadata": {"component": {"type": "application", "name": "amn", "version": version, "purl": f"pkg:golang/{MODULE}@{version}"}}, "components": parts}
    return json.dumps(whole, indent=1).encode() + b"\n"


def build(version: str, out: Path, targets: tuple[str, ...]) -> None:
    out.mkdir(parents=True, exist_ok=True)
    if any(out.iterdir()):
        raise SystemExit(f"{out} is not empty")
    made: dict[str, bytes] = {}
    with tempfile.TemporaryDirectory() as folder:
        system, arch = go("env", "GOHOSTOS").strip(), go("env", "GOHOSTARCH").strip()
        host = Path(folder, "host")
        host.mkdir()
        native = program(f"{system}/{arch}", version, host)
        extra = pages(native)
        made[f"amn_{version}_sbom.cdx.json"] = linked(native, version)
        for target in targets:
            place = Path(folder, target.replace("/", "-"))
            place.mkdir()
            binary = program(target, version, place)
            files = {binary.name: (binary.read_bytes(), 0o755), **{n: (t, 0o644) for n, t in extra.items()}}
            files |= {d: ((ROOT / d).read_bytes(), 0o644) for d in DOCUMENTS}
            stem = f"amn_{version}_{target.replace('/', '_')}"
            inside = {f"{stem}/{n}": f for n, f in files.items()}
            if target.startswith("windows/"):
                made[stem + ".zip"] = zipped(inside)
            else:
                made[stem + ".tar.gz"] = tar(inside)
            if target in DEBIAN:
                made[f"anamnesis_{version.removeprefix('v')}_{DEBIAN[target]}.deb"] = debian(DEBIAN[target], version, binary.read_bytes(), extra)
    sums = "".join(f"{hashlib.sha256(data).hexdigest()}  {name}\n" for name, data in sorted(made.items()))
    made["SHA256SUMS"] = sums.encode()
    for name, data in made.items():
        (out / name).write_bytes(data)
    print(sums, end="")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--version", required=True, help="v1.2.3")
    parser.add_argument("--out", type=Path, default=ROOT / "dist")
    parser.add_argument("--only", action="append", choices=TARGETS)
    given = parser.parse_args()
    if not re.fullmatch(r"v\d+\.\d+\.\d+(-[0-9A-Za-z.]+)?", given.version):
        raise SystemExit(f"{given.version!r} is no version: v1.2.3 or v1.2.3-rc.1")
    build(given.version, given.out, tuple(given.only or TARGETS))


if __name__ == "__main__":
    main()
