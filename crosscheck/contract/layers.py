"""Which members of a config.json count or index layers, type by type, read from transformers' sources as syntax trees.

    layers.py FOLDER       FOLDER contains models/, of transformers

A row is model types, a bar, and members with what they say of layers:

    member[]     one entry for each layer:          config.layer_types[layer_idx]
    member{}     a list of the numbers of layers:   layer_idx in config.attn_layer_indices
    member<      the number of a layer, up to which or from which layers are of another kind:
                 layer_idx >= config.first_k_dense_replace
    member%      a period, or the remainder:        layer_idx % config.attn_layer_period == config.attn_layer_offset

A member is listed where an expression of the modeling or the configuration holds it against the number of a layer: a
variable of one of the names in INDEX, or the variable of a loop over the number of layers. All types of one folder of
transformers share a row.
"""
import ast
import collections
import pathlib
import re
import sys

INDEX = {"layer_idx", "layer_id", "layer_index", "layer_number", "layer_num", "layer_i", "idx_layer", "layer_indx", "block_idx", "current_layer"}
COUNT = re.compile(r"(num_hidden_layers|n_layers?|num_layers|depth|(en|de)coder_layers|num_(en|de)coder_layers)$")
NOT = {"num_hidden_layers", "layer_norm_eps", "n_layer", "n_layers", "num_layers", "depth"}


def member(node):
    """The member of a configuration that a node is: config.x or self.x."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "getattr" and len(node.args) > 1 and isinstance(node.args[1], ast.Constant):
        return node.args[1].value if is_config(node.args[0]) else None
    if isinstance(node, ast.Attribute) and is_config(node.value):
        return node.attr
    return None


def is_config(node):
    return isinstance(node, ast.Name) and (node.id in ("self", "cfg") or node.id.endswith("config")) or isinstance(node, ast.Attribute) and node.attr.endswith("config")


class Reader(ast.NodeVisitor):
    def __init__(self, configuration):
        self.configuration, self.index, self.found, self.alias = configuration, [set(INDEX)], set(), [{}]

    def put(self, node, mark):
        for n in ast.walk(node):
            name = member(n)
            if name is None and isinstance(n, ast.Name):
                name = self.alias[-1].get(n.id)
            # self is the configuration in its own source alone: elsewhere it is a module
            if name and name not in NOT and not name.startswith("_") and (self.configuration or not (isinstance(n, ast.Attribute) and isinstance(n.value, ast.Name) and n.value.id == "self" and name not in self.members)):
                self.found.add(name + mark)

    members = frozenset()

    def indexed(self, node):
        return any(isinstance(n, ast.Name) and n.id in self.index[-1] or isinstance(n, ast.Attribute) and n.attr in INDEX for n in ast.walk(node))

    def visit_FunctionDef(self, node):
        self.index.append(set(INDEX))
        self.alias.append({})
        self.generic_visit(node)
        self.index.pop()
        self.alias.pop()

    def visit_Assign(self, node):
        if len(node.targets) == 1 and isinstance(node.targets[0], ast.Name) and (name := member(node.value)):
            self.alias[-1][node.targets[0].id] = name
        self.generic_visit(node)

    def loop(self, target, source):
        """The variable of a loop over layers."""
        if isinstance(source, ast.Call) and isinstance(source.func, ast.Name) and source.func.id == "enumerate" and (name := member(source.args[0])) and "layer" in name:
            self.put(source.args[0], "[]")
        if any(isinstance(n, ast.Attribute) and COUNT.search(n.attr) or isinstance(n, ast.Name) and COUNT.search(n.id) for n in ast.walk(source)):
            if isinstance(target, ast.Tuple):
                target = target.elts[0]
            if isinstance(target, ast.Name):
                self.index[-1].add(target.id)

    def visit_For(self, node):
        self.loop(node.target, node.iter)
        self.generic_visit(node)

    def comprehension(self, node):
        self.index.append(set(self.index[-1]))
        for g in node.generators:
            self.loop(g.target, g.iter)
        self.generic_visit(node)
        self.index.pop()

    visit_ListComp = visit_GeneratorExp = visit_SetComp = visit_DictComp = comprehension

    def visit_Subscript(self, node):
        if self.indexed(node.slice):
            self.put(node.value, "[]")
        self.generic_visit(node)

    def visit_Compare(self, node):
        for left, op, right in zip([node.left, *node.comparators], node.ops, node.comparators):
            if isinstance(op, (ast.In, ast.NotIn)) and self.indexed(left):
                self.put(right, "{}")
            elif isinstance(op, (ast.Eq, ast.NotEq)) and any(isinstance(n, ast.Mod) for n in ast.walk(left)) and self.indexed(left):
                self.put(right, "%")
            elif isinstance(op, (ast.Lt, ast.LtE, ast.Gt, ast.GtE)):
                for a, b in ((left, right), (right, left)):
                    if self.indexed(a) and not any(isinstance(n, ast.Subscript) for n in ast.walk(b)):
                        self.put(b, "<")
        self.generic_visit(node)

    def visit_BinOp(self, node):
        if isinstance(node.op, ast.Mod) and self.indexed(node.left):
            self.put(node.right, "%")
            self.put(node.left, "%")
        self.generic_visit(node)


def types(tree):
    """The model types of a configuration's source, and the members that it declares."""
    names, members = [], set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            for b in node.body:
                if isinstance(b, ast.Assign) and getattr(b.targets[0], "id", "") == "model_type" and isinstance(b.value, ast.Constant):
                    names.append(b.value.value)
                if isinstance(b, ast.AnnAssign) and isinstance(b.target, ast.Name):
                    members.add(b.target.id)
        if isinstance(node, ast.arg):
            members.add(node.arg)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self":
            members.add(node.attr)
    return [n for n in names if n], members


def rows(folder):
    same = collections.defaultdict(list)
    for d in sorted((folder / "models").iterdir()):
        kinds, members, found = [], set(), set()
        for f in sorted(d.glob("configuration_*.py")):
            names, own = types(ast.parse(f.read_text()))
            kinds, members = kinds + names, members | own
        for f in sorted([*d.glob("configuration_*.py"), *d.glob("modeling_*.py")]):
            r = Reader(f.name.startswith("configuration_"))
            r.members = members
            r.visit(ast.parse(f.read_text()))
            found |= r.found
        found = {f for f in found if f.rstrip("[]{}<%") in members}
        if kinds and found:
            same[" ".join(sorted(found))] += kinds
    return sorted((" ".join(sorted(set(kinds))), found) for found, kinds in same.items())


if __name__ == "__main__":
    for kinds, found in rows(pathlib.Path(sys.argv[1])):
        print(f"{kinds}|{found}")
