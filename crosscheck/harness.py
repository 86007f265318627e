"""Shared by the scripts of crosscheck/.

    from harness import Check
    c = Check("numpy " + numpy.__version__)
    path = c.path("name.npy")            # write the file with the reference library
    c.expect(path, {name: Tensor(dtype, shape, dense bytes), ...}, meta={...})
    c.refuse(path, "unsupported")        # a file that must not be read, and its class
    c.finish()

A script is called with the path of crosscheck/dump and a folder for its files;
finish prints the differences to stderr and the sums, as JSON, to stdout.
"""
import dataclasses
import hashlib
import json
import math
import os
import subprocess
import sys


@dataclasses.dataclass
class Tensor:
    """What the reference library has: type in this module's spelling, shape, and
    the elements in row-major order, little endian (None: not compared)."""

    dtype: str
    shape: tuple
    dense: bytes | None


class Check:
    def __init__(self, versions):
        self.dump, self.work = sys.argv[1:3]
        self.versions = versions
        self.files = {}

    def path(self, name):
        return os.path.join(self.work, name)

    def expect(self, path, tensors, meta=None, findings=None, aliases=None):
        """The file at path holds these tensors, in any order. What is None is
        not compared."""
        assert path not in self.files, path
        self.files[path] = ("ok", tensors, meta, findings, aliases)

    def refuse(self, path, class_):
        """Expect the file at path to be refused with this class."""
        assert path not in self.files, path
        self.files[path] = (class_, {}, None, None, None)

    def finish(self):
        said = {}
        run = subprocess.run([self.dump], input="\n".join(self.files) + "\n", stdout=subprocess.PIPE, text=True, check=True)
        for line in run.stdout.splitlines():
            f = json.loads(line)
            said[f["path"]] = f
        tensors, elements, differences = 0, 0, 0
        for path, want in self.files.items():
            tensors += len(want[1])
            elements += sum(math.prod(t.shape) for t in want[1].values() if t.dense is not None)
            for why in compare(said.get(path), *want):
                differences += 1
                if differences <= 50:
                    print(f"{os.path.basename(path)}: {why}", file=sys.stderr)
        print(json.dumps({"files": len(self.files), "tensors": tensors, "elements": elements, "differences": differences, "versions": self.versions}))
        sys.exit(1 if differences else 0)


def compare(got, class_, tensors, meta, findings, aliases):
    """Yield a text for each difference."""
    if got is None:
        yield "dump says nothing of it"
        return
    if got["class"] != class_:
        yield f"class {got['class']}, want {class_}: {got.get('error')}"
        return
    if class_ != "ok":
        return
    have = {t["name"]: t for t in got["tensors"]}
    if len(have) != len(got["tensors"]):
        yield "a name stands twice"
    for name in sorted(set(have) - set(tensors)):
        yield f"tensor {name!r} is not in the reference"
    for name, want in tensors.items():
        t = have.get(name)
        if t is None:
            yield f"tensor {name!r} is missing"
            continue
        if t["dtype"] != want.dtype:
            yield f"tensor {name!r}: type {t['dtype']}, want {want.dtype}"
        if tuple(t["shape"]) != tuple(want.shape):
            yield f"tensor {name!r}: shape {t['shape']}, want {list(want.shape)}"
        if want.dense is not None and t.get("dense") != hashlib.sha256(want.dense).hexdigest():
            yield f"tensor {name!r}: other bytes ({t.get('error', 'no error')})"
    if meta is not None and got.get("meta", {}) != meta:
        yield f"metadata {got.get('meta')}, want {meta}"
    if findings is not None and sorted(got.get("findings", [])) != sorted(findings):
        yield f"findings {got.get('findings')}, want {findings}"
    if aliases is not None and got.get("aliases", {}) != aliases:
        yield f"aliases {got.get('aliases')}, want {aliases}"
