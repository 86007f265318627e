#!/usr/bin/env python3
"""Writes the honest pickles beside this script and what they hold, to
testdata/pickle/values.json, as the interpreter that wrote them says.

    python3.13 corpus/valid/pickle/generate.py PYTHON...

Each PYTHON is an interpreter that writes some of the files; it is asked for
its version. The files here are from CPython 2.7.18, 3.6.15 and 3.13.0, and
from CPython 3.11.7 with numpy 2.4.6 and torch 2.15.0 (the files that begin
with np and torch; the latter are the data.pkl of what torch.save writes, and
the golden says whether torch.load takes them with weights_only).
"""

from __future__ import print_function

import binascii
import collections
import hashlib
import json
import os
import pickle
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TWO = sys.version_info[0] == 2
if TWO:
    text, integers, uni = (str, unicode), (int, long), unicode  # noqa: F821
else:
    text, integers, uni = (str,), (int,), str


def hexed(data):
    if len(data) > 1000:
        return "%d bytes, sha256 %s" % (len(data), hashlib.sha256(data).hexdigest())
    return binascii.hexlify(data).decode("ascii")


def compact(v):
    return json.dumps(v, separators=(",", ":"))


def shown(v):
    """The value as JSON: a list of its kind and its parts, or their digest."""
    out = whole(v)
    if len(out) > 100:
        digest = hashlib.sha256(compact(out).encode("ascii")).hexdigest()
        return [out[0], "%d parts, sha256 %s" % (len(out) - 1, digest)]
    return out


def whole(v):
    if type(v).__module__ == "numpy" and hasattr(v, "dtype") and not hasattr(v, "__len__"):
        return ["scalar", v.dtype.str, hexed(v.tobytes())]
    if v is None:
        return ["none"]
    if isinstance(v, bool):
        return ["bool", v]
    if isinstance(v, integers):
        return ["int", str(v).rstrip("L")]
    if isinstance(v, float):
        return ["float", v.hex()]
    if isinstance(v, uni):
        return ["str", hexed(v.encode("utf-8") if TWO else v.encode("utf-8", "surrogatepass"))]
    if TWO and isinstance(v, str):
        try:
            v.decode("utf-8")
        except UnicodeDecodeError:
            return ["bytes", hexed(v)]
        return ["str", hexed(v)]
    if isinstance(v, bytes):
        return ["bytes", hexed(v)]
    if isinstance(v, bytearray):
        return ["bytearray", hexed(bytes(v))]
    if isinstance(v, tuple):
        return ["tuple"] + [shown(e) for e in v]
    if isinstance(v, list):
        return ["list"] + [shown(e) for e in v]
    if isinstance(v, (set, frozenset)):
        return [type(v).__name__] + sorted((shown(e) for e in v), key=compact)
    if isinstance(v, collections.deque):
        return ["deque", shown(v.maxlen)] + [shown(e) for e in v]
    if isinstance(v, dict):
        entries = [[shown(k), shown(e)] for k, e in v.items()]
        if type(v) is collections.defaultdict:
            factory = ["none"] if v.default_factory is None else ["global", "builtins." + v.default_factory.__name__]
            return ["defaultdict", factory] + entries
        if TWO and type(v) in (dict, collections.Counter):
            entries.sort(key=compact)  # their order is that of a hash
        return [type(v).__name__] + entries
    return called(v)


def called(v):
    module, name = type(v).__module__, type(v).__name__
    if name == "ndarray":
        return ["ndarray", v.dtype.str, list(v.shape), bool(v.flags.f_contiguous and not v.flags.c_contiguous),
                hexed(v.tobytes("A"))]
    if name == "complex":
        return ["call", "builtins.complex", shown((v.real, v.imag))]
    if name == "xrange" or name == "range":
        _, args = v.__reduce__()
        return ["call", "builtins.range", shown(args)]
    if name == "slice":
        return ["call", "builtins.slice", shown((v.start, v.stop, v.step))]
    if name == "Namespace":
        return ["call", "argparse.Namespace", shown(()), shown(vars(v))]
    function, args = v.__reduce__()[:2]
    return ["call", function.__module__ + "." + function.__name__, shown(args)]


def kinds():
    """The values, by the name of their file."""
    import argparse

    out = {
        "none": None,
        "bools": [True, False],
        "ints": [0, 1, -1, 255, 256, 65535, 65536, 2**31 - 1, -2**31, 2**31, 2**63 - 1, -2**63, 2**63, -2**63 - 1,
                 10**40, -10**40, 2**1023, -2**2040, 127, 128, -128, -129, 2**30, -2**30 - 1],
        "floats": [0.0, -0.0, 1.5, -2.25, 1e300, 5e-324, 0.1, float("inf"), float("-inf"), float("nan"), 1e16, 1e-7, 123456789.125],
        "text": [u"", u"a", u"caf\xe9", u"\u6a21\u578b", u"\U0001f600", u"a\nb\\c\\u0041\\\\u0042\r\x00\x1a\x7f\x80", u"x" * 300, u"'\""],
        "nested": {"a": {"b": [1, (2, (3, [4, {}])), ()]}, u"c": [[[[]]]]},
        "keys": {0: "zero", -1: "minus", 2**70: "big", "s": 1, 1.5: 2, None: 3, (1, 2): 4},
        "tuples": [(), (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4), tuple(range(300))],
        "list": list(range(1100)),
        "dict": dict(("k%d" % i, i) for i in range(1010)),
        "collections": [collections.OrderedDict([("z", 1), ("a", 2)]), collections.Counter("aab"),
                        collections.defaultdict(int, {"x": 1}), collections.defaultdict(None), collections.deque([1, 2, 3]),
                        collections.deque([1], 4), set(), set([1, 2, 3]), frozenset([u"a"]), frozenset()],
        "complex": [1 + 2j, 0j],
        "namespace": argparse.Namespace(lr=0.1, name=u"x"),
        "bytearrays": [bytearray(), bytearray(b"abc"), bytearray(bytes(bytearray(range(256))))],
    }
    shared = [1, u"x"]
    out["shared"] = [shared, {u"again": shared}, (shared, shared)]
    if TWO:
        out["str"] = ["", "abc", "caf\xc3\xa9", "\xff\xfe\x00", "it's", 'a"b', "'\"", "a\nb\tc\\d\x00\x7f\x80", "y" * 300]
        out["range"] = xrange(5)  # noqa: F821
    else:
        import datetime
        import pathlib

        out["bytes"] = [b"", b"a", bytes(range(256)), b"b" * 300]
        out["surrogate"] = ["\ud800", "a\udcffb"]
        out["range"] = range(1, 10, 2)
        out["path"] = pathlib.PosixPath("/models/x.pt")
        out["dates"] = [datetime.datetime(2024, 5, 17, 1, 2, 3, 4), datetime.date(1999, 12, 31),
                        datetime.timedelta(1, 2, 3), datetime.time(23, 59)]
        if sys.version_info >= (3, 8):
            out["frames"] = ["x" * 66000, list(range(25000))]
    return out


def arrays():
    import numpy as np

    return {
        "np-arrays": [np.arange(6, dtype="<f4").reshape(2, 3), np.asfortranarray(np.arange(6, dtype=">i2").reshape(2, 3)),
                      np.zeros((0, 4), "u1"), np.array(7, "<i8"), np.array([True, False]), np.array([1 + 2j], "<c8")],
        "np-types": [np.zeros(2, [("a", "<f4"), ("b", ">i2", (2, 3)), (("title", "c"), "S3")]), np.zeros(1, "<M8[ns]"), np.zeros(2, "V4"),
                     np.array([u"ab"]), np.zeros(2, {"names": ["x"], "formats": ["<u2"], "offsets": [2], "itemsize": 8})],
        "np-scalars": [np.float32(1.5), np.int64(-3), np.bool_(True), np.float64(0.1)],
        "np-random": list(np.random.RandomState(7).get_state()),
    }


def checkpoints():
    """What torch.save is given; the files are the pickles inside."""
    import collections as c

    import numpy as np
    import torch

    w = torch.arange(12, dtype=torch.float32).reshape(3, 4)
    parameter = torch.nn.Parameter(w.clone())
    tagged = torch.nn.Parameter(w.clone())
    tagged.tag = "x"
    attributes = w.clone()
    attributes.note = "y"
    model = torch.nn.Linear(4, 3)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.5)
    model(torch.ones(1, 4)).sum().backward()
    optimizer.step()
    channel = torch.quantize_per_channel(w, torch.tensor([0.1, 0.2, 0.3]), torch.tensor([0, 1, 2]), 0, torch.qint8)
    compressed = [w.to_sparse_csr(), w.to_sparse_csc(), torch.zeros(4, 4).to_sparse_bsr((2, 2))]
    return {
        "torch-state": model.state_dict(),
        "torch-optimizer": {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 3, "best": None},
        "torch-parameters": [parameter, tagged, attributes],
        "torch-views": [w, w.t(), w[1:], w.expand(2, 3, 4), torch.zeros(0, 5), torch.tensor(7), torch.view_as_complex(w.clone().view(6, 2)).conj()],
        "torch-dtypes": [torch.zeros(2).to(getattr(torch, d)) for d in ("float64", "float16", "bfloat16", "int8", "uint8", "bool", "uint16", "float8_e4m3fn")],
        "torch-quantized": [torch.quantize_per_tensor(w, 0.1, 2, torch.quint8), channel],
        "torch-sparse": [w.to_sparse(), w.to_sparse().coalesce()] + compressed,
        "torch-nested": torch.nested.nested_tensor([w[0], w[1]], layout=torch.strided),
        "torch-meta": torch.empty(2, 3, device="meta"),
        "torch-small": [torch.float32, torch.Size([2, 3]), torch.device("cuda:1"), torch.strided, torch.per_tensor_affine, 1 + 2j,
                        bytearray(b"x"), b"bytes", {1, 2}, c.Counter("aab"), c.OrderedDict(a=1)],
        "torch-version": torch.torch_version.TorchVersion(torch.__version__.split("+")[0]),
        "torch-numpy": {"a": np.float32(1.5), "b": np.arange(3), "c": np.random.RandomState(1).get_state()},
        "torch-storage": torch.arange(3).untyped_storage(),
        "torch-other": [c.defaultdict(list, a=[1]), range(3), slice(1, 2), frozenset("a"), c.deque([1], 2)],
    }


def torch_dump(value, protocol):
    import io
    import zipfile

    import torch

    out = io.BytesIO()
    torch.save(value, out, pickle_protocol=protocol)
    with zipfile.ZipFile(out) as z:
        return z.read([n for n in z.namelist() if n.endswith("/data.pkl")][0])


def weights_only(value, protocol):
    """Whether PyTorch's restricted loader takes what torch.save has written."""
    import io
    import warnings

    import torch

    out = io.BytesIO()
    torch.save(value, out, pickle_protocol=protocol)
    out.seek(0)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch.load(out, weights_only=True)
    except Exception:
        return "refuses"
    return "takes"


def write_torch(golden):
    import torch

    golden["torch"] = torch.__version__.split("+")[0]
    for kind, value in sorted(checkpoints().items()):
        for protocol in (2, 4):
            name = "%s-p%d.pkl" % (kind, protocol)
            golden["weights_only"][name] = weights_only(value, protocol)
            with open(os.path.join(HERE, name), "wb") as f:
                f.write(torch_dump(value, protocol))


def write(golden, prefix, protocols, values, dump):
    for kind, value in sorted(values.items()):
        todo = [4] if kind == "frames" else protocols
        for protocol in todo:
            name = "%s%s-p%d.pkl" % (prefix, kind, protocol)
            data = dump(value, protocol)
            golden["files"][name] = prefix.rstrip("-") + "/" + kind
            golden["values"][prefix.rstrip("-") + "/" + kind] = shown(value)
            with open(os.path.join(HERE, name), "wb") as f:
                f.write(data)


def python_dump(value, protocol):
    """The pickler that is written in Python frames otherwise than the one in C."""
    import io

    out = io.BytesIO()
    pickle._Pickler(out, protocol).dump(value)
    return out.getvalue()


def write_some(which, golden):
    if which == "np":
        write(golden, "", [2, 4, 5], arrays(), pickle.dumps)
        write_torch(golden)
    elif TWO:
        import cPickle

        write(golden, "py2-", [0, 1, 2], kinds(), pickle.dumps)
        write(golden, "py2c-", [0, 1, 2], dict((k, kinds()[k]) for k in ("str", "ints")), cPickle.dumps)
    elif sys.version_info < (3, 8):
        write(golden, "py36-", [0, 2, 4], {k: kinds()[k] for k in ("ints", "collections", "text")}, pickle.dumps)
    else:
        write(golden, "", [0, 1, 2, 3, 4, 5], kinds(), pickle.dumps)
        write(golden, "pure-", [4, 5], {k: kinds()[k] for k in ("frames", "collections", "nested")}, python_dump)


def main():
    golden = {"files": {}, "values": {}, "weights_only": {}, "torch": ""}
    if len(sys.argv) > 1 and sys.argv[1] == "--write":
        write_some(sys.argv[2], golden)
        print(json.dumps(golden))
        return
    for python in sys.argv[1:]:
        which = subprocess.run([python, "-c", "import numpy"], capture_output=True).returncode == 0
        out = subprocess.run([python, os.path.abspath(__file__), "--write", "np" if which else "std"], check=True, capture_output=True)
        for part, rows in json.loads(out.stdout).items():
            if part == "torch":
                golden[part] = golden[part] or rows
            else:
                golden[part].update(rows)
    target = os.path.join(HERE, "..", "..", "..", "testdata", "pickle", "values.json")
    lines = []
    for part, rows in sorted(golden.items()):
        if part == "torch":
            lines.append('"torch": "%s"' % rows)
            continue
        body = ",\n".join("%s: %s" % (json.dumps(k), compact(v)) for k, v in sorted(rows.items()))
        lines.append('"%s": {\n%s\n}' % (part, body))
    with open(target, "w") as f:
        f.write("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
