"""Counts which models inside packages a program accepts, beside other scanners.

    python3 crosscheck/pickles/packages.py AMN [PAGE]       make honest

packages.txt is what pip may fetch: wheels with their SHA-256, chosen by what a list of packages says of
them, before any was judged. A file counts if its content is a model or an object that a library
stores: a pickle, compressed or not, a checkpoint of PyTorch, a file of NumPy, HDF5, safetensors, GGUF, ONNX,
TensorFlow. Each content counts once, and of a package at most MOST contents, those with the lowest
SHA-256. Each is judged alone, under its own name, by AMN without a policy, with the profile
tabular and with all class sets, and by the scanners of crosscheck/gatebench/requirements.txt, whose
Python RIVALS names (.venv/gatebench otherwise). With PAGE, the tables of that page are written
between its marks; refused.txt below HONEST (.venv/honest) has each refusal with its reason.
"""
import bz2
import collections
import datetime
import gzip
import hashlib
import io
import json
import lzma
import os
import pathlib
import re
import subprocess
import sys
import zipfile
import zlib

HERE = pathlib.Path(__file__).resolve().parent
LIST = HERE / "packages.txt"
MOST = 150
WIDEST = 1 << 30  # bytes of a compressed file that are looked at, to say what it names
# Of the pickles, those that name a class of a library of the profile tabular.
TABULAR = re.compile(r"^(sklearn|imblearn|lightgbm|xgboost|catboost|scipy|pandas|statsmodels)(\.|$)")


def compressed(head, data):
    """Returns the first bytes of compressed data and the name of the compression."""
    try:
        if head[:2] == b"\x1f\x8b":
            return gzip.GzipFile(fileobj=io.BytesIO(data)).read(4096), "gzip"
        if head[:3] == b"BZh":
            return bz2.BZ2File(io.BytesIO(data)).read(4096), "bzip2"
        if head[:6] == b"\xfd7zXZ\0":
            return lzma.LZMAFile(io.BytesIO(data)).read(4096), "xz"
        if head[:1] == b"]" and head[1:4] == b"\0\0\x80":
            return lzma.LZMAFile(io.BytesIO(data)).read(4096), "lzma"
        if head[:1] == b"x" and len(head) > 1 and (head[0] << 8 | head[1]) % 31 == 0:
            return zlib.decompressobj().decompress(data, 4096), "zlib"
    except (OSError, EOFError, lzma.LZMAError, zlib.error):
        pass
    return b"", ""


def is_pickle(head, last):
    if head[:1] == b"\x80" and len(head) > 2 and 1 <= head[1] <= 5:
        return True
    # Protocol 0 and 1: what picklers begin with, and STOP.
    return last in (b".", b"") and re.match(rb"(\(dp?\d*\n|\(lp?\d*\n|c[a-zA-Z_][\w.]*\n[A-Za-z_]\w*\n|\]q|\}q|ccopy_reg\n)", head) is not None


def kind_of(name, data):
    """Returns what a file is, or None if it is no model."""
    head, suffix = data[:4096], pathlib.PurePath(name).suffix.lower()
    if suffix in (".py", ".pyc", ".so", ".txt", ".html", ".json"):
        return None
    if head[:4] == b"PK\3\4":
        try:
            names = zipfile.ZipFile(io.BytesIO(data)).namelist()
        except (zipfile.BadZipFile, NotImplementedError):
            return None
        if any(n.endswith("/data.pkl") or n == "data.pkl" for n in names):
            return "TorchScript" if any(n.endswith("/constants.pkl") or "/code/" in n for n in names) else "PyTorch"
        if "model.weights.h5" in names:
            return "Keras"
        return "npz" if names and all(n.endswith(".npy") for n in names) else None
    for magic, at, kind in ((b"\x93NUMPY", 0, "npy"), (b"\x89HDF\r\n\x1a\n", 0, "HDF5"), (b"GGUF", 0, "GGUF"), (b"TFL3", 4, "TensorFlow Lite")):
        if head[at:at + len(magic)] == magic:
            return kind
    if suffix == ".onnx":
        return "ONNX"
    if name.endswith("saved_model.pb"):
        return "TensorFlow"
    if len(head) > 9 and head[8:9] == b"{" and int.from_bytes(head[:8], "little") < len(data) and suffix == ".safetensors":
        return "safetensors"
    if head[:10] == b"\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19."[:10]:
        return "PyTorch before 1.6"
    if head[:2] == b"\x80\2" and b"l\xfc\x9cF\xf9 j\xa8P\x19." in head[:16]:
        return "PyTorch before 1.6"
    if is_pickle(head, data[-1:]):
        return "joblib" if b"joblib.numpy_pickle" in data or b"sklearn.externals.joblib" in data else "pickle"
    inner, how = compressed(head, data)
    if how and is_pickle(inner, b""):
        return "joblib, compressed" if b"joblib" in inner or suffix == ".joblib" else "pickle, compressed"
    return None


def uncompressed(path):
    """Writes what a compressed file holds beside it, up to WIDEST, and returns that path."""
    data = path.read_bytes()
    opened = {b"\x1f\x8b": gzip.open, b"BZ": bz2.open, b"\xfd7": lzma.open, b"]\0": lzma.open}.get(data[:2])
    inner = path.with_name(path.name + ".inner.pkl")
    if not inner.exists():
        inner.write_bytes(opened(path).read(WIDEST) if opened else zlib.decompressobj().decompress(data, WIDEST))
    return inner


def fetch(folder):
    """Has pip fetch the wheels of the list that are not there."""
    folder.mkdir(parents=True, exist_ok=True)
    have = {hashlib.sha256(p.read_bytes()).hexdigest(): p for p in folder.rglob("*.whl")}
    lines = [line for line in LIST.read_text().splitlines() if line and not line.startswith("#")]
    missing = [line for line in lines if line.rpartition("sha256:")[2] not in have]
    if missing:
        (folder / "missing.txt").write_text("\n".join(missing) + "\n")
        subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary", ":all:", "--require-hashes", "-r", str(folder / "missing.txt"), "-d", str(folder)], check=True)
        have = {hashlib.sha256(p.read_bytes()).hexdigest(): p for p in folder.rglob("*.whl")}
    return [(line.split("==")[0], line.split("==")[1].split()[0], have[line.rpartition("sha256:")[2]]) for line in lines]


def collect(wheels, folder):
    """Writes the models of wheels into the folder, and yields (package, kind, path)."""
    seen = set()
    for package, _, wheel in wheels:
        found = []
        with zipfile.ZipFile(wheel) as z:
            for info in z.infolist():
                if info.is_dir() or not 8 < info.file_size < 512 << 20:
                    continue
                data = z.read(info)
                kind, digest = kind_of(info.filename, data), hashlib.sha256(data).hexdigest()
                if kind and digest not in seen:
                    seen.add(digest)
                    found.append((digest, kind, info.filename))
            for digest, kind, name in sorted(found)[:MOST]:
                path = folder / package / digest[:8] / pathlib.PurePath(name).name
                if not path.exists():
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_bytes(z.read(name))
                yield package, kind, path


def judged(amn, paths, policy):
    """Returns the answers of amn by path."""
    out = {}
    flags = ["--limits", policy] if policy else []
    for at in range(0, len(paths), 100):
        done = subprocess.run([amn, "scan", "--json", "--quiet", *flags, *map(str, paths[at:at + 100])], capture_output=True, text=True)
        for line in done.stdout.splitlines():
            row = json.loads(line)
            out[row["path"]] = row
    missing = [p for p in paths if str(p) not in out]
    if missing:
        sys.exit(f"no answer about {missing[0]}")
    return out


RIVALS = r"""
import contextlib, io, json, sys, logging
logging.disable(logging.CRITICAL)
from picklescan.scanner import scan_file_path, SafetyLevel
from modelscan.modelscan import ModelScan
from modelaudit.core import scan_model_directory_or_file
versions = {}
def picklescan(path):
    r = scan_file_path(path)
    return "error" if r.scan_err else "refused" if r.infected_files else "accepted" if r.scanned_files else "not read"
def modelscan(path):
    r = ModelScan().scan(path)
    if r["issues"]:
        return "refused"
    return "error" if r["errors"] else "accepted" if r["summary"]["scanned"]["total_scanned"] else "not read"
def modelaudit(path):
    r = scan_model_directory_or_file(path, timeout=60)
    bad = [i for i in r.issues if str(getattr(i.severity, "value", i.severity)) in ("critical", "warning")]
    return "refused" if bad else "accepted" if r.files_scanned else "not read"
for path in sys.stdin.read().split("\n"):
    row = {"path": path}
    for scanner in (picklescan, modelscan, modelaudit):
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            try:
                row[scanner.__name__] = scanner(path)
            except BaseException as e:
                row[scanner.__name__] = "error"
                row[scanner.__name__ + " said"] = repr(e)[:200]
    print(json.dumps(row), flush=True)
"""


def rivals(paths):
    python = os.environ.get("RIVALS", ".venv/gatebench/bin/python")
    done = subprocess.run([python, "-c", RIVALS], input="\n".join(map(str, paths)), capture_output=True, text=True)
    out = {row["path"]: row for row in map(json.loads, done.stdout.splitlines())}
    if len(out) != len(set(paths)):
        sys.exit(f"the other scanners ended early: {done.stderr[-2000:]}")
    return out


def names(row):
    """The modules that the pickles of a file name."""
    return {g["module"] for p in row.get("pickles", ()) for g in p["globals"]}


def group(row, kind):
    """How a pickle counts: by what it names."""
    if not row.get("pickles") and kind not in ("pickle", "joblib", "pickle, compressed", "joblib, compressed"):
        return None
    modules = names(row)
    if any(TABULAR.match(m) for m in modules):
        return "tabular"
    known = re.compile(r"^(builtins|__builtin__|collections|copyreg|copy_reg|_codecs|numpy|joblib|datetime|decimal|fractions|uuid|pathlib)(\.|$)|^torch(\._utils|\.storage|\.serialization|\._tensor|\.nn\.parameter)?$")
    return "data" if all(known.match(m) for m in modules) else "other"


def table(head, rows):
    out = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    out += ["| " + " | ".join(map(str, row)) + " |" for row in rows]
    return "\n".join(out) + "\n"


def main(amn, page=None):
    home = pathlib.Path(os.environ.get("HONEST", ".venv/honest"))
    wheels = fetch(pathlib.Path(os.environ.get("WHEELS", home / "wheels")))
    files = list(collect(wheels, home / "files"))
    paths = [path for _, _, path in files]
    every = home / "every.json"
    sets = [p.stem for p in sorted((HERE.parents[1] / "vm/sets").glob("*.set")) if p.stem not in ("data", "tables")]
    every.write_text(json.dumps({"classes": sets, "allow_globals": ["hf-trainer"]}))
    by = {"default": judged(amn, paths, None), "tabular": judged(amn, paths, "tabular"), "all sets": judged(amn, paths, str(every))}
    others = rivals(paths)
    columns = [(f"amn, {name}", lambda p, rows=rows: rows[str(p)]["class"] == "ok") for name, rows in by.items()]
    columns += [(name, lambda p, name=name: others[str(p)][name] == "accepted") for name in ("picklescan", "modelscan", "modelaudit")]
    head = ["", "files", *(name for name, _ in columns)]

    def row(title, some):
        return [title, len(some), *(sum(f(p) for p in some) for _, f in columns)]

    inside = {path: uncompressed(path) for _, kind, path in files if kind.endswith(", compressed")}
    asked = judged(amn, list(inside.values()), None)
    kinds, groups = collections.defaultdict(list), collections.defaultdict(list)
    for package, kind, path in files:
        kinds[kind].append(path)
        name = group(asked[str(inside[path])] if path in inside else by["default"][str(path)], kind)
        if name:
            groups[name].append(path)
    first = [row(k, kinds[k]) for k in sorted(kinds)] + [row("**all**", paths)]
    titles = {"data": "pickles that name no library's class", "tabular": "pickles of scikit-learn, LightGBM, XGBoost, pandas, SciPy", "other": "pickles of other libraries, or of the package's own classes"}
    second = [row(titles[k], groups[k]) for k in titles]
    unread = [[name, sum(others[str(p)][name] == "refused" for p in paths), sum(others[str(p)][name] == "not read" for p in paths), sum(others[str(p)][name] == "error" for p in paths)] for name in ("picklescan", "modelscan", "modelaudit")]
    why = collections.defaultdict(lambda: [0, 0])
    with open(home / "refused.txt", "w") as out:
        for package, kind, path in files:
            for i, policy in enumerate(("default", "all sets")):
                found = by[policy][str(path)]
                if found["class"] != "ok":
                    why[", ".join(found.get("rules", ())[:1]) or found["class"]][i] += 1
                    print(package, kind, path, policy, found["class"], found.get("rules"), (found.get("error") or {}).get("message", ""), [f.get("message") for f in found.get("findings", ())][:2], sep="\t", file=out)
    third = [[f"`{k}`", *n] for k, n in sorted(why.items(), key=lambda item: -item[1][0])]
    text = (f"{datetime.date.today()}, {len(wheels)} packages of which {len({p for p, _, _ in files})} hold models, {len(files)} files; accepted:\n\n" + table(head, first) + "\n" + table(head, second)
            + "\nWhat the other scanners did not accept:\n\n" + table(["", "refused", "not read", "error"], unread) + "\nThe rule for which `amn` refused:\n\n" + table(["rule", "default", "all sets"], third))
    if page is None:
        print(text)
        return
    page = pathlib.Path(page)
    was = page.read_text()
    begin, end = "<!-- honest rate: make honest writes it -->\n", "<!-- end of the honest rate -->"
    page.write_text(was[:was.index(begin) + len(begin)] + "\n" + text + "\n" + was[was.index(end):])


if __name__ == "__main__":
    main(*sys.argv[1:])
