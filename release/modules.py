"""What a stranger gets of the modules of this tree, before they are published:

    python3 release/modules.py --version v1.2.3

writes them as a module proxy serves them, from the files of the commit, and uses them from
an empty folder: `go install` of the program, and a program that imports the others. There the
replacements that a module of this tree has for its neighbours do not count, so each has to
require the version that is tagged (`make versions`).
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BASE = "github.com/anamnesis-go/anamnesis"
# The modules that others may require, by their folders. The page is a program of its own.
MODULES = ("", "remote", "hub", "adapters/ggufparser", "adapters/gopickle")
PROGRAM = f"""package main

import (
	"context"
	"fmt"
	"os"

	gguf "{BASE}/adapters/ggufparser"
	"{BASE}/adapters/gopickle/pytorch"
	"{BASE}/limits"
	"{BASE}/remote"
)

func main() {{
	f, err := gguf.ParseGGUFFile(os.Args[1])
	if err != nil {{
		panic(err)
	}}
	if _, err := pytorch.Load(os.Args[2]); err != nil {{
		panic(err)
	}}
	b := limits.Policy{{}}.Budget(context.Background())
	defer b.Close()
	_, err = remote.Open(b, "https://127.0.0.1/x", remote.Options{{}})
	fmt.Println(f.Metadata().Architecture, err)
}}
"""


def git(*args: str) -> bytes:
    return subprocess.run(["git", *args], cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout


def required(text: str, version: str) -> str:
    """A go.mod that requires its neighbours at a version."""
    return re.sub(rf"(?m)^(require )?(\t?){re.escape(BASE)}(/remote)? v\S+", rf"\g<1>\g<2>{BASE}\g<3> {version}", text)


def publish(folder: str, version: str, proxy: Path) -> None:
    """A module as a proxy serves it: its files but for those of modules within."""
    names = [n for n in git("ls-tree", "-r", "-z", "--name-only", "HEAD").decode().split("\0") if n]
    inside = folder + "/" if folder else ""
    roots = [n[: -len("go.mod")] for n in names if n.endswith("/go.mod") and n.startswith(inside) and n != inside + "go.mod"]
    path = f"{BASE}/{folder}".rstrip("/")
    at = proxy / path / "@v"
    at.mkdir(parents=True)
    mod = required(git("show", f"HEAD:{inside}go.mod").decode(), version)
    with zipfile.ZipFile(at / f"{version}.zip", "w", zipfile.ZIP_DEFLATED) as z:
        for name in names:
            if name.startswith(inside) and not name.startswith(tuple(roots)):
                rest = name[len(inside) :]
                z.writestr(f"{path}@{version}/{rest}", mod if rest == "go.mod" else git("show", f"HEAD:{name}"))
    (at / f"{version}.mod").write_text(mod)
    (at / f"{version}.info").write_text(json.dumps({"Version": version, "Time": "2020-01-01T00:00:00Z"}))
    (at / "list").write_text(version + "\n")


def check(version: str) -> None:
    with tempfile.TemporaryDirectory() as top:
        proxy, user = Path(top, "proxy"), Path(top, "user")
        for folder in MODULES:
            publish(folder, version, proxy)
        user.mkdir()
        # A cache of its own: what is fetched here must not pass for a published version elsewhere.
        env = {
            **os.environ, "GOPROXY": f"{proxy.as_uri()},{os.environ.get('GOPROXY') or go('env', 'GOPROXY', at=ROOT).strip()}", "GONOSUMDB": BASE,
            "GOFLAGS": "-trimpath -modcacherw", "GOBIN": str(user), "GOMODCACHE": str(Path(top, "cache")), "CGO_ENABLED": "0",
        }
        go("install", f"{BASE}/cli/amn@latest", at=user, env=env)
        said = subprocess.run([user / "amn", "version"], check=True, stdout=subprocess.PIPE, text=True).stdout
        if version not in said:
            raise SystemExit(f"the program says that it is {said.splitlines()[0]!r}")
        go("mod", "init", "example.org/user", at=user, env=env)
        (user / "main.go").write_text(PROGRAM)
        go("get", *(f"{BASE}/{m}@latest" for m in MODULES if m), at=user, env=env)
        go("get", ".", at=user, env=env)
        go("build", "-o", "user", ".", at=user, env=env)
        demo = ROOT / "testdata" / "demo"
        print(said.splitlines()[0])
        print(subprocess.run([user / "user", demo / "tiny.gguf", demo / "checkpoint.pt"], check=True, stdout=subprocess.PIPE, text=True).stdout.strip())


def go(*args: str, at: Path, env: dict[str, str] | None = None) -> str:
    done = subprocess.run(["go", *args], cwd=at, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        raise SystemExit(f"go {' '.join(args)}: {done.stderr}")
    return done.stdout


def write(version: str) -> None:
    """Let the modules of this tree require each other at a version."""
    for name in git("ls-files", "*go.mod").decode().split():
        path = ROOT / name
        path.write_text(required(path.read_text(), version))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--version", required=True, help="v1.2.3")
    parser.add_argument("--write", action="store_true", help="write the version into go.mod files, and check nothing")
    given = parser.parse_args()
    (write if given.write else check)(given.version)


if __name__ == "__main__":
    main()
