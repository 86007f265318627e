"""Writes the names that templates may use: internal/jinja/names_table.go, and names.txt beside
this file with all names that published templates use, by their use, with how many do.

    python3 crosscheck/templates/names.py FOLDER

FOLDER has the packages, or gets them. A name is allowed if a published template uses it, or if
Jinja has it and it looks no attribute up by a name.
"""
import ast
import collections
import inspect
import pathlib
import sys
import types

import jinja2
import jinja2.defaults
import jinja2.runtime
import jinja2.sandbox
import markupsafe
from jinja2 import meta, nodes

import collect

HERE = pathlib.Path(__file__).resolve().parent
TABLE = HERE.parents[1] / "internal" / "jinja" / "names_table.go"
OPERATORS = ("==", "!=", ">", ">=", "<", "<=")


def uses(env, text):
    """The names of a template, by use."""
    tree = env.parse(text)
    out = collections.defaultdict(set)
    own = {n.name for n in tree.find_all(nodes.Macro)} | {n.name for n in tree.find_all(nodes.Name) if n.ctx != "load"}
    called = set()
    for n in tree.find_all(nodes.Call):
        called.add(id(n.node))
        if isinstance(n.node, nodes.Getattr):
            out["method"].add(n.node.attr)
        elif isinstance(n.node, nodes.Name) and n.node.name not in own:
            out["function"].add(n.node.name)
    for n in tree.find_all(nodes.Getattr):
        if id(n) not in called:
            loop = isinstance(n.node, nodes.Name) and n.node.name == "loop"
            out["loop attribute" if loop else "attribute"].add(n.attr)
    for n in tree.find_all(nodes.Getitem):
        if isinstance(n.arg, nodes.Const) and isinstance(n.arg.value, str):
            out["key"].add(n.arg.value)
    out["filter"] = {n.name for n in tree.find_all(nodes.Filter)}
    out["test"] = {n.name for n in tree.find_all(nodes.Test)}
    out["statement"] = {type(n).__name__ for n in tree.find_all(nodes.Stmt)}
    out["variable"] = {n.name for n in tree.find_all(nodes.Name) if n.ctx == "load"} - own - out["function"]
    return out


def given(folder):
    """The functions that transformers gives to templates, of its source."""
    source = next(folder.glob("transformers-*/**/utils/chat_template_utils.py"))
    for n in ast.walk(ast.parse(source.read_text())):
        if isinstance(n, ast.Assign) and isinstance(n.targets[0], ast.Subscript):
            to = n.targets[0]
            if isinstance(to.value, ast.Attribute) and to.value.attr == "globals":
                yield to.slice.value


def plain(kind):
    return {n for n in dir(kind) if not n.startswith("_")}


def allowed(counts, folder):
    methods = plain(str) | plain(list) | plain(dict)
    # Those that call their argument, look into it, or give bytes or classes.
    methods -= {"sort", "format", "format_map", "encode", "translate", "maketrans", "fromkeys"}
    functions = set(given(folder)) | {n for n in jinja2.defaults.DEFAULT_NAMESPACE if counts["function"][n]}
    loop = plain(jinja2.runtime.LoopContext) - {"cycle", "changed"}
    published = {u: {n for n, c in counts[u].items() if c} for u in counts}
    return {
        "filters": (set(jinja2.defaults.DEFAULT_FILTERS) | published["filter"] - set(jinja2.defaults.DEFAULT_FILTERS)) - {"attr"},
        "tests": {t for t in jinja2.defaults.DEFAULT_TESTS if t not in OPERATORS} | published["test"],
        "methods": methods,
        "functions": functions,
        "loopAttributes": loop,
    }


def other(allowed_methods):
    """Methods of data, and of what filters make of them, that no template may call."""
    kinds = (str, list, dict, tuple, int, float, bool, range, set, type({}.keys()), type({}.values()), type({}.items()), types.GeneratorType, markupsafe.Markup)
    return {n for kind in kinds for n in plain(kind)} - allowed_methods


def unsafe():
    """Attributes of what is no data that have no underscore before them: those that Jinja's
    sandbox knows, and those of Python's inner objects whose names have a prefix of their own."""
    out = {n for name in dir(jinja2.sandbox) if name.startswith("UNSAFE_") for n in getattr(jinja2.sandbox, name)}
    kinds = [k for _, k in inspect.getmembers(types) if isinstance(k, type)]
    for kind in kinds:
        out |= {n for n in plain(kind) if n.split("_")[0] in ("gi", "cr", "ag", "f", "tb", "co") and "_" in n}
    return (out | {"mro"} | {"func_globals", "func_code", "func_closure", "func_defaults", "im_class", "im_func", "im_self", "f_restricted"}) - {n for n in out if n.startswith("__")}


USE = {"filters": "filter", "tests": "test", "methods": "method", "functions": "function", "loopAttributes": "loop attribute"}
WHAT = {
    "filters": "filters are those of Jinja, without attr, and of published templates.",
    "tests": "tests are those of Jinja, and of published templates.",
    "methods": "methods are those of strings, lists and dictionaries that call nothing, and give no bytes and no classes.",
    "functions": "functions are those that Jinja and transformers give to templates, and that templates call.",
    "loopAttributes": "loopAttributes are those of the loop.",
}


def main():
    folder = pathlib.Path(sys.argv[1]).resolve()
    env = collect.environment()
    counts, number = collections.defaultdict(collections.Counter), 0
    for _, _, text in collect.templates(folder):
        number += 1
        for use, names in uses(env, text).items():
            counts[use].update(names)
    lines = [f"# {number} templates of packages.txt: use, name, in how many templates.\n"]
    for use in sorted(counts):
        lines += [f"{use}\t{name!r}\t{n}\n" for name, n in sorted(counts[use].items(), key=lambda x: (-x[1], x[0]))]
    (HERE / "names.txt").write_text("".join(lines))
    out = [f"// Code generated by crosscheck/templates/names.py from {number} templates and Jinja {jinja2.__version__}; DO NOT EDIT.\n\npackage jinja\n"]
    for table, names in allowed(counts, folder).items():
        out.append(f"\n// {WHAT[table]}\nvar {table} = names{{\n")
        out += [f'\t"{n}": {counts[USE[table]][n]},\n' for n in sorted(names)]
        out.append("}\n")
    out.append("\n// otherMethods are those of data, and of what filters make, that no template may call.\nvar otherMethods = map[string]bool{\n")
    out += [f'\t"{n}": true,\n' for n in sorted(other(allowed(counts, folder)["methods"]))] + ["}\n"]
    out.append("\n// unsafeAttributes lead into the interpreter, without an underscore before them.\nvar unsafeAttributes = map[string]bool{\n")
    out += [f'\t"{n}": true,\n' for n in sorted(unsafe())] + ["}\n"]
    TABLE.write_text("".join(out))
    import subprocess
    subprocess.run(["gofmt", "-w", str(TABLE)], check=True)
    print(f"{number} templates")


if __name__ == "__main__":
    main()
