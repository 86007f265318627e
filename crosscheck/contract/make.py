#!/usr/bin/env python3
"""Makes the tables of internal/loaders from the sources of the loaders.

    python3 crosscheck/contract/make.py             writes internal/loaders/*.txt
    python3 crosscheck/contract/make.py --check     ends with 1 where a table differs from what it would write
    python3 crosscheck/contract/make.py --twice     makes each table twice, in processes with other seeds of hashes, and ends with 1 where the two differ

    fused.txt      fused.py: what vLLM and SGLang fuse, by architecture, and AutoAWQ by type. Wheels that are large and need a GPU
                   are not installed: their sources are read as syntax trees, and nothing of them is run
    takes.txt      takes.py: which types GPTQModel, AutoAWQ, mlx-lm, diffusers and llama.cpp have, and which of their modules
                   they make quantized
    names.txt      names.py: which linear modules have other names in transformers than in the file. Its own function is called
    ties.txt       ties.py: which modules are the embeddings and the output layer, and which share one matrix. Its own functions are
                   called
    experts.txt    experts.py: in which order its classes make the parameters of stacked experts, from its sources
    expects.txt    expects.py: which tensors it expects of a class, by the configuration. Classes are built, its own functions are called
    merged.txt     merged.py: what transformers joins or splits when it loads a checkpoint. Its own function is called
    layers.txt     layers.py: which members of config.json count or index layers, from transformers' sources
    reads.txt      reads.py: which methods of quantization a loader has, from its sources

The versions are those of quant/requirements-loads.txt and of wheels.py.

A table that was made is kept below .venv/contract/made, under a digest of what it follows from: the scripts, and the names and versions of the
libraries, whose sources are those of a release. --check reads it there, in seconds, and makes what is not there; --anew makes all.
"""
import argparse
import concurrent.futures
import datetime
import hashlib
import json
import multiprocessing
import os
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

import experts  # noqa: E402
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


# Which modules each table is made of, and of which libraries; those of modelled.py are made together.
TABLES = {
    "fused.txt": (fused, [*WHEELS, "autoawq"]),
    "takes.txt": (takes, [*takes.WHERE]),
    "layers.txt": (layers, ["transformers"]),
    "experts.txt": (experts, ["transformers"]),
    "reads.txt": (reads, [*WHEELS, *reads.OTHERS]),
}
MODELLED = {"expects.txt": "expects.py", "merged.txt": "merged.py", "names.txt": "names.py", "ties.txt": "ties.py"}


def read(table, name, folder, version):
    """The part of a table that is read from the sources of a library."""
    if table in ("layers.txt", "experts.txt"):
        return f"# transformers {version}\n" + "".join(f"{k}|{m}\n" for k, m in TABLES[table][0].rows(folder / "transformers"))
    return f"# {name} {version}\n" + "".join("|".join((name, *row)) + "\n" for row in TABLES[table][0].rows(name, folder))


def modelled(libraries):
    """The tables for which models are built."""
    done = subprocess.run([libraries.python, str(HERE / "modelled.py")], stdout=subprocess.PIPE, text=True, check=True, env=libraries.environment(["loads", "quant"]))
    version, rows = json.loads(done.stdout)
    return {name: f"# transformers {version}\n" + "".join("|".join(row) + "\n" for row in rows[name]) for name in MODELLED}


def key(table, known, libraries):
    """A digest of all that a table follows from: the scripts, and what is installed."""
    scripts = [HERE / f for f in ("modelled.py", *MODELLED.values())] + [HERE.parent / "linears" / f for f in ("reload.py", "models.py")] if table in MODELLED else [pathlib.Path(TABLES[table][0].__file__)]
    sums = hashlib.sha256()
    for script in [HERE / "make.py", *scripts]:
        sums.update(hashlib.sha256(script.read_bytes()).digest())
    if table in MODELLED:
        installed = sorted(d.name for folder in (libraries.root / "loads", libraries.root / "quant") for d in folder.glob("*.dist-info"))
        python = subprocess.run([libraries.python, "-c", "import sys, importlib.metadata as m; print(sys.version, m.version('torch'))"], stdout=subprocess.PIPE, text=True, check=True).stdout
        sums.update(json.dumps([installed, python]).encode())
    else:
        sums.update(json.dumps([(n, known[n][1]) for n in TABLES[table][1]]).encode())
    return sums.hexdigest()[:24]


def tables(libraries, anew=False):
    """The text of each table, without its first line."""
    known, made, out = sources(libraries), libraries.root / "contract" / "made", {}
    made.mkdir(parents=True, exist_ok=True)
    files = {table: made / f"{key(table, known, libraries)}-{table}" for table in (*TABLES, *MODELLED)}
    left = [table for table in files if anew or not files[table].exists()]
    with concurrent.futures.ProcessPoolExecutor(os.cpu_count(), multiprocessing.get_context("fork")) as pool:
        parts = {table: [pool.submit(read, table, name, *known[name]) for name in TABLES[table][1]] for table in left if table in TABLES}
        for table, futures in parts.items():
            out[table] = "".join(f.result() for f in futures)
    if any(table in MODELLED for table in left):
        out |= modelled(libraries)
    for table, text in out.items():
        files[table].write_text(text)
    return {table: out.get(table) or file.read_text() for table, file in files.items()}


def twice(libraries):
    """How many tables differ from themselves, made again."""
    wrong = 0
    for seed in ("1", "2"):
        os.environ["PYTHONHASHSEED"] = seed
        script = "import sys; sys.path.insert(0, sys.argv[1]); import make, json; from environment import Libraries; print(json.dumps(make.tables(Libraries(), True)))"
        done = subprocess.run([sys.executable, "-c", script, str(HERE)], stdout=subprocess.PIPE, text=True, check=True)
        made = json.loads(done.stdout.splitlines()[-1])
        if seed == "1":
            first = made
    for name, text in made.items():
        same = text == first[name]
        wrong += not same
        print("WRONG" if not same else "equal", name, len(text), "bytes", hashlib.sha256(text.encode()).hexdigest()[:16])
    return wrong


def main():
    flags = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("--check", action="store_true")
    flags.add_argument("--anew", action="store_true")
    flags.add_argument("--twice", action="store_true")
    given = flags.parse_args()
    from environment import Libraries
    if given.twice:
        sys.exit(twice(Libraries()) > 0)
    wrong = 0
    for name, text in tables(Libraries(), given.anew).items():
        file = OUT / name
        if not given.check:
            file.write_text(f"# Made by crosscheck/contract/make.py on {datetime.date.today().isoformat()}.\n" + text)
        elif file.read_text().partition("\n")[2] != text:
            was, now = (set(re.split("\n", t)) for t in (file.read_text().partition("\n")[2], text))
            print("WRONG", name, "is not what the loaders' sources say:", *sorted(was ^ now)[:6], sep="\n    ")
            wrong = 1
    sys.exit(wrong)


if __name__ == "__main__":
    main()
