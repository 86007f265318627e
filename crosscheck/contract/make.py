#!/usr/bin/env python3
"""Makes the tables of internal/loaders from the sources of the loaders.

    python3 crosscheck/contract/make.py             writes internal/loaders/*.txt
    python3 crosscheck/contract/make.py --check     ends with 1 where a table differs from what it would write

    fused.txt      fused.py: what vLLM and SGLang fuse, by architecture, and AutoAWQ by type. Wheels that are large and need a GPU
                   are not installed: their sources are read as syntax trees, and nothing of them is run
    takes.txt      takes.py: which types GPTQModel, AutoAWQ, mlx-lm, diffusers and llama.cpp have, and which of their modules
                   they make quantized
    names.txt      names.py: which linear modules have other names in transformers than in the file. Its own function is called
    ties.txt       ties.py: which modules are the embeddings and the output layer, and which share one matrix. Its own functions are
                   called
    merged.txt     merged.py: what transformers joins or splits when it loads a checkpoint. Its own function is called
    layers.txt     layers.py: which members of config.json count or index layers, from transformers' sources
    reads.txt      reads.py: which methods of quantization a loader has, from its sources

The versions are those of quant/requirements-loads.txt and of wheels.py.
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
sys.path = [str(HERE), str(HERE.parent), str(HERE.parent / "ggml"), *sys.path]  # both have a module called layers

import fused  # noqa: E402
import layers  # noqa: E402
import llamacpp  # noqa: E402
import reads  # noqa: E402
import takes  # noqa: E402
from wheels import WHEELS  # noqa: E402

# Where environment.py installs the sources of the others, and the package by whose metadata their version is known.
INSTALLED = {"transformers": ("loads", "transformers"), "compressed-tensors": ("loads", "compressed_tensors"), "diffusers": ("libraries", "diffusers"), "peft": ("merge", "peft"), "mlx-lm": ("quant", "mlx_lm"),
             "torchao": ("quant", "torchao"), "autoawq": ("quant", "autoawq"), "modelopt": ("quant", "nvidia_modelopt")}


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


def sources(libraries):
    """(folder, version) of each library whose sources are read."""
    found = {p: (wheel(libraries, p, v), v) for p, v in WHEELS.items()}
    for name, (folder, package) in INSTALLED.items():
        about, = (libraries.root / folder).glob(f"{package}-*.dist-info")
        found[name] = libraries.root / folder, about.name.removesuffix(".dist-info").partition("-")[2]
    found["gptqmodel"] = libraries.root / "gptqmodel", re.search(r"^Version: (\S+)", (libraries.root / "gptqmodel/PKG-INFO").read_text(), re.M)[1]
    found["llama.cpp"] = llamacpp.sources(libraries.python), llamacpp.VERSION.split()[1]
    return found


def tables(libraries):
    """The text of each table, without its first line."""
    known = sources(libraries)

    def of(module, *names):
        return [f"# {n} {known[n][1]}\n" + "".join("|".join((n, *row)) + "\n" for row in module.rows(n, known[n][0])) for n in names]

    def said(script):
        done = subprocess.run([libraries.python, str(HERE / script)], stdout=subprocess.PIPE, text=True, check=True, env=libraries.environment(["loads", "quant"]))
        version, _, rest = done.stdout.partition("\n")
        return f"# transformers {version}\n{rest}"

    out = {
        "fused.txt": of(fused, *WHEELS, "autoawq"),
        "takes.txt": of(takes, *takes.WHERE),
        "merged.txt": [said("merged.py")],
        "names.txt": [said("names.py")],
        "ties.txt": [said("ties.py")],
        "layers.txt": [f"# transformers {known['transformers'][1]}\n" + "".join(f"{k}|{m}\n" for k, m in layers.rows(libraries.root / "loads" / "transformers"))],
        "reads.txt": of(reads, *WHEELS, *reads.OTHERS),
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
