"""Makes internal/transformers/inits.txt: what keeps transformers from loading GPTQ and AWQ of a type.

    inits.py > internal/transformers/inits.txt

transformers lets every class set what a file does not have (`_init_weights`), and some do that for the matrices of
the modules below a module (`init.normal_(module.wi.weight)`). Modules of GPTQ's and AWQ's codes have no weight, so a
model of such a class does not load with them. GPTQ is refused for models whose main input is not input_ids. Here the
sources are read: a row is the types of a folder of transformers/models, the names of the attributes that are set so and
are torch's Linear in the same file, and the main input, if it is another.
"""
import ast
import collections
import importlib.metadata
import importlib.util
import pathlib
import re
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


def main_input(tree):
    """What all classes of a file have as their main input, where it is not input_ids."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and node.name.endswith("PreTrainedModel"):
            for one in node.body:
                if isinstance(one, ast.Assign) and one.targets[0].id == "main_input_name" and one.value.value != "input_ids":
                    return one.value.value
    return ""


def main():
    rows = collections.defaultdict(set)
    for path in sorted(FOLDER.glob("*/modeling_*.py")):
        tree = ast.parse(path.read_text())
        names = set(initialized(tree)) & set(linear(tree))
        types = set()
        for config in path.parent.glob("configuration_*.py"):
            types |= set(re.findall(r'^    model_type = "([^"]+)"', config.read_text(), re.M))
        if types and (names or main_input(tree)):
            rows[" ".join(sorted(names)) + "|" + main_input(tree)] |= types
    print(f"# Linear modules whose weight transformers {VERSION} sets by hand while it loads, and main inputs, by model_type. Made by crosscheck/linears/inits.py.")
    print("# TYPES | NAMES of modules | the main input, if it is not input_ids")
    for names, types in sorted(rows.items(), key=lambda r: sorted(r[1])):
        print(" ".join(sorted(types)) + "|" + names)


if __name__ == "__main__":
    sys.exit(main())
