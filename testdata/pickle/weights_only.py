#!/usr/bin/env python3
"""Asks PyTorch's restricted loader what it makes of pickles, and writes
weights_only.json: its version, its globals, its instructions, and its answer to
every hostile pickle of the corpus.

    go run ./corpus/amn-corpus write DIR
    python3 testdata/pickle/weights_only.py DIR

Each pickle is put into an archive as torch.save makes it and loaded with
weights_only=True in a process of its own, with little memory and time: some
never end. Nothing is loaded in another way. The answers: takes, refuses (it
raised an error), memory (it tried to allocate more than there was), hangs.
"""

import json
import os
import resource
import signal
import sys
import tempfile
import warnings

import torch
from torch import _weights_only_unpickler as restricted

SECONDS = 10
MEMORY = 6 << 30


def archive(data, path):
    writer = torch._C.PyTorchFileWriter(path)
    writer.write_record("data.pkl", data, len(data))
    writer.write_record("byteorder", b"little", 6)
    writer.write_record("data/0", b"\0" * 16, 16)
    writer.write_end_of_file()


def load(data, path):
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 1))
    signal.alarm(2 * SECONDS)
    archive(data, path)
    try:
        torch.load(path, weights_only=True, map_location="cpu")
    except MemoryError:
        return 3
    except Exception as e:
        return 3 if "can't allocate memory" in str(e) else 2
    return 1


def ask(data, path):
    pid = os.fork()
    if pid == 0:
        code = 2
        try:
            code = load(data, path)
        finally:
            os._exit(code)
    _, status = os.waitpid(pid, 0)
    if os.WIFSIGNALED(status):
        return "hangs"
    return {1: "takes", 2: "refuses", 3: "memory"}[os.WEXITSTATUS(status)]


def main():
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    folder = sys.argv[1]
    with open(os.path.join(folder, "manifest.json")) as f:
        manifest = json.load(f)
    hostile = {}
    with tempfile.TemporaryDirectory() as scratch:
        for row in manifest:
            if row["format"] == "pickle" and row["class"] != "ok":
                with open(os.path.join(folder, row["file"]), "rb") as f:
                    hostile[row["name"]] = ask(f.read(), os.path.join(scratch, "x.pt"))
    codes = sorted(v[0] for v in vars(restricted).values() if isinstance(v, bytes) and len(v) == 1)
    out = {
        "torch": torch.__version__.split("+")[0],
        "globals": sorted(restricted._get_allowed_globals()),
        "opcodes": codes,
        "hostile": hostile,
    }
    here = os.path.dirname(os.path.abspath(__file__))
    with open(os.path.join(here, "weights_only.json"), "w") as f:
        json.dump(out, f, indent=0, sort_keys=True)
        f.write("\n")


if __name__ == "__main__":
    main()
