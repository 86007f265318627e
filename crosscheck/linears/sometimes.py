"""Makes internal/transformers/sometimes.txt: modules that a type has under some configurations only.

    sometimes.py > internal/transformers/sometimes.txt

build.py builds each class with its default configuration, so internal/transformers/linears.txt lacks what
an `if config.…` adds. Here the sources of the classes are read: which names are given a
torch Linear, and which another module that holds a matrix (an embedding, a Linear of its
own). The sources are those of the modules in which the classes of a type stand and of the
types that its default configuration has inside. A row is types that have the same names: a
module in a list is called list.*; + is Linear wherever the name stands, ^ Conv1D, _ is neither. Names
that end a name of the type's row of linears.txt are left out, and names of both kinds.
"""
import ast
import importlib
import pathlib
import re
import sys
import warnings

import transformers as T
from build import classes
from float32 import parts
from transformers.models.auto import configuration_auto

warnings.filterwarnings("ignore")
T.logging.set_verbosity_error()
LINEARS = pathlib.Path(__file__).resolve().parents[2] / "internal" / "transformers" / "linears.txt"


def made(value):
    """The classes whose instances an expression may give, and whether in a list."""
    inside = any(isinstance(n, ast.Call) and name(n.func) in ("ModuleList", "Sequential", "ModuleDict") for n in ast.walk(value))
    return inside, {name(n.func) for n in ast.walk(value) if isinstance(n, ast.Call)}


def name(func):
    return func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "")


def modules(text):
    """(name, classes) of what the source makes a part of a module."""
    tree = ast.parse(text)
    lists = {}  # classes that are lists themselves, and what they add
    for owner in ast.walk(tree):
        if isinstance(owner, ast.ClassDef):
            for node in ast.walk(owner):
                if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "append" and name(node.func.value) == "self":
                    lists.setdefault(owner.name, set()).update(*(made(value)[1] for value in node.args))
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Attribute) and getattr(target.value, "id", "") == "self":
                    inside, made_of = made(node.value)
                    yield target.attr + (".*" if inside else ""), made_of
                    for own in made_of & set(lists):
                        yield target.attr + ".*", lists[own]
        elif isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "append" and name(node.func.value) != "self":
            for value in node.args:
                yield name(node.func.value) + ".*", made(value)[1]


def mark(made_of):
    """+ for torch's Linear, ^ for Conv1D, _ for others with a matrix, ? for several, "" for none."""
    marks = {"+" if c == "Linear" else "^" if c == "Conv1D" else "_" for c in made_of if re.search(r"^(Linear|Embedding|Conv1D|.+ScaledWordEmbedding|.+Linear)$", c)}
    return "?" if len(marks) > 1 else "".join(marks)


def of(sources):
    out = {}
    for text in sources:
        for at, made_of in modules(text):
            if m := mark(made_of):
                out[at] = m if out.get(at, m) == m else "?"
    return out


def ends(tree):
    """The last parts of names in a row of linears.txt, with the list's name before *."""
    last, path = set(), []
    for token in re.findall(r"[^.()\s]+|[.()\s]", tree):
        if token == "(":
            path.append(path[-1])
        elif token == ")":
            path.pop()
        elif token not in ". ":
            # A name that ends with _ is told from a mark by what other rows say of it: here both are kept out.
            for own in {token.rstrip("+^~?!$"), token.rstrip("+^~?!$_")}:
                last.add(own if own != "*" else path[-1] + ".*")
            path = path[:-1] + [token.rstrip("+^~?!$_")] if path else [token.rstrip("+^~?!$_")]
    return last


def main():
    known = {}
    for line in LINEARS.read_text().splitlines():
        if not line.startswith("#"):
            types, _, tree = line.split("|")
            known |= dict.fromkeys(types.split(), ends(tree))
    inside = {}
    for kind, names in classes().items():
        found = set()
        for n in names:
            try:
                found.add(inspect_source(getattr(T, n).__module__))
            except (AttributeError, ImportError, OSError):
                pass
        inside[kind] = found
    rows = {}
    for kind in known:
        sources = set(inside.get(kind, ()))
        try:
            for part in parts(configuration_auto.CONFIG_MAPPING[kind]()):
                sources |= inside.get(part, set())
        except Exception as e:
            print(kind, type(e).__name__, file=sys.stderr)
        more = {k: v for k, v in of(sources).items() if v != "?" and k not in known[kind]}
        if more:
            rows.setdefault(" ".join(k + v for k, v in sorted(more.items())), []).append(kind)
    print(f"# Modules that types have under some configurations only. Made by crosscheck/linears/sometimes.py of transformers {T.__version__}.")
    print("# TYPES | LAST PARTS OF NAMES: + linear, ^ Conv1D, _ neither.")
    for row, kinds in sorted(rows.items(), key=lambda r: r[1]):
        print(" ".join(sorted(kinds)) + "|" + row)


def inspect_source(module):
    return pathlib.Path(importlib.import_module(module).__file__).read_text()


if __name__ == "__main__":
    main()
