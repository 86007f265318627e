"""Times load_pickle beside pickle.load, in turns: python speed.py [ROUNDS]

The files have about 100 MB: arrays of a model, small arrays, a frame, a forest of
scikit-learn and a vocabulary. The best of each and its processor time, which other
programs disturb less, are printed. ANAMNESIS_AMN is the program.
"""
import pathlib
import pickle
import resource
import sys
import tempfile
import time
import warnings

import anamnesis_models
import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestRegressor

ROOM = {"max_total": "16GiB", "max_items": 10**9, "max_single_alloc": "1GiB", "timeout": "10m"}


def values():
    rng, n = np.random.default_rng(0), 1_000_000
    yield "arrays", {f"layer.{i}.weight": rng.standard_normal((768, 3072)).astype("f4") for i in range(10)}
    yield "small arrays", [rng.standard_normal(30) for _ in range(350_000)]
    frame = {"id": np.arange(n), "x": rng.standard_normal(n), "name": np.array([f"customer {i}" for i in range(n)], object)}
    yield "frame", pd.DataFrame(frame | {"city": pd.Categorical(rng.choice(["a", "b"], n)), "when": pd.date_range("2020", periods=n, freq="s")})
    x = rng.standard_normal((40_000, 20))
    yield "forest", RandomForestRegressor(27).fit(x, x[:, 0] + rng.standard_normal(40_000))
    yield "vocabulary", {f"word{i}": i for i in range(5_000_000)}


def processor():
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def timed(load):
    cpu, began = processor(), time.perf_counter()
    made = load()
    took = time.perf_counter() - began, processor() - cpu
    del made
    return took


def by_python(path):
    with path.open("rb") as f:
        return pickle.load(f)


def main(rounds):
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "a.pkl")
        for name, value in values():
            path.write_bytes(pickle.dumps(value, 4))
            del value
            theirs, ours = [], []
            for _ in range(rounds):
                theirs.append(timed(lambda: by_python(path)))
                ours.append(timed(lambda: anamnesis_models.load_pickle(path, policy="tabular", **ROOM)))
            (wall, cpu), (our_wall, our_cpu) = (tuple(min(one[i] for one in all_) * 1e3 for i in (0, 1)) for all_ in (theirs, ours))
            print(f"{name:13} {path.stat().st_size / 1e6:4.0f} MB  pickle.load {wall:7.0f} ms  load_pickle {our_wall:7.0f} ms, {our_wall / wall:.1f} times; processor {cpu:7.0f} and {our_cpu:7.0f} ms, {our_cpu / cpu:.1f} times")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 7)
