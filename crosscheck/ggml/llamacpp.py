"""Builds what of llama.cpp gguf.py and other parts need, once.

The sources are those in the sdist of llama-cpp-python, from PyPI, unpacked and
built in .venv/llama; CROSSCHECK_LLAMA names sources that lie somewhere else, and
CROSSCHECK_LLAMA_BUILD a folder where libllama.a was built from them. Building
takes ten minutes of one core and no network beyond the sdist.
"""
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile

HERE = pathlib.Path(__file__).resolve().parent
HOME = HERE.parent.parent / ".venv" / "llama"
PACKAGE = "llama-cpp-python"
RELEASE = "0.3.36"
UNPACKED = "llama_cpp_python-" + RELEASE
SHA256 = "832db0699007f1be95a7e41ef12e88926b02ba836461e36a36372db2760c1a2e"
VERSION = "llama.cpp 0c1e57098 (ggml 0.25.3)"

# Static, without what only servers or speed need. GGML_ASSERT stays: it does not
# depend on the kind of build.
OPTIONS = """CMAKE_BUILD_TYPE=Release BUILD_SHARED_LIBS=OFF GGML_NATIVE=OFF GGML_OPENMP=OFF GGML_CCACHE=OFF GGML_LLAMAFILE=OFF
    GGML_CPU_REPACK=OFF LLAMA_OPENSSL=OFF LLAMA_BUILD_COMMON=OFF LLAMA_BUILD_TESTS=OFF LLAMA_BUILD_TOOLS=OFF
    LLAMA_BUILD_EXAMPLES=OFF LLAMA_BUILD_SERVER=OFF LLAMA_BUILD_APP=OFF""".split()
FLAGS = ["-DCMAKE_C_FLAGS_RELEASE=-O1 -DNDEBUG", "-DCMAKE_CXX_FLAGS_RELEASE=-O0 -DNDEBUG"]
LIBS = ["src/libllama.a", "ggml/src/libggml.a", "ggml/src/libggml-cpu.a", "ggml/src/libggml-base.a"]


class Missing(Exception):
    """Raised with the reason why there is no llama.cpp."""


def run(*cmd):
    done = subprocess.run(list(map(str, cmd)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        raise Missing(f"{cmd[0]} failed: {done.stdout[-400:]}")


def sources(python=sys.executable):
    given = os.environ.get("CROSSCHECK_LLAMA")
    if given:
        return pathlib.Path(given)
    tree = HOME / UNPACKED / "vendor" / "llama.cpp"
    if tree.exists():
        return tree
    HOME.mkdir(parents=True, exist_ok=True)
    run(python, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", PACKAGE, "-d", HOME, PACKAGE + "==" + RELEASE)
    packed = HOME / (UNPACKED + ".tar.gz")
    if hashlib.sha256(packed.read_bytes()).hexdigest() != SHA256:
        raise Missing(f"{packed.name} has another digest")
    with tarfile.open(packed) as t:
        t.extractall(HOME, filter="data")
    return tree


def library(tree):
    given = os.environ.get("CROSSCHECK_LLAMA_BUILD")
    folder = pathlib.Path(given) if given else HOME / "build"
    if not all((folder / lib).exists() for lib in LIBS):
        ninja = ["-G", "Ninja"] if shutil.which("ninja") else []
        run("cmake", *ninja, "-S", tree, "-B", folder, *("-D" + o for o in OPTIONS), *FLAGS)
        run("cmake", "--build", folder, "--target", "llama", "ggml-cpu")
    return folder


def quantize(tree):
    """llama-quantize; CROSSCHECK_LLAMA_QUANTIZE names one that is built."""
    return tool(tree, "llama-quantize", "CROSSCHECK_LLAMA_QUANTIZE")


def split(tree):
    """llama-gguf-split, without the common library, of which it prints the version alone;
    CROSSCHECK_LLAMA_SPLIT names one that is built."""
    given = os.environ.get("CROSSCHECK_LLAMA_SPLIT")
    return pathlib.Path(given) if given else program(tree, library(tree), tree / "tools" / "gguf-split" / "gguf-split.cpp", HERE / "version", tree / "common")


def tool(tree, name, variable):
    given = os.environ.get(variable)
    if given:
        return pathlib.Path(given)
    folder = HOME / "tools"
    exe = folder / "bin" / name
    if not exe.exists():
        options = [o.replace("COMMON=OFF", "COMMON=ON").replace("TOOLS=OFF", "TOOLS=ON") for o in OPTIONS]
        ninja = ["-G", "Ninja"] if shutil.which("ninja") else []
        run("cmake", *ninja, "-S", tree, "-B", folder, *("-D" + o for o in options), *FLAGS)
        run("cmake", "--build", folder, "--target", name)
    return exe


def program(tree, folder, source, *include):
    """Compiles one source file against the library, unless that is done."""
    exe = folder / ("crosscheck-" + source.stem)
    inputs = [source, *(HERE / "stub").iterdir()]
    if not exe.exists() or exe.stat().st_mtime < max(p.stat().st_mtime for p in inputs):
        dirs = [*include, tree / "include", tree / "ggml" / "include"]
        run("g++", "-std=c++17", "-O1", *(f"-I{d}" for d in dirs), source, *(folder / lib for lib in LIBS), "-o", exe, "-lpthread", "-lm", "-ldl")
    return exe


def export_lora():
    """llama-export-lora, with a command line of ours (stub/arg.h)."""
    tree = sources()
    return program(tree, library(tree), tree / "tools" / "export-lora" / "export-lora.cpp", HERE / "stub")


class Tools:
    """tree: the sources. probe: opens a file as ggml does. load: as llama.cpp
    does, and computes a token. archs: writes a model of every architecture."""

    def __init__(self):
        for tool in ("cmake", "g++"):
            if not shutil.which(tool):
                raise Missing(f"there is no {tool}")
        self.tree = sources()
        folder = library(self.tree)
        self.probe = program(self.tree, folder, HERE / "probe.cpp")
        self.load = program(self.tree, folder, HERE / "load.cpp")
        self.archs = program(self.tree, folder, self.tree / "tests" / "test-llama-archs.cpp", HERE / "stub", self.tree / "src")
