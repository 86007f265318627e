"""Makes internal/transformers/inits.txt: what keeps transformers from loading GPTQ and AWQ of a type.

    inits.py > internal/transformers/inits.txt

transformers lets every class set what a file does not have (`_init_weights`), and some do that for the matrices of
the modules below a module (`init.normal_(module.wi.weight)`). Modules of GPTQ's and AWQ's codes have no weight, so a
model of such a class does not load with them. GPTQ is refused for models whose main input is not input_ids. Here the
sources are read: a row is the types of a folder of transformers/models, the names of the attributes that are set so and
are torch's Linear in the same file, and the main input, if it is another. The name "*" stands for every torch Linear: some
classes set `module.weight` of each without asking whether it has one, and a Linear of compressed-tensors' packed codes has none.
"""
import ast
import collections
import importlib.metadata
import importlib.util
import pathlib
import sys

FOLDER = pathlib.Path(importlib.util.find_spec("transformers").submodule_search_locations[0]) / "models"
VERSION = importlib.metadata.version("transformers")


def attribute(node):
    """The name X of an expression `anything.X`, or None."""
    return node.attr if isinstance(node, ast.Attribute) else None


def linear(tree):
    """The names of attributes that are given a torch Linear."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and attribute(node.value.func) == "Linear":
            yield from filter(None, map(attribute, node.targets))


def initialized(tree):
    """The names X of `module.X.weight` in the functions that set weights, and of `module.X` that a function inside is called with
    which sets the weight of what it is given."""
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef) and function.name == "_init_weights":
            setters = {f.name for f in ast.walk(function) if isinstance(f, ast.FunctionDef) and f is not function and any(attribute(n) == "weight" for n in ast.walk(f))}
            for node in ast.walk(function):
                if isinstance(node, ast.Call) and getattr(node.func, "id", "") in setters and node.args and isinstance(node.args[0], ast.Attribute):
                    yield node.args[0].attr
                if attribute(node) == "weight" and isinstance(node.value, ast.Attribute) and isinstance(node.value.value, ast.Name):
                    yield node.value.attr


def called(node):
    return getattr(node, "attr", None) or getattr(node, "id", None)


def linear_classes(tree):
    """torch's Linear and the classes of a file that are made of it."""
    found, classes = {"Linear"}, [c for c in ast.walk(tree) if isinstance(c, ast.ClassDef)]
    while more := {c.name for c in classes if c.name not in found and found & set(map(called, c.bases))}:
        found |= more
    return found


def asks(test):
    """Whether a condition asks if there is a weight."""
    return any(isinstance(n, ast.Call) and called(n.func) in ("hasattr", "getattr") and len(n.args) > 1 and getattr(n.args[1], "value", "") == "weight" for n in ast.walk(test))


def sets_each(body, module, kinds, reached=False):
    """Whether statements set the weight of a Linear that is `module`; reached says that one comes here."""
    for one in body:
        if isinstance(one, ast.If):
            of = [n.args[1] for n in ast.walk(one.test) if isinstance(n, ast.Call) and called(n.func) == "isinstance" and called(n.args[0]) == module]
            is_one = any(kinds & set(map(called, getattr(k, "elts", [k]))) for k in of)
            if not asks(one.test) and (is_one or not of) and sets_each(one.body, module, kinds, reached or is_one) or sets_each(one.orelse, module, kinds, reached):
                return True
        elif isinstance(one, (ast.For, ast.With, ast.While)):
            if sets_each(one.body, module, kinds, reached):
                return True
        elif reached and any(attribute(n) == "weight" and called(n.value) == module for n in ast.walk(one)):
            return True
    return False


def types_in(tree, config_types):
    """The types that a file has classes of, and those whose class sets the weight of every Linear."""
    kinds, classes = linear_classes(tree), {c.name: c for c in ast.walk(tree) if isinstance(c, ast.ClassDef)}

    def setter(c):
        own = [f for f in c.body if isinstance(f, ast.FunctionDef) and f.name == "_init_weights" and len(f.args.args) > 1]
        if own:
            return sets_each(own[0].body, own[0].args.args[1].arg, kinds)
        return any(setter(classes[b]) for b in map(called, c.bases) if b in classes)

    def config(c):
        for one in c.body:
            if isinstance(one, ast.AnnAssign) and called(one.target) == "config":
                return called(one.annotation)
            if isinstance(one, ast.Assign) and called(one.targets[0]) == "config_class":
                return called(one.value)
        for f in c.body:
            if isinstance(f, ast.FunctionDef) and f.name == "__init__":
                for a in f.args.args[1:2]:
                    if called(a.annotation) in config_types:
                        return called(a.annotation)
        return next(filter(None, (config(classes[b]) for b in map(called, c.bases) if b in classes)), None)

    of = {c: config_types[config(c)] for c in classes.values() if config(c) in config_types}
    return set(of.values()) or set(config_types.values()), {kind for c, kind in of.items() if setter(c)}


def types_of(path):
    """The model types of a folder, by the classes of configurations."""
    found = {}
    for file in path.parent.glob("configuration_*.py"):
        for c in ast.walk(ast.parse(file.read_text())):
            if isinstance(c, ast.ClassDef):
                for one in c.body:
                    if isinstance(one, (ast.Assign, ast.AnnAssign)) and called(getattr(one, "target", None) or one.targets[0]) == "model_type" and isinstance(one.value, ast.Constant) and one.value.value:
                        found[c.name] = one.value.value
    return found


def main_input(tree):
    """What all classes of a file have as their main input, where it is not input_ids."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and node.name.endswith("PreTrainedModel"):
            for one in node.body:
                if isinstance(one, ast.Assign) and one.targets[0].id == "main_input_name" and one.value.value != "input_ids":
                    return one.value.value
    return ""


def main():
    found = collections.defaultdict(lambda: [set(), set()])
    for path in sorted(FOLDER.glob("*/modeling_*.py")):
        tree = ast.parse(path.read_text())
        names = set(initialized(tree)) & set(linear(tree))
        types, each = types_in(tree, types_of(path))
        for kind in types:
            found[kind][0] |= names | ({"*"} if kind in each else set())
            found[kind][1] |= {main_input(tree)} - {""}
    rows = collections.defaultdict(list)
    for kind, (names, inputs) in found.items():
        if names or inputs:
            rows[" ".join(sorted(names)) + "|" + " ".join(sorted(inputs))].append(kind)
    print(f"# Linear modules whose weight transformers {VERSION} sets by hand while it loads, and main inputs, by model_type. Made by crosscheck/linears/inits.py.")
    print("# TYPES | NAMES of modules, * for each | the main input, if it is not input_ids")
    for names, types in sorted(rows.items(), key=lambda r: sorted(r[1])):
        print(" ".join(sorted(types)) + "|" + names)


if __name__ == "__main__":
    sys.exit(main())
