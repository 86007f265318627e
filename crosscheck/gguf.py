"""Files of gguf-py: every kind of value, every tensor type, both byte orders,
alignments, split models; what this module writes, read by gguf-py.

With llama.cpp, which ggml/llamacpp.py builds where cmake and g++ are: its
vocabulary files, a model of every architecture that it knows, what ggml reads of
what this module writes, and what its loaders do with hostile files. Two tables
are kept: gguf-loaders.txt, of the recipes of corpus/hostile/gguf, and
gguf-findings.txt, of one change each to a model that runs. CROSSCHECK_TABLE=1
writes them here.
"""
import glob
import hashlib
import importlib.metadata
import json
import logging
import math
import os
import pathlib
import shutil
import subprocess
import sys

# This file is named as the library: the folder of scripts must not come first.
HERE = pathlib.Path(__file__).resolve().parent
sys.path = [p for p in sys.path if pathlib.Path(p or ".").resolve() != HERE]
import numpy as np  # noqa: E402
from gguf import GGML_QUANT_SIZES, GGMLQuantizationType as T, GGUFEndian, GGUFReader, GGUFValueType as V, GGUFWriter  # noqa: E402

sys.path += [str(HERE), str(HERE / "ggml")]
import llamacpp  # noqa: E402
import verdicts  # noqa: E402
from harness import Check  # noqa: E402

logging.disable(logging.CRITICAL)
ROOT = HERE.parent
c = Check("gguf " + importlib.metadata.version("gguf"))
rng = np.random.default_rng(20261121)
wrong = []
elements = 0  # of all tensors that were compared


# ---- what gguf-py's writer makes

def finish(w):
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


def writer(name, **kw):
    return GGUFWriter(c.path(name + ".gguf"), "llama", **kw)


INTS = {V.UINT8: np.uint8, V.INT8: np.int8, V.UINT16: np.uint16, V.INT16: np.int16, V.UINT32: np.uint32, V.INT32: np.int32, V.UINT64: np.uint64, V.INT64: np.int64}
ENDIANS = {"le": GGUFEndian.LITTLE, "be": GGUFEndian.BIG}


def value(k):
    if k in INTS:
        info = np.iinfo(INTS[k])
        return [int(info.min), int(info.max), 0, 1][rng.integers(4)] if rng.integers(2) else int(rng.integers(info.min, info.max, dtype=INTS[k], endpoint=True))
    if k in (V.FLOAT32, V.FLOAT64):
        d = np.float32 if k == V.FLOAT32 else np.float64
        return float(rng.choice(np.array([0.0, -0.0, np.inf, -np.inf, 1e-40], d))) if rng.integers(4) == 0 else float(d(rng.standard_normal()))
    if k == V.BOOL:
        return bool(rng.integers(2))
    if k == V.STRING:
        return "".join(chr(rng.choice([97, 32, 10, 92, 34, 0xE9, 0x2581, 0x4E16, 0x1F600])) for _ in range(rng.integers(0, 40)))
    raise ValueError(k)


SCALARS = [k for k in V if k != V.ARRAY]


def kinds():
    for name, endian in ENDIANS.items():
        for k in SCALARS:
            w = writer(f"kind-{k.name}-{name}", endianess=endian)
            for i in range(20):
                w.add_key_value(f"one.{i}", value(k), k)
            for n in (1, 2, 7, 1000, 9000):  # the last passes the window that files are read by
                w.add_key_value(f"many.{n}", [value(k) for _ in range(n)], V.ARRAY, sub_type=k)
            finish(w)
        w = writer(f"nested-{name}", endianess=endian)
        w.add_key_value("numbers", [[[1, 2], [3]], [[4]], [[5, 6, 7]]], V.ARRAY)
        w.add_key_value("words", [["a", "b"], ["c"]], V.ARRAY)
        finish(w)


def types():
    """Every type but Q8_1: gguf-py gives its block 40 bytes, ggml 36."""
    for t in T:
        if t == T.Q8_1:
            continue
        elems, size = GGML_QUANT_SIZES[t]
        for alignment in (32, 1, 8, 64, 4096):
            w = writer(f"type-{t.name}-{alignment}")
            if alignment != 32:
                w.add_custom_alignment(alignment)
            for k, rows in enumerate([(1,), (3,), (2, 3), (2, 1, 3)]):
                w.add_tensor(f"t{k}", rng.integers(0, 256, rows + (size * (k + 1),), dtype=np.uint8), raw_dtype=t)
            finish(w)


PLAIN = {"f16": np.float16, "f32": np.float32, "f64": np.float64, "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64}


def plain():
    for end, endian in ENDIANS.items():
        for n, d in PLAIN.items():
            w = writer(f"plain-{n}-{end}", endianess=endian)
            for k, shape in enumerate([(1,), (7,), (3, 5), (0, 4), (2, 3, 4), (2, 1, 2, 3)]):
                w.add_tensor(f"t{k}", rng.integers(-100, 100, shape).astype(d))
            finish(w)


def split():
    for shards in (2, 3, 7):
        w = writer(f"split-{shards}", split_max_tensors=2)
        w.add_uint32("llama.block_count", 1)
        for i in range(2 * shards - 1):
            w.add_tensor(f"t{i}", rng.standard_normal((i + 1, 5)).astype(np.float32))
        finish(w)


def mixtures(count):
    for m in range(count):
        w = writer(f"mixed-{m}", endianess=GGUFEndian.LITTLE)
        if rng.integers(2):
            w.add_custom_alignment(int(2 ** rng.integers(0, 10)))
        for i in range(rng.integers(0, 40)):
            k = SCALARS[rng.integers(len(SCALARS))]
            if rng.integers(3):
                w.add_key_value(f"key.{i}", value(k), k)
            else:
                w.add_key_value(f"key.{i}", [value(k) for _ in range(rng.integers(1, 50))], V.ARRAY, sub_type=k)
        for i in range(rng.integers(0, 60)):
            t = [t for t in T if t != T.Q8_1][rng.integers(len(T) - 1)]
            shape = tuple(int(n) for n in rng.integers(1, 4, rng.integers(1, 5)))
            size = GGML_QUANT_SIZES[t][1]
            w.add_tensor(f"blk.{i}.t", rng.integers(0, 256, shape[:-1] + (shape[-1] * size,), dtype=np.uint8), raw_dtype=t)
        finish(w)


# ---- what gguf-py's reader says, and what this module says

def line(k, p):
    """One scalar as crosscheck/dump writes it."""
    if k == V.STRING:
        raw = p.tobytes()
        return b"%d:%s\n" % (len(raw), raw)
    if k == V.FLOAT32:
        return b"%08x\n" % int(p.astype("<f4").view("<u4")[0])
    if k == V.FLOAT64:
        return b"%016x\n" % int(p.astype("<f8").view("<u8")[0])
    if k == V.BOOL:
        return b"true\n" if p[0] else b"false\n"
    return b"%d\n" % int(p[0])


def reference(path):
    r = GGUFReader(path)
    fields = {}
    for name, f in r.fields.items():
        if name.startswith("GGUF."):
            continue
        leaf = f.types[-1]
        digest = hashlib.sha256(b"".join(line(leaf, f.parts[i]) for i in f.data)).hexdigest()
        fields[name] = {"kinds": [int(t) for t in f.types], "digest": digest}
    tensors = {}
    for t in r.tensors:
        raw = r.data[t.data_offset:t.data_offset + t.n_bytes].tobytes()
        tensors[t.name] = {"type": t.tensor_type.name, "shape": [int(n) for n in reversed(t.shape)], "offset": int(t.data_offset), "bytes": int(t.n_bytes),
                           "raw": hashlib.sha256(raw).hexdigest()}
    return {"version": int(r.fields["GGUF.version"].contents()), "big": r.endianess == GGUFEndian.BIG, "alignment": int(r.alignment), "data_offset": int(r.data_offset),
            "fields": fields, "tensors": tensors}


def ours(paths):
    run = subprocess.run([c.dump], input="\n".join(paths) + "\n", stdout=subprocess.PIPE, text=True, check=True)
    out = {}
    for text in run.stdout.splitlines():
        f = json.loads(text)
        out[f["path"]] = f
    return out


EMPTY = hashlib.sha256(b"").hexdigest()


def described(f, part=None):
    """What this module says, in the words of the reference; of one part of a
    split model, if asked."""
    g = f["gguf"]
    for field in g["fields"].values():
        if field["digest"] == EMPTY and len(field["kinds"]) > 1:
            field["kinds"] = field["kinds"][:1]  # GGUFReader does not say what an empty array is of
    tensors = {}
    for t in f["tensors"]:
        o = g["offsets"][t["name"]]
        if part is None or o["part"] == part:
            tensors[t["name"]] = {"type": t["stored"], "shape": t["shape"], "offset": o["offset"], "bytes": o["bytes"], "raw": t.get("raw", t.get("error"))}
    return {"version": g["version"], "big": g["big"], "alignment": g["alignment"], "data_offset": g["data_offset"], "fields": g["fields"], "tensors": tensors}


def differ(name, what):
    wrong.append(f"{name}: {what}")


def compare(name, want, got, ignore=()):
    for key in want:
        if key in ignore or want[key] == got[key]:
            continue
        if isinstance(want[key], dict):
            for k in sorted(set(want[key]) | set(got[key])):
                if want[key].get(k) != got[key].get(k):
                    differ(name, f"{key} {k!r}: {got[key].get(k)}, want {want[key].get(k)}")
        else:
            differ(name, f"{key}: {got[key]}, want {want[key]}")


def equal(paths):
    """Each file is read as gguf-py reads it."""
    global elements
    refs, tensors = {}, 0
    said = ours(paths)
    for path in paths:
        name, f = os.path.basename(path), said.get(path)
        want = refs[path] = reference(path)
        tensors += len(want["tensors"])
        elements += sum(math.prod(t["shape"]) for t in want["tensors"].values())
        if f is None or f["class"] != "ok":
            differ(name, f"refused: {f and f['error']}")
            continue
        if "-of-" not in name:
            compare(name, want, described(f))
            continue
        part = int(name.split("-of-")[0][-5:]) - 1  # opened by any file, the model is whole
        compare(name, want, described(f, part), ("fields", "data_offset") if part else ())
    return refs, tensors


def rewritten(refs):
    """What this module writes of each file, gguf-py reads equal; ggml too."""
    encode = c.path("encode")
    subprocess.run(["go", "build", "-o", encode, "./crosscheck/encode"], cwd=ROOT, check=True)
    jobs = []
    for i, path in enumerate(refs):
        for version, alignment in [(0, 0), [(2, 16), (3, 256), (2, 1)][i % 3]]:
            jobs.append({"in": path, "out": f"{path}.v{version}a{alignment}", "version": version, "alignment": alignment})
    subprocess.run([encode], input="\n".join(map(json.dumps, jobs)) + "\n", text=True, check=True)
    for j in jobs:
        name, want = os.path.basename(j["out"]), refs[j["in"]]
        got = reference(j["out"])
        for f in (want, got):
            f["fields"] = {k: v for k, v in f["fields"].items() if k != "general.alignment"}
            f["tensors"] = {n: {k: v for k, v in t.items() if k != "offset"} for n, t in f["tensors"].items()}
        compare(name, want, got, ("version", "alignment", "data_offset"))
        if got["version"] != (j["version"] or want["version"]) or got["alignment"] != (j["alignment"] or want["alignment"]):
            differ(name, f"version {got['version']}, alignment {got['alignment']}")
        if tools:
            a, b = (verdicts.run([tools.probe, j[k], "data"]) for k in ("in", "out"))
            if a != b:
                differ(name, f"ggml reads {b}, of the original {a}")
        os.remove(j["out"])
    return len(jobs)


# ---- what llama.cpp makes, and what loaders do

def models():
    """Vocabularies, and a model of every architecture."""
    folder = c.path("archs")
    os.mkdir(folder)
    subprocess.run([tools.archs, "-s", "1", "-o", folder], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    out = [0, 0]
    for what, files in (("vocabularies", tools.tree / "models"), ("architectures", pathlib.Path(folder))):
        refs, n = equal(sorted(map(str, files.glob("*.gguf"))))
        out = [out[0] + len(refs), out[1] + n]
        c.versions += f", {len(refs)} {what}"
    shutil.rmtree(folder)
    return out


def keep(name, about, rows):
    verdicts.table(c.path(name), f"{about}\n{c.versions.split(',')[0]}, {llamacpp.VERSION}\n", rows)
    if os.environ.get("CROSSCHECK_TABLE"):
        shutil.copy(c.path(name), HERE / name)
    elif (HERE / name).read_text() != pathlib.Path(c.path(name)).read_text():
        differ(name, "is not what the loaders do; CROSSCHECK_TABLE=1 writes it anew")


def hostile():
    """The recipes of the corpus, through every loader."""
    folder = c.path("hostile")
    subprocess.run(["go", "run", "./corpus/amn-corpus", "write", folder], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    with open(os.path.join(folder, "manifest.json")) as f:
        recipes = sorted((r for r in json.load(f) if r["format"] == "gguf"), key=lambda r: r["name"])
    rows = [("recipe", "amn", "gguf-py", "ggml", "llama.cpp")]
    for r in recipes:
        path = os.path.join(folder, r["file"])
        rows.append((r["name"], r["class"], verdicts.python(path), verdicts.ggml(tools, path), verdicts.llama(tools, path)))
    keep("gguf-loaders.txt", "What readers do with the recipes of corpus/hostile/gguf. The class in the second column is that of the recipe's policy.", rows)
    return len(recipes)


def findings():
    """Models with one thing wrong: the finding, and that llama.cpp does what the
    finding says of it."""
    paths = verdicts.write(c.path("findings"))
    said = ours(paths)
    rows = [("model with", "amn", "gguf-py", "ggml", "llama.cpp")]
    for (name, want, does, _), path in zip(verdicts.CASES, paths):
        f = said[path]
        found = sorted(f.get("findings") or ["nothing"]) if f["class"] == "ok" else [f["class"]]
        llama = verdicts.llama(tools, path)
        if (want or "nothing") not in found or llama != does:
            differ(name, f"found {found}, want {want}; llama.cpp {llama}, want {does}")
        rows.append((name, " ".join(found), verdicts.python(path), verdicts.ggml(tools, path), llama))
    keep("gguf-findings.txt", "What readers do with a llama of one layer in which one thing is changed, and what this module finds in it.\nllama.cpp: from loading with check_tensors to the first token.", rows)
    return len(paths)


try:
    tools = llamacpp.Tools()
except llamacpp.Missing as why:
    tools = None
    print(f"gguf: without llama.cpp: {why}", file=sys.stderr)
kinds()
types()
plain()
split()
mixtures(100)
refs, tensors = equal(sorted(glob.glob(c.path("*.gguf"))))
count = len(refs) + rewritten(refs)
if tools:
    more = models()
    count, tensors = count + more[0] + hostile() + findings(), tensors + more[1]
    c.versions += ", " + llamacpp.VERSION
for text in wrong[:50]:
    print(text, file=sys.stderr)
print(json.dumps({"files": count, "tensors": tensors, "elements": elements, "differences": len(wrong), "versions": c.versions}))
sys.exit(1 if wrong else 0)
