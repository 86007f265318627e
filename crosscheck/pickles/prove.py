"""Runs hostile programs over a class set, and finds the bad classes that planted.py has.

    python prove.py NAME COUNT [SEED]
    python prove.py --planted

Each program is a pickle that the set allows: an instance of a class with some of its
attributes, whose values are numbers, texts, containers, arrays, types and instances of other
classes of the set, at most three deep. It is loaded, hashed, compared, asked
for its truth and its length and dropped, in a process that ends after CHUNK of them, with
3 GiB. One in 10 is also printed, and one in 50 asked for each of its properties. An audit hook counts what reaches a sink: a file, a program, a network, an
import, code. A signal, a change of the modules of the library and a program of more than a
second are counted as well. Lines is how many of the lines of Python that run on loading
(__setstate__, __new__, __getattr__) were run.
"""
import collections
import gc
import importlib
import json
import os
import pickle
import pickletools
import random
import resource
import signal
import struct
import sys
import time
import warnings

import sets

CHUNK = 20000
SINKS = ("open", "exec", "import", "os.", "subprocess.", "socket.", "shutil.", "ctypes.", "marshal.", "tempfile.", "urllib.", "ftplib.", "http.", "glob.", "pty.", "signal.", "sqlite3.", "webbrowser.", "code.", "mmap.", "cpython.run", "winreg.", "syslog.", "fcntl.", "resource.")
TEXTS = ("", "x", "a.b", "os.system", "/etc/passwd", "__class__", "__import__('os').getpid()", "{0.__class__}", "eval", "predict", "\0", "\ud800", "1e400", "a" * 1000, "%s%n", "linear", "auto", "euclidean")
INTS = (0, 1, -1, 2, 3, 7, 100, 255, 2**31 - 1, -2**31, 2**63, 10**30)
FLOATS = (0.0, 1.5, -1.0, float("nan"), float("inf"), 1e308)


def text(s):
    raw = s.encode("utf-8", "surrogatepass")
    return b"X" + struct.pack("<I", len(raw)) + raw


def named(name):
    module, _, last = name.rpartition(".")
    return b"c" + module.encode() + b"\n" + last.encode() + b"\n"


class Maker:
    """Writes programs over the classes of a set."""

    def __init__(self, rng):
        import numpy as np
        self.rng, self.rows = rng, []
        for cls, _ in sets.chosen():
            lines = list(sets.members(cls, sets.version()))
            if lines:
                self.rows.append((sets.full(cls), cls, lines))
        self.arrays = [pickletools.optimize(pickle.dumps(a, 3))[2:-1] for a in (np.arange(4.0), np.zeros((2, 2), "i8"), np.array(["a", None], object), np.zeros(0), np.array(["b"]))]
        self.types = [named(n) for n in ("builtins.int", "builtins.float", "builtins.str", "builtins.list", "builtins.dict", "numpy.float64", "numpy.int64")]

    def value(self, depth):
        r = self.rng
        kind = r.randrange(12 if depth else 7)
        if kind == 0:
            return b"N"
        if kind == 1:
            return r.choice((b"\x88", b"\x89"))
        if kind == 2:
            n = r.choice(INTS)
            raw = n.to_bytes((n.bit_length() // 8) + 1, "little", signed=True)
            return b"\x8a" + bytes([len(raw)]) + raw
        if kind == 3:
            return b"G" + struct.pack(">d", r.choice(FLOATS))
        if kind == 4:
            return text(r.choice(TEXTS))
        if kind == 5:
            return r.choice(self.types)
        if kind == 6:
            return named(r.choice(self.rows)[0]) if r.random() < 0.3 else b"C\x03abc"
        if kind == 7:
            return b"](" + b"".join(self.value(depth - 1) for _ in range(r.randrange(4))) + b"e"
        if kind == 8:
            return b"(" + b"".join(self.value(depth - 1) for _ in range(r.randrange(4))) + b"t"
        if kind == 9:
            return b"}(" + b"".join(text(f"k{i}") + self.value(depth - 1) for i in range(r.randrange(3))) + b"u"
        if kind == 10:
            return r.choice(self.arrays)
        return self.instance(r.choice(self.rows), depth - 1)

    def instance(self, row, depth):
        name, cls, lines = row
        r = self.rng
        if lines[0].startswith("call"):
            return named(name) + self.enum(cls) + b"\x85R"
        out = named(name) + b")\x81"
        if lines[1].startswith("dict"):
            return out + b"(" + b"".join(text(r.choice(TEXTS[:4]) + str(i)) + self.value(depth) for i in range(r.randrange(4))) + b"u"
        names = [n for n in attributes(lines[1])]
        some = r.sample(names, min(len(names), r.randrange(1, 9))) if names else []
        if not some and "_sklearn_version" not in lines[1]:
            return out
        version = b""
        if "'_sklearn_version'" in lines[1]:
            version = text("_sklearn_version") + text(lines[1].split("'_sklearn_version': '")[1].split("'")[0])
        return out + b"}(" + version + b"".join(text(n) + self.value(depth) for n in some) + b"ub"

    def enum(self, cls):
        value = self.rng.choice(list(cls)).value
        return text(value) if isinstance(value, str) else b"K" + bytes([int(value) & 127])

    def program(self):
        return b"\x80\x03" + self.instance(self.rng.choice(self.rows), 3) + b"."


def attributes(line):
    for part in line.split("'?: ")[:-1]:
        yield part.rpartition("'")[2]


STATE = {"armed": False, "found": collections.Counter()}


def hook(event, args):
    if STATE["armed"] and event.startswith(SINKS):
        if event == "import" and args[0] in sys.modules:
            return
        if event == "open" and "site-packages" in str(args[0]) or event in ("os.listdir", "os.scandir") and "site-packages" in str(args[0]):
            return
        STATE["found"][f"{event} {str(args[0])[:60]!r}"] += 1


def use(value, deep, printed):
    for one in (hash, bool, len, repr if printed else bool, lambda v: v == v, lambda v: v != 1):
        try:
            one(value)
        except Exception:
            pass
    if deep:
        for name in dir(type(value)):
            if isinstance(getattr(type(value), name, None), property) or type(getattr(type(value), name, None)).__name__ == "cached_property":
                try:
                    getattr(value, name)
                except Exception:
                    pass


class Lines:
    """Which lines of the methods that loading runs were run."""

    def __init__(self, classes):
        self.codes, self.run = {}, set()
        for cls in classes:
            for base in cls.__mro__:
                for name in ("__setstate__", "__new__", "__getattr__", "_missing_"):
                    member = vars(base).get(name)
                    code = getattr(getattr(member, "__func__", member), "__code__", None)
                    if code is not None and sets.ours(base.__module__):
                        self.codes[code] = {line for _, _, line in code.co_lines() if line and line != code.co_firstlineno}

    def trace(self, frame, event, arg):
        if frame.f_code not in self.codes:
            return None
        self.run.add((frame.f_code, frame.f_lineno))
        return self.trace


def worlds(package):
    """A picture of the names in the modules of a library."""
    return {(m, k): id(v) for m, module in list(sys.modules.items()) if m.split(".")[0] == package and module is not None for k, v in list(vars(module).items()) if not k.startswith("__")}


def chunk(maker, count, out):
    resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    warnings.simplefilter("ignore")
    lines = Lines([row[1] for row in maker.rows])
    tally, slow = collections.Counter(), 0
    class Late(Exception):
        pass
    def late(*_):
        raise Late
    signal.signal(signal.SIGALRM, late)
    for warm in range(2):  # what the first use imports is not what a program does
        for i in range(300):
            try:
                use(pickle.loads(maker.program()), True, True)
            except Exception:
                pass
    STATE["found"].clear()
    before = worlds(sets.LIBRARY.packages[0])
    for i in range(count):
        data = maker.program()
        if i < 500 and lines.codes:
            sys.settrace(lines.trace)
        began = time.perf_counter()
        signal.setitimer(signal.ITIMER_REAL, 2)
        STATE["armed"] = True
        try:
            value = pickle.loads(data)
            use(value, i % 50 == 0, i % 10 == 0)
            del value
            tally["loaded"] += 1
        except Late:
            tally["slow"] += 1
        except MemoryError:
            tally["no memory"] += 1
        except Exception as e:
            tally[f"refused by {type(e).__name__}"] += 1
        finally:
            STATE["armed"] = False
            signal.setitimer(signal.ITIMER_REAL, 0)
        sys.settrace(None)
        if time.perf_counter() - began > 1:
            slow += 1
    gc.collect()
    after = worlds(sets.LIBRARY.packages[0])
    changed = [f"{m}.{k}" for (m, k), v in after.items() if (m, k) in before and before[m, k] != v]
    tally["slow"] += slow
    json.dump({"tally": tally, "sinks": STATE["found"], "changed": changed, "lines": [len(lines.run & {(c, n) for c, ns in lines.codes.items() for n in ns}), sum(map(len, lines.codes.values()))]}, out)
    out.flush()


def prove(name, count, seed):
    sets.use(name)
    maker = Maker(random.Random(seed))
    for row in maker.rows:
        importlib.import_module(row[1].__module__)
    sys.addaudithook(hook)
    total = {"set": name, "classes": len(maker.rows), "programs": 0, "tally": collections.Counter(), "sinks": collections.Counter(), "changed": set(), "signals": 0, "lines": [0, 0]}
    at = 0
    while total["programs"] < count:
        at += 1
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(read)
            maker.rng.seed(seed * 1000003 + at)
            with os.fdopen(write, "w") as out:
                chunk(maker, min(CHUNK, count), out)
            os._exit(0)
        os.close(write)
        with os.fdopen(read) as f:
            text = f.read()
        _, status = os.waitpid(pid, 0)
        if not text or status:
            total["signals"] += 1
            if total["signals"] > 5:
                break
            continue
        one = json.loads(text)
        total["programs"] += min(CHUNK, count)
        total["tally"].update(one["tally"])
        total["sinks"].update(one["sinks"])
        total["changed"].update(one["changed"])
        total["lines"] = [max(total["lines"][0], one["lines"][0]), one["lines"][1]]
    total["changed"] = sorted(total["changed"])
    print(json.dumps(total))
    return not total["sinks"] and not total["signals"] and not total["changed"]


def planted():
    sets.use("planted")
    classes, _ = sets.LIBRARY.classes()
    bad = [c for c in classes if c.__name__.startswith("Bad")]
    missed, kept = [], []
    for cls in classes:
        inside = sets.left_out(cls) is None and list(sets.members(cls, "")) != []
        if inside and cls in bad:
            missed.append(cls.__name__)
        if not inside and cls.__name__.startswith("Good"):
            kept.append(cls.__name__)
    print(json.dumps({"planted": len(bad), "found": len(bad) - len(missed), "missed": missed, "good classes left out": kept}))
    return not missed and not kept and len(bad) >= 30


if __name__ == "__main__":
    good = planted() if sys.argv[1] == "--planted" else prove(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 1)
    sys.exit(not good)
