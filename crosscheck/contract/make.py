#!/usr/bin/env python3
"""Makes the tables of internal/loaders from the sources of the loaders.

    python3 crosscheck/contract/make.py             writes internal/loaders/*.txt
    python3 crosscheck/contract/make.py --check     ends with 1 where a table differs from what it would write

    fused.txt      fused.py: what vLLM and SGLang fuse, by architecture. Their wheels are large and need a GPU: their sources
                   are read as syntax trees, and nothing of them is run
    merged.txt     merged.py: what transformers joins or splits when it loads a checkpoint. Its own function is called
    layers.txt     layers.py: which members of config.json count or index layers, from transformers' sources
    reads.txt      reads.py: which methods of quantization a loader's registry has, from its sources

The versions are those of quant/requirements-loads.txt and of WHEELS below.
"""
import argparse
import datetime
import pathlib
import re
import subprocess
import sys
import tempfile
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
OUT = ROOT / "internal" / "loaders"
sys.path = [str(HERE), str(HERE.parent), *sys.path]  # both have a module called layers
WHEELS = {"vllm": "0.33.0", "sglang": "0.5.23"}

import fused  # noqa: E402
import layers  # noqa: E402
import reads  # noqa: E402


def wheel(libraries, package, version):
    """The sources of a wheel, which is not installed."""
    folder = libraries.root / "contract" / f"{package}-{version}"
    if not folder.exists():
        with tempfile.TemporaryDirectory() as tmp:
            libraries.pip("download", "-q", "--no-deps", "--only-binary", ":all:", "-d", tmp, f"{package}=={version}")
            file, = pathlib.Path(tmp).glob("*.whl")
            with zipfile.ZipFile(file) as z:
                z.extractall(folder, [n for n in z.namelist() if n.endswith(".py")])
    return folder


def tables(libraries):
    """The text of each table, without its first line."""
    wheels = {p: wheel(libraries, p, v) for p, v in WHEELS.items()}
    done = subprocess.run([libraries.python, str(HERE / "merged.py")], stdout=subprocess.PIPE, text=True, check=True, env=libraries.environment(["loads", "quant"]))
    version, _, merged = done.stdout.partition("\n")
    out = {
        "fused.txt": [f"# {p} {v}\n" + "".join(f"{p}|{a}|{g}\n" for a, g in fused.rows(p, wheels[p])) for p, v in WHEELS.items()],
        "merged.txt": [f"# transformers {version}\n" + merged],
        "layers.txt": [f"# transformers {version}\n" + "".join(f"{k}|{m}\n" for k, m in layers.rows(libraries.root / "loads" / "transformers"))],
        "reads.txt": [f"# {p} {v}\n" + "".join(f"{p}|{m}|{a}\n" for m, a in reads.rows(p, wheels[p])) for p, v in WHEELS.items()],
    }
    return {name: "".join(parts) for name, parts in out.items()}


def main():
    flags = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("--check", action="store_true")
    check = flags.parse_args().check
    from environment import Libraries
    wrong = 0
    for name, text in tables(Libraries()).items():
        file = OUT / name
        if not check:
            file.write_text(f"# Made by crosscheck/contract/make.py on {datetime.date.today().isoformat()}.\n" + text)
        elif file.read_text().partition("\n")[2] != text:
            was, now = (set(re.split("\n", t)) for t in (file.read_text().partition("\n")[2], text))
            print("WRONG", name, "is not what the loaders' sources say:", *sorted(was ^ now)[:6], sep="\n    ")
            wrong = 1
    sys.exit(wrong)


if __name__ == "__main__":
    main()
