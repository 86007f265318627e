"""Which matrices vLLM and SGLang fuse into one, architecture by architecture, and AutoAWQ with fuse_layers, type by type,
read from their sources as syntax trees: nothing of them is run.

    fused.py vllm FOLDER       FOLDER contains vllm/, of the wheel
    fused.py sglang FOLDER
    fused.py autoawq FOLDER

A row is architectures, a bar, and groups: "q_proj+k_proj+v_proj gate_proj+up_proj". Three spellings of
the sources are read, in the module of the architecture's class and in those of its bases:

    packed_modules_mapping = {"qkv_proj": ["q_proj", "k_proj", "v_proj"]}
    stacked_params_mapping = [("qkv_proj", "q_proj", "q"), ...]      any list of such triples
    orig_to_new_stacked={".q_proj": (".qkv_proj", "q"), ...}

A module may read more than one class builds; then a group is quantized whole that need not be, which loads.
"""
import ast
import collections
import pathlib
import re
import sys

NAME = re.compile(r"[A-Za-z_][\w.]*$")


def text(node):
    """The name that a node spells, without the dots at its ends; None for none."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        name = node.value.strip(".").removesuffix(".weight")
        return name if NAME.match(name) and "expert" not in name and not name.endswith((".bias", "_scale", "A_log")) else None
    return None


def shard(node):
    """Whether a node says which part of the fused parameter a matrix is."""
    if isinstance(node, ast.Tuple):
        return all(map(shard, node.elts))
    return isinstance(node, ast.Constant) and isinstance(node.value, (int, str)) and node.value is not True


class Module:
    """One source: the groups that it spells, its classes with their bases, and what it imports beside it."""

    def __init__(self, tree):
        self.parts, self.classes, self.imported = collections.defaultdict(dict), {}, {}
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                self.classes[node.name] = [b.id for b in node.bases if isinstance(b, ast.Name)] + [b.value.id for b in node.bases if isinstance(b, ast.Attribute) and isinstance(b.value, ast.Name)]
            elif isinstance(node, ast.ImportFrom):
                for a in node.names:
                    self.imported[a.asname or a.name] = (node.module or a.name).split(".")[-1]
            elif isinstance(node, ast.Tuple) and len(node.elts) == 3 and shard(node.elts[2]):
                self.put(node.elts[0], node.elts[1])
            elif isinstance(node, ast.Assign):
                for t in node.targets:
                    if isinstance(t, ast.Subscript) and "packed_modules_mapping" in ast.unparse(t.value) and isinstance(node.value, ast.List):
                        self.packed(t.slice, node.value)
            if isinstance(node, (ast.Assign, ast.AnnAssign)) and "packed_modules_mapping" in ast.unparse(getattr(node, "target", None) or node.targets[0]) and node.value:
                for d in ast.walk(node.value):
                    if isinstance(d, ast.Dict):
                        for k, v in zip(d.keys, d.values):
                            self.packed(k, v)
            elif isinstance(node, ast.keyword) and node.arg == "orig_to_new_stacked" or isinstance(node, ast.Assign) and "stacked" in ast.unparse(node.targets[0]):
                for d in ast.walk(node.value):
                    if isinstance(d, ast.Dict):
                        for k, v in zip(d.keys, d.values):
                            if isinstance(v, ast.Tuple) and len(v.elts) == 2 and shard(v.elts[1]) and text(v.elts[0]):
                                self.put(v.elts[0], k)

    def put(self, whole, part):
        if (whole := text(whole)) and (part := text(part)) and whole != part:
            self.parts[whole][part] = True

    def packed(self, whole, parts):
        if isinstance(parts, ast.List):
            for part in parts.elts:
                self.put(whole, part)

    def groups(self):
        return {plain(p) for p in self.parts.values() if len(p) > 1}


def plain(parts):
    """A group without the prefix that all of its members share."""
    while len({p.split(".")[0] for p in parts}) == 1 and all("." in p for p in parts):
        parts = [p.partition(".")[2] for p in parts]
    return "+".join(sorted(parts))


def modules(folder):
    found = {}
    for f in sorted(folder.rglob("*.py")):
        found.setdefault(f.stem, Module(ast.parse(f.read_text())))
    return found


def of(found, name, cls, seen):
    """The groups of a class's module, and of those of its bases."""
    if name in seen or name not in found:
        return set()
    seen.add(name)
    m, groups = found[name], set(found[name].groups())
    todo, done = [cls], set()
    while todo:
        one = todo.pop()
        if one in done:
            continue
        done.add(one)
        if one in m.classes:
            todo += m.classes[one]
        elif one in m.imported:
            groups |= of(found, m.imported[one], one, seen)
    return groups


def vllm(root):
    """(architecture, module, class) of vLLM's registry."""
    tree = ast.parse((root / "vllm/model_executor/models/registry.py").read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.Dict):
            for k, v in zip(node.keys, node.values):
                if isinstance(k, ast.Constant) and isinstance(v, ast.Tuple) and len(v.elts) == 2 and all(isinstance(e, ast.Constant) for e in v.elts):
                    yield k.value, v.elts[0].value.split(".")[-1], v.elts[1].value


def sglang(root):
    """The same of SGLang, whose modules name their classes."""
    for f in sorted((root / "sglang/srt/models").rglob("*.py")):
        for node in ast.parse(f.read_text()).body:
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == "EntryClass":
                for n in ast.walk(node.value):
                    if isinstance(n, ast.Name):
                        yield n.id, f.stem, n.id


WHERE = {"vllm": (vllm, "vllm/model_executor/models"), "sglang": (sglang, "sglang/srt/models")}


def autoawq(root):
    """(type, groups): what fuse_qkv and fuse_linears of a type's module are called with."""
    groups = collections.defaultdict(set)
    for f in (root / "awq/models").glob("*.py"):
        for n in ast.walk(ast.parse(f.read_text())):
            if isinstance(n, ast.Call) and getattr(n.func, "id", "") in ("fuse_qkv", "fuse_linears"):
                args = [a for one in n.args for a in (one.elts if isinstance(one, ast.List) else [one])]
                if len(names := {a.attr for a in args if isinstance(a, ast.Attribute)}) > 1:
                    groups[f.stem].add("+".join(sorted(names)))
    by, types = {}, {}
    for node in ast.walk(ast.parse((root / "awq/models/__init__.py").read_text())):
        if isinstance(node, ast.ImportFrom):
            by |= {a.asname or a.name: node.module for a in node.names}
    for node in ast.walk(ast.parse((root / "awq/models/auto.py").read_text())):
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "AWQ_CAUSAL_LM_MODEL_MAP":
            types |= {k.value: by[ast.unparse(v)] for k, v in zip(node.value.keys, node.value.values)}
    return {kind: groups[module] for kind, module in types.items()}


def rows(library, root):
    if library == "autoawq":
        same = collections.defaultdict(list)
        for kind, groups in autoawq(root).items():
            same[" ".join(sorted(groups))].append(kind)
        return sorted((" ".join(sorted(kinds)), groups) for groups, kinds in same.items() if groups)
    registry, folder = WHERE[library]
    found = modules(root / folder)
    by = collections.defaultdict(set)
    for arch, module, cls in registry(root):
        by[arch] |= of(found, module, cls, set())
    same = collections.defaultdict(list)
    for arch, groups in by.items():
        same[" ".join(sorted(groups))].append(arch)
    return sorted((" ".join(sorted(archs)), groups) for groups, archs in same.items())


if __name__ == "__main__":
    for archs, groups in rows(sys.argv[1], pathlib.Path(sys.argv[2])):
        print(f"{archs}|{groups}")
