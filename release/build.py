"""Builds what a release holds, the same bytes from the same commit:

    python3 release/build.py --version v1.2.3 --out dist

archives for every platform with the program, its pages for man and completions;
packages for Debian, Fedora, Homebrew and npm; a container image; what is linked (CycloneDX),
of what it was built (SLSA), and SHA256SUMS. It needs Python, Go and this tree, and
fetches nothing but what go.sum names.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import subprocess
import tempfile
from pathlib import Path

from archive import tar, zipped
from image import PLATFORMS, image
from licences import licences
from packages import DEBIAN, REDHAT, debian, formula, installed, redhat
from statements import bill, modules, provenance

ROOT = Path(__file__).resolve().parent.parent
MODULE = "github.com/anamnesis-go/anamnesis"
TARGETS = ("linux/amd64", "linux/arm64", "linux/386", "linux/arm", "darwin/amd64", "darwin/arm64", "windows/amd64", "windows/arm64")
DOCUMENTS = ("LICENSE", "NOTICE", "README.md", "SECURITY.md", "CHANGELOG.md", "docs/cli.md", "docs/remote.md")
# The one program: that of the module that takes addresses too.
PROGRAM, AT = "./cmd/amn", ROOT / "remote"
# Times in packages that ask for one. 1 January 2020, unless the builder says otherwise.
EPOCH = int(os.environ.get("SOURCE_DATE_EPOCH", "1577836800"))


def go(*args: str, at: Path = ROOT, **env: str) -> str:
    """What the go command prints."""
    whole = {**os.environ, "CGO_ENABLED": "0", "GOFLAGS": "-mod=readonly", "GOTOOLCHAIN": "local", **env}
    return subprocess.run(["go", *args], cwd=at, env=whole, check=True, stdout=subprocess.PIPE, text=True).stdout


def program(target: str, version: str, folder: Path) -> Path:
    """The program for a platform."""
    system, arch = target.split("/")
    out = folder / ("amn.exe" if system == "windows" else "amn")
    flags = f"-s -w -buildid= -X {MODULE}/cli.version={version}"
    more = {"GOARM": "7"} if arch == "arm" else {}
    go("build", "-trimpath", "-buildvcs=false", "-ldflags", flags, "-o", str(out), PROGRAM, at=AT, GOOS=system, GOARCH=arch, **more)
    return out


def pages(host: Path) -> dict[str, bytes]:
    """Pages for man and completions, as the program itself prints them."""

    def said(*args: str) -> bytes:
        return subprocess.run([str(host), *args], check=True, stdout=subprocess.PIPE).stdout

    def page(words: str) -> bytes:
        """The page of a command, whose name may have a hyphen of its own: merge-lora, limits show."""
        one = subprocess.run([str(host), "man", words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        return one.stdout if one.returncode == 0 else said("man", *words.split("-"))

    files = {"man/amn.1": said("man")}
    for name in re.findall(r"^\.BR (amn\\-\S+) \(1\)", files["man/amn.1"].decode(), re.M):
        command = name.replace("\\-", "-")
        files[f"man/{command}.1"] = page(command.removeprefix("amn-"))
    for shell, name in (("bash", "amn.bash"), ("zsh", "_amn"), ("fish", "amn.fish"), ("powershell", "amn.ps1")):
        files[f"completion/{name}"] = said("completion", shell)
    return files


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def commit() -> str:
    """The commit that is built: COMMIT of the environment, else git's; with -dirty where files differ from it."""
    if "COMMIT" in os.environ:
        return os.environ["COMMIT"]
    try:
        said = lambda *args: subprocess.run(["git", *args], cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()
        return said("rev-parse", "HEAD") + ("-dirty" if said("status", "--porcelain") else "")
    except (OSError, subprocess.CalledProcessError):
        return ""


def platform(target: str, version: str, folder: Path, extra: dict[str, bytes], linked: bytes) -> tuple[dict[str, bytes], bytes]:
    """What a release holds for one platform, and the program itself."""
    built = program(target, version, folder)
    binary = built.read_bytes()
    files = {built.name: (binary, 0o755)}
    files["LICENSES.txt"] = (linked, 0o644)
    files |= {n: (t, 0o644) for n, t in extra.items()} | {d: ((ROOT / d).read_bytes(), 0o644) for d in DOCUMENTS}
    stem = f"amn_{version}_{target.replace('/', '_')}"
    inside = {f"{stem}/{n}": f for n, f in files.items()}
    made = {stem + ".zip": zipped(inside)} if target.startswith("windows/") else {stem + ".tar.gz": tar(inside)}
    number = version.removeprefix("v")
    notices = (ROOT / "LICENSE").read_bytes() + (ROOT / "NOTICE").read_bytes() + linked
    if target in DEBIAN:
        made[f"anamnesis_{number}_{DEBIAN[target]}.deb"] = debian(target, version, installed(binary, extra, notices, "vendor-completions"))
        made[f"anamnesis-{number}-1.{REDHAT[target]}.rpm"] = redhat(target, version, installed(binary, extra, notices, "site-functions"), EPOCH)
    return made, binary


def npm(version: str, linked: bytes, folder: Path) -> dict[str, bytes]:
    """The package of the parser for npm, as npm pack makes it, and not published."""
    number = version.removeprefix("v")
    go("run", "./build", "-npm", str(folder), "-version", number, at=ROOT / "web")
    files = {p.name: p.read_bytes() for p in folder.iterdir()} | {"LICENSES.txt": linked} | {n: (ROOT / n).read_bytes() for n in ("LICENSE", "NOTICE")}
    return {f"anamnesis-models-{number}.tgz": tar({f"package/{n}": (data, 0o644) for n, data in files.items()})}


def build(version: str, out: Path, targets: tuple[str, ...]) -> None:
    out.mkdir(parents=True, exist_ok=True)
    if any(out.iterdir()):
        raise SystemExit(f"{out} is not empty")
    made: dict[str, bytes] = {}
    images: dict[str, bytes] = {}
    source = commit()
    toolchain = go("env", "GOVERSION").strip().removeprefix("go")
    with tempfile.TemporaryDirectory() as top:
        host = Path(top, "host")
        host.mkdir()
        native = program(f"{go('env', 'GOHOSTOS').strip()}/{go('env', 'GOHOSTARCH').strip()}", version, host)
        extra = pages(native)
        parts = modules(go("version", "-m", str(native)))
        linked = licences(parts)
        for target in targets:
            folder = Path(top, target.replace("/", "-"))
            folder.mkdir()
            files, binary = platform(target, version, folder, extra, linked)
            made |= files
            if target in PLATFORMS:
                images[target] = binary
        made |= npm(version, linked, Path(top, "npm"))
    archives = {t: digest(made[n]) for t in targets for n in (f"amn_{version}_{t.replace('/', '_')}.tar.gz",) if n in made}
    made["anamnesis.rb"] = formula(version, archives)
    made[f"amn_{version}_sbom.cdx.json"] = bill(parts, toolchain, version)
    if images:
        notices = {n: ((ROOT / n).read_bytes(), 0o644) for n in ("LICENSE", "NOTICE")} | {"LICENSES.txt": (linked, 0o644)}
        made[f"amn_{version}_image.tar"] = image(images, notices, version, source)
    made[f"amn_{version}_provenance.json"] = provenance({n: digest(d) for n, d in made.items()}, version, targets, toolchain, source, parts)
    sums = "".join(f"{digest(data)}  {name}\n" for name, data in sorted(made.items()))
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
