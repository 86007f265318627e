"""Which model types a loader has, and which of their modules it takes quantized, read from its sources as syntax trees.

    takes.py gptqmodel FOLDER        FOLDER contains gptqmodel/, awq/, mlx_lm/, diffusers/ or llama.cpp
    takes.py autoawq FOLDER
    takes.py mlx-lm FOLDER
    takes.py diffusers FOLDER
    takes.py llama.cpp FOLDER

A row is types, where their layers are, the modules below a layer that the loader makes quantized, and parts of names that it
leaves alone, with bars between:

    gptqmodel     types of config.json; modules of its module_tree, "#" for a number. It makes no others quantized
    autoawq       types; * is every Linear in the layers, but those whose name contains a part
    mlx-lm        types; *: what has scales in the file
    diffusers     classes of config.json; *: every Linear, but those of which _keep_in_fp32_modules names a part
    llama.cpp     classes of config.json that its converter has; the architecture that it writes, which its loader has
"""
import ast
import collections
import itertools
import pathlib
import re
import sys


class Unread(Exception):
    """An expression that is not evaluated here."""


class Sources:
    """The modules of a folder, and the values of their literals, names, functions without arguments and members of classes."""

    def __init__(self, folder):
        self.trees = {f.stem: ast.parse(f.read_text()) for f in sorted(folder.glob("*.py"))}
        self.classes, self.names = {}, {}
        for stem, tree in self.trees.items():
            for node in tree.body:
                for n in ast.walk(node) if isinstance(node, (ast.Try, ast.If)) else [node]:
                    if isinstance(n, ast.ClassDef):
                        self.classes[n.name] = (stem, n)
                    elif isinstance(n, ast.FunctionDef):
                        self.names[stem, n.name] = n
                    elif isinstance(n, ast.Assign) and isinstance(n.targets[0], ast.Name):
                        self.names[stem, n.targets[0].id] = n.value
                    elif isinstance(n, ast.ImportFrom):
                        for a in n.names:
                            self.names.setdefault((stem, a.asname or a.name), (n.module or "").split(".")[-1:] + [a.name])

    def name(self, stem, name):
        node = self.names.get((stem, name))
        if isinstance(node, list):
            return self.name(*node) if (node[0], node[1]) in self.names and node[0] != stem else (None, None)
        return stem, node

    def member(self, cls, name):
        """The value of a class's member, of its own or of a base."""
        if cls not in self.classes:
            raise Unread(cls)
        stem, node = self.classes[cls]
        for b in reversed(node.body):
            target = b.targets[0] if isinstance(b, ast.Assign) else getattr(b, "target", None)
            if getattr(target, "id", "") == name and getattr(b, "value", None) is not None:
                return self.value(stem, b.value)
        for base in node.bases:
            try:
                return self.member(ast.unparse(base).split(".")[-1], name)
            except Unread:
                pass
        raise Unread(f"{cls}.{name}")

    def value(self, stem, node):
        match node:
            case ast.Constant():
                return node.value
            case ast.Tuple() | ast.List() | ast.Set():
                return [v for e in node.elts for v in (self.value(stem, e.value) if isinstance(e, ast.Starred) else [self.value(stem, e)])]
            case ast.Dict():
                out = {}
                for k, v in zip(node.keys, node.values):
                    out |= {self.value(stem, k): self.value(stem, v)} if k is not None else self.value(stem, v)
                return out
            case ast.Attribute(value=ast.Name(id=cls), attr=attr) if cls in self.classes:
                return self.member(cls, attr)
            case ast.Subscript():
                return self.value(stem, node.value)[ast.literal_eval(node.slice)]
            case ast.BinOp(op=ast.Add()):
                return self.value(stem, node.left) + self.value(stem, node.right)
            case ast.Call(func=ast.Name(id="deepcopy" | "list" | "tuple" | "dict")) | ast.Call(func=ast.Attribute(attr="deepcopy")) if node.args:
                return self.value(stem, node.args[0])
            case ast.Call(func=ast.Name(id=name), args=[], keywords=[]):
                where, found = self.name(stem, name)
                if isinstance(found, ast.FunctionDef) and isinstance(found.body[-1], ast.Return):
                    return self.value(where, found.body[-1].value)
            case ast.Name(id=name):
                where, found = self.name(stem, name)
                if isinstance(found, ast.expr):
                    return self.value(where, found)
        raise Unread(ast.unparse(node)[:80])


def spelled(name):
    """The spellings of a name of a tree, without its flags, and the flags."""
    plain, *flags = name.split(":")
    return plain.split("|"), flags


def leaves(node, before=()):
    """(spellings of each part, flags) of each module below a node of a tree."""
    if isinstance(node, dict):
        for k, v in node.items():
            names, flags = spelled(k)
            yield from leaves(v, (*before, names) if names != [""] else before)
    elif isinstance(node, list):
        for one in node:
            if isinstance(one, str):
                names, flags = spelled(one)
                # A leaf of the same name as its key is that module itself: "gate": ("gate:!",)
                yield (before if before and names == before[-1] else (*before, names)), flags
            else:
                yield from leaves(one, before)


def gptqmodel(root):
    sources = Sources(root / "gptqmodel/models/definitions")
    auto = ast.parse((root / "gptqmodel/models/auto.py").read_text())
    types = {}
    for node in ast.walk(auto):
        if isinstance(node, ast.Assign):
            t = node.targets[0]
            if getattr(t, "id", "") == "MODEL_MAP":
                types |= {k.value: ast.unparse(v) for k, v in zip(node.value.keys, node.value.values)}
            elif isinstance(t, ast.Subscript) and getattr(t.value, "id", "") == "MODEL_MAP":
                types[t.slice.value] = ast.unparse(node.value)
    for kind, cls in types.items():
        try:
            tree = sources.member(cls, "module_tree")
        except Unread as e:
            print(f"{kind}: {e} is not read", file=sys.stderr)
            continue
        taken, left, where = set(), set(), set()
        for variant in tree if all(isinstance(t, list) for t in tree) else [tree]:
            where |= {".".join(p) for p in itertools.product(*(spelled(n)[0] for n in variant[:variant.index("#")]))}
            for parts, flags in leaves(variant[variant.index("#") + 1:]):
                for p in itertools.product(*parts):
                    (left if {"!", "?"} & set(flags) else taken).add(".".join(p))
        yield kind, " ".join(sorted(where)), " ".join(sorted(taken)), " ".join(sorted(n for n in left - taken if not re.search("norm|conv|ln_|e_score", n)))


def autoawq(root):
    sources = Sources(root / "awq/models")
    for node in ast.walk(sources.trees["auto"]):
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "AWQ_CAUSAL_LM_MODEL_MAP":
            for k, v in zip(node.value.keys, node.value.values):
                try:
                    left = sources.member(ast.unparse(v), "modules_to_not_convert")
                except Unread:
                    left = []
                yield k.value, layers(sources, ast.unparse(v)), "*", " ".join(left)


def layers(sources, cls):
    """Where the layers are that get_model_layers of a class returns."""
    stem, node = sources.classes[cls]
    for b in node.body:
        if isinstance(b, ast.FunctionDef) and b.name == "get_model_layers":
            return ast.unparse(b.body[-1].value).removeprefix("model.")
    return layers(sources, ast.unparse(node.bases[0]))


def mlx_lm(root):
    types = {f.stem for f in (root / "mlx_lm/models").glob("*.py") if any(isinstance(n, ast.ClassDef) and n.name == "Model" for n in ast.parse(f.read_text()).body)}
    for node in ast.parse((root / "mlx_lm/utils.py").read_text()).body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "MODEL_REMAPPING":
            types |= {k for k, v in ast.literal_eval(node.value).items() if v in types}
    for kind in types:
        yield kind, "", "*", ""


def diffusers(root):
    for f in sorted((root / "diffusers/models").rglob("*.py")):
        for node in ast.parse(f.read_text()).body:
            if isinstance(node, ast.ClassDef) and any(ast.unparse(b).endswith("ModelMixin") for b in node.bases):
                kept = [ast.literal_eval(b.value) for b in node.body if isinstance(b, ast.Assign) and getattr(b.targets[0], "id", "") == "_keep_in_fp32_modules" and isinstance(b.value, ast.List)]
                yield node.name, "", "*", " ".join(sorted({n for one in kept for n in one}))


def llama(root):
    """The converter's classes, by the decorator that registers them, and the architectures of llama.cpp's loader."""
    arch = dict(re.findall(r"\{\s*LLM_ARCH_(\w+),\s*\"([^\"]+)\"", (root / "src/llama-arch.cpp").read_text()))
    bases, own, registered = {}, {}, {}
    for f in [root / "convert_hf_to_gguf.py", *sorted((root / "conversion").glob("*.py"))]:
        for node in ast.walk(ast.parse(f.read_text())) if f.exists() else ():
            if isinstance(node, ast.ClassDef):
                bases[node.name] = [ast.unparse(b).split(".")[-1] for b in node.bases]
                for b in node.body:
                    if isinstance(b, ast.Assign) and getattr(b.targets[0], "id", "") == "model_arch":
                        own[node.name] = ast.unparse(b.value).split(".")[-1]
                registered[node.name] = [a.value for d in node.decorator_list if isinstance(d, ast.Call) and ast.unparse(d.func).endswith(".register") for a in d.args if isinstance(a, ast.Constant)]
    def of(cls):
        return own.get(cls) or next((a for b in bases.get(cls, ()) if (a := of(b))), None)
    for cls, names in registered.items():
        for name in names:
            if (a := of(cls)) in arch:
                yield name, "", arch[a], ""


WHERE = {"gptqmodel": gptqmodel, "autoawq": autoawq, "mlx-lm": mlx_lm, "diffusers": diffusers, "llama.cpp": llama}


def rows(library, root):
    same = collections.defaultdict(list)
    for kind, *what in WHERE[library](root):
        same[tuple(what)].append(kind)
    return sorted((" ".join(sorted(set(kinds))), *what) for what, kinds in same.items())


if __name__ == "__main__":
    for row in rows(sys.argv[1], pathlib.Path(sys.argv[2])):
        print("|".join(row))
