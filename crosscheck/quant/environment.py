"""Where the libraries come from that quantization schemes are held against.

They are installed below .venv/ from PyPI, with the versions of the requirements
files: quant/ beside the virtual environment's own packages, compressed-tensors
0.12.2 in a folder of its own, GPTQModel as its source (its extensions are not
needed), and ggml's C, which stands in the source of llama-cpp-python, as one
shared library. CROSSCHECK_LIBS names a folder that has all of them already.
"""
import os
import pathlib
import re
import subprocess
import sysconfig
import tarfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SOURCES = {"gptqmodel": "gptqmodel==7.7.0", "llama": "llama_cpp_python==0.3.36"}

# Of ggml-base, which nothing else is needed for.
BASE = ("ggml.c", "ggml.cpp", "ggml-alloc.c", "ggml-backend.cpp", "ggml-backend-meta.cpp", "ggml-opt.cpp", "ggml-threading.cpp",
        "ggml-quants.c", "gguf.cpp")


class Libraries:
    def __init__(self, python):
        self.python = python
        given = os.environ.get("CROSSCHECK_LIBS")
        self.root = pathlib.Path(given) if given else ROOT / ".venv"
        if not given:
            self.target("quant", "requirements.txt")
            self.target("ct-0.12.2", "requirements-ct-0.12.2.txt")
            for name, package in SOURCES.items():
                self.source(name, package)
        self.ggml()

    def pip(self, *args):
        subprocess.run([self.python, "-m", "pip", *args], check=True)

    def target(self, name, requirements):
        """Installs into a folder without the dependencies that the packages
        declare: their bounds contradict each other."""
        wanted, stamp = (HERE / requirements).read_text(), self.root / name / "installed.txt"
        if stamp.exists() and stamp.read_text() == wanted:
            return
        # --target replaces no folder that two packages share: one at a time
        self.pip("install", "-q", "--no-deps", "--upgrade", "--target", str(self.root / name), "-r", str(HERE / requirements))
        stamp.write_text(wanted)

    def source(self, name, package):
        folder = self.root / name
        if folder.exists():
            return
        sources = self.root / "sources"
        self.pip("download", "-q", "--no-deps", "--no-binary", ":all:", "-d", str(sources), package)
        archive = next(sources.glob(package.split("==")[0] + "*.tar.gz"))
        with tarfile.open(archive) as tar:
            tar.extractall(sources, filter="data")
        os.replace(sources / archive.name.removesuffix(".tar.gz"), folder)

    def ggml(self):
        """Builds ggml without contraction of a*b+c, as one shared library."""
        self.library = self.root / ("libggml-crosscheck" + (sysconfig.get_config_var("SHLIB_SUFFIX") or ".so"))
        if self.library.exists():
            return
        ggml = self.root / "llama" / "vendor" / "llama.cpp" / "ggml"
        flags = ["-O1", "-fPIC", "-ffp-contract=off", "-w", "-D_GNU_SOURCE",
                 "-I", str(self.root), "-I", str(ggml / "include"), "-I", str(ggml / "src")]
        version = (ggml / "src" / "ggml-version.h.in").read_text()  # CMake fills it
        (self.root / "ggml-version.h").write_text(re.sub("@[A-Z_]+@", "0", version))
        objects = []
        for source in BASE:
            objects.append(str(self.root / (source + ".o")))
            compiler = "cc" if source.endswith(".c") else "c++"
            subprocess.run([compiler, *flags, "-c", str(ggml / "src" / source), "-o", objects[-1]], check=True)
        subprocess.run(["c++", "-shared", "-o", str(self.library), *objects, "-lm", "-lpthread"], check=True)

    def environment(self, folders):
        path = [str(HERE), *(str(self.root / f) for f in folders)]
        return os.environ | {"PYTHONPATH": os.pathsep.join(path), "CROSSCHECK_GGML": str(self.library), "TOKENIZERS_PARALLELISM": "false"}
