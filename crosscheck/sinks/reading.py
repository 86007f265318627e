"""Reads the sources of a library for members of configurations that reach what runs, opens or fetches.

    python3 crosscheck/sinks/reading.py NAME FOLDER [FOLDER ...]        lines of JSON: member, sink, place
    python3 crosscheck/sinks/reading.py --back-test ROOT [VERSION ...] > crosscheck/sinks/back-test.txt

Nothing is run or imported: the syntax trees are read, so a library that needs a GPU is read like any other. A member
is a text that a function takes from something that is called a configuration, or that was read from JSON or YAML:
config["x"], config.x, .get("x"), .pop("x"), getattr(config, "x"), a parameter of a constructor of layers and of
configurations. It goes where assignments, attributes of self, formatted texts, lists, calls and returned values take
it, through functions by their names, as often as that finds more. A sink imports, evaluates, unpickles, opens, runs a
process, or fetches from a hub; from_pretrained is one, and so is an argument that says to trust code.

With --back-test, ROOT has the versions before each advisory of ADVISORIES as folders NAME==VERSION. The rows are split by
date into halves, which are counted apart. The lists of sinks and sources were written with both in mind, so the newer half
was not held out.
"""
import ast
import json
import pathlib
import sys

SINKS = {
    "import_module": "import", "__import__": "import", "eval": "evaluate", "exec": "evaluate", "compile": "evaluate", "locate": "import", "instantiate": "import",
    "import_class_by_path": "import", "import_from_path": "import", "resolve_obj_by_qualname": "import", "get_instance_fn": "import", "import_attr": "import", "load_class": "import", "import_string": "import", "import_module_from_path": "import", "import_file": "import", "exec_module": "import", "spec_from_file_location": "import", "run_path": "import",
    "get_class_from_dynamic_module": "import", "get_kernel": "import", "get_cached_module_file": "import", "sympify": "evaluate",
    "from_string": "template", "get_template": "template",
    "load_module": "import", "system": "process", "popen": "process", "Popen": "process", "check_call": "process", "check_output": "process", "_exec_cmd": "process",
    "hf_hub_download": "fetch", "snapshot_download": "fetch", "cached_file": "fetch", "cached_files": "fetch", "load_state_dict_from_url": "fetch", "get_file": "fetch", "urlopen": "fetch", "urlretrieve": "fetch",
    "from_pretrained": "fetch", "open": "open", "GFile": "open", "File": "open", "read_text": "open", "resolve_user_filepath": "open", "CDLL": "import", "unsafe_load": "unpickle",
}
# Methods that count only with what is before the dot.
OF = {("torch", "load"): "unpickle", ("pickle", "load"): "unpickle", ("pickle", "loads"): "unpickle", ("joblib", "load"): "unpickle", ("cloudpickle", "load"): "unpickle", ("dill", "load"): "unpickle",
      ("subprocess", "run"): "process", ("subprocess", "call"): "process", ("saved_model", "load"): "import", ("marshal", "loads"): "evaluate", ("os", "getenv"): "open", ("environ", "get"): "open", ("re", "compile"): None, ("re", "match"): None}
CONFIGS = {"config", "cfg", "conf", "configuration", "config_dict", "hf_config", "kwargs", "init_dict", "state", "spec", "options", "data", "value", "inner_config", "model_config", "fs_config", "flavor_config", "docker", "conda", "obj", "build_config", "layer_config", "serialized", "text_config", "quantization_config", "args", "settings", "general_settings", "litellm_settings"}
SETTINGS = ("Config", "Options", "Env", "Args", "Settings", "Spec")  # ends of the names of classes whose attributes are members
READERS = {"load", "safe_load", "loads", "from_yaml", "read_yaml", "get_config_dict", "deserialize", "to_container"}
PASSED = {"isinstance", "len", "hasattr", "type", "bool", "int", "float", "id", "print", "info", "warning", "error", "debug", "warning_once", "isdigit", "startswith", "endswith"}
# What gives its arguments back, whole or in part; other functions of other libraries make something new.
GIVES_BACK = {"str", "repr", "format", "join", "strip", "lstrip", "rstrip", "lower", "upper", "replace", "split", "rsplit", "partition", "removeprefix", "removesuffix", "Path", "PurePath", "expanduser", "abspath", "realpath", "normpath", "fspath",
              "list", "dict", "tuple", "set", "sorted", "reversed", "zip", "enumerate", "items", "values", "keys", "copy", "deepcopy", "append", "extend", "b64decode", "decode", "encode", "BytesIO", "StringIO", "getattr", "get", "pop", "setdefault", "OrderedDict", "SimpleNamespace", "quote"}
DEEP = 6
AT_MOST = 3  # functions of one name: with more of them, none is meant


def name_of(node):
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def text_of(node):
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


class Function:
    """What parameters and members of a function reach, and what it returns."""

    def __init__(self, node, path, owner):
        self.node, self.path, self.owner = node, path, owner
        a = node.args
        self.params = [x.arg for x in a.posonlyargs + a.args + a.kwonlyargs] + [x.arg for x in (a.vararg, a.kwarg) if x]
        self.reaches = {}  # parameter -> {(sink, place)}
        self.returns = set()


class Library:
    def __init__(self, folders):
        self.functions, self.fields, self.found = {}, {}, {}
        for folder in folders:
            for path in sorted(pathlib.Path(folder).rglob("*.py")):
                if {"test", "tests", "testing"} & set(path.parts):
                    continue
                try:
                    tree = ast.parse(path.read_text())
                except (SyntaxError, UnicodeDecodeError, RecursionError):
                    continue
                self.walk(tree, str(path.relative_to(folder)), "")
        for _ in range(DEEP):
            before = self.size()
            for all_of in self.functions.values():
                for f in all_of:
                    Reading(self, f).run()
            if self.size() == before:
                break

    def size(self):
        return sum(len(v) for v in self.found.values()) + sum(len(s) for fs in self.functions.values() for f in fs for s in f.reaches.values()) + sum(len(v) for v in self.fields.values())

    def walk(self, tree, path, owner):
        for node in ast.iter_child_nodes(tree):
            if isinstance(node, ast.ClassDef):
                self.walk(node, path, node.name)
            elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                f = Function(node, path, owner)
                self.functions.setdefault(owner if node.name == "__init__" else node.name, []).append(f)
                self.walk(node, path, owner)
            else:
                self.walk(node, path, owner)


class Reading:
    def __init__(self, library, f):
        self.library, self.f, self.env = library, f, {}
        built = f.node.name in ("__init__", "from_config") or f.node.name.startswith("from_")
        for p in f.params:
            self.env[p] = {("param", p)}
            if built and f.owner and p not in ("self", "cls") and p not in CONFIGS:
                self.env[p] = self.env[p] | {("member", p)}

    def run(self):
        self.block(self.f.node.body)
        if self.f.node.name != "__init__":
            self.block(self.f.node.body)  # what a loop carries

    def block(self, body):
        for node in body:
            self.statement(node)

    def statement(self, node):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            return
        if isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
            if node.value is None:
                return
            labels = self.labels(node.value)
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                self.assign(target, labels)
            return
        if isinstance(node, ast.Return) and node.value is not None:
            self.f.returns |= {x for x in self.labels(node.value)}
            return
        if isinstance(node, (ast.For, ast.AsyncFor)):
            self.assign(node.target, self.labels(node.iter))
        elif isinstance(node, (ast.With, ast.AsyncWith)):
            for item in node.items:
                labels = self.labels(item.context_expr)
                if item.optional_vars is not None:
                    self.assign(item.optional_vars, labels)
        else:
            for field in ("test", "value", "exc"):
                if isinstance(getattr(node, field, None), ast.expr):
                    self.labels(getattr(node, field))
        for field in ("body", "orelse", "finalbody"):
            if isinstance(getattr(node, field, None), list):
                self.block(getattr(node, field))
        for handler in getattr(node, "handlers", []):
            self.block(handler.body)
        for case in getattr(node, "cases", []):
            self.block(case.body)

    def assign(self, target, labels):
        if isinstance(target, ast.Name):
            self.env[target.id] = self.env.get(target.id, set()) | labels
        elif isinstance(target, (ast.Tuple, ast.List)):
            for e in target.elts:
                self.assign(e, labels)
        elif isinstance(target, ast.Starred):
            self.assign(target.value, labels)
        elif isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) and target.value.id == "self":
            key = (self.f.path, self.f.owner, target.attr)
            self.library.fields[key] = self.library.fields.get(key, set()) | {x for x in labels if x[0] == "member"}
        elif isinstance(target, ast.Subscript):
            self.assign(target.value, labels) if isinstance(target.value, ast.Name) else None

    def isConfig(self, node):
        """Whether an expression is a configuration by its name, or was read from a text."""
        if isinstance(node, ast.Name):
            return node.id in CONFIGS or node.id.endswith(("_config", "_cfg", "_dict", "_args", "_settings", "_params")) or ("read", "") in self.env.get(node.id, ())
        if isinstance(node, ast.Attribute):
            return node.attr in CONFIGS or node.attr.endswith(("_config", "_cfg", "_args", "_settings", "_params")) or (isinstance(node.value, ast.Name) and node.value.id == "self" and self.f.owner.endswith(SETTINGS))
        if isinstance(node, ast.Subscript):
            return self.isConfig(node.value)
        if isinstance(node, ast.Call):
            return name_of(node.func) in READERS or name_of(node.func) == "get" and isinstance(node.func, ast.Attribute) and self.isConfig(node.func.value)
        return False

    def labels(self, node):
        """The members and parameters that an expression may hold."""
        if node is None or isinstance(node, (ast.Constant, ast.Lambda)):
            return set()
        if isinstance(node, ast.Name):
            return set(self.env.get(node.id, ()))
        if isinstance(node, ast.Attribute):
            base = self.labels(node.value)
            if isinstance(node.value, ast.Name) and node.value.id == "self":
                out = set(self.library.fields.get((self.f.path, self.f.owner, node.attr), ()))
                if self.f.owner.endswith(SETTINGS):
                    out |= {("member", node.attr)}
                return out
            if self.isConfig(node.value):
                return base | {("member", node.attr)}
            return base
        if isinstance(node, ast.Subscript):
            out = self.labels(node.value) | self.labels(node.slice)
            key = text_of(node.slice)
            if key is not None and self.isConfig(node.value):
                out = out | {("member", key)}
            return out
        if isinstance(node, ast.Call):
            return self.call(node)
        if isinstance(node, ast.Compare):
            for e in [node.left, *node.comparators]:
                self.labels(e)
            return set()
        if isinstance(node, (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)):
            for g in node.generators:
                self.assign(g.target, self.labels(g.iter))
            parts = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
            return set().union(*(self.labels(p) for p in parts))
        out = set()
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.expr, ast.FormattedValue)):
                out |= self.labels(child)
        return out

    def call(self, node):
        name = name_of(node.func)
        before = name_of(node.func.value) if isinstance(node.func, ast.Attribute) else ""
        args = [self.labels(a.value if isinstance(a, ast.Starred) else a) for a in node.args]
        words = {k.arg: self.labels(k.value) for k in node.keywords}
        base = self.labels(node.func.value) if isinstance(node.func, ast.Attribute) else self.labels(node.func) if isinstance(node.func, ast.Name) else set()
        every = set().union(*args, *words.values()) if args or words else set()
        if name in PASSED:
            return set()
        if name in ("get", "pop", "setdefault", "getattr"):
            key = text_of(node.args[1 if name == "getattr" else 0]) if len(node.args) > (name == "getattr") else None
            at = node.args[0] if name == "getattr" else getattr(node.func, "value", None)
            if key is not None and at is not None and (self.isConfig(at) or name == "getattr" and self.f.owner.endswith(SETTINGS)):
                return base | every | {("member", key)}
        sink = OF.get((before, name), SINKS.get(name) if not (name == "compile" and before == "re") else None)
        if name == "getattr" and len(args) > 1:
            sink = "attribute" if args[1] else None
        if sink:
            self.reach(args[0] | words.get("name", set()) | words.get("path", set()) if sink in ("open",) and args else every | (base if sink == "open" else set()), sink, node)
        if words.get("trust_remote_code") or words.get("weights_only"):
            self.reach(words.get("trust_remote_code", set()) | words.get("weights_only", set()), "trust", node)
        out = base | every if name in GIVES_BACK else set()
        if isinstance(node.func, ast.Attribute) and name in READERS:
            out = out | {("read", "")}
        elif name in READERS:
            out = out | {("read", "")}
        meant = self.library.functions.get(name, ())
        for f in meant if len(meant) <= AT_MOST else [f for f in meant if f.path == self.f.path][:AT_MOST]:
            params = f.params[1:] if f.owner and f.params[:1] in (["self"], ["cls"]) else f.params
            given = list(zip(params, args)) + [(k, v) for k, v in words.items() if k]
            for p, labels in given:
                for sink, place in list(f.reaches.get(p, ()))[:16]:
                    self.reach(labels, sink, node, place)
                if ("param", p) in f.returns:
                    out = out | labels
            out = out | {x for x in f.returns if x[0] == "member"}
        return out

    def reach(self, labels, sink, node, place=None):
        place = place or "%s:%d" % (self.f.path, node.lineno)
        for kind, text in labels:
            if kind == "param":
                self.f.reaches.setdefault(text, set()).add((sink, place))
            elif kind == "member":
                self.library.found.setdefault((text, sink), set()).add(place)


# An advisory, its date, the version before it, the members of its description, and the sinks that count.
ADVISORIES = [
    ("CVE-2025-1550", "2025-03-11", "keras==3.7.0", "module", "import"),
    ("CVE-2025-54412", "2025-07-26", "skops==0.11.0", "__module__ __class__", "import attribute"),
    ("CVE-2025-54413", "2025-07-26", "skops==0.11.0", "content func obj __class__", "import attribute"),
    ("CVE-2025-8747", "2025-08-11", "keras==3.10.0", "class_name registered_name config", "attribute import"),
    ("CVE-2025-23304", "2025-08-13", "nemo-toolkit==2.2.0", "_target_ target cls", "import"),
    ("CVE-2025-9906", "2025-09-19", "keras==3.10.0", "class_name config module", "attribute import"),
    ("CVE-2025-49655", "2025-10-17", "keras==3.11.2", "module", "unpickle"),
    ("CVE-2025-12058", "2025-10-29", "keras==3.11.3", "vocabulary", "open"),
    ("CVE-2025-66448", "2025-12-01", "vllm==0.11.0", "auto_map", "import"),
    ("CVE-2025-14926", "2025-12-23", "transformers==4.57.0", "conv_feature_layers", "evaluate"),
    ("CVE-2025-14928", "2025-12-23", "transformers==4.57.0", "conv_feature_layers", "evaluate"),
    ("CVE-2025-68664", "2025-12-23", "langchain-core==1.2.4", "id", "import open attribute"),
    ("CVE-2026-24123", "2026-01-26", "bentoml==1.4.33", "description setup_script dockerfile_template environment_yml", "open"),
    ("CVE-2026-33744", "2026-03-24", "bentoml==1.4.36", "system_packages", "template process"),
    ("CVE-2025-15379", "2026-03-30", "mlflow-skinny==3.8.1", "dependencies build_dependencies", "process"),
    ("CVE-2026-27893", "2026-03-27", "vllm==0.17.1", "name_or_path _name_or_path text_config vision_config", "trust fetch"),
    ("CVE-2026-35044", "2026-04-06", "bentoml==1.4.37", "dockerfile_template", "template"),
    ("CVE-2026-1462", "2026-04-13", "keras==3.13.1", "filepath", "import"),
    ("CVE-2026-4372", "2026-05-24", "transformers==5.2.0", "_attn_implementation_internal _attn_implementation", "import fetch"),
    ("CVE-2026-44513", "2026-05-14", "diffusers==0.37.1", "_class_name custom_pipeline", "import"),
    ("CVE-2026-5241", "2026-06-03", "transformers==5.2.0", "trust_remote_code", "trust"),
    ("CVE-2026-44345", "2026-05-27", "bentoml==1.4.38", "base_image", "template process"),
]
PACKAGES = {"nemo-toolkit": "nemo", "mlflow-skinny": "mlflow", "langchain-core": "langchain_core"}


def back_test(root, only):
    """Prints a line for each advisory of the versions, or of all."""
    rows = sorted(ADVISORIES, key=lambda r: r[1])
    older = {r[0] for r in rows[:len(rows) // 2]}
    counts = {"older": [0, 0], "newer": [0, 0]}
    for version in dict.fromkeys(r[2] for r in rows):
        folder = pathlib.Path(root) / version
        if only and version not in only or not folder.exists():
            continue
        package = version.split("==")[0]
        made = Library([folder / PACKAGES.get(package, package)]).found
        print("# %s: %d members reach a sink by this reading" % (version, len({m for m, s in made if s != "attribute"})), flush=True)
        for advisory, date, of, members, sinks in rows:
            if of != version:
                continue
            half = "older" if advisory in older else "newer"
            hits = sorted("%s -> %s at %s" % (m, s, min(places)) for (m, s), places in made.items() if m in members.split() and s in sinks.split())
            counts[half][1] += 1
            counts[half][0] += bool(hits)
            print("\t".join((advisory, date, version, half, "found" if hits else "missed", hits[0] if hits else "")).rstrip(), flush=True)
    for half, (n, of) in counts.items():
        print("# %s half: %d of %d" % (half, n, of))


def main():
    if sys.argv[1] == "--back-test":
        return back_test(sys.argv[2], sys.argv[3:])
    for (member, sink), places in sorted(Library(sys.argv[2:]).found.items()):
        print(json.dumps({"library": sys.argv[1], "member": member, "sink": sink, "places": sorted(places)[:4]}))


if __name__ == "__main__":
    main()
