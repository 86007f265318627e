"""Writes pickles of the scikit-learn, or the LightGBM, that is installed: testdata/gate/classes.

    python older.py ../../testdata/gate/classes
    python older.py ../../testdata/gate/classes boosters
    python older.py ../../testdata/gate/classes rounds      with XGBoost before 2.0

It runs with any version of them that the sets are about. Below accepted is what the library writes;
below refused are arrays that do not fit, and parts that state different versions.
"""
import io
import pathlib
import pickle
import pickletools
import sys
import warnings

import numpy as np
import sklearn
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC

warnings.simplefilter("ignore")
X, y = np.arange(8.0).reshape(4, 2), [0, 0, 1, 1]


def changed(value, **attributes):
    for name, one in attributes.items():
        setattr(value, name, one)
    return value


def forest():
    return RandomForestClassifier(n_estimators=1, max_depth=1, random_state=0).fit(X, y)


def accepted(encodes):
    yield "forest", make_pipeline(StandardScaler(), forest()).fit(X, y)
    if encodes:
        yield "onehot", OneHotEncoder().fit([[1.0], [2.0]])
        yield "machine", SVC(gamma=0.5).fit(X, y)
        yield "words", CountVectorizer().fit(["a cd ef"])


def refused(encodes):
    out, version = io.BytesIO(), sklearn.__version__.encode()
    pickler = pickle.Pickler(out, 3)
    pickler.fast = True  # a text for each part that states the version
    pickler.dump(make_pipeline(StandardScaler(), forest()).fit(X, y))
    data = out.getvalue()
    at = data.index(version)
    yield "mixed", data[:at] + {5: b"1.1.1", 6: b"0.24.1"}[len(version)] + data[at + len(version):]
    yield "unknown", data.replace(version, version[:-1] + b"9")
    if encodes:
        yield "onehot-unsorted", changed(OneHotEncoder().fit([[1.0], [2.0]]), categories_=[np.array([2.0, 1.0])])
        yield "onehot-dropped", changed(OneHotEncoder(drop="first").fit([[1.0], [2.0]]), drop=None)
        yield "machine-likely", changed(SVC(gamma=0.5).fit(X, y), probability=True)
        yield "vocabulary", changed(CountVectorizer().fit(["a cd ef"]), vocabulary_={"cd": 0, "ef": 1 << 40})


def boosters(accept):
    """A booster in the form that LightGBM had before 4.0, or one that was changed."""
    import lightgbm
    one = lightgbm.LGBMClassifier(n_estimators=1, min_child_samples=1, num_leaves=3).fit(np.arange(80.0).reshape(40, 2), [0] * 20 + [1] * 20)
    if accept:
        yield "booster", one
        return
    data = pickle.dumps(one, 3)
    for name, old, new in (("booster-child", b"left_child=", b"left_child=9"), ("booster-name", b"\x06\0\0\0handle", b"\x06\0\0\0hundle")):
        assert old in data, old
        at = data.index(old)
        yield name, data[:at] + new + data[at + len(new):]


def rounds(accept):
    """A booster of dart of XGBoost, which reads trees up to the best round, or with one round too many."""
    import xgboost
    one = xgboost.XGBRegressor(booster="dart", n_estimators=3, max_depth=2, n_jobs=1).fit(np.arange(80.0).reshape(40, 2), np.arange(40.0))
    booster = one.get_booster()
    if not accept:
        booster.best_iteration += 1
    yield "dart", one


def main():
    parts = [int(n) for n in sklearn.__version__.split(".")[:2]]
    folder, prefix = pathlib.Path(sys.argv[1]), f"older-{sklearn.__version__}-"
    with_boosters = len(sys.argv) > 2
    for part in (accepted, refused):
        values = globals()[sys.argv[2]](part is accepted) if with_boosters else part(parts >= [0, 24])
        for name, value in values:
            data = value if isinstance(value, bytes) else pickle.dumps(value, 3)
            (folder / part.__name__ / f"{({'boosters': 'older-lightgbm-', 'rounds': 'older-xgboost-'}[sys.argv[2]] if with_boosters else prefix)}{name}.pkl").write_bytes(pickletools.optimize(data))


if __name__ == "__main__":
    main()
