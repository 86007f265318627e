"""Builds the wheels: the Python package and the program for a platform.

    python wheels.py --out dist                      one wheel for every platform
    python wheels.py --out dist --only linux/amd64   for one

It is the build backend of pyproject.toml too, so that `pip install ./python` builds the wheel
of this machine. It needs nothing but Python and Go, and the same commit gives the same bytes.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import os
import platform
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
NAME = "anamnesis-models"  # another project has the name anamnesis
MODULE = "anamnesis_models"

sys.path.append(str(ROOT / "release"))
from licences import licences  # noqa: E402
from statements import modules  # noqa: E402

# The program is static, so one for Linux works with every C library.
PLATFORMS = {
    "linux/amd64": "manylinux_2_17_x86_64.manylinux2014_x86_64.musllinux_1_1_x86_64",
    "linux/arm64": "manylinux_2_17_aarch64.manylinux2014_aarch64.musllinux_1_1_aarch64",
    "darwin/amd64": "macosx_12_0_x86_64",
    "darwin/arm64": "macosx_12_0_arm64",
    "windows/amd64": "win_amd64",
    "windows/arm64": "win_arm64",
}


def version() -> str:
    """Return $VERSION, else the tag of this commit, else a development version."""
    given = os.environ.get("VERSION")
    if not given:
        try:
            given = subprocess.run(["git", "describe", "--tags", "--exact-match", "--match", "v*"], cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()
        except (OSError, subprocess.CalledProcessError):
            return "0.0.0.dev0"
    given = given.removeprefix("v")
    if not re.fullmatch(r"\d+(\.\d+)*((a|b|rc)\d+)?(\.dev\d+)?", given):
        raise SystemExit(f"{given!r} is no version of a wheel")
    return given


def program(target: str, folder: Path) -> Path:
    """Build the program for a platform."""
    system, arch = target.split("/")
    out = folder / ("amn.exe" if system == "windows" else "amn")
    env = {**os.environ, "CGO_ENABLED": "0", "GOOS": system, "GOARCH": arch, "GOFLAGS": "-mod=readonly"}
    flags = f"-s -w -buildid= -X github.com/anamnesis-go/anamnesis/cli.version=v{version()}"
    subprocess.run(["go", "build", "-trimpath", "-buildvcs=false", "-ldflags", flags, "-o", str(out), "./cmd/amn"], cwd=ROOT / "remote", env=env, check=True)
    return out


def metadata() -> str:
    """Return METADATA of the wheel; pyproject.toml has the same facts."""
    head = (
        "Metadata-Version: 2.4",
        f"Name: {NAME}",
        f"Version: {version()}",
        "Summary: Read untrusted model files: safetensors, GGUF, PyTorch checkpoints, NPY and NPZ",
        "License-Expression: Apache-2.0",
        "License-File: LICENSE",
        "License-File: NOTICE",
        "License-File: LICENSES.txt",
        "Requires-Python: >=3.9",
        "Provides-Extra: numpy",
        "Requires-Dist: numpy; extra == 'numpy'",
        "Requires-Dist: ml_dtypes; extra == 'numpy'",
        "Provides-Extra: torch",
        "Requires-Dist: torch; extra == 'torch'",
        "Description-Content-Type: text/markdown",
    )
    return "\n".join(head) + "\n\n" + (HERE / "README.md").read_text(encoding="utf-8")


def wheel(target: str, out: Path) -> Path:
    """Write the wheel of a platform."""
    tag = PLATFORMS[target]
    stem = f"{MODULE}-{version()}"
    info = f"{stem}.dist-info"
    files: list[tuple[str, bytes, int]] = []
    for path in sorted((HERE / "src" / MODULE).iterdir()):
        if path.suffix == ".py" or path.name == "py.typed":
            files.append((f"{MODULE}/{path.name}", path.read_bytes(), 0o644))
    with tempfile.TemporaryDirectory() as folder:
        built = program(target, Path(folder))
        files.append((f"{stem}.data/scripts/{built.name}", built.read_bytes(), 0o755))
        listing = subprocess.run(["go", "version", "-m", str(built)], check=True, stdout=subprocess.PIPE, text=True).stdout
        linked = licences(modules(listing))
    tags = "".join(f"Tag: py3-none-{t}\n" for t in tag.split("."))
    files.append((f"{info}/METADATA", metadata().encode(), 0o644))
    files.append((f"{info}/WHEEL", f"Wheel-Version: 1.0\nGenerator: {NAME}\nRoot-Is-Purelib: false\n{tags}".encode(), 0o644))
    for name in ("LICENSE", "NOTICE"):
        files.append((f"{info}/licenses/{name}", (ROOT / name).read_bytes(), 0o644))
    files.append((f"{info}/licenses/LICENSES.txt", linked, 0o644))
    record = "".join(f"{name},sha256={digest(data)},{len(data)}\n" for name, data, _ in files)
    files.append((f"{info}/RECORD", f"{record}{info}/RECORD,,\n".encode(), 0o644))
    out.mkdir(parents=True, exist_ok=True)
    path = out / f"{stem}-py3-none-{tag}.whl"
    with zipfile.ZipFile(path, "w") as z:
        for name, data, mode in files:
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.compress_type, entry.create_system, entry.external_attr = zipfile.ZIP_DEFLATED, 3, (0o100000 | mode) << 16
            z.writestr(entry, data, compresslevel=9)
    return path


def digest(data: bytes) -> str:
    """Return a hash in the form of RECORD."""
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def here() -> str:
    """Return the platform that this runs on."""
    system = {"linux": "linux", "darwin": "darwin", "win32": "windows"}.get(sys.platform, sys.platform)
    arch = {"x86_64": "amd64", "amd64": "amd64", "aarch64": "arm64", "arm64": "arm64"}.get(platform.machine().lower(), platform.machine())
    target = f"{system}/{arch}"
    if target not in PLATFORMS:
        raise SystemExit(f"no wheel is built for {target}: set ANAMNESIS_AMN to a program that go build made")
    return target


def build_wheel(wheel_directory: str, config_settings: object = None, metadata_directory: str | None = None) -> str:
    """Build a wheel: a hook of the build backend."""
    return wheel(here(), Path(wheel_directory)).name


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=HERE / "dist")
    parser.add_argument("--only", action="append", choices=[*PLATFORMS, "here"])
    given = parser.parse_args()
    for target in given.only or PLATFORMS:
        path = wheel(here() if target == "here" else target, given.out)
        print(hashlib.sha256(path.read_bytes()).hexdigest(), path.name)


if __name__ == "__main__":
    main()
