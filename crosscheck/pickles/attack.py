"""Changes honest pickles, and uses what this module still accepts.

    python attack.py READ SECONDS FOLDER...

READ is the program of crosscheck/pickles/read, or with the variable POLICY amn itself. Each pickle is changed in one to three
places: a number, some bytes, two operands in each other's place. What is accepted is loaded
and used in a process of its own, with 2 GiB and 10 seconds. A failure is a process that a
signal ends, no memory, a pickle that the library refuses, and a value that it cannot print;
the pickles of failures are kept in ./attack.
"""
import collections
import contextlib
import importlib
import json
import os
import pathlib
import pickle
import pickletools
import random
import resource
import struct
import subprocess
import sys
import tempfile
import time
import warnings

OUTCOMES = {0: "used", 2: "refused by the library", 3: "no memory to load it", 4: "no memory to use it", 5: "not printed"}
FAILURES = ("signal", "no memory", "refused", "not printed")
NUMBERS = [0, 1, 2, 3, 5, 7, 127, 128, 255]


def pieces(data):
    """Splits a pickle into instructions: name, operand as bytes."""
    all_ops = list(pickletools.genops(data))
    ends = [pos for _, _, pos in all_ops[1:]] + [len(data)]
    return [(op.name, data[pos:end]) for (op, _, pos), end in zip(all_ops, ends)]


def changed(ops, rng):
    ops = list(ops)
    for _ in range(rng.choice((1, 1, 2, 3))):
        i = rng.randrange(len(ops))
        name, raw = ops[i]
        if name in ("BININT1",):
            ops[i] = name, raw[:1] + bytes([rng.choice(NUMBERS)])
        elif name in ("BININT", "BININT2", "LONG1"):
            ops[i] = "BININT", b"J" + struct.pack("<i", rng.choice((-1, -2, 2**31 - 1, -2**31, 1000, 65536)))
        elif name in ("SHORT_BINBYTES", "BINBYTES", "BINUNICODE", "SHORT_BINSTRING"):
            head = {"SHORT_BINBYTES": 2, "SHORT_BINSTRING": 2}.get(name, 5)
            body = bytearray(raw[head:])
            if body and name.endswith("BYTES"):
                for _ in range(rng.choice((1, 2, 8))):
                    body[rng.randrange(len(body))] = rng.choice((0, 1, 2, 127, 128, 255))
                ops[i] = name, raw[:head] + bytes(body)
            elif len(body) > 200 and rng.random() < 0.9:  # the text of a model
                digits = [k for k in range(len(body)) if chr(body[k]) in "0123456789"]
                for _ in range(rng.choice((1, 2))):
                    body[rng.choice(digits or [0])] = rng.choice(b"0123456789-")
                ops[i] = name, raw[:head] + bytes(body)
            else:
                same = [k for k, o in enumerate(ops) if o[0] == name]
                ops[i] = ops[rng.choice(same)]
        elif name in ("NEWTRUE", "NEWFALSE", "NONE"):
            ops[i] = rng.choice((("NEWTRUE", b"\x88"), ("NEWFALSE", b"\x89"), ("NONE", b"N")))
        elif name in ("BINGET", "GLOBAL", "LONG_BINGET"):
            same = [k for k, o in enumerate(ops) if o[0] == name]
            ops[i] = ops[rng.choice(same)]
        else:  # look for a place that says more
            same = [k for k, o in enumerate(ops) if o[0] in ("BININT1", "SHORT_BINBYTES", "BININT")]
            if same:
                a, b = rng.choice(same), rng.choice(same)
                ops[a], ops[b] = ops[b], ops[a]
    return b"".join(raw for _, raw in ops)


def use(v):
    warnings.simplefilter("ignore")
    for one in (lambda: repr(v), lambda: str(v.describe()), lambda: v.copy().sum(), lambda: v.astype(object), lambda: v.to_numpy(), lambda: v.toarray(), lambda: v.get_loc(1),
                lambda: v.dropna(), lambda: v.sort_values(), lambda: v.tocsr() @ v.tocsc(), lambda: v.tocoo().tocsr().sum(), lambda: v.T.tocsc(), lambda: v.unique(), lambda: v.isin([1]),
                lambda: v.value_counts(), lambda: v.iloc[-1], lambda: v.reset_index(), lambda: v.groupby(v.columns[0]).sum(), lambda: v + v, lambda: v.get_indexer(v), lambda: v == v,
                lambda: v.filled(), lambda: v.tolist(), lambda: v.factorize(), lambda: v.to_csv(), lambda: v.memory_usage(deep=True), lambda: v.predict([[0.0] * 4] * 3), lambda: v.transform([[0.0] * 4] * 3),
                lambda: v.predict_proba([[0.0] * 4] * 3), lambda: v.decision_function([[0.0] * 4] * 3), lambda: v.kneighbors([[0.0] * 4] * 3), lambda: v.kneighbors_graph([[0.0] * 4] * 3), lambda: v.radius_neighbors([[0.0] * 4] * 3),
                *(lambda b=b, d=d, one=one: one(b(), d()) for b in (lambda: v, lambda: v.get_booster()) for d in (lambda: sys.modules["xgboost"].DMatrix([[0.0] * 4, [float("nan"), 1, 2, 3]]),) for one in BOOSTERS),
                lambda: v.score_samples([[0.0] * 4] * 3), lambda: v.inverse_transform(v.transform([[0.0] * 4] * 3)), lambda: v.transform(["a b"])):
        try:
            one()
        except MemoryError:
            raise
        except Exception:
            pass


# What is done with a booster of XGBoost and a table, besides predicting.
BOOSTERS = (lambda b, d: b.predict(d), lambda b, d: b.predict(d, pred_leaf=True), lambda b, d: b.predict(d, pred_contribs=True), lambda b, d: b.predict(d, pred_interactions=True), lambda b, d: b.inplace_predict([[0.0] * 4] * 3),
            lambda b, d: b.get_dump(with_stats=True), lambda b, d: b.get_score(importance_type="gain"), lambda b, d: b.save_config(), lambda b, d: b.copy().save_raw("json"), lambda b, d: b[0:1].predict(d), lambda b, d: b.best_iteration, lambda b, d: b.attributes(), lambda b, d: b.trees_to_dataframe(),
            lambda b, d: b.eval(sys.modules["xgboost"].DMatrix([[0.0] * 4] * 3, [0, 1, 0])))


def child(data):
    """Loads and uses a pickle, and returns one of the codes of OUTCOMES."""
    try:
        value = pickle.loads(data)
    except MemoryError:
        return 3
    except BaseException as e:
        why(e)
        return 2
    try:
        repr(value)
    except MemoryError:
        return 4
    except BaseException as e:
        why(e)
        return 5
    try:
        use(value)
    except MemoryError:
        return 4
    return 0


def why(e):
    """Writes a failure to the file of WHY, which is for who mends it."""
    if path := os.environ.get("WHY"):
        with open(path, "a") as f:
            print(f"{type(e).__name__}: {str(e)[:120]!r}", file=f)


def outcome(data):
    """Loads and uses a pickle in a child, and tells how that ended."""
    pid = os.fork()
    if pid == 0:
        resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
        resource.setrlimit(resource.RLIMIT_CPU, (10, 10))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        os._exit(child(data))
    _, status = os.waitpid(pid, 0)
    if os.WIFSIGNALED(status):
        return f"signal {os.WTERMSIG(status)}"
    return OUTCOMES.get(os.WEXITSTATUS(status), "?")


def accepted(read, batch):
    """Yields the files that READ accepts; with POLICY, READ is the program amn."""
    policy = os.environ.get("POLICY")
    command = [read, "scan", "--json", "--limits", policy] if policy else [read]
    done = subprocess.run([*command, *batch], capture_output=True, text=True, check=not policy)
    for line in map(json.loads, done.stdout.splitlines()):
        if line.get("class") == "ok" if policy else "error" not in line:
            yield line["path"]


def main():
    read, seconds, folders = sys.argv[1], float(sys.argv[2]), sys.argv[3:]
    import numpy  # noqa: F401
    import pandas  # noqa: F401
    import scipy.sparse  # noqa: F401
    if os.environ.get("POLICY"):
        for name in ("lightgbm", "sklearn.ensemble", "xgboost"):
            with contextlib.suppress(ImportError):
                importlib.import_module(name)
    rng = random.Random(int(os.environ.get("SEED", "1")))
    seeds = [p.read_bytes() for folder in folders for p in sorted(pathlib.Path(folder).iterdir()) if p.name.endswith(("-3.pkl", "-2.pkl")) or os.environ.get("POLICY") and p.name.endswith(".pkl")]
    seeds = [pieces(pickletools.optimize(s)) for s in seeds if len(s) < 20000 and b"NumpyArrayWrapper" not in s]  # whose arrays are between the instructions
    tally, end = collections.Counter(), time.monotonic() + seconds
    with tempfile.TemporaryDirectory() as tmp:
        while time.monotonic() < end:
            batch = {}
            for i in range(400):
                path = os.path.join(tmp, f"{i}.pkl")
                batch[path] = changed(rng.choice(seeds), rng)
                pathlib.Path(path).write_bytes(batch[path])
            tally["changed"] += len(batch)
            for path in accepted(read, batch):
                data = batch[path]
                how = outcome(data)
                tally[how] += 1
                if how.startswith(FAILURES):
                    pathlib.Path("attack").mkdir(exist_ok=True)
                    pathlib.Path("attack", f"{how.replace(' ', '-')}-{tally[how]}.pkl").write_bytes(data)
    print(json.dumps(tally))
    sys.exit(any(k.startswith(FAILURES) for k in tally))


if __name__ == "__main__":
    main()
