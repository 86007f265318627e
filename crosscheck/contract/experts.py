"""In which order transformers' classes make the parameters of stacked experts, type by type, read from its sources as syntax trees.

    experts.py FOLDER       FOLDER contains models/, of transformers

A row is model types, a bar, the last part of a module's name, a bar, the parameters of its class in their order, a bar, and "in" where
each matrix is [in, out] (is_transposed). PEFT wraps a module once for each of its parameters that target_parameters names, in this order,
so that the last one is outermost; by is_transposed it tells which dimension of a matrix is the input.

A class has a row if it is derived from nn.Module alone, and makes all its parameters in __init__ by self.NAME = nn.Parameter(...), two or
more, one of them of three dimensions that are written out, and the name of the module says that it is of experts. All types of one folder share a row; a name that means several classes there
has none.
"""
import ast
import collections
import pathlib
import sys

import layers


def last(node):
    """The last part of a name with points."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def parameters(cls):
    """(the parameters of a class in their order, "in" if it is transposed); None for a class that may have others."""
    inits = [n for n in cls.body if isinstance(n, ast.FunctionDef) and n.name == "__init__"]
    if len(inits) != 1 or len(cls.bases) != 1 or last(cls.bases[0]) != "Module" or cls.keywords:
        return None
    names, stacked = [], False
    for node in (n for n in ast.walk(cls) if isinstance(n, ast.Call)):
        if last(node.func) in ("register_parameter", "setattr", "Parameter") and not (last(node.func) == "Parameter" and any(node is n for n in ast.walk(inits[0]))):
            return None  # made elsewhere, or under a name that is computed
        if last(node.func) in ("register_parameter", "setattr"):
            return None
    assigned = sorted((n for n in ast.walk(inits[0]) if isinstance(n, ast.Assign)), key=lambda n: n.lineno)
    for node in assigned:
        made = [n for n in ast.walk(node.value) if isinstance(n, ast.Call) and last(n.func) == "Parameter"]
        if not made:
            continue
        target = node.targets[0]
        if len(node.targets) != 1 or not isinstance(target, ast.Attribute) or last(target.value) != "self" or made[0] is not node.value or target.attr in names:
            return None
        names.append(target.attr)
        of = node.value.args[0] if node.value.args else None
        stacked |= isinstance(of, ast.Call) and (len(of.args) == 3 or len(of.args) == 1 and isinstance(of.args[0], (ast.Tuple, ast.List)) and len(of.args[0].elts) == 3)
    calls = sum(isinstance(n, ast.Call) and last(n.func) == "Parameter" for n in ast.walk(inits[0]))
    if len(names) < 2 or not stacked or calls != len(names):
        return None
    turned = any(isinstance(n, ast.keyword) and n.arg == "is_transposed" and getattr(n.value, "value", None) is True for d in cls.decorator_list for n in ast.walk(d))
    return " ".join(names), "in" * turned


def of(folder):
    """(module, parameters, mark) of the classes in the modeling sources of one folder."""
    found, trees = collections.defaultdict(set), [ast.parse(f.read_text()) for f in sorted(folder.glob("modeling_*.py"))]
    known = {c.name: parameters(c) for tree in trees for c in ast.walk(tree) if isinstance(c, ast.ClassDef)}
    for node in (n for tree in trees for n in ast.walk(tree) if isinstance(n, ast.Assign)):
        for made in (n for n in ast.walk(node.value) if isinstance(n, ast.Call)):
            for target in node.targets:
                if isinstance(target, ast.Attribute) and last(target.value) == "self" and last(made.func)[:1].isupper():
                    found[target.attr].add(known.get(last(made.func)))
    return [(name, *what.pop()) for name, what in sorted(found.items()) if "expert" in name and len(what) == 1 and None not in what]


def rows(transformers):
    same = collections.defaultdict(list)
    for folder in sorted(f for f in (transformers / "models").iterdir() if f.is_dir()):
        kinds = [k for f in sorted(folder.glob("configuration_*.py")) for k in layers.types(ast.parse(f.read_text()))[0]]
        for what in of(folder) if kinds else ():
            same["|".join(what)] += kinds
    return sorted((" ".join(sorted(set(kinds))), what) for what, kinds in same.items())


if __name__ == "__main__":
    for kinds, what in rows(pathlib.Path(sys.argv[1])):
        print(f"{kinds}|{what}")
