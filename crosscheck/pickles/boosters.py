"""Fits models with the XGBoost or LightGBM that is installed, and counts which a program accepts.

    python boosters.py xgboost|lightgbm AMN FOLDER

Classifiers, regressors, rankers, forests, linear models and boosters, as pickles of all
protocols and as files of joblib. AMN judges the files with the profile tabular. The last line of
the output is a row of the table in README.md; the others say which are refused, and why.
"""
import importlib
import inspect
import json
import pathlib
import pickle
import subprocess
import sys
import warnings

import joblib
import numpy as np

warnings.simplefilter("ignore")
KWARGS = {"n_estimators": 3, "max_depth": 2, "n_jobs": 1}


def table():
    rng = np.random.RandomState(0)
    x = rng.rand(60, 4)
    x[:, 3] = (x[:, 3] * 5).astype(int)
    return x, x[:, 0] + x[:, 1], (x[:, 0] > 0.5).astype(int), (x[:, 1] * 3).astype(int)


def of_xgboost(xgboost):
    x, numbers, labels, three = table()
    known = set(inspect.signature(xgboost.XGBModel.__init__).parameters)
    classify, regress = xgboost.XGBClassifier, xgboost.XGBRegressor
    yield "empty", lambda: classify()
    yield "two", lambda: classify(**KWARGS).fit(x, labels)
    yield "three", lambda: classify(**KWARGS).fit(x, three)
    yield "regress", lambda: regress(**KWARGS).fit(x, numbers)
    yield "forest", lambda: xgboost.XGBRFClassifier(**KWARGS).fit(x, three)
    yield "forest-regress", lambda: xgboost.XGBRFRegressor(**KWARGS).fit(x, numbers)
    yield "ranker", lambda: xgboost.XGBRanker(**KWARGS).fit(x, labels, group=[30, 30])
    yield "linear", lambda: regress(booster="gblinear", n_estimators=3, n_jobs=1).fit(x, numbers)
    yield "dart", lambda: regress(booster="dart", **KWARGS).fit(x, numbers)
    yield "exact", lambda: regress(tree_method="exact", gamma=0.2, **{**KWARGS, "max_depth": 5}).fit(x, numbers)
    yield "leaves", lambda: regress(tree_method="hist", grow_policy="lossguide", max_leaves=7, **KWARGS).fit(x, numbers)
    for name in ("reg:pseudohubererror", "count:poisson", "reg:gamma", "reg:tweedie", "reg:absoluteerror", "reg:squaredlogerror", "reg:logistic"):
        yield name.replace(":", "-"), lambda name=name: regress(objective=name, **KWARGS).fit(x, numbers / 3)
    yield "quantile", lambda: regress(objective="reg:quantileerror", quantile_alpha=0.3, **KWARGS).fit(x, numbers)
    yield "targets", lambda: regress(tree_method="hist", **KWARGS).fit(x, x[:, :2])
    yield "labels", lambda: classify(tree_method="hist", **KWARGS).fit(x, np.stack([labels, labels[::-1]], 1))
    yield "early", lambda: early(classify, known, x, three)
    yield "metrics", lambda: classify(eval_metric=["mlogloss", "merror"], **KWARGS).fit(x, three, eval_set=[(x, three)], verbose=False) if "eval_metric" in known else None
    yield "frame", lambda: classify(**KWARGS).fit(__import__("pandas").DataFrame(x, columns=list("abcd")), labels)
    yield "categories", lambda: regress(tree_method="hist", enable_categorical=True, **KWARGS).fit(categories(x), numbers)
    yield "constraints", lambda: regress(monotone_constraints=(1, 0, 0, -1), interaction_constraints="[[0, 1], [2, 3]]", **KWARGS).fit(x, numbers)
    rows = xgboost.DMatrix(x, numbers, feature_names=["a", "b", "c", "d"])
    yield "booster", lambda: xgboost.train({"nthread": 1, "max_depth": 3}, rows, 4)
    yield "booster-softmax", lambda: xgboost.train({"nthread": 1, "objective": "multi:softmax", "num_class": 3}, xgboost.DMatrix(x, three), 4)
    yield "booster-survival", lambda: xgboost.train({"nthread": 1, "objective": "survival:cox"}, xgboost.DMatrix(x, numbers), 4)
    yield "booster-slice", lambda: xgboost.train({"nthread": 1, "max_depth": 3}, rows, 4)[1:3]
    yield "pipeline", lambda: __import__("sklearn.pipeline", fromlist=["x"]).make_pipeline(classify(**KWARGS)).fit(x, labels)


def of_lightgbm(lightgbm):
    x, numbers, labels, three = table()
    some = {"n_estimators": 3, "num_leaves": 4, "min_child_samples": 2, "n_jobs": 1}
    classify, regress = lightgbm.LGBMClassifier, lightgbm.LGBMRegressor
    yield "empty", lambda: classify()
    yield "two", lambda: classify(**some).fit(x, labels)
    yield "three", lambda: classify(**some).fit(x, three)
    yield "texts", lambda: classify(**some).fit(x, np.array(["a", "b", "c"])[three])
    yield "balanced", lambda: classify(class_weight="balanced", **some).fit(x, three)
    yield "all", lambda: classify(objective="multiclassova", **some).fit(x, three)
    yield "ranker", lambda: lightgbm.LGBMRanker(**some).fit(x, labels, group=[30, 30])
    yield "ranker-early", lambda: lightgbm.LGBMRanker(**some).fit(x, labels, group=[30, 30], eval_set=[(x, labels)], eval_group=[[30, 30]])
    for name in ("regression", "regression_l1", "huber", "fair", "poisson", "quantile", "mape", "gamma", "tweedie", "cross_entropy"):
        yield name, lambda name=name: regress(objective=name, **some).fit(x, numbers / 3)
    for name in ("dart", "goss", "rf"):
        yield name, lambda name=name: regress(boosting_type=name, **some, **({"subsample": 0.5, "subsample_freq": 1} if name == "rf" else {})).fit(x, numbers)
    yield "frame", lambda: regress(**some).fit(__import__("pandas").DataFrame(x, columns=list("abcd")), numbers)
    yield "categories", lambda: regress(**some).fit(categories(x), numbers)
    yield "columns", lambda: regress(**some).fit(x, numbers, categorical_feature=[3])
    yield "metrics", lambda: classify(**some).fit(x, three, eval_set=[(x, three)], eval_metric="multi_logloss")
    yield "monotone", lambda: regress(monotone_constraints=[1, 0, 0, -1], **some).fit(x, numbers)
    yield "booster", lambda: lightgbm.train({"verbose": -1, "num_leaves": 4, "min_data_in_leaf": 2}, lightgbm.Dataset(x, numbers), 4)
    yield "booster-three", lambda: lightgbm.train({"verbose": -1, "objective": "multiclass", "num_class": 3}, lightgbm.Dataset(x, three), 4)
    yield "pipeline", lambda: __import__("sklearn.pipeline", fromlist=["x"]).make_pipeline(classify(**some)).fit(x, labels)


def early(cls, known, x, y):
    if "early_stopping_rounds" in known:
        return cls(early_stopping_rounds=1, **KWARGS).fit(x, y, eval_set=[(x, y)], verbose=False)
    return cls(**KWARGS).fit(x, y, eval_set=[(x, y)], early_stopping_rounds=1, verbose=False)


def categories(x):
    import pandas
    frame = pandas.DataFrame(x[:, :3], columns=list("abc"))
    return frame.assign(d=pandas.Categorical(x[:, 3].astype(int)))


def main():
    library, amn, folder = importlib.import_module(sys.argv[1]), sys.argv[2], pathlib.Path(sys.argv[3])
    folder.mkdir(parents=True, exist_ok=True)
    paths, unfit = [], []
    for name, make in globals()[f"of_{sys.argv[1]}"](library):
        try:
            one = make()
        except Exception as e:  # this version does not have it
            unfit.append(f"{name}: {type(e).__name__}")
            continue
        if one is None:
            continue
        for protocol in (2, 3, 4, 5):
            paths.append(folder / f"{name}-{protocol}.pkl")
            paths[-1].write_bytes(pickle.dumps(one, protocol))
        paths.append(folder / f"{name}.joblib")
        joblib.dump(one, paths[-1])
    done = subprocess.run([amn, "scan", "--json", "--limits", "tabular", *map(str, paths)], stdout=subprocess.PIPE, universal_newlines=True)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    print("not made:", ", ".join(unfit))
    for row in rows:
        if row.get("class") != "ok":
            print(pathlib.Path(row["path"]).name, (row.get("error") or {}).get("message", "")[:300])
    print(f"| {library.__version__} | {len(paths)} | {sum(row.get('class') == 'ok' for row in rows)} |")


if __name__ == "__main__":
    main()
