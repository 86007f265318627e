"""Which loaders open a file, and as what: asked of the loaders, and of our verdict.

Files of the libraries, files of two formats, and archives that say little, each opened
by torch, torch.jit, torch.export, NumPy, safetensors, gguf, joblib, pickle, zipfile and
tarfile. A difference is a loader that opens a file as something, where the verdict does
not say so, or one that does not, where it does. A loader that stops at what is wrong
with a file is none: NOT_READ lists those.
"""
# The folder of this script must not hide the libraries of the same names.
import sys

HERE = sys.path.pop(0)
import bz2
import gzip
import io
import json
import os
import pickle
import subprocess
import tarfile
import warnings
import zipfile

import gguf
import joblib
import numpy as np
import safetensors
import safetensors.numpy
import torch

warnings.simplefilter("ignore")
WORK = sys.argv[2]
# Loaders that tell what the file is, and then refuse it for what is wrong with it.
NOT_READ = {
    ("plain.pkl", "torch.load"), ("protocol5.pkl", "torch.load"), ("object.joblib", "torch.load"),  # no number of a checkpoint
    ("tensors+zip.safetensors", "safetensors"), ("tensors+zip.safetensors", "torch.load"),  # bytes behind the tensors
}
LOADERS = {
    "torch.load": lambda p: torch.load(p, weights_only=False),
    "torch.jit.load": torch.jit.load,
    "torch.export.load": torch.export.load,
    "numpy.load": lambda p: np.load(p, allow_pickle=True),
    "safetensors": lambda p: safetensors.safe_open(p, "np").keys(),
    "gguf-py": gguf.GGUFReader,
    "joblib.load": joblib.load,
    "pickle.load": lambda p: pickle.load(open(p, "rb")),
    "zipfile": zipfile.ZipFile,
    "tarfile": tarfile.open,
}
# What the words of a verdict are in Python.
KINDS = {
    "a checkpoint": dict, "a checkpoint of before 1.6": dict, "a checkpoint of torch 0.1": dict, "tensors": (dict, list),
    "a program (TorchScript)": torch.jit.ScriptModule, "an exported program": torch.export.ExportedProgram, "arrays": np.lib.npyio.NpzFile,
    "an archive of members": np.lib.npyio.NpzFile, "an array": np.ndarray, "an archive": (zipfile.ZipFile, tarfile.TarFile),
    "the number that it begins with": int, "the number that it begins with, with allow_pickle": int, "an object": dict,
    "an object, with allow_pickle": dict, "an object with arrays": dict, "GGUF of version 3": gguf.GGUFReader, "GGUF of version 3, big-endian": gguf.GGUFReader,
}


class Module(torch.nn.Module):
    def forward(self, x):
        return x + 1


def path(name):
    return os.path.join(WORK, name)


def write(name, data):
    with open(path(name), "wb") as f:
        f.write(data)


def read(name):
    with open(path(name), "rb") as f:
        return f.read()


def packed(name, members):
    with zipfile.ZipFile(path(name), "w") as z:
        for member, data in members.items():
            z.writestr(member, data)


def members(name):
    with zipfile.ZipFile(path(name)) as z:
        return {n: z.read(n) for n in z.namelist()}


def old_checkpoint(name):
    with tarfile.open(path(name), "w") as t:
        system = {"protocol_version": 1000, "little_endian": True, "type_sizes": {}}
        for member, data in {"sys_info": pickle.dumps(system, 2), "pickle": pickle.dumps({"a": 1}, 2), "tensors": pickle.dumps(0, 2), "storages": pickle.dumps(0, 2) + pickle.dumps([], 2)}.items():
            info = tarfile.TarInfo(member)
            info.size = len(data)
            t.addfile(info, io.BytesIO(data))


def make():
    torch.save({"a": torch.ones(2)}, path("zip.pt"))
    torch.save({"a": torch.ones(2)}, path("legacy.pt"), _use_new_zipfile_serialization=False)
    torch.jit.script(Module()).save(path("script.pt"))
    torch.export.save(torch.export.export(Module(), (torch.ones(2),)), path("program.pt2"))
    np.save(path("a.npy"), np.ones(3))
    np.savez(path("a.npz"), x=np.ones(3))
    np.savez_compressed(path("deflated.npz"), x=np.ones(3))
    for name, protocol in ("plain.pkl", 2), ("protocol5.pkl", 5):
        write(name, pickle.dumps({"a": 1}, protocol))
    joblib.dump({"a": np.ones(3)}, path("arrays.joblib"))
    joblib.dump({"a": 1}, path("object.joblib"))
    for how in "gzip", "zlib", "bz2":
        joblib.dump({"a": np.ones(3)}, path(f"arrays.joblib.{how}"), compress=(how, 3))
    write("note.gz", gzip.compress(b"a note\n"))
    write("pickle.bz2", bz2.compress(pickle.dumps({"a": 1})))
    safetensors.numpy.save_file({"a": np.ones(3)}, path("m.safetensors"))
    for name, order in ("m.gguf", gguf.GGUFEndian.LITTLE), ("big.gguf", gguf.GGUFEndian.BIG):
        w = gguf.GGUFWriter(path(name), "llama", endianess=order)
        w.add_tensor("t", np.ones(32, dtype=np.float32))
        w.write_header_to_file()
        w.write_kv_data_to_file()
        w.write_tensors_to_file()
        w.close()
    packed("note.zip", {"a.txt": b"a note\n"})
    packed("model.zip", {"m.safetensors": read("m.safetensors")})
    folder = next(iter(members("zip.pt"))).split("/")[0]
    packed("checkpoint+array.zip", members("zip.pt") | {"x.npy": read("a.npy")})
    packed("checkpoint+array-in-folder.zip", members("zip.pt") | {folder + "/x.npy": read("a.npy")})
    packed("program+checkpoint.zip", {n.replace("script/", "p/"): d for n, d in members("script.pt").items()})
    write("tensors+zip.safetensors", read("m.safetensors") + read("note.zip"))
    write("gguf+zip.gguf", read("m.gguf") + read("zip.pt"))
    with tarfile.open(path("model.tar"), "w") as t:
        t.add(path("m.safetensors"), "m.safetensors")
    old_checkpoint("old.tar")
    write("note.txt", b"a note\n")
    write("as-checkpoint.pt", read("m.safetensors"))


def opened(loader, name):
    try:
        return LOADERS[loader](path(name))
    except Exception:
        return None


def main():
    make()
    names = sorted(os.listdir(WORK))
    compared, wrong = 0, 0
    for name in names:
        done = subprocess.run([os.environ["CROSSCHECK_AMN"], "scan", "-q", "--json", path(name)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        said = {o["loader"]: o["as"] for o in json.loads(done.stdout.splitlines()[0]).get("opens", [])}
        for loader in LOADERS:
            compared += 1
            got, want = opened(loader, name), said.get(loader)
            if got is None and want is not None and (name, loader) not in NOT_READ:
                text = f"does not open it, and we say as {want}"
            elif got is not None and want is None:
                text = f"opens it as {type(got).__name__}, and we do not say so"
            elif got is not None and not isinstance(got, KINDS[want]):
                text = f"opens it as {type(got).__name__}, and we say as {want}"
            else:
                continue
            wrong += 1
            print(f"{name}: {loader} {text}", file=sys.stderr)
    versions = f"torch {torch.__version__}, numpy {np.__version__}, joblib {joblib.__version__}, gguf, safetensors {safetensors.__version__}"
    print(json.dumps([[f"loaders: {len(names)} files", versions, compared, wrong]]))


if __name__ == "__main__":
    main()
