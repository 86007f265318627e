"""Fits the estimators of the scikit-learn that is installed, and counts which a program accepts.

    python fitted.py AMN FOLDER [PROTOCOL]

Every estimator that can be made without arguments is fitted to 40 rows of 4 numbers, or to texts,
and written to the folder. AMN judges the files with the profile tabular. The last line of the
output is a row of the table in README.md; the others say which are refused, and why.
"""
import inspect
import json
import pathlib
import pickle
import subprocess
import sys
import warnings

import numpy as np
import sklearn

warnings.simplefilter("ignore")


def estimators():
    import sets
    sets.use("sklearn")
    sets.present("sklearn.experimental.enable_halving_search_cv")
    sets.present("sklearn.experimental.enable_hist_gradient_boosting")
    every = getattr(sets.present("sklearn.utils.discovery") or sys.modules["sklearn.utils"], "all_estimators", None) or __import__("sklearn.utils.testing", fromlist=["x"]).all_estimators
    return every(**{name: True for name in ("include_meta_estimators",) if name in inspect.signature(every).parameters})


def fitted(cls):
    rng = np.random.RandomState(0)
    x = np.round(rng.rand(40, 4) * 4, 2)
    labels, numbers = (x[:, 0] > 2).astype(int), x[:, 0] + x[:, 1]
    for data, target in ((x, labels), (x, numbers), (x, None), (np.floor(x), labels), (x[:, 0], numbers), (labels, None), (["a cd ef", "gh a"], None), ([{"a": 1}], None), (x, x[:, :2]), ([["a"], ["b"]], None)):
        try:
            one = cls()
            for name, value in (("n_estimators", 3), ("max_iter", 20), ("max_depth", 2)):
                if name in one.get_params():
                    one.set_params(**{name: value})
            return one.fit(data, target)
        except Exception:
            continue
    return None


def main():
    amn, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, cls in estimators():
        one = fitted(cls)
        if one is not None:
            paths.append(folder / f"{name}.pkl")
            paths[-1].write_bytes(pickle.dumps(one, int(sys.argv[3]) if len(sys.argv) > 3 else 3))
    done = subprocess.run([amn, "scan", "--json", "--limits", "tabular", *map(str, paths)], stdout=subprocess.PIPE, universal_newlines=True)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    for row in rows:
        if row.get("class") != "ok":
            print(pathlib.Path(row["path"]).stem, (row.get("error") or {}).get("message", "")[:200])
    print(f"| {sklearn.__version__} | {len(paths)} | {sum(row.get('class') == 'ok' for row in rows)} |")


if __name__ == "__main__":
    main()
