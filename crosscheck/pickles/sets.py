"""Makes a class set from a library that is installed.

    python sets.py NAME [WHY] > vm/sets/NAME.set
    python sets.py --merge FILE... > vm/sets/NAME.set

The second joins the sets of several versions of a library, each made with that version.

A class of Python is in the set if reading its source proves that loading it runs nothing
but __setstate__ of scikit-learn's BaseEstimator, which stores attributes, and that no method
except those that the caller asks to fit, score, save, load or draw reaches a sink (a file, a
program, an import, another pickle) or compiled code of the library, which follows the numbers
that attributes hold. What scikit-learn's validation of the caller's data reaches is not looked
into. The state of a class has the attributes that its own methods assign, and for scikit-learn
the version. No attribute holds a function, at any depth: what a method calls by the name of an
attribute is a type of NumPy or Python, or a class of the set. WHY is a file that gets the
reason for each class that is left out.

Compiled classes, and functions that are named, are those of the rules of LIBRARIES; a rule of
vm/ compares their numbers.
"""
import ast
import collections
import copyreg
import enum
import functools
import hashlib
import importlib
import importlib.machinery
import importlib.util
import inspect
import operator
import pkgutil
import re
import sys
import warnings

warnings.simplefilter("ignore")

# Modules whose functions check what the caller gives, or are told nothing of attributes.
CHECKED = ("sklearn.utils", "sklearn.base", "sklearn.exceptions", "sklearn._config", "sklearn.metrics._scorer", "sklearn.externals", "sklearn.callback", "sklearn._build_utils")
SINK_NAMES = {"open", "eval", "exec", "compile", "__import__", "input", "breakpoint", "globals", "__builtins__", "__loader__", "__spec__"}
SINK_MODULES = {"os", "sys", "io", "subprocess", "shutil", "pickle", "importlib", "tempfile", "urllib", "socket", "ctypes", "builtins", "pathlib", "zipfile", "tarfile", "gzip", "codecs"}
SINKS_OF_ARRAYS = {"load", "fromfile", "memmap", "save", "savez", "savez_compressed", "savetxt", "loadtxt", "genfromtxt", "DataSource", "as_strided", "frombuffer", "ctypeslib", "f2py", "load_npz", "save_npz", "LowLevelCallable"}
FITS = ("cost_complexity_pruning_path", "path", "score", "sparsify", "fit", "partial_fit", "_fit", "__init__", "__repr__", "__sklearn_tags__", "__getstate__", "__setstate__", "get_metadata_routing", "__sklearn_clone__", "set_output", "_repr_html_", "_repr_mimebundle_")
HOOKS = ("__reduce__", "__reduce_ex__", "__del__", "__getattr__", "__getattribute__", "__setattr__", "__delattr__", "__new__", "__init_subclass__", "__enter__", "__exit__", "__setitem__", "append", "extend")

# What runs when an instance is loaded, or is not what pickle calls by default.
RUNS = ("__reduce__", "__reduce_ex__", "__del__", "__getattribute__", "__getnewargs__", "__getnewargs_ex__", "__getinitargs__", "__init_subclass__", "__set_name__", "__instancecheck__", "__prepare__")
# The same of instances that are dicts, which get items and no state.
OF_DICTS = ("__setitem__", "__missing__", "__contains__")

DISTANCES = ("Euclidean", "Manhattan", "Chebyshev", "Minkowski")
# What no source of Python says: the pattern of the call and of the state, and a rule.
SKLEARN = {
    "sklearn.tree._tree.Tree": ["call (int, array:i8.1, int)", "state {'max_depth': int, 'node_count': int, 'nodes': array, 'values': array:f8.3}", "check tree"],
    # Functions that are called to fit, and by nothing else.
    "sklearn.feature_selection._univariate_selection.f_classif": [],
    "sklearn.feature_selection._univariate_selection.f_regression": [],
    "sklearn.feature_selection._univariate_selection.chi2": [],
    "numpy.mean": [],
    "sklearn._loss._loss.__pyx_unpickle_CyHalfMultinomialLoss": ["call (@sklearn._loss._loss.CyHalfMultinomialLoss, 238750788, ())"],
    "sklearn._loss._loss.CyHalfMultinomialLoss": [],
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor": ["new ()", "state {'nodes': array, 'binned_left_cat_bitsets': array:u4.2, 'raw_left_cat_bitsets': array:u4.2}", "check predictor"],
    # Trees of neighbors, and distances. Those with weights or a matrix are left out.
    **{f"sklearn.neighbors._{kind}_tree.newObj": [f"call (@sklearn.neighbors._{kind}_tree.{name})", f"state (array:f8.2, array:i8.1, array, array:f8.3, positive, positive, positive, int64, int64, int64, int64, <sklearn.metrics._dist_metrics.newObj>, none)", "check neighbortree"] for kind, name in (("kd", "KDTree"), ("ball", "BallTree"))},
    "sklearn.neighbors._kd_tree.KDTree": [], "sklearn.neighbors._ball_tree.BallTree": [],
    "sklearn.metrics._dist_metrics.newObj": ["call (@" + " | @".join(f"sklearn.metrics._dist_metrics.{name}Distance{bits}" for name in DISTANCES for bits in ("64", "")) + ")", "state (number, array:f8.1, array:f8.2)", "check distance"],
    **{f"sklearn.metrics._dist_metrics.{name}Distance{bits}": [] for name in DISTANCES for bits in ("64", "")},
    # A dict whose __setstate__ stores nothing.
    "sklearn.utils._bunch.Bunch": ["new ()", "state {'_deprecated_key_to_warnings'?: {str: str}}", "dict {str: values}"],
    # Losses in compiled code: a number at most, and methods that fitting gives arrays.
    **{f"sklearn.linear_model._sgd_fast.{name}": [f"call ({args})"] for name, args in (("Hinge", "float"), ("SquaredHinge", "float"), ("ModifiedHuber", ""), ("EpsilonInsensitive", "float"), ("SquaredEpsilonInsensitive", "float"))},
    **{f"sklearn._loss._loss.Cy{name}": [f"call ({args})"] for name, args in (("AbsoluteError", ""), ("ExponentialLoss", ""), ("HalfBinomialLoss", ""), ("HalfGammaLoss", ""), ("HalfPoissonLoss", ""), ("HalfSquaredError", ""), ("HalfTweedieLoss", "float"), ("HalfTweedieLossIdentity", "float"), ("HuberLoss", "float"), ("PinballLoss", "float"))},
}
# Classes of scikit-learn that are no estimators and that estimators hold.
SCORERS = ("sklearn.metrics._scorer", "sklearn.metrics.scorer")
PARTS = ("sklearn.model_selection._split", "sklearn._loss.loss", "sklearn._loss.link", "sklearn.gaussian_process.kernels", "sklearn.neural_network._stochastic_optimizers", "sklearn.calibration", "sklearn.gaussian_process._gpc", "sklearn.ensemble._hist_gradient_boosting.binning")
HELD = {"_PassthroughScorer", "_CalibratedClassifier", "_SigmoidCalibration", "_BinaryGaussianProcessClassifierLaplace", "_BinMapper"}
# Estimators whose private attributes lead compiled code out of its arrays, and about which there is no rule:
# norms of other centers, a tree of other centers, columns that a dict names.
UNCHECKED = {"Birch", "BisectingKMeans", "MultiLabelBinarizer"}
# Compiled functions that get arrays whose shapes a rule compares, or that their caller makes.
LOOPS = tuple(f"sklearn.{name}" for name in (
    "cluster._k_means_common._inertia_dense", "cluster._k_means_common._inertia_sparse", "cluster._k_means_lloyd.lloyd_iter_chunked_dense", "cluster._k_means_lloyd.lloyd_iter_chunked_sparse",
    "cluster._k_means_elkan.elkan_iter_chunked_dense", "cluster._k_means_elkan.elkan_iter_chunked_sparse", "cluster._k_means_elkan.init_bounds_dense", "cluster._k_means_elkan.init_bounds_sparse",
    "cluster._k_means_minibatch._minibatch_update_dense", "cluster._k_means_minibatch._minibatch_update_sparse", "cluster._k_means_common._is_same_clustering", "cluster._k_means_common._relocate_empty_clusters_dense",
    "decomposition._online_lda_fast.cy_dirichlet_expectation_1d", "decomposition._online_lda_fast.cy_mean_change", "decomposition._online_lda_fast._dirichlet_expectation_2d",
    *(f"metrics._pairwise_distances_reduction._{module}.{name}{bits}" for module, name in (("argkmin", "ArgKmin"), ("argkmin_classmode", "ArgKminClassMode"), ("radius_neighbors", "RadiusNeighbors"), ("radius_neighbors_classmode", "RadiusNeighborsClassMode")) for bits in (32, 64)),
    "ensemble._hist_gradient_boosting._binning._map_to_bins", "utils._bitset.set_bitset_memoryview", "ensemble._hist_gradient_boosting._bitset.set_bitset_memoryview", "ensemble._gradient_boosting.predict_stages", "ensemble._gradient_boosting.predict_stage",
    *(f"metrics._dist_metrics.DistanceMetric{bits}" for bits in ("", 32, 64)),
    "svm._libsvm", "svm._libsvm.predict", "svm._libsvm.predict_proba", "svm._libsvm.decision_function", "svm._libsvm.set_verbosity_wrap", "svm._libsvm_sparse", "svm._libsvm_sparse.libsvm_sparse_predict", "svm._libsvm_sparse.libsvm_sparse_predict_proba", "svm._libsvm_sparse.libsvm_sparse_decision_function"))
# The rules of classes by the attributes that they are about, and the methods that make a
# sparse matrix, whose indices nobody looks at, of these attributes alone.
CHECKS = {"tree_": "treeof", "vocabulary_": "vocabulary", "_n_features_outs": "onehot", "bin_edges_": "edges", "_missing_indices": "categories", "cluster_centers_": "centers", "support_vectors_": "machine", "X_thresholds_": "isotonic", "n_samples_fit_": "neighbors", "init_": "stages", "_predictors": "predictors", "bin_thresholds_": "bins"}
EXPLAINED = {"CountVectorizer._count_vocab", "DictVectorizer._transform", "OneHotEncoder.transform",
             # of the caller's matrix, whose columns they count, select or hash
             "SelectorMixin.inverse_transform", "FeatureHasher.transform", "AdditiveChi2Sampler._transform_sparse", "sklearn.preprocessing._polynomial._create_expansion",
             # of neighbors, whose numbers are below that of the points
             "KNeighborsMixin.kneighbors_graph", "RadiusNeighborsMixin.radius_neighbors_graph",
             # of a tree of neighbors, which a rule has looked at
             "sklearn.neighbors._base._tree_query_parallel_helper",
             # of the caller's labels, among them alone those that a class has
             "sklearn.preprocessing._label.label_binarize", "MultiLabelBinarizer._transform", "OneVsRestClassifier.predict",
             # asked for by fitting, or by the name of a solver that no other method gives
             "sklearn.linear_model._sag.sag_solver"}
# __setstate__ of classes of scikit-learn that a rule or a pattern looks at first.
LOADED = {"sklearn.base.BaseEstimator", "sklearn.isotonic.IsotonicRegression"}
# Attributes whose values are narrower than any data, by name.
VALUES = {"n_jobs": "none | small", "tree_": "<sklearn.tree._tree.Tree>", "memory": "none", "input": "'content'", "n_features": "positive", "X_thresholds_": "array:f4/f8.1", "y_thresholds_": "array:f4/f8.1", "_sparse": "false", "_preprocessor": "none", "_in_fit": "false", "n_threads": "none | small", "_bin_mapper": "<sklearn.ensemble._hist_gradient_boosting.binning._BinMapper>", "_tree": "none | <sklearn.neighbors._kd_tree.newObj> | <sklearn.neighbors._ball_tree.newObj>", "token_pattern": r"'(?u)\b\w\w+\b' | none"}
# Rules of classes whose attributes were named otherwise once, since which version. Before 0.24 texts
# are found by binary search, and no rule sorts texts.
OWN_CHECKS = {"OneHotEncoder": ("0.24", "onehot"), "OrdinalEncoder": ("0.24", "categories")}
# The same for one class, which no rule about the attribute is about.
OWN_VALUES = {("KernelDensity", "tree_"): "<sklearn.neighbors._kd_tree.newObj> | <sklearn.neighbors._ball_tree.newObj>"}
SINK_METHODS = {"tofile", "to_csv", "to_pickle", "to_hdf", "to_sql", "to_parquet", "to_excel", "to_json", "eval", "query", "dump", "pipe", "save", "savez"}
# Modules that hold no sink, or whose sinks SINKS_OF_ARRAYS and SINK_METHODS name.
HARMLESS = {"packaging", "ot", "numpy", "narwhals", "array_api_compat", "scipy", "pandas", "math", "collections", "itertools", "functools", "typing", "typing_extensions", "logging", "warnings", "abc", "enum", "dataclasses", "copy", "re", "random", "operator", "time", "datetime", "types", "numbers", "heapq",
            "bisect", "string", "textwrap", "contextlib", "json", "decimal", "fractions", "statistics", "unicodedata", "html", "inspect", "threading", "queue", "array", "struct", "platform", "gc", "uuid", "_thread", "_collections", "_operator", "_functools", "_random", "_abc", "hashlib"}


class Library:
    """What is said of one library.

    packages are those whose source is read, callers the beginnings of the names of methods
    that the caller asks for, rules the classes and functions that no source explains, only
    the modules whose classes are asked, checked those that write wrappers of functions,
    explained compiled functions whose source loops over the shape of their own arrays,
    settings a function of the library that lists the names that **kwargs set.
    """

    def __init__(self, about, dist, packages, callers=(), rules=None, values=None, only=(), checked=(), explained=(), settings=None):
        self.about, self.dist, self.packages, self.callers, self.rules, self.values, self.only, self.checked, self.explained, self.settings = about, dist, packages, callers, rules or {}, values or {}, only, checked, explained, settings

    def classes(self):
        if self.packages[0] == "sklearn":
            present("sklearn.experimental.enable_halving_search_cv")
            present("sklearn.experimental.enable_hist_gradient_boosting")
            every = getattr(present("sklearn.utils.discovery") or sys.modules["sklearn.utils"], "all_estimators", None) or importlib.import_module("sklearn.utils.testing").all_estimators
            every = every(**{name: True for name in ("include_meta_estimators", "include_other", "include_dont_test") if name in inspect.signature(every).parameters})
            parts = {c for m in filter(None, map(present, PARTS + SCORERS)) for c in vars(m).values() if isinstance(c, type) and c.__module__ == m.__name__ and (c.__name__ in HELD or not c.__name__.startswith("_") and m.__name__ in PARTS)}
            return sorted({c for _, c in every if c.__name__ not in UNCHECKED} | parts, key=lambda c: (c.__module__, c.__name__)), {}
        found, names = {}, {}
        package = importlib.import_module(self.packages[0])
        modules = [package]
        for info in pkgutil.walk_packages(getattr(package, "__path__", []), package.__name__ + ".", onerror=lambda _: None):
            if not any(part in ("tests", "test", "testing", "_testutils", "_mptestutils", "conftest", "scripts", "__main__") for part in info.name.split(".")):
                try:
                    modules.append(importlib.import_module(info.name))
                except BaseException:
                    continue
        for module in modules:
            for name, value in sorted(vars(module).items()):
                if isinstance(value, type) and (getattr(value, "__module__", None) or "").startswith(self.only or self.packages[:1]) and not value.__name__.startswith("_"):
                    found[f"{value.__module__}.{value.__qualname__}"] = value
                    names.setdefault(value, set()).add(f"{module.__name__}.{name}")
        return [found[k] for k in sorted(found)], names


# A booster keeps the text of its model, which __setstate__ gives to compiled code that reads
# it without looking at its numbers.
def lightgbm():
    from lightgbm.basic import Booster
    handle = "_handle" if "_handle" in inspect.getsource(Booster.__setstate__) else "handle"  # before 4.0
    return {"lightgbm.basic.Booster": ["new ()", (f"'{handle}': str", {"_handle": None, "_network": "false", "network": "false", "_Booster__init_predictor": "none", "train_set": "none", "handle": None}), "check lightgbm"]}


# The methods of boosters that run when one is loaded and dropped, as they were read: the digests of
# their statements. A version that has others is read before it gets a set.
READ = {
    "xgboost.core.Booster": {"__setstate__": {"081f3793"}, "__del__": {"cd5be23b"}},
    "lightgbm.basic.Booster": {"__setstate__": {"bd966d2e", "69d92d8c"}, "__del__": {"1d5a61b1", "96938c34"}},
}


def unread(name):
    """Yields the methods of a class that are not as they were read, or that have not been read."""
    cls = getattr(importlib.import_module(name.rpartition(".")[0]), name.rpartition(".")[2])
    known = READ.get(name, {})
    for method in sorted({*RUNS, "__setstate__", "__getattr__", "__setattr__", *known} & {m for base in cls.__mro__[:-1] for m in vars(base)}):
        text = repr([plainly(statement) for statement in tree_of(getattr(cls, method)).body])
        if hashlib.sha256(text.encode()).hexdigest()[:8] not in known.get(method, ()):
            yield method


def plainly(node):
    """Returns a syntax tree in the same words in all versions of Python."""
    if isinstance(node, ast.AST):
        kind = type(node).__name__
        if kind in ("Constant", "Str", "Bytes", "Num", "NameConstant"):
            return ("Constant", repr(ast.literal_eval(node)))
        if kind == "Index":
            return plainly(node.value)
        return (kind, [(name, plainly(value)) for name, value in ast.iter_fields(node) if name not in ("ctx", "type_comment", "type_params") and value not in (None, [])])
    return [plainly(one) for one in node] if isinstance(node, list) else node


def aliases():
    """Returns the parameters of LightGBM with their other names."""
    import lightgbm
    from lightgbm.basic import _ConfigAliases
    if hasattr(_ConfigAliases, "_get_all_param_aliases"):
        return _ConfigAliases._get_all_param_aliases()
    # Before 4.0 only those that have other names are listed. A model states all.
    import numpy
    text = lightgbm.train({"verbose": -1}, lightgbm.Dataset(numpy.zeros((2, 1)), numpy.zeros(2)), 1).model_to_string()
    return {**dict.fromkeys(re.findall(r"^\[(\w+): ", text, re.M), ()), **_ConfigAliases.aliases}


# Functions that compute with numbers, texts and instances of the set, and that models of gensim hold.
PURE = ("gensim.utils.identity", "gensim.models.phrases.original_scorer", "gensim.models.phrases.npmi_scorer", "gensim.models.tfidfmodel.df2idf", "builtins.hash")
# Attributes that **kwargs or another class set, by the class.
GIVEN = {"gensim.models.keyedvectors.KeyedVectors": ("vectors_lockf",), "gensim.models.word2vec.Word2Vec": ("load",), "gensim.models.keyedvectors.Vocab": ("count", "index", "sample_int", "code", "point"), "gensim.models.word2vec.Vocab": ("count", "index", "sample_int", "code", "point")}
SAVES = ("save", "load", "to_", "from_", "write", "read", "plot", "draw", "show", "export", "import", "download", "open", "dump")
LIBRARIES = {
    "sklearn": Library("Estimators of scikit-learn whose source runs nothing and whose numbers no compiled code follows unseen", "scikit-learn", ("sklearn",), rules=SKLEARN, explained=LOOPS),
    "imblearn": Library("Samplers and ensembles of imbalanced-learn", "imbalanced-learn", ("imblearn", "sklearn"), ("fit_resample", "fit_sample")),
    "lightgbm": Library("Estimators of LightGBM, and boosters whose text is a model", "lightgbm", ("lightgbm", "sklearn"), SAVES + ("model_", "trees_", "predict", "dump_"), lightgbm, {"_Booster": "none | <lightgbm.basic.Booster>"}, only=("lightgbm.sklearn",), settings=aliases),
    "xgboost": Library("Estimators of XGBoost, and boosters whose bytes are a model", "xgboost", ("xgboost", "sklearn"), SAVES + ("predict", "apply", "get_dump", "get_split", "trees_to", "evals_result", "update", "boost", "eval", "inplace_predict", "set_", "slice"),
                       {"xgboost.core.Booster": ["new ()", "state {'handle': none | bytes, 'best_iteration'?: int, 'best_score'?: number, 'best_ntree_limit'?: int, 'feature_names'?: none | [str], 'feature_types'?: none | [str]}", "check xgboost"]},
                       {"_Booster": "none | <xgboost.core.Booster>"}, only=("xgboost.sklearn",)),
    "gensim": Library("Vectors, dictionaries and models of gensim", "gensim", ("gensim",), SAVES + ("train", "update", "build_vocab", "scan_vocab", "prepare", "create_", "add_", "intersect", "init_", "evaluate"),
                      {"gensim.utils.call_on_class_only": [], **{name: [] for name in PURE}}, {"load": "@gensim.utils.call_on_class_only"}, explained=("gensim._matutils.logsumexp", "gensim._matutils.mean_absolute_difference", "gensim._matutils.dirichlet_expectation"), only=("gensim.models", "gensim.corpora", "gensim.similarities")),
    "scipy": Library("Results and functions of SciPy that are data", "scipy", ("scipy",), SAVES, only=("scipy.optimize._optimize", "scipy.interpolate", "scipy.stats", "scipy.spatial", "scipy.signal", "scipy.special")),
    "networkx": Library("Graphs of NetworkX", "networkx", ("networkx",), SAVES, only=("networkx.classes",), checked=("networkx.utils.decorators", "networkx.utils.backends", "networkx.lazy_imports")),
    "optuna": Library("Trials and distributions of Optuna", "optuna", ("optuna",), SAVES, checked=("optuna._deprecated", "optuna._experimental", "optuna._convert_positional_args", "optuna._warnings"), only=("optuna.trial", "optuna.distributions", "optuna.study", "optuna.pruners")),
    "lightning": Library("Settings that checkpoints of PyTorch Lightning hold", "pytorch-lightning", ("pytorch_lightning", "lightning_fabric"), SAVES + ("on_", "setup", "teardown", "state_dict"), only=("pytorch_lightning.utilities", "pytorch_lightning.trainer.states", "lightning_fabric.utilities", "pytorch_lightning.callbacks")),
    "planted": Library("Classes that prove.py plants", "", ("planted",), SAVES),
}
LIBRARY, RULES = None, {}
EXPLANATIONS = set()  # those of EXPLAINED and of compiled code that some class reached


def checked(module):
    return module.startswith(CHECKED + LIBRARY.checked)


def present(name):
    """Returns a module, or None in a version that does not have it."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def ours(module):
    return module.split(".")[0] in LIBRARY.packages


# Functions of Python that modules name otherwise, as those for Python 2 and 3 did.
RENAMED = (range, zip, map, filter, str, bytes, int)
PLAIN = {"_warnings.warn", "pkg_resources.parse_version", "distutils.version.LooseVersion", "torch.Tensor", "torch.device", "sys.maxsize", "sys.version_info", "sys.byteorder"}


def is_compiled(module):
    spec = importlib.util.find_spec(module)
    return spec is not None and isinstance(spec.loader, importlib.machinery.ExtensionFileLoader)


@functools.lru_cache(None)
def module_tree(path):
    with open(path, encoding="utf-8") as f:
        tree = ast.parse(f.read())
    return {**{min([node.lineno, *(d.lineno for d in node.decorator_list)]): node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))}, **{("lambda", node.lineno): node for node in ast.walk(tree) if isinstance(node, ast.Lambda)}}


def tree_of(function):
    path = inspect.getsourcefile(function)
    if path is None or path.startswith("<"):
        raise OSError("made by a program")
    found, line = module_tree(path), function.__code__.co_firstlineno
    node = found.get(line) or found.get(("lambda", line))
    if node is None:
        raise OSError("not in its file")
    return node


def asked(name):
    """Whether a method is one that the caller asks to fit, save and so on."""
    return name.startswith(FITS + LIBRARY.callers)


class Reach:
    """What a class reaches from the methods that do not fit."""

    def __init__(self, cls):
        self.seen, self.bad = set(), None
        self.all_of(cls)

    def all_of(self, cls):
        if cls in self.seen:
            return
        self.seen.add(cls)
        for name in dir(cls):
            if not asked(name) and (not name.startswith("_") or name.startswith("__")):
                self.method(cls, name)

    def method(self, cls, name):
        if (cls, name) in self.seen or self.bad or asked(name):
            return
        self.seen.add((cls, name))
        for base in cls.__mro__:
            if ours(base.__module__) and not checked(base.__module__) and name in vars(base):
                for function in functions_of(vars(base)[name]):
                    self.function(function, f"{base.__name__}.{name}", cls)
                if not functions_of(vars(base)[name]) and is_descriptor(vars(base)[name]) and not checked(type(vars(base)[name]).__module__):
                    self.bad = self.bad or f"{base.__name__}.{name}: a descriptor of {type(vars(base)[name]).__name__}"

    def function(self, function, where, owner=None):
        function = inspect.unwrap(getattr(function, "__func__", function))
        if not inspect.isfunction(function):
            self.bad = self.bad or f"{where}: no source ({type(function).__name__})"
            return
        if owner and generated(owner, function):
            return
        if self.bad or (function, owner) in self.seen or checked(function.__module__):
            return
        self.seen.add((function, owner))
        try:
            node = tree_of(function)
        except (OSError, TypeError, SyntaxError) as e:
            self.bad = f"{where}: no source ({type(e).__name__})"
            return
        named = set()  # the modules of which a member is asked
        if where in EXPLAINED:
            EXPLANATIONS.add(where)
        for one in () if where in EXPLAINED else walk(node):
            if isinstance(one, ast.Attribute):
                named.add(one.value)
            if isinstance(one, ast.Name) and one not in named and isinstance(one.ctx, ast.Load) and inspect.ismodule(function.__globals__.get(one.id)) and function.__globals__[one.id].__name__.split(".")[0] in SINK_MODULES:
                self.bad = self.bad or f"{where}: passes on the module {one.id}"
            if isinstance(one, ast.Call) and getattr(one.func, "id", "") == "getattr" and len(one.args) > 1 and not isinstance(one.args[1], ast.Constant) and isinstance(one.args[0], ast.Name) and inspect.ismodule(function.__globals__.get(one.args[0].id)):
                self.bad = self.bad or f"{where}: takes a member of {one.args[0].id} by its name"
            self.look(one, function.__globals__, where, owner)

    def look(self, one, scope, where, owner):
        if isinstance(one, ast.Call):
            name = last_names(one.func)
            if name == "ndarray" or re.search("cs[rc]|bsr|container|sparse|matrix", name) and one.args and isinstance(one.args[0], ast.Tuple) and len(one.args[0].elts) == 3:
                self.bad = f"{where}: calls {name}"
        if isinstance(one, ast.Call) and isinstance(one.func, ast.Attribute) and one.func.attr in SINK_METHODS:
            self.bad = f"{where}: calls .{one.func.attr}"
        if isinstance(one, ast.Attribute) and isinstance(one.value, ast.Name):
            if one.value.id in ("self", "cls") and owner:
                self.method(owner, one.attr)
            elif inspect.ismodule(scope.get(one.value.id)):
                self.member(scope[one.value.id], one.attr, where)
        elif isinstance(one, ast.Attribute) and isinstance(one.value, ast.Call) and getattr(one.value.func, "id", "") == "super" and owner:
            self.method(owner, one.attr)
        elif isinstance(one, (ast.Import, ast.ImportFrom)):
            for name in [a.name for a in one.names] if isinstance(one, ast.Import) else [importlib.util.resolve_name("." * one.level + (one.module or ""), scope.get("__package__"))]:
                self.module(name, where)
        elif isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load):
            if one.id in SINK_NAMES and one.id.startswith("__"):
                self.bad = f"{where}: uses {one.id}"
            elif one.id in scope:
                self.value(scope[one.id], one.id, where)
            elif one.id in SINK_NAMES:
                self.bad = f"{where}: calls {one.id}"

    def member(self, module, name, where):
        """What module.name is, in the text of a function."""
        if module.__name__.split(".")[0] in SINK_MODULES and f"{module.__name__}.{name}" not in PLAIN:
            self.bad = f"{where}: uses {module.__name__}.{name}"
        elif module.__name__.startswith(("numpy", "scipy")) and name in SINKS_OF_ARRAYS:
            self.bad = f"{where}: calls {module.__name__}.{name}"
        elif ours(module.__name__) and hasattr(module, name):
            self.value(getattr(module, name), name, where)

    def module(self, name, where):
        if name.split(".")[0] in SINK_MODULES:
            self.bad = f"{where}: imports {name}"
        elif not ours(name):
            if name.split(".")[0] not in HARMLESS and name.split(".")[0] != "joblib":
                self.bad = f"{where}: imports {name}"
        elif not checked(name):
            try:
                if is_compiled(name) and name not in LIBRARY.explained:
                    self.bad = f"{where}: compiled code of {name}"
            except (ImportError, AttributeError, ValueError):
                self.bad = f"{where}: imports {name}"

    def value(self, value, name, where):
        if inspect.ismodule(value):
            if not self.bad and value.__name__.split(".")[0] not in SINK_MODULES:
                self.module(value.__name__, where)
            return
        module = getattr(value, "__module__", None) or ""
        if not isinstance(module, str) or any(value is one for one in RENAMED):
            return
        if module.split(".")[0] in SINK_MODULES:
            self.bad = f"{where}: uses {module}.{name}"
        elif module.split(".")[0] == "joblib" and name not in ("Parallel", "delayed", "effective_n_jobs"):
            self.bad = f"{where}: uses joblib.{name}"
        elif module.startswith(("numpy", "scipy")) and name in SINKS_OF_ARRAYS:
            self.bad = f"{where}: calls {module}.{name}"
        elif not ours(module) or checked(module):
            if module and not ours(module) and callable(value) and f"{module}.{name}" not in PLAIN and module.split(".")[0] not in HARMLESS | {"joblib"}:
                self.bad = f"{where}: uses {module}.{name}"
        elif is_compiled(module):
            if f"{module}.{name}" in LIBRARY.explained:
                EXPLANATIONS.add(f"{module}.{name}")
            if f"{module}.{name}" not in RULES and f"{module}.{name}" not in LIBRARY.explained and name not in ("DTYPE", "DOUBLE"):
                self.bad = f"{where}: compiled code {module}.{name}"
        elif f"{module}.{name}" in RULES:
            return
        elif inspect.isfunction(value):
            self.function(value, f"{module}.{name}")
        elif inspect.isclass(value):
            self.all_of(value)


def last_names(func):
    """The name of what is called: the last one, or all where an expression gives the function."""
    if isinstance(func, ast.Attribute):
        return func.attr
    return " ".join(getattr(one, "id", getattr(one, "attr", "")) for one in ast.walk(func))


def generated(cls, function):
    """Whether a method is one that dataclasses or collections wrote."""
    return function.__code__.co_filename == "<string>" and function.__name__ in ("__eq__", "__repr__", "__init__", "__hash__", "__lt__", "__le__", "__gt__", "__ge__") and any("__dataclass_fields__" in vars(b) for b in cls.__mro__) or (
        function.__name__ == "__new__" and function.__code__.co_filename.startswith("<string>") and issubclass(cls, tuple))


def is_descriptor(value):
    return hasattr(type(value), "__get__") and type(value).__module__.split(".")[0] not in ("builtins", "functools", "abc", "types", "collections", "_collections")


def walk(node):
    """Yields the nodes that may run: a branch that the values of VALUES rule out does not."""
    yield node
    for part in ast.iter_child_nodes(node):
        if isinstance(part, ast.If) and ruled_out(part.test):
            for other in part.orelse:
                yield from walk(other)
            continue
        yield from walk(part)


def ruled_out(test):
    return (isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], ast.Eq) and isinstance(test.left, ast.Attribute) and isinstance(test.left.value, ast.Name)
            and test.left.value.id == "self" and isinstance(test.comparators[0], (ast.Constant, getattr(ast, "Str", ast.Constant))) and VALUES.get(test.left.attr, "").startswith("'") and VALUES[test.left.attr] != repr(ast.literal_eval(test.comparators[0])))


def functions_of(member):
    if isinstance(member, (staticmethod, classmethod)):
        member = member.__func__
    if isinstance(member, property):
        return [f for one in (member.fget, member.fset, member.fdel) if one and not isinstance(one, operator.itemgetter) for f in functions_of(one) or [one]]
    if hasattr(member, "check") and hasattr(member, "fn"):  # available_if
        return [*functions_of(member.fn), member.check]
    if isinstance(member, getattr(functools, "cached_property", ())):
        return [member.func]
    while hasattr(member, "__wrapped__"):
        member = member.__wrapped__
    if isinstance(member, property):  # a deprecated one
        return functions_of(member)
    return [member] if inspect.isfunction(member) else []


def attributes(cls):
    """The names that the methods of a class assign, and the arguments of its __init__."""
    names = set()
    for base in cls.__mro__:
        for member in vars(base).values():
            for function in functions_of(member):
                try:
                    node = tree_of(function)
                except (OSError, TypeError, SyntaxError):
                    continue
                for one in ast.walk(node):
                    if isinstance(one, ast.Attribute) and isinstance(one.ctx, ast.Store) and isinstance(one.value, ast.Name) and one.value.id == "self":
                        private = one.attr.startswith("__") and not one.attr.endswith("__")
                        names.add(f"_{base.__name__.lstrip('_')}{one.attr}" if private else one.attr)
        if "__init__" in vars(base) and inspect.isfunction(vars(base)["__init__"]):
            names.update(p for p in inspect.signature(base.__init__).parameters if p not in ("self", "args", "kwargs"))
    if "sklearn" in LIBRARY.packages:
        names.update(("n_features_in_", "feature_names_in_", "classes_"))
    if LIBRARY.settings and any(p.kind is p.VAR_KEYWORD for p in inspect.signature(cls.__init__).parameters.values()):
        every = LIBRARY.settings()
        names.update(every, *every.values())
    return sorted(n for n in names if not n.startswith("__") and not callable(getattr(cls, n, None)) and not isinstance(inspect.getattr_static(cls, n, None), property))


def left_out(cls):
    """Why a class is not in the set, or None."""
    if inspect.isabstract(cls):
        return "it is abstract, and cannot be loaded"
    if type(cls).__module__ not in ("builtins", "abc", "enum"):
        return f"a metaclass, {type(cls).__name__}"
    for base in cls.__mro__[:-1]:
        if base.__module__ in ("abc", "typing", "collections.abc") or base in (dict, collections.OrderedDict) or issubclass(cls, enum.Enum) and base in (enum.Enum, str, int, enum.IntEnum, getattr(enum, "ReprEnum", enum.Enum), getattr(enum, "StrEnum", enum.Enum)):
            continue
        if not ours(base.__module__):
            return f"a base of {base.__module__}"
        if is_compiled(base.__module__):
            return f"a base in compiled code, {base.__module__}"
        for hook in HOOKS if LIBRARY.packages[0] == "sklearn" else RUNS + OF_DICTS * issubclass(cls, dict):
            if hook in vars(base) and vars(base)[hook] is not None and not (hook == "__init_subclass__" and base.__module__.startswith("sklearn.utils")):
                return f"{base.__name__}.{hook}"
        for hook in ("__setstate__", "__getstate__"):
            if hook in vars(base) and f"{base.__module__}.{base.__name__}" not in LOADED and not (hook == "__getstate__" and LIBRARY.packages[0] != "sklearn"):
                return f"{base.__name__}.{hook}"
        if "__slots__" in vars(base) and vars(base)["__slots__"] != ():
            return f"{base.__name__}.__slots__"
    if cls in copyreg.dispatch_table:
        return "a function of copyreg"
    if "<locals>" in cls.__qualname__ or "." in cls.__qualname__:
        return "a class inside another"
    return Reach(cls).bad


def members(cls, version):
    """Yields what a set says of a class."""
    if issubclass(cls, enum.Enum):
        if any(not isinstance(m.value, (str, int)) or "'" in str(m.value) for m in cls) or not len(cls) or "_missing_" in vars(cls):
            return
        values = " | ".join(repr(m.value) if isinstance(m.value, str) else str(int(m.value)) for m in cls)
        yield f"call ({values})"
        return
    yield "new ()"  # also what copyreg._reconstructor makes
    names = sorted({n for n in attributes(cls) if n != "_sklearn_version"} | set(GIVEN.get(full(cls), ())))
    if issubclass(cls, dict):
        yield "dict {values: values}"
        return
    parts = [f"'{n}'?: {OWN_VALUES.get((cls.__name__, n)) or LIBRARY.values.get(n, VALUES.get(n, 'values') if 'sklearn' in LIBRARY.packages else 'values')}" for n in names]
    if any(b.__name__ == "SaveLoad" for b in cls.__mro__):
        # Its save writes these. Its load opens a file for each name of __numpys and __scipys, and looks up those of the others.
        own = "[" + " | ".join(map(repr, names)) + "]"
        parts = ["'__numpys'?: []", "'__scipys'?: []", f"'__ignoreds'?: {own}", f"'__recursive_saveloads'?: {own}", *parts]
    if cls.__module__.startswith("sklearn.") and any(b.__name__ == "BaseEstimator" for b in cls.__mro__):
        parts.insert(0, f"'_sklearn_version': '{version}'")
    yield "state {" + ", ".join(parts) + "}"
    if "sklearn" in LIBRARY.packages:
        rules = [CHECKS[attribute] for attribute in sorted(set(names) & set(CHECKS)) if (cls.__name__, attribute) not in OWN_VALUES]
        since, rule = OWN_CHECKS.get(cls.__name__, ("", ""))
        for rule in dict.fromkeys([*rules, rule] if since and order(version) >= order(since) else rules):
            yield f"check {rule}"


def use(name):
    """Makes this module one that reads a library, whose version it returns."""
    global LIBRARY, RULES
    LIBRARY = LIBRARIES[name]
    RULES = LIBRARY.rules() if callable(LIBRARY.rules) else LIBRARY.rules
    return version()


def version():
    return importlib.import_module(LIBRARY.packages[0]).__version__ if LIBRARY.dist else ""


def chosen(why=None):
    """Yields the classes of a set with their other names."""
    classes, names = LIBRARY.classes()
    for cls in classes:
        reason = left_out(cls)
        if reason is None:
            yield cls, sorted(names.get(cls, set()) - {full(cls)})
        elif why:
            print(f"{full(cls)}: {reason}", file=why)


def exists(name):
    """Whether this version of the library has what a rule is about."""
    module, _, last = name.rpartition(".")
    return not ours(module) or hasattr(present(module), last)


def parsed(text):
    """Returns the head of a set, its version and its classes: the name, and the lines about it."""
    head, version, classes = {}, "", {}
    for line in text.splitlines():
        word, _, rest = line.partition(" ")
        if word == "class":
            names = rest.split()
            at = classes[names[0]] = (names, [])
        elif word == "":
            at[1].append(line.strip())
        elif word != "#":
            head[word] = rest
    return head, head["library"].split()[1], classes


def key(name):
    """A class by its package and its own name: private modules of scikit-learn were renamed in 0.22."""
    parts = name.split(".")
    return (*parts[:2], parts[-1]) if parts[0] == "sklearn" and len(parts) > 3 else tuple(parts)


def order(version):
    return [int(n) for n in re.findall(r"\d+", version)]


def merge(texts):
    """Prints one set of several. A version in which a class has not the rules of the newest is left out."""
    every = sorted((parsed(text) for text in texts), key=lambda one: order(one[1]))
    versions = [version for _, version, _ in every]
    found = collections.defaultdict(list)  # the classes by their keys, newest first
    renamed = {}  # the keys by all names
    for _, version, classes in reversed(every):
        count = collections.Counter(map(key, classes))
        for name, (names, lines) in classes.items():
            at = key(name) if count[key(name)] == 1 else tuple(name.split("."))
            # A class that was renamed, and whose old name a newer version still has.
            at = next((renamed[n] for n in names if n in renamed and all(v != version for v, _, _ in found[renamed[n]])), at)
            names = [n for n in names if renamed.setdefault(n, at) == at]
            found[at].append((version, names, lines))
    head = every[-1][0]
    print(f"# Made by crosscheck/pickles/sets.py from {len(every)} versions of {head['library'].split()[0]}: no line is written by hand.")
    print(f"set {head['set']}\nabout {head['about']}\nlibrary {head['library'].split()[0]} {versions[0]} {versions[-1]}\nversions {' '.join(versions)}")
    for forms in found.values():
        newest = forms[0]
        rules = {line for line in newest[2] if line.startswith("check ")}
        names = list(dict.fromkeys(n for _, names, _ in forms for n in names))
        same = collections.defaultdict(list)
        for version, _, lines in forms:
            if {line for line in lines if line.startswith("check ")} != rules:
                print(f"{newest[1][0]}: other rules in {version}", file=sys.stderr)
                continue
            same[tuple(line.replace(f"'_sklearn_version': '{version}'", "'_sklearn_version': version") for line in lines)].append(version)
        print(" ".join(["class", *names]))
        for lines, of in same.items():
            if len(of) < len(versions):
                print("  in " + " ".join(ranges([versions.index(v) for v in reversed(of)], versions)))
            for line in lines:
                print("  " + line)


def ranges(places, versions):
    """Writes places of versions as single ones and ranges."""
    begin = last = places[0]
    for place in [*places[1:], None]:
        if place is None or place != last + 1:
            yield versions[begin] if begin == last else f"{versions[begin]}-{versions[last]}"
            begin = place
        last = place


def full(cls):
    return f"{cls.__module__}.{cls.__qualname__}"


def main():
    if sys.argv[1] == "--merge":
        return merge([open(path).read() for path in sys.argv[2:]])
    name = sys.argv[1]
    version = use(name)
    dist = LIBRARY.dist
    print(f"# Made by crosscheck/pickles/sets.py from {dist} {version}: no line is written by hand.")
    print(f"set {name}\nabout {LIBRARY.about}\nlibrary {dist} {version} {version}")
    for rule, lines in RULES.items():
        if not exists(rule):
            continue
        other = list(unread(rule)) if rule in READ else ()
        if other:
            sys.exit(f"{rule}: not as it was read: {', '.join(other)}")
        print(f"class {rule}")
        for line in lines:
            if isinstance(line, tuple):  # its own attributes, but for some
                first, other = line
                cls = getattr(importlib.import_module(rule.rpartition(".")[0]), rule.rpartition(".")[2])
                line = f"state {{{first}, " + ", ".join(f"'{n}'?: {other.get(n, 'values')}" for n in attributes(cls) if other.get(n, "") is not None) + "}"
            print("  " + re.sub(r"@[\w.]+( \| @[\w.]+)*", lambda m: " | ".join(p for p in m[0].split(" | ") if exists(p[1:])), line))
    kept = 0
    for cls, others in chosen(open(sys.argv[2], "w") if len(sys.argv) > 2 else None):
        lines = list(members(cls, version))
        if lines:
            kept += 1
            print(" ".join(["class", full(cls), *others]))
            for line in lines:
                print("  " + line)
    print(f"{kept} classes, explained: {' '.join(sorted(EXPLANATIONS))}", file=sys.stderr)


if __name__ == "__main__":
    main()
