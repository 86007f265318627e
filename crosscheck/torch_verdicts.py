"""What PyTorch's restricted loader makes of each hostile checkpoint, beside our
two verdicts.

Each file of corpus/hostile/pth is loaded with weights_only=True in a process of
its own, with little memory and time, and never in another way. A difference is:

  - the restricted loader stops at the pickle, and our verdict weights_only says
    that it would not; or the other way round;
  - we accept a file that it refuses (recipes of files that need a policy to be
    refused, and of a pickle that is no checkpoint, are not asked).

That it loads what we refuse is no difference: those files are counted.
"""
# The folder of this script must not hide the library of the same name.
import sys

HERE = sys.path.pop(0)
import json
import os
import pickle
import resource
import select
import signal
import subprocess
import time
import warnings

import torch

ROOT = os.path.join(HERE, "..")
WORK = sys.argv[2]
SECONDS = 20
MEMORY = 24 << 30
torch.set_num_threads(1)


def child(path, out):
    """Loads one file, and says how that ended."""
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.dup2(null, 2)
    warnings.simplefilter("ignore")
    try:
        torch.load(path, weights_only=True)
        answer = "loads"
    except pickle.UnpicklingError:
        answer = "pickle"  # its unpickler refuses
    except BaseException as e:
        answer = "refuses " + type(e).__name__
    os.write(out, answer.encode())
    os._exit(0)


def ask(path):
    r, w = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(r)
        child(path, w)
    os.close(w)
    end, answer = time.time() + 2 * SECONDS, b""
    while select.select([r], [], [], max(0, end - time.time()))[0]:
        part = os.read(r, 4096)
        if not part:
            break
        answer += part
    else:
        os.kill(pid, signal.SIGKILL)
    os.close(r)
    os.waitpid(pid, 0)
    return answer.decode() or "dies"


def scanned(amn, paths):
    run = subprocess.run([amn, "scan", "--json", "-q", *paths], stdout=subprocess.PIPE, text=True)
    return {v["path"]: v for v in map(json.loads, run.stdout.splitlines())}


def main():
    corpus, amn = os.path.join(WORK, "corpus"), os.path.join(WORK, "amn")
    subprocess.run(["go", "run", "./corpus/amn-corpus", "write", corpus], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["go", "build", "-o", amn, "./cli/amn"], cwd=ROOT, check=True)
    with open(os.path.join(corpus, "manifest.json")) as f:
        files = [r for r in json.load(f) if r["format"] == "pth" and r["class"] != "ok" and not r.get("policy")]
    said = scanned(amn, [os.path.join(corpus, r["file"]) for r in files])
    differences, loads = [], 0
    for r in files:
        path = os.path.join(corpus, r["file"])
        answer, v = ask(path), said[path]
        loads += answer == "loads"
        # What runs as a plain pickle here is no checkpoint to torch; its five
        # pickles are read one by one, so that one that we do not reach is not asked.
        if v["format"] == "pth" and v["pickles"]:
            taken = v["weights_only"]
            if answer == "pickle" and taken:
                differences.append(f"{r['name']}: the restricted loader refuses the pickle, we say that it takes it")
            if answer == "loads" and not taken and not v.get("weights_only_unsure"):
                differences.append(f"{r['name']}: the restricted loader takes the pickle, we say that it does not")
        if v["class"] == "ok" and answer != "loads" and v["format"] == "pth":
            differences.append(f"{r['name']}: we accept, torch {answer}")
    for text in differences:
        print(text, file=sys.stderr)
    versions = f"torch {torch.__version__} weights_only, which loads {loads} of them"
    print(json.dumps({"files": len(files), "tensors": 0, "elements": len(files), "differences": len(differences), "versions": versions}))
    sys.exit(1 if differences else 0)


main()
