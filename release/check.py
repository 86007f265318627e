"""Looks at what release/build.py wrote, as the tools of its receivers do:

    python3 release/check.py dist

Sums, archives, the image's digests, the formula's sums, and the statement are held against the
files. Packages are asked of dpkg-deb and rpm, installed into empty systems, run and removed, where the machine has what that takes; where it
does not, it says so.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

from image import NOBODY


def ask(condition: object, what: str) -> None:
    if not condition:
        raise SystemExit(f"release: {what}")


def said(*args: object) -> str:
    return subprocess.run([str(a) for a in args], check=True, stdout=subprocess.PIPE, text=True).stdout


def sums(dist: Path) -> dict[str, str]:
    """Each file but the list is in the list, by its own sum."""
    rows = dict(reversed(line.split("  ")) for line in (dist / "SHA256SUMS").read_text().splitlines())
    files = {p.name for p in dist.iterdir() if p.name not in ("SHA256SUMS", "SHA256SUMS.sig") and not p.name.endswith((".dsse.json", ".sigstore.json"))}
    ask(files == set(rows), f"files and sums differ: {files ^ set(rows)}")
    for name, want in rows.items():
        ask(hashlib.sha256((dist / name).read_bytes()).hexdigest() == want, f"{name}: its sum is another one")
    return rows


def archives(dist: Path, version: str) -> int:
    """Archives hold the program, pages and completions, and the one of this machine runs."""
    here = {"x86_64": "amd64", "aarch64": "arm64", "arm64": "arm64"}.get(platform.machine(), "")
    names = [p for p in dist.iterdir() if re.search(r"\.(zip|tar\.gz)$", p.name)]
    for path in names:
        windows = path.suffix == ".zip"
        end = ".exe" if windows else ""
        members = zipfile.ZipFile(path).namelist() if windows else tarfile.open(path).getnames()
        short = {m.partition("/")[2] for m in members}
        for name in ("amn" + end, "man/amn-scan.1", "completion/amn.bash", "LICENSE", "NOTICE", "LICENSES.txt", "README.md"):
            ask(name in short, f"{path.name}: {name} is not there")
        if path.name.endswith(f"{sys.platform}_{here}.tar.gz"):
            with tempfile.TemporaryDirectory() as folder:
                tarfile.open(path).extractall(folder)
                top = next(Path(folder).iterdir())
                ask(f"amn {version}\n" in said(top / "amn", "version"), f"{path.name}: the program is of another version")
                ask("hf://OWNER/REPO" in said(top / "amn", "--help"), f"{path.name}: the program takes no addresses")
                print(f"{path.name}: the program runs")
    return len(names)


def packages(dist: Path) -> None:
    for path in sorted(dist.glob("*.deb")):
        if not shutil.which("dpkg-deb"):
            print("NOT RUN: no dpkg-deb, so packages for Debian were not looked at")
            break
        ask("/usr/bin/amn\n" in said("dpkg-deb", "-c", path), f"{path.name}: no program in it")
        ask("Package: anamnesis" in said("dpkg-deb", "-I", path), f"{path.name}: another name")
    for path in sorted(dist.glob("*.rpm")):
        if not shutil.which("rpm"):
            print("NOT RUN: no rpm, so packages for Fedora were not looked at")
            break
        ask("digests OK" in said("rpm", "-K", path) or "digests signatures OK" in said("rpm", "-K", path), f"{path.name}: rpm says its digests are wrong")
        ask("/usr/bin/amn\n" in said("rpm", "-qlp", path), f"{path.name}: no program in it")


def runs(root: Path, program: str, version: str) -> None:
    """A program runs in a folder as its whole system, where nothing else is."""
    ask(f"amn {version}\n" in said("chroot", root, program, "version"), f"{program}: it is of another version")
    (root / "none.safetensors").write_bytes(b"\2\0\0\0\0\0\0\0{}")
    ask("safetensors" in said("chroot", root, program, "inspect", "/none.safetensors"), f"{program}: it reads nothing")
    (root / "none.safetensors").unlink()


def left(root: Path) -> list[str]:
    """The files of a system but for what its package manager keeps."""
    return [str(p) for p in root.rglob("*") if p.is_file() and "/var/lib/" not in str(p) and "/usr/lib/sysimage/" not in str(p)]


def installs(dist: Path, version: str) -> None:
    """Packages and the image of this machine are installed into empty systems, run there, and are removed."""
    if os.geteuid() != 0:
        print("NOT RUN: packages were not installed: a folder becomes a system for the super-user alone")
        return
    debian, redhat = {"x86_64": ("amd64", "x86_64"), "aarch64": ("arm64", "aarch64")}.get(platform.machine(), ("", ""))
    for path in sorted(dist.glob(f"*_{debian}.deb")):
        if not shutil.which("dpkg"):
            print("NOT RUN: no dpkg, so packages for Debian were not installed")
            break
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            for name in ("info", "updates", "triggers"):
                (root / "var/lib/dpkg" / name).mkdir(parents=True)
            for name in ("status", "available"):
                (root / "var/lib/dpkg" / name).touch()
            said("dpkg", "--root", root, "--force-script-chrootless", "--log=/dev/null", "-i", path)
            runs(root, "/usr/bin/amn", version)
            said("dpkg", "--root", root, "--force-script-chrootless", "--log=/dev/null", "-P", "anamnesis")
            ask(not left(root), f"{path.name}: it leaves {left(root)}")
            print(f"{path.name}: installed, run and removed")
    for path in sorted(dist.glob(f"*.{redhat}.rpm")):
        if not shutil.which("rpm"):
            print("NOT RUN: no rpm, so packages for Fedora were not installed")
            break
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            rpm = ["rpm", "--root", root, "--dbpath", "/var/lib/rpm"]
            force = ["--force-debian"] if "--force-debian" in said("rpm", "--help") else []
            said(*rpm, "--initdb")
            said(*rpm, *force, "--nodeps", "-i", path)
            runs(root, "/usr/bin/amn", version)
            said(*rpm, *force, "-e", "anamnesis")
            ask(not left(root), f"{path.name}: it leaves {left(root)}")
            print(f"{path.name}: installed, run and removed")
    for path in sorted(dist.glob("*_image.tar")):
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            for entry, layers in entries(path):
                if entry["platform"]["architecture"] != debian:
                    continue
                for layer in layers:
                    with tarfile.open(fileobj=io.BytesIO(layer)) as t:
                        t.extractall(root, filter="tar")
                runs(root, "/amn", version)
                print(f"{path.name}: unpacked and run")


def npm(dist: Path, version: str) -> None:
    """The package for npm is installed into an empty folder without a registry, and used."""
    for path in sorted(dist.glob("*.tgz")):
        if not shutil.which("npm"):
            print("NOT RUN: no npm, so the package for it was not installed")
            break
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            (root / "package.json").write_text('{"private": true}')
            said("npm", "install", "--offline", "--no-audit", "--no-fund", "--prefix", root, path.resolve())
            (root / "none.safetensors").write_bytes(b"\2\0\0\0\0\0\0\0{}")
            (root / "evil.pkl").write_bytes(b"cos\nsystem\n(Vid\ntR.")
            (root / "try.mjs").write_text(
                'import { open } from "anamnesis-models";\n'
                'for (const f of ["none.safetensors", "evil.pkl"]) console.log((await open(new URL(f, import.meta.url))).accepted);\nprocess.exit(0);\n'
            )
            ask(said("node", root / "try.mjs") == "true\nfalse\n", f"{path.name}: it judges wrongly")
            ask(f'"version": "{version.removeprefix("v")}"' in (root / "node_modules/anamnesis-models/package.json").read_text(), f"{path.name}: it is of another version")
            ask((root / "node_modules/anamnesis-models/LICENSES.txt").stat().st_size > 1000, f"{path.name}: the licences are missing")
            print(f"{path.name}: installed and used")


def entries(path: Path) -> list[tuple[dict, list[bytes]]]:
    """The platforms of an image, with their layers."""
    with tarfile.open(path) as t:
        files = {m.name: t.extractfile(m).read() for m in t if m.isfile()}
    blob = lambda entry: files["blobs/" + entry["digest"].replace(":", "/")]
    index = json.loads(blob(json.loads(files["index.json"])["manifests"][0]))
    return [(entry, [blob(layer) for layer in json.loads(blob(entry))["layers"]]) for entry in index["manifests"]]


def image(path: Path) -> int:
    """Every digest of the image is that of the bytes, and nothing of it runs as root."""
    with tarfile.open(path) as t:
        files = {m.name: t.extractfile(m).read() for m in t if m.isfile()}

    def blob(entry: dict) -> bytes:
        data = files["blobs/" + entry["digest"].replace(":", "/")]
        ask("sha256:" + hashlib.sha256(data).hexdigest() == entry["digest"] and len(data) == entry["size"], f"{path.name}: {entry['digest']} is another one")
        return data

    index = json.loads(blob(json.loads(files["index.json"])["manifests"][0]))
    for entry in index["manifests"]:
        manifest = json.loads(blob(entry))
        config = json.loads(blob(manifest["config"]))
        ask(config["config"]["User"] == f"{NOBODY}:{NOBODY}", f"{path.name}: runs as {config['config'].get('User')!r}")
        with tempfile.TemporaryFile() as spool:
            spool.write(blob(manifest["layers"][0]))
            spool.seek(0)
            with tarfile.open(fileobj=spool) as layer:
                names = {m.name: m for m in layer}
        ask(set(names) == {"amn", "tmp", "LICENSE", "NOTICE", "LICENSES.txt"}, f"{path.name}: holds {sorted(names)}")
        ask(names["amn"].mode == 0o755 and names["tmp"].uid == NOBODY, f"{path.name}: modes and owners")
    return len(index["manifests"])


def main(dist: Path) -> None:
    rows = sums(dist)
    statement_path = next(dist.glob("*_provenance.json"))
    statement = json.loads(statement_path.read_text())
    version = statement["predicate"]["buildDefinition"]["externalParameters"]["version"]
    subjects = {s["name"]: s["digest"]["sha256"] for s in statement["subject"]}
    ask(subjects == {n: d for n, d in rows.items() if n != statement_path.name}, "the provenance is of other files")
    for name, digest in re.findall(r'/([^/"]+\.tar\.gz)"\n\s+sha256 "([0-9a-f]{64})"', (dist / "anamnesis.rb").read_text()):
        ask(rows.get(name) == digest, f"the formula has another sum of {name}")
    ask(json.loads(next(dist.glob("*_sbom.cdx.json")).read_text())["components"], "the bill of materials is empty")
    count = archives(dist, version)
    packages(dist)
    installs(dist, version)
    npm(dist, version)
    images = sum(image(p) for p in dist.glob("*_image.tar"))
    print(f"{len(rows)} files: {count} archives, {images} images; sums, statement and formula hold")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
