"""Makes a class set from the scikit-learn that is installed.

    python sets.py [WHY] > vm/sets/sklearn.set

A class of Python is in the set if reading its source proves that loading it runs nothing
but BaseEstimator.__setstate__, which stores attributes, and that no method except those
that fit or score reaches a sink (a file, a program, an import, another pickle) or compiled code of
scikit-learn, which follows the numbers that attributes hold. What scikit-learn's
validation of the caller's data reaches is not looked into. The state of a class has the
attributes that its own methods assign, and the version. No attribute holds a function, at
any depth: what a method calls by the name of an attribute is a type of NumPy or Python, or a
class of the set. WHY is a file that gets the
reason for each class that is left out.

Compiled classes are those of RULES, whose rule in vm/ compares their numbers.
"""
import ast
import importlib
import importlib.machinery
import inspect
import re
import sys
import textwrap
import warnings

import sklearn
from sklearn.utils import all_estimators

warnings.simplefilter("ignore")

# Modules whose functions check what the caller gives, or are told nothing of attributes.
CHECKED = ("sklearn.utils", "sklearn.base", "sklearn.exceptions", "sklearn._config", "sklearn.metrics._scorer", "sklearn.externals", "sklearn.callback", "sklearn._build_utils")
SINK_NAMES = {"open", "eval", "exec", "compile", "__import__", "input", "breakpoint"}
SINK_MODULES = {"os", "sys", "io", "subprocess", "shutil", "pickle", "importlib", "tempfile", "urllib", "socket", "ctypes", "builtins", "pathlib", "zipfile", "tarfile", "gzip", "codecs"}
SINKS_OF_ARRAYS = {"load", "fromfile", "memmap", "save", "savez", "savez_compressed", "savetxt", "loadtxt", "genfromtxt", "DataSource", "as_strided", "frombuffer", "ctypeslib", "f2py", "load_npz", "save_npz", "LowLevelCallable"}
FITS = ("cost_complexity_pruning_path", "path", "score", "sparsify", "fit", "partial_fit", "_fit", "__init__", "__repr__", "__sklearn_tags__", "__getstate__", "__setstate__", "get_metadata_routing", "__sklearn_clone__", "set_output", "_repr_html_", "_repr_mimebundle_")
HOOKS = ("__reduce__", "__reduce_ex__", "__del__", "__getattr__", "__getattribute__", "__setattr__", "__delattr__", "__new__", "__eq__", "__hash__", "__init_subclass__", "__call__", "__enter__", "__exit__", "__setitem__", "append", "extend")

# What no source of Python says: the pattern of the call and of the state, and a rule.
RULES = {
    "sklearn.tree._tree.Tree": ["call (int, array:i8.1, int)", "state {'max_depth': int, 'node_count': int, 'nodes': array, 'values': array:f8.3}", "check tree"],
    # Functions that are called to fit, and by nothing else.
    "sklearn.feature_selection._univariate_selection.f_classif": [],
    "sklearn.feature_selection._univariate_selection.f_regression": [],
    "sklearn.feature_selection._univariate_selection.chi2": [],
}
# The rules of classes by the attributes that they are about, and the methods that make a
# sparse matrix, whose indices nobody looks at, of these attributes alone.
CHECKS = {"tree_": "treeof", "vocabulary_": "vocabulary", "_n_features_outs": "onehot", "bin_edges_": "edges", "_missing_indices": "categories"}
EXPLAINED = {"CountVectorizer._count_vocab", "DictVectorizer._transform", "OneHotEncoder.transform"}
# Attributes whose values are narrower than any data, by name.
VALUES = {"n_jobs": "none | small", "tree_": "<sklearn.tree._tree.Tree>", "memory": "none", "input": "'content'", "token_pattern": r"'(?u)\b\w\w+\b' | none"}
SINK_METHODS = {"tofile", "to_csv", "to_pickle", "to_hdf", "to_sql", "to_parquet", "to_excel", "to_json", "eval", "query", "dump", "pipe", "save", "savez"}
PLAIN = {"sys.maxsize", "sys.version_info", "sys.byteorder"}


def is_compiled(module):
    spec = importlib.util.find_spec(module)
    return spec is not None and isinstance(spec.loader, importlib.machinery.ExtensionFileLoader)


def tree_of(function):
    return ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]


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
            if not name.startswith(FITS) and (not name.startswith("_") or name.startswith("__")):
                self.method(cls, name)

    def method(self, cls, name):
        if (cls, name) in self.seen or self.bad or name.startswith(FITS):
            return
        self.seen.add((cls, name))
        for base in cls.__mro__:
            if base.__module__.startswith("sklearn") and not base.__module__.startswith(CHECKED) and name in vars(base):
                for function in functions_of(vars(base)[name]):
                    self.function(function, f"{base.__name__}.{name}", cls)

    def function(self, function, where, owner=None):
        function = inspect.unwrap(function)
        if self.bad or (function, owner) in self.seen or function.__module__.startswith(CHECKED):
            return
        self.seen.add((function, owner))
        try:
            node = tree_of(function)
        except (OSError, TypeError, SyntaxError) as e:
            self.bad = f"{where}: no source ({type(e).__name__})"
            return
        for one in () if where in EXPLAINED else walk(node):
            self.look(one, function.__globals__, where, owner)

    def look(self, one, scope, where, owner):
        if isinstance(one, ast.Call):
            name = ast.unparse(one.func).split(".")[-1]
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
            for name in [a.name for a in one.names] if isinstance(one, ast.Import) else [one.module or ""]:
                self.module(name, where)
        elif isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load):
            if one.id in scope:
                self.value(scope[one.id], one.id, where)
            elif one.id in SINK_NAMES:
                self.bad = f"{where}: calls {one.id}"

    def member(self, module, name, where):
        """What module.name is, in the text of a function."""
        if module.__name__.split(".")[0] in SINK_MODULES and f"{module.__name__}.{name}" not in PLAIN:
            self.bad = f"{where}: uses {module.__name__}.{name}"
        elif module.__name__.startswith(("numpy", "scipy")) and name in SINKS_OF_ARRAYS:
            self.bad = f"{where}: calls {module.__name__}.{name}"
        elif module.__name__.startswith("sklearn") and hasattr(module, name):
            self.value(getattr(module, name), name, where)

    def module(self, name, where):
        if name.split(".")[0] in SINK_MODULES:
            self.bad = f"{where}: imports {name}"
        elif name.startswith("sklearn") and not name.startswith(CHECKED):
            try:
                if is_compiled(name):
                    self.bad = f"{where}: compiled code of {name}"
            except (ImportError, AttributeError, ValueError):
                self.bad = f"{where}: imports {name}"

    def value(self, value, name, where):
        if inspect.ismodule(value):
            if value.__name__.startswith("sklearn"):
                self.module(value.__name__, where)
            return
        module = getattr(value, "__module__", None) or ""
        if not isinstance(module, str):
            return
        if module.split(".")[0] in SINK_MODULES:
            self.bad = f"{where}: uses {module}.{name}"
        elif module.split(".")[0] == "joblib" and name not in ("Parallel", "delayed", "effective_n_jobs"):
            self.bad = f"{where}: uses joblib.{name}"
        elif module.startswith(("numpy", "scipy")) and name in SINKS_OF_ARRAYS:
            self.bad = f"{where}: calls {module}.{name}"
        elif not module.startswith("sklearn") or module.startswith(CHECKED):
            return
        elif is_compiled(module):
            if f"{module}.{name}" not in RULES and name not in ("DTYPE", "DOUBLE"):
                self.bad = f"{where}: compiled code {module}.{name}"
        elif inspect.isfunction(value):
            self.function(value, f"{module}.{name}")
        elif inspect.isclass(value):
            self.all_of(value)


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
            and test.left.value.id == "self" and isinstance(test.comparators[0], ast.Constant) and VALUES.get(test.left.attr, "").startswith("'") and VALUES[test.left.attr] != repr(test.comparators[0].value))


def functions_of(member):
    if isinstance(member, (staticmethod, classmethod)):
        member = member.__func__
    if isinstance(member, property):
        return [f for f in (member.fget, member.fset, member.fdel) if f]
    if hasattr(member, "check") and hasattr(member, "fn"):  # available_if
        return [member.fn, member.check]
    while hasattr(member, "__wrapped__"):
        member = member.__wrapped__
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
                        names.add(one.attr)
        if "__init__" in vars(base) and inspect.isfunction(vars(base)["__init__"]):
            names.update(p for p in inspect.signature(base.__init__).parameters if p not in ("self", "args", "kwargs"))
    names.update(("n_features_in_", "feature_names_in_"))
    return sorted(n for n in names if not n.startswith("__") and not callable(getattr(cls, n, None)) and not isinstance(inspect.getattr_static(cls, n, None), property))


def left_out(cls):
    """Why a class is not in the set, or None."""
    for base in cls.__mro__[:-1]:
        if base.__module__ == "abc":
            continue
        if not base.__module__.startswith("sklearn."):
            return f"a base of {base.__module__}"
        if is_compiled(base.__module__):
            return f"a base in compiled code, {base.__module__}"
        for hook in HOOKS:
            if hook in vars(base) and vars(base)[hook] is not None and not (hook == "__init_subclass__" and base.__module__.startswith("sklearn.utils")):
                return f"{base.__name__}.{hook}"
        for hook in ("__setstate__", "__getstate__"):
            if hook in vars(base) and base is not sklearn.base.BaseEstimator:
                return f"{base.__name__}.{hook}"
        if "__slots__" in vars(base):
            return f"{base.__name__}.__slots__"
    return Reach(cls).bad


def main():
    why = open(sys.argv[1], "w") if len(sys.argv) > 1 else None
    version = sklearn.__version__
    print(f"# Made by crosscheck/pickles/sets.py from scikit-learn {version}: no line is written by hand.")
    print("set sklearn\nabout Estimators of scikit-learn whose source runs nothing and whose numbers no compiled code follows unseen\n" f"library scikit-learn {version} {version}")
    for name, lines in RULES.items():
        print(f"class {name}")
        for line in lines:
            print("  " + line)
    kept = 0
    for _, cls in sorted(all_estimators(), key=lambda pair: (pair[1].__module__, pair[0])):
        reason = left_out(cls)
        full = f"{cls.__module__}.{cls.__name__}"
        if reason:
            if why:
                print(f"{full}: {reason}", file=why)
            continue
        kept += 1
        members = ", ".join(f"'{n}'?: {VALUES.get(n, 'values')}" for n in attributes(cls) if n != "_sklearn_version")
        print(f"class {full}\n  new ()\n  state {{'_sklearn_version': '{version}', {members}}}")
        for attribute in set(attributes(cls)) & set(CHECKS):
            print(f"  check {CHECKS[attribute]}")
    print(f"{kept} classes", file=sys.stderr)


if __name__ == "__main__":
    main()
