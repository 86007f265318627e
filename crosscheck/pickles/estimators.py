"""Writes pickles of scikit-learn's estimators: testdata/gate/classes.

    python estimators.py ../../testdata/gate/classes

Below accepted is what the library writes, below refused what was changed where it does not
look. A policy that allows the set sklearn accepts the former alone; no other does.
"""
import itertools
import pathlib
import pickle
import pickletools
import struct
import sys
import warnings

import joblib
import numpy as np
from sklearn.cluster import Birch, KMeans
from sklearn.ensemble import GradientBoostingClassifier, GradientBoostingRegressor, HistGradientBoostingClassifier, HistGradientBoostingRegressor, VotingRegressor
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import RidgeClassifier, SGDClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import BallTree, KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MultiLabelBinarizer, FunctionTransformer, KBinsDiscretizer, OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.svm import SVC, SVR
from sklearn.tree import DecisionTreeClassifier

warnings.simplefilter("ignore")
X, y = np.arange(8.0).reshape(4, 2), [0, 0, 1, 1]


def tree():
    return DecisionTreeClassifier(max_depth=1).fit(X, y)


def nodes(i, field, value):
    """A tree with another number in one of its nodes."""
    one = tree()
    data, array = pickle.dumps(one, 3), one.tree_.__getstate__()["nodes"]
    other = array.copy()
    other[field][i] = value
    assert array.tobytes() in data
    return data.replace(array.tobytes(), other.tobytes())


def changed(value, **attributes):
    for name, one in attributes.items():
        setattr(value, name, one)
    return value


class Call:
    """Pickles as a call of the first value with the second, and with the third for a state."""

    def __init__(self, *parts):
        self.parts = parts

    def __reduce__(self):
        return self.parts


def state(**attributes):
    """A tree with another state."""
    one = tree()
    call, args, made = one.tree_.__reduce__()
    one.tree_ = Call(call, args, dict(made, **attributes))
    return one


def accepted():
    yield "pipeline", make_pipeline(StandardScaler(), tree()).fit(X, y)
    yield "words", CountVectorizer().fit(["a cd ef"])
    yield "onehot", OneHotEncoder().fit([[1], [2]])
    yield "ordinal", OrdinalEncoder().fit(np.array([[1.0], [np.nan], [3.0]]))
    yield "bins", KBinsDiscretizer(2, quantile_method="averaged_inverted_cdf").fit([[1.0], [2.0], [3.0]])
    yield "pruned", DecisionTreeClassifier(max_leaf_nodes=3, ccp_alpha=0.01, random_state=0).fit([[1], [2], [3], [4]], [0, 1, 0, 1])


    yield "centers", KMeans(2, n_init=1, random_state=0).fit(X)
    yield "machine", SVC().fit(X, y)
    yield "machine-regression", SVR().fit(X, y)
    yield "neighbors", KNeighborsClassifier(1).fit(X, y)
    yield "neighbors-ball", BallTree(X, leaf_size=1)
    yield "isotonic", IsotonicRegression().fit([1, 2, 3], [1, 2, 3])
    yield "search", GridSearchCV(RidgeClassifier(), {"alpha": [1, 2]}, cv=2).fit(X, y)
    yield "voting", VotingRegressor([("a", SVR())]).fit(X, y)
    yield "descent", SGDClassifier().fit(X, y)
    yield "hashes", HashingVectorizer()


    yield "stages", GradientBoostingRegressor(n_estimators=2, max_depth=1).fit(X, y)
    yield "stages-two", GradientBoostingClassifier(n_estimators=2, max_depth=1, random_state=0).fit(X, y)
    yield "stages-three", GradientBoostingClassifier(n_estimators=1, max_depth=1, init="zero").fit(X, [0, 1, 2, 2])
    yield "histograms", histograms()
    yield "histograms-classes", HistGradientBoostingClassifier(max_iter=1, min_samples_leaf=1).fit(X, [0, 1, 2, 2])


def histograms():
    x = np.arange(24.0).reshape(-1, 1)
    return HistGradientBoostingRegressor(max_iter=1, min_samples_leaf=2, max_bins=8, max_leaf_nodes=4).fit(x, x[:, 0])


def histogram(**fields):
    """The same, with other fields in the first node."""
    one = histograms()
    for name, value in fields.items():
        one._predictors[0][0].nodes[name][0] = value
    return one


def boosted(part=None, **attributes):
    one = GradientBoostingClassifier(n_estimators=1, max_depth=1, random_state=0).fit(X, [0, 1, 2, 2])
    changed(part(one) if part else one, **attributes)
    return one


def points(i, **fields):
    """Neighbors with a tree that was changed: one place of its state, or fields of one of its nodes."""
    one = KNeighborsClassifier(1, leaf_size=1, algorithm="kd_tree").fit(X, y)
    call, args, made = one._tree.__reduce__()
    made = list(made)
    if "place" in fields:
        made[fields["place"]] = fields["value"]
    else:
        made[2] = made[2].copy()
        for name, value in fields.items():
            made[2][name][i] = value
    one._tree = Call(call, args, tuple(made))
    return one


def wrong():
    """Estimators whose arrays do not fit each other."""
    yield "centers-columns", changed(KMeans(2, n_init=1, random_state=0).fit(X), cluster_centers_=X[:, :1].copy())
    yield "centers-order", changed(KMeans(2, n_init=1, random_state=0).fit(X), cluster_centers_=np.asfortranarray(X))
    yield "centers-threads", changed(KMeans(2, n_init=1, random_state=0).fit(X), _n_threads=1 << 20)
    for name, value in {
        "coefs": {"_dual_coef_": np.ones((1, 2))}, "vectors": {"support_vectors_": X[:, :1].copy()}, "count": {"_n_support": np.array([2, 1 << 20], "i4")}, "classes": {"_n_support": np.array([2, 2, 0], "i4")},
        "offset": {"_intercept_": np.ones(0)}, "kernel": {"kernel": "precomputed"}, "sparse": {"_sparse": True}, "likely": {"_effective_probability": True}, "labels": {"classes_": np.arange(3)},
    }.items():
        yield "machine-" + name, changed(SVC().fit(X, y), **value)
    yield "machine-regression", changed(SVR().fit(X, y), _n_support=np.array([1, 1, 1], "i4"))
    yield "neighbors-columns", changed(KNeighborsClassifier(1).fit(X, y), _fit_X=X[:, :1].copy())
    yield "neighbors-label", changed(KNeighborsClassifier(1).fit(X, y), _y=np.array([0, 0, 1, 1 << 40]))
    yield "neighbors-samples", changed(KNeighborsClassifier(1).fit(X, y), n_samples_fit_=1)
    yield "neighbors-order", points(0, place=1, value=np.array([0, 1, 2, 1 << 40]))
    yield "neighbors-nodes", points(0, place=6, value=7)
    yield "neighbors-levels", points(0, place=5, value=2**31 - 1)
    yield "neighbors-bounds", points(0, place=3, value=np.zeros((2, 1, 2)))
    yield "neighbors-data", points(0, place=0, value=np.zeros((4, 1)))
    yield "neighbors-end", points(0, idx_end=1 << 40)
    yield "neighbors-start", points(1, idx_start=-1)
    yield "neighbors-leaf", points(1, is_leaf=0)
    yield "neighbors-both", points(2, idx_start=0)
    yield "stages-columns", boosted(n_trees_per_iteration_=1)
    yield "stages-list", boosted(estimators_=[[tree()]])
    yield "stages-class", boosted(estimators_=np.array([[tree(), tree(), tree()]]))
    yield "stages-features", boosted(n_features_in_=1)
    yield "stages-first", boosted(lambda v: v.init_, n_classes_=2)
    yield "stages-prior", boosted(lambda v: v.init_, class_prior_=np.ones(1))
    yield "stages-loss", boosted(_loss=GradientBoostingClassifier(n_estimators=1).fit(X, y)._loss)
    yield "stages-constant", changed(GradientBoostingRegressor(n_estimators=1).fit(X, y), init_=SVR().fit(X, y))
    many = GradientBoostingClassifier(n_estimators=1, max_depth=1).fit(X, y)
    yield "stages-classifier", changed(GradientBoostingRegressor(n_estimators=1, max_depth=1).fit(X, y), estimators_=many.estimators_, _loss=many._loss, init_=many.init_)
    for name, params in {"norms": {"Y_norm_squared": np.zeros(1)}, "inverse": {"VI": np.eye(1)}, "exponent": {"p": np.zeros(1)}, "weights": {"p": 3, "w": np.ones(1)}}.items():
        yield "neighbors-" + name, changed(KNeighborsClassifier(1).fit(X, y), effective_metric_params_=params)
    yield "labels", changed(MultiLabelBinarizer().fit([["a", "b"]]), _cached_dict={"a": 1 << 31, "b": 1})
    yield "norms", changed(Birch(n_clusters=None).fit(X), _subcluster_norms=np.zeros(1), root_=None, dummy_leaf_=None)
    yield "histograms-feature", histogram(feature_idx=1 << 40)
    yield "histograms-other", histogram(feature_idx=1)
    yield "histograms-child", histogram(left=1 << 20)
    yield "histograms-cycle", histogram(right=0)
    yield "histograms-set", histogram(is_categorical=1)
    yield "histograms-leaf", histogram(is_leaf=2)
    yield "histograms-binned", changed(histograms(), _in_fit=True)
    one = histograms()
    one._bin_mapper.is_categorical_ = one._bin_mapper.is_categorical_[:0]
    yield "histograms-bins", one
    yield "isotonic", changed(IsotonicRegression().fit([1, 2, 3], [1, 2, 3]), X_thresholds_=np.arange(2.0))
    yield "hashes", changed(HashingVectorizer(), n_features=0)


def refused():
    yield from wrong()
    yield "tree-child", nodes(0, "left_child", 1 << 40)
    yield "tree-cycle", nodes(0, "left_child", 0)
    yield "tree-feature", nodes(0, "feature", 1 << 40)
    yield "tree-leaf", nodes(1, "right_child", 2)
    yield "tree-features", changed(tree(), n_features_in_=1)
    yield "vocabulary", changed(CountVectorizer().fit(["a cd ef"]), vocabulary_={"cd": 0, "ef": 1 << 40})
    yield "filename", changed(CountVectorizer().fit(["a cd ef"]), input="filename")
    yield "onehot", changed(OneHotEncoder().fit([[1], [2]]), _n_features_outs=[1])
    yield "onehot-unsorted", changed(OneHotEncoder().fit([[1.0], [2.0]]), categories_=[np.array([2.0, 1.0])])
    yield "ordinal-unsorted", changed(OrdinalEncoder().fit([[1.0], [2.0]]), categories_=[np.array([2.0, 1.0])])
    edges = KBinsDiscretizer(2, encode="ordinal", quantile_method="averaged_inverted_cdf").fit([[1.0], [2.0], [3.0]])
    edges.bin_edges_[0] = edges.bin_edges_[0][::-1].copy()
    yield "edges-turned", edges
    yield "tree-depth", state(max_depth=0)
    yield "tree-columns", state(values=np.asfortranarray(tree().tree_.__getstate__()["values"].repeat(2, axis=2)[:, :, ::2]))
    yield "tree-graph", nodes(0, "left_child", 2)
    call, args, _ = tree().tree_.__reduce__()
    yield "tree-unbuilt", Call(call, args)
    yield "memmap", changed(FunctionTransformer().fit(X), func=np.memmap)
    yield "function", changed(StandardScaler().fit(X), mean_={"x": [np.memmap]})
    yield "method", changed(StandardScaler().fit(X), transform=None)
    yield "threads", changed(StandardScaler().fit(X), n_jobs=1 << 20)
    data = pickle.dumps(StandardScaler().fit(X), 3)
    yield "version", data.replace(b"1.9.1", b"1.9.9")
    yield "case", data.replace(b"StandardScaler", b"standardscaler")
    yield "dotted", data.replace(b"sklearn.preprocessing._data\nStandardScaler", b"sklearn.preprocessing\n_data.StandardScaler")


def boosters(accept):
    """Boosters of LightGBM, or the texts of some that were changed."""
    import lightgbm
    rng = np.random.default_rng(1)
    x = rng.random((80, 3))
    x[:, 2] = (x[:, 2] * 5).astype(int)
    values = rng.random(80) + x[:, 2]
    settings = {"n_estimators": 2, "verbose": -1, "num_leaves": 4, "min_child_samples": 5}
    one = lightgbm.LGBMClassifier(**settings).fit(x, (x[:, 1] * 3).astype(int))
    sets = lightgbm.train({"verbose": -1, "num_leaves": 4, "min_data_in_leaf": 3, "min_data_per_group": 1, "cat_smooth": 0, "max_cat_to_onehot": 1}, lightgbm.Dataset(x, values, categorical_feature=[2]), 2)
    if accept:
        yield "lightgbm", one
        yield "lightgbm-categories", sets
        return
    made = lightgbm.Booster(model_str=one._Booster.model_to_string()).__getstate__()
    text = made["_handle"]

    def raw(state):
        return b"\x80\x03clightgbm.basic\nBooster\n)\x81" + pickle.dumps(state, 3)[2:-1] + b"b."

    def other(old, new, text=text):
        assert old in text and len(old) == len(new), old
        return raw(dict(made, _handle=text.replace(old, new, 1)))

    def line(name, change):
        row = next(row for row in text.splitlines() if row.startswith(name + "=") and row != name + "=")
        return other(row, name + "=" + change(row.partition("=")[2]))

    yield "lightgbm-child", line("left_child", lambda v: "9" + v[1:])
    yield "lightgbm-cycle", line("left_child", lambda v: "0" + v[1:])
    yield "lightgbm-feature", line("split_feature", lambda v: "9" + v[1:])
    yield "lightgbm-count", line("leaf_value", lambda v: v.replace(" ", "1"))
    yield "lightgbm-sizes", line("tree_sizes", lambda v: "9" + v[1:])
    yield "lightgbm-classes", other("num_class:3", "num_class:9")
    yield "lightgbm-outputs", other("num_tree_per_iteration=3", "num_tree_per_iteration=1")
    yield "lightgbm-machines", other("[machines: ]", "[machines:x]")
    yield "lightgbm-category", other("num_cat=0", "num_cat=9")
    yield "lightgbm-handle", raw(dict(made, handle=text))
    yield "lightgbm-number", raw(dict(made, _handle=1 << 40))
    yield "lightgbm-network", raw(dict(made, _network=True))


class Blob:
    """The UBJSON of a booster of XGBoost, of which single values are changed."""

    def __init__(self, booster):
        self.state = booster.__getstate__()
        self.data = bytes(self.state["handle"])

    def pickled(self, data=None):
        state = dict(self.state, handle=bytearray(self.data if data is None else data))
        return b"\x80\x03cxgboost.core\nBooster\n)\x81" + pickle.dumps(state, 3)[2:-1] + b"b."

    def after(self, name):
        key = struct.pack(">q", len(name)) + name
        assert key in self.data, name
        return self.data.index(key) + len(key)

    def element(self, name, i, value):
        """Changes an element of the first array of numbers of that name."""
        at = self.after(name)
        size = {b"l": 4, b"L": 8, b"U": 1}[self.data[at + 2:at + 3]]
        assert self.data[at:at + 2] == b"[$" and self.data[at + 3:at + 5] == b"#L"
        at += 13 + i * size
        return self.pickled(self.data[:at] + value.to_bytes(size, "big", signed=size > 1) + self.data[at + size:])

    def text(self, name, value):
        """Changes all texts of that name, which the model and the configuration have."""
        key, data, at = struct.pack(">q", len(name)) + name + b"SL", self.data, 0
        while (at := data.find(key, at)) >= 0:
            at += len(key)
            old, = struct.unpack(">q", data[at:at + 8])
            data = data[:at] + struct.pack(">q", len(value)) + value + data[at + 8 + old:]
        assert data != self.data, name
        return self.pickled(data)

    def swapped(self, old, new):
        assert old in self.data, old
        return self.pickled(self.data.replace(old, new, 1))


def gradients(accept):
    """Boosters of XGBoost, or the bytes of some that were changed."""
    import xgboost
    rng = np.random.default_rng(1)
    x = rng.random((80, 3))
    x[:, 2] = (x[:, 2] * 5).astype(int)
    values, classes = x[:, 0] + x[:, 2], (x[:, 1] * 3).astype(int)
    some = {"n_estimators": 2, "max_depth": 2, "n_jobs": 1}
    table = xgboost.DMatrix(x, values, feature_types=["q", "q", "c"], enable_categorical=True)
    sets = xgboost.train({"nthread": 1, "max_depth": 2, "max_cat_to_onehot": 1}, table, 2)
    many = xgboost.XGBClassifier(**some).fit(x, classes)
    dart = xgboost.XGBRegressor(booster="dart", **some).fit(x, values)
    line = xgboost.XGBClassifier(booster="gblinear", **some).fit(x, classes)
    pruned = xgboost.XGBRegressor(tree_method="exact", gamma=0.5, n_estimators=2, max_depth=4, n_jobs=1).fit(x, values)
    early = xgboost.XGBClassifier(early_stopping_rounds=1, **some).fit(x, classes, eval_set=[(x, classes)], verbose=False)
    if accept:
        yield "xgboost-early", early
        yield from {"xgboost": many, "xgboost-sets": sets, "xgboost-dart": dart, "xgboost-linear": line, "xgboost-pruned": pruned}.items()
        return
    one, cats = Blob(many.get_booster()), Blob(sets)
    yield "xgboost-best", Blob(early.get_booster()).text(b"best_iteration", b"2147483647")
    yield "xgboost-best-before", b"\x80\x03cxgboost.core\nBooster\n)\x81" + pickle.dumps(dict(one.state, best_iteration=2147483647), 3)[2:-1] + b"b."
    yield "xgboost-child", one.element(b"left_children", 0, 1 << 20)
    yield "xgboost-cycle", one.element(b"left_children", 1, 0)
    yield "xgboost-twice", one.element(b"right_children", 0, 1)
    yield "xgboost-parent", one.element(b"parents", 1, 1 << 30)
    yield "xgboost-feature", one.element(b"split_indices", 0, 1 << 20)
    yield "xgboost-missing", one.element(b"default_left", 0, 7)
    yield "xgboost-node", cats.element(b"categories_nodes", 0, 1 << 20)
    yield "xgboost-category", cats.element(b"categories", 0, -1)
    yield "xgboost-wide", cats.element(b"categories", 0, (1 << 24) - 1)
    yield "xgboost-segment", cats.element(b"categories_segments", 0, 1 << 40)
    yield "xgboost-size", cats.element(b"categories_sizes", 0, 1 << 40)
    yield "xgboost-type", cats.element(b"split_type", 0, 2)
    yield "xgboost-group", one.pickled(one.data[:one.after(b"tree_info") + 12] + b"\x09" + one.data[one.after(b"tree_info") + 13:])
    yield "xgboost-rounds", one.pickled(one.data[:one.after(b"iteration_indptr") + 12] + b"\x09" + one.data[one.after(b"iteration_indptr") + 13:])
    yield "xgboost-classes", one.text(b"num_class", b"9")
    yield "xgboost-features", one.text(b"num_feature", b"1")
    yield "xgboost-trees", one.text(b"num_trees", b"1000000")
    yield "xgboost-nodes", one.text(b"num_nodes", b"1")
    yield "xgboost-deleted", one.text(b"num_deleted", b"1")
    yield "xgboost-threads", one.text(b"nthread", b"1000000000")
    yield "xgboost-device", one.text(b"device", b"/dev/null")
    yield "xgboost-score", one.text(b"base_score", b"[1,2]")
    yield "xgboost-objective", one.swapped(b"multi:softprob", b"rank:pairwise!")
    yield "xgboost-other", one.swapped(b"multi:softprob", b"multi:softmax2")
    yield "xgboost-end", one.swapped(struct.pack(">q", 9) + b"num_class", struct.pack(">q", 1 << 40) + b"num_class")
    yield "xgboost-member", one.swapped(b"tree_info", b"tree_inf0")
    yield "xgboost-json", one.pickled(b'{"Config": {}, "Model": {}}')
    yield "xgboost-binary", one.pickled(b"CONFIG-offset:" + bytes(200))
    yield "xgboost-left", one.pickled(one.data + b"Z")
    yield "xgboost-weights", Blob(dart.get_booster()).swapped(b"weight_drop[#L" + struct.pack(">q", 2) + b"d", b"weight_drop[#L" + struct.pack(">q", 1) + b"d")
    weights = struct.pack(">q", 12)
    yield "xgboost-linear", Blob(line.get_booster()).swapped(b"weights[$d#L" + weights, b"weights[$d#L" + struct.pack(">q", 1))
    yield "xgboost-handle", b"\x80\x03cxgboost.core\nBooster\n)\x81}U\x06handleJ\xff\xff\xff\x7fsb."
    yield "xgboost-attribute", b"\x80\x03cxgboost.core\nBooster\n)\x81" + pickle.dumps(dict(one.state, predict=1), 3)[2:-1] + b"b."


def main():
    for part in (accepted, refused):
        for name, value in itertools.chain(part(), boosters(part is accepted), gradients(part is accepted)):
            data = value if isinstance(value, bytes) else pickle.dumps(value, 3)
            pathlib.Path(sys.argv[1], part.__name__, name + ".pkl").write_bytes(pickletools.optimize(data))
    for name, one in (("tree", tree()), ("neighbors", KNeighborsClassifier(1).fit(X, y)), ("machine", SVC().fit(X, y)), ("stages", GradientBoostingRegressor(n_estimators=1, max_depth=1).fit(X, y)), ("categories", OneHotEncoder().fit([["a"], ["b"]]))):
        path = pathlib.Path(sys.argv[1], "accepted", f"joblib-{name}.pkl")
        joblib.dump(one, path)
        data = path.read_bytes()
        if name == "tree":
            array = one.tree_.__getstate__()["nodes"]
            other = array.copy()
            other["left_child"][0] = 1 << 40
            assert array.tobytes() in data
            path.parent.parent.joinpath("refused", f"joblib-{name}.pkl").write_bytes(data.replace(array.tobytes(), other.tobytes()))
    joblib.dump(points(0, idx_end=1 << 40), pathlib.Path(sys.argv[1], "refused", "joblib-neighbors.pkl"))
    joblib.dump(changed(SVC().fit(X, y), _n_support=np.array([2, 1 << 20], "i4")), pathlib.Path(sys.argv[1], "refused", "joblib-machine.pkl"))
    joblib.dump(make_pipeline(*(StandardScaler() for _ in range(20))).fit(X), pathlib.Path(sys.argv[1], "accepted", "joblib.pkl"))


if __name__ == "__main__":
    main()
