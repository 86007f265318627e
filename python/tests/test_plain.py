"""Files opened without the program are accepted by the program, with the same tensors."""

import json
import os
import random
import shutil
import struct
import subprocess

import pytest

np = pytest.importorskip("numpy")
pytest.importorskip("ml_dtypes")
reference = pytest.importorskip("safetensors.numpy")

import anamnesis_models
from anamnesis_models import _frameworks, _plain
from anamnesis_models import numpy as ours
from conftest import ROOT

LIB = _frameworks.NumPy()
ALL = {"max_total": "8GiB", "max_expand_ratio": "1000000000"}  # for limits that are higher here


def seen(path):
    """Return where the tensors are, or None if the program must decide."""
    if _plain.load(path, LIB) is None:
        return None
    with open(path, "rb") as f:
        data = f.read()
    return [(t.name, t.dtype, t.shape, t.offset, t.length) for t in _plain._tensors(data, len(data))]


def compare(folder):
    """Compare the files of a folder with the program; count those opened without it, and those it refused."""
    names = sorted(os.listdir(folder))
    paths = [os.path.join(folder, n) for n in names]
    alone = refused = 0
    for begin in range(0, len(paths), 500):
        part = paths[begin : begin + 500]
        reports = anamnesis_models.inspect_all(*part, **ALL)
        assert [r.path for r in reports] == part
        for path, r in zip(part, reports):
            refused += r.error is not None
            got = seen(path)
            if got is None:
                continue
            alone += 1
            assert r.error is None and r.format == "safetensors", f"{path}: {r.error}"
            assert got == [(t.name, t.dtype, t.shape, t.offset, t.length) for t in r.tensors], path
            if _plain.load(path, LIB, whole=True) is not None:
                assert r.quantized is None or not r.quantized.bound, path
    return alone, refused


def file(header, data=b"", pad=True):
    text = header if isinstance(header, bytes) else json.dumps(header, separators=(",", ":")).encode()
    if pad:
        text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + data


def entry(shape, begin, end, dtype="F32", **more):
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end], **more}


def test_what_the_reference_writes_is_opened_without_the_program(tmp_path):
    rng = np.random.default_rng(3)
    for i, shapes in enumerate([[(2, 3)], [(4,), (0, 7), ()], [(64, 64)] * 20, [(5,)] * 400]):
        given = {f"layer.{k}.weight": rng.standard_normal(s).astype(("f4", "f2", "f8", "i4")[k % 4]) for k, s in enumerate(shapes)}
        path = tmp_path / f"{i}.safetensors"
        reference.save_file(given, path, {"format": "np"} if i % 2 else None)
        got = _plain.load(path, LIB)
        assert got is not None
        want = reference.load_file(path)
        assert got.keys() == want.keys()
        for name in want:
            assert got[name].dtype == want[name].dtype and got[name].shape == want[name].shape and got[name].tobytes() == want[name].tobytes()
    assert compare(tmp_path) == (4, 0)


ASKED = {
    "an empty file": b"",
    "no header": struct.pack("<Q", 2),
    "a header beyond the file": struct.pack("<Q", 100) + b"{}",
    "a name twice": file(b'{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}', b"x"),
    "a field twice": file(b'{"a":{"dtype":"U8","dtype":"U8","shape":[1],"data_offsets":[0,1]}}', b"x"),
    "a field too many": file({"a": entry([1], 0, 4, more=1)}, b"1234"),
    "a field too few": file({"a": {"dtype": "U8", "shape": [1]}}, b"1"),
    "an escape": file(b'{"\\u0061":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}', b"x"),
    "a hole": file({"a": entry([1], 4, 8)}, b"12345678"),
    "an overlap": file({"a": entry([1], 0, 4), "b": entry([1], 2, 6)}, b"123456"),
    "bytes behind": file({"a": entry([1], 0, 4)}, b"12345"),
    "bytes missing": file({"a": entry([2], 0, 8)}, b"1234"),
    "a shape that is not its bytes": file({"a": entry([2], 0, 4)}, b"1234"),
    "a negative length": file({"a": entry([-1], 0, 4)}, b"1234"),
    "minus zero": file(b'{"a":{"dtype":"U8","shape":[-0],"data_offsets":[0,0]}}'),
    "a fraction": file(b'{"a":{"dtype":"U8","shape":[1.0],"data_offsets":[0,1]}}', b"x"),
    "an exponent": file(b'{"a":{"dtype":"U8","shape":[1e0],"data_offsets":[0,1]}}', b"x"),
    "true for one": file(b'{"a":{"dtype":"U8","shape":[true],"data_offsets":[0,1]}}', b"x"),
    "an overflow beside zero": file({"a": entry([0, 1 << 62, 1 << 62], 0, 0)}),
    "a type that nobody knows": file({"a": entry([1], 0, 4, "F31")}, b"1234"),
    "a type without whole bytes": file({"a": entry([2], 0, 1, "F4")}, b"1"),
    "a tab behind the header": file(b'{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}\t', b"x", pad=False),
    "a header that begins with a space": file(b' {"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}', b"x", pad=False),
    "UTF-16": file('{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}'.encode("utf-16-le"), b"x"),
    "a name that is not UTF-8": file(b'{"\xff":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}', b"x"),
    "a control character": file(b'{"a\x01":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}', b"x"),
    "metadata of numbers": file({"__metadata__": {"a": 1}, "b": entry([1], 0, 4)}, b"1234"),
    "metadata that is a list": file({"__metadata__": [], "b": entry([1], 0, 4)}, b"1234"),
    "an alias": file({"__metadata__": {"a": "b"}, "b": entry([1], 0, 4)}, b"1234"),
    "depth": file(b'{"a":' + b"[" * 100000, b""),
    "a ZIP archive from its end": file({"a": entry([22], 0, 22, "U8")}, b"PK\x05\x06" + bytes(18)),
    "a pickle's line": file(b'{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}'.ljust(ord("P")), b"x"),
}


@pytest.mark.parametrize("what", ASKED)
def test_what_is_not_plain_is_left_to_the_program(tmp_path, what):
    path = tmp_path / "a.safetensors"
    path.write_bytes(ASKED[what])
    assert _plain.load(path, LIB) is None
    compare(tmp_path)


def test_what_is_no_file_is_left_to_the_program(tmp_path):
    assert _plain.load(tmp_path / "none.safetensors", LIB) is None
    assert _plain.load(tmp_path, LIB) is None
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe.safetensors")
        assert _plain.load(tmp_path / "pipe.safetensors", LIB) is None


def test_a_limit_is_the_programs(tmp_path):
    path = tmp_path / "a.safetensors"
    reference.save_file({"a": np.zeros(3, "f4")}, path)
    with pytest.raises(anamnesis_models.LimitReached):
        ours.load_file(path, max_total="1")


def mutants(seeds, count, rng):
    """Return honest files with bytes, digits and pieces changed, inserted, deleted and repeated."""
    words = [b"{", b"}", b"[", b"]", b",", b":", b'"', b"0", b"1", b"-", b" ", b"\n", b"\\", b"null", b"true", b"1e1", b'"F16"', b'"BF16"', b"PK\x05\x06", b"\x80\x02", b"\x00", b"\xff"]
    for _ in range(count):
        data = bytearray(rng.choice(seeds))
        n = min(int.from_bytes(data[:8], "little"), len(data))
        for _ in range(rng.choice((1, 1, 1, 2, 3))):
            at = rng.randrange(8, min(8 + n, len(data))) if rng.random() < 0.85 else rng.randrange(len(data))
            change = rng.randrange(5)
            if change == 0:
                data[at : at + 1] = bytes([rng.randrange(256)])
            elif change == 1:
                data[at : at + rng.choice((0, 1, 2))] = rng.choice(words)
            elif change == 2:
                del data[at : at + rng.randrange(1, 9)]
            elif change == 3:
                piece = data[at : at + rng.randrange(1, 60)]
                to = rng.randrange(8, len(data) + 1)
                data[to:to] = piece
            elif at < len(data) and chr(data[at]).isdigit():
                data[at] = ord(rng.choice("0123456789"))
        if rng.random() < 0.7:  # make the length right again
            grown = len(data) - 8 - n
            end = data.rfind(b"}", 0, 8 + n + 80) + 1
            if end > 8:
                length = end - 8 + rng.choice((0, 0, 0, 1, 7, -end % 8))
                data[:8] = struct.pack("<Q", max(2, min(length, len(data) - 8 + (grown < 0))))
        yield bytes(data)


def test_mutants_are_taken_as_the_program_takes_them(tmp_path):
    rng = random.Random(5)
    seeds = [
        file({"a": entry([2], 0, 8), "b": entry([3], 8, 14, "F16")}, bytes(range(14))),
        file({"__metadata__": {"format": "pt"}, "x": entry([], 0, 1, "BOOL"), "y": entry([0], 1, 1)}, b"\x01"),
        file({f"layer.{i}": entry([1, 2], 4 * i, 4 * i + 4, "BF16") for i in range(12)}, bytes(48)),
        file({"a": entry([600], 0, 600, "U8")}, bytes(k % 251 for k in range(600))),
    ]
    for i, data in enumerate(mutants(seeds, int(os.environ.get("MUTANTS", "4000")), rng)):
        (tmp_path / f"{i:06}.safetensors").write_bytes(data)
    alone, refused = compare(tmp_path)
    assert alone > 100 and refused > 1000  # otherwise the test has shown nothing


def test_the_corpus_is_taken_as_the_program_takes_it(tmp_path):
    go = shutil.which("go")
    if go is None:
        pytest.skip("go builds the corpus")
    subprocess.run([go, "run", "./corpus/amn-corpus", "write", str(tmp_path / "corpus")], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    files = tmp_path / "files"
    files.mkdir()
    count = 0
    for top in (tmp_path / "corpus", ROOT / "corpus" / "valid", ROOT / "testdata"):
        for folder, _, names in os.walk(top):
            for name in names:
                shutil.copy(os.path.join(folder, name), files / f"{count:05}.{name[-40:]}.safetensors")
                count += 1
    alone, refused = compare(files)
    assert alone > 50 and refused > 500
