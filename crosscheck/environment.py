"""Installs the libraries that this module is compared with.

All is installed below .venv/, from PyPI: the virtual environment has the packages
of requirements.txt, which formats need; .venv/quant those of
quant/requirements.txt, .venv/ct-0.12.2 an older compressed-tensors and .venv/merge
PEFT and mergekit, which are laid over it; .venv/libraries diffusers, sentence-transformers, llm-compressor and optimum, .venv/clients clients of hubs, registries and buckets, .venv/servers moto, a double of Amazon's services, .venv/memory hf-mem, .venv/tokens tiktoken and mistral-common, .venv/loads the newest transformers, .venv/kinds ONNX Runtime; GPTQModel is only unpacked, since its extensions are not needed; and
ggml's C, of the sources of llama.cpp, is built as one shared library.

CROSSCHECK_PYTHON names a Python that has the packages of requirements.txt already,
CROSSCHECK_LIBS a folder that has all else.
"""
import os
import pathlib
import re
import subprocess
import sys
import sysconfig
import tarfile

HERE = pathlib.Path(__file__).resolve().parent
VENV = HERE.parent / ".venv"
GPTQMODEL = "gptqmodel==7.7.0"

sys.path.append(str(HERE / "ggml"))
import llamacpp  # noqa: E402

# Of ggml-base, which nothing else is needed for.
BASE = ("ggml.c", "ggml.cpp", "ggml-alloc.c", "ggml-backend.cpp", "ggml-backend-meta.cpp", "ggml-opt.cpp", "ggml-threading.cpp",
        "ggml-quants.c", "gguf.cpp")


class Libraries:
    def __init__(self):
        self.python = os.environ.get("CROSSCHECK_PYTHON") or str(VENV / "bin" / "python")
        given = os.environ.get("CROSSCHECK_LIBS")
        self.root = pathlib.Path(given) if given else VENV
        if not os.environ.get("CROSSCHECK_PYTHON"):
            if not pathlib.Path(self.python).exists():
                subprocess.run([sys.executable, "-m", "venv", str(VENV)], check=True)
            self.install(HERE / "requirements.txt", VENV / "crosscheck.txt")
        if not given:
            for name, file in (("quant", "requirements.txt"), ("ct-0.12.2", "requirements-ct-0.12.2.txt"), ("merge", "requirements-merge.txt"), ("servers", "requirements-servers.txt"), ("libraries", "requirements-libraries.txt"), ("clients", "requirements-clients.txt"), ("memory", "requirements-memory.txt"), ("tokens", "requirements-tokens.txt"), ("loads", "requirements-loads.txt"), ("kinds", "requirements-kinds.txt")):
                # Without the dependencies that the packages declare, whose bounds
                # contradict each other.
                folder = self.root / name
                self.install(HERE / "quant" / file, folder / "installed.txt", "--no-deps", "--upgrade", "--target", str(folder))
            self.unpack("gptqmodel", GPTQMODEL)
        self.ggml()

    def pip(self, *args):
        subprocess.run([self.python, "-m", "pip", *args], check=True, stdout=sys.stderr)

    def install(self, requirements, stamp, *flags):
        wanted = requirements.read_text()
        if not stamp.exists() or stamp.read_text() != wanted:
            print(f"installing {requirements.relative_to(HERE)}", file=sys.stderr, flush=True)
            self.pip("install", "-q", *flags, "-r", str(requirements))
            stamp.write_text(wanted)

    def tensorflow(self):
        """Installs TensorFlow for the part that needs it."""
        folder = self.root / "tensorflow"
        self.install(HERE / "quant" / "requirements-tensorflow.txt", folder / "installed.txt", "--no-deps", "--upgrade", "--target", str(folder))

    def deepspeed(self):
        """Installs DeepSpeed for the part that needs it; it is built here, without its C++."""
        folder = self.root / "zero"
        os.environ["DS_BUILD_OPS"] = "0"
        self.pip("install", "-q", "setuptools>=77", "wheel")
        self.install(HERE / "quant" / "requirements-zero.txt", folder / "installed.txt", "--no-deps", "--no-build-isolation", "--upgrade", "--target", str(folder))

    def unpack(self, name, package):
        folder = self.root / name
        if folder.exists():
            return
        sources, plain = self.root / "sources", package.split("==")[0]
        self.pip("download", "-q", "--no-deps", "--no-binary", plain, "-d", str(sources), package)
        archive = next(sources.glob(plain + "*.tar.gz"))
        with tarfile.open(archive) as tar:
            tar.extractall(sources, filter="data")
        os.replace(sources / archive.name.removesuffix(".tar.gz"), folder)

    def ggml(self):
        """Builds ggml without contraction of a*b+c, as one shared library."""
        self.library = self.root / ("libggml-crosscheck" + (sysconfig.get_config_var("SHLIB_SUFFIX") or ".so"))
        if self.library.exists():
            return
        print("building ggml", file=sys.stderr, flush=True)
        ggml = llamacpp.sources(self.python) / "ggml"
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

    def environment(self, folders=None):
        """What a script runs with; with folders, the libraries in them too."""
        env = os.environ | {"CROSSCHECK_GGML": str(self.library), "TOKENIZERS_PARALLELISM": "false"}
        if folders:
            env["PYTHONPATH"] = os.pathsep.join([str(HERE / "quant"), *(str(self.root / f) for f in folders)])
        return env
