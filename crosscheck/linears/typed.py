"""Makes tables of linear modules that a class of transformers needs as numbers, so that it fails or computes with codes once they are quantized.

    typed.py type > internal/transformers/typed.txt
    typed.py read > internal/transformers/read.txt
    typed.py held > internal/transformers/held.txt

type: `hidden_states.to(self.proj.weight.dtype)` is a mistake once the weight is codes: the numbers become bytes. Some classes ask first
whether the type is one of numbers, or uint8; the others are listed.

read: `self.rel_pos_bias.weight.t()[buckets]` reads the weight itself, which is codes then, or not there. Listed is what no condition stands before:
most conditions ask for training, or whether the model is quantized. `block.attention.output.weight.div_(2)` changes it; rwkv's class
quantizes it again then, as FP4.

held: `self.layers = [nn.Linear(...)]` beside `add_module` keeps the module that the quantizer replaces, and runs it without numbers.

A row has the ends of the modules' names: the attribute, behind that which holds its class, where one does; * is a number.
"""
import ast
import collections
import importlib.metadata
import sys

from inits import FOLDER, attribute, called, types_in, types_of

ASKS = ("is_floating_point", "uint8")
FACTS = ("dtype", "device", "shape", "size", "ndim", "numel", "is_meta", "requires_grad", "data_ptr")  # of a weight, that are no numbers
WHAT = {"type": "Linear modules to whose weight's type transformers {} converts numbers", "read": "Linear modules whose weight transformers {} reads itself", "held": "Linear modules that transformers {} runs though it has replaced them"}


def linears(c):
    """The attributes of a class that are given a torch Linear."""
    return {called(t) for n in ast.walk(c) if isinstance(n, ast.Assign) and isinstance(n.value, ast.Call) and attribute(n.value.func) == "Linear" for t in n.targets}


def firsts(c):
    """The attributes of a class that hold a row of modules, by the place of the first Linear in it: its weight is the first parameter."""
    found = {}
    for n in ast.walk(c):
        if isinstance(n, ast.Assign) and isinstance(n.value, ast.Call) and attribute(n.value.func) == "Sequential":
            if at := [str(i) for i, e in enumerate(n.value.args) if isinstance(e, ast.Call) and attribute(e.func) == "Linear"]:
                found |= {called(t): f"{called(t)}.{at[0]}" for t in n.targets}
    return found


def first_parameter(node):
    """X of `next(self.X.parameters())`."""
    call = node.args[0] if isinstance(node, ast.Call) and called(node.func) == "next" and node.args else None
    if isinstance(call, ast.Call) and attribute(call.func) == "parameters" and called(getattr(call.func.value, "value", None)) == "self":
        return called(call.func.value)


def converts(node, own, rows):
    """The attributes of own, or the first Linear of a row, whose weight's type is read, but where a condition asks about it."""
    if isinstance(node, ast.If) and any(called(n) in ASKS for n in ast.walk(node.test)):
        for one in node.orelse:
            yield from converts(one, own, rows)
        return
    if attribute(node) == "dtype" and attribute(node.value) == "weight" and called(node.value.value) in own and called(getattr(node.value.value, "value", None)) == "self":
        yield called(node.value.value)
    if attribute(node) == "dtype" and (name := first_parameter(node.value)):
        yield from {name} & own | {rows[n] for n in {name} & set(rows)}
    for one in ast.iter_child_nodes(node):
        yield from converts(one, own, rows)


def weights(node, above=None):
    """The expressions X of `X.weight` that are read as numbers and stand below no condition."""
    if attribute(node) == "weight" and isinstance(node.ctx, ast.Load) and attribute(above) not in FACTS and called(getattr(above, "func", None)) != "isinstance":
        yield node.value
    for one in ast.iter_child_nodes(node):
        if not isinstance(node, (ast.If, ast.IfExp)) or one is node.test:
            yield from weights(one, node)


def reads(c, f, own):
    """The attributes of own whose weight a method reads, itself or by another method that it hands the module to."""
    readers = {}
    for g in c.body:
        if isinstance(g, ast.FunctionDef):
            names = [a.arg for a in g.args.args][1:]
            readers[g.name] = {names.index(w.id) for w in weights(g) if isinstance(w, ast.Name) and w.id in names}
    for w in weights(f):
        if called(w) in own and called(getattr(w, "value", None)) == "self":
            yield called(w)
    for n in ast.walk(f):
        if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute) and called(n.func.value) == "self":
            yield from (called(a) for i, a in enumerate(n.args) if i in readers.get(n.func.attr, ()) and called(a) in own and called(a.value) == "self")


def changes(node, own):
    """The modules `A.B` of `block.A.B.weight.div_(...)`: their weight is changed in place, but where the model trains."""
    if isinstance(node, ast.If) and any(called(n) == "training" for n in ast.walk(node.test)):
        for one in node.orelse:
            yield from changes(one, own)
        return
    if isinstance(node, ast.Call) and str(attribute(node.func)).endswith("_"):
        of = node.func.value
        module = getattr(of.value if attribute(of) == "data" else of, "value", None)
        if "weight" in (attribute(of), attribute(getattr(of, "value", None))) and called(module) in own and isinstance(getattr(module, "value", None), ast.Attribute):
            yield f"{called(module.value)}.{called(module)}"
    for one in ast.iter_child_nodes(node):
        yield from changes(one, own)


def listed(c):
    """The places of Linear modules in a list that a class keeps beside its modules."""
    adds = any(isinstance(n, ast.Call) and attribute(n.func) == "add_module" for n in ast.walk(c))
    for n in ast.walk(c):
        if adds and isinstance(n, ast.Assign) and isinstance(n.value, ast.List) and called(getattr(n.targets[0], "value", None)) == "self":
            yield from (str(i) for i, e in enumerate(n.value.elts) if isinstance(e, ast.Call) and attribute(e.func) == "Linear")


def holders(tree, name):
    """The attributes that hold an instance of a class, or a list of them."""
    for n in ast.walk(tree):
        if isinstance(n, ast.Assign) and any(isinstance(m, ast.Call) and called(m.func) == name for m in ast.walk(n.value)):
            yield from filter(None, map(attribute, n.targets))


def paths(tree, name):
    """The ends of the names under which an instance of a class is held: by an attribute, or numbered by a class that an attribute holds."""
    found = set(holders(tree, name))
    for k in ast.walk(tree):
        if isinstance(k, ast.ClassDef) and k.name != name:
            made = any(isinstance(m, ast.Call) and called(m.func) == name for m in ast.walk(k))
            if made and any(isinstance(m, ast.Call) and attribute(m.func) == "add_module" for m in ast.walk(k)):
                found |= {h + ".*" for h in paths(tree, k.name)}
            elif made:
                for n in ast.walk(k):
                    if isinstance(n, ast.Assign) and isinstance(n.value, ast.Call) and called(n.value.func) in ("Sequential", "ModuleList") and not any(isinstance(m, ast.Call) and called(m.func) == name for m in ast.walk(n.value)):
                        found |= {f"{h}.{called(t)}.*" for t in n.targets if called(getattr(t, "value", None)) == "self" for h in paths(tree, k.name)} or {f"{called(t)}.*" for t in n.targets}
    return found


def ends_of(tree, what):
    ends, every = set(), {name for c in ast.walk(tree) if isinstance(c, ast.ClassDef) for name in linears(c)}
    for c in ast.walk(tree):
        if not isinstance(c, ast.ClassDef):
            continue
        if what == "held":
            ends |= {f"{p}.{i}" for i in listed(c) for p in paths(tree, c.name)}
            continue
        for f in c.body:
            if isinstance(f, ast.FunctionDef) and f.name not in ("_init_weights", "__init__"):
                if what == "read" and "init" not in f.name:
                    ends |= set(changes(f, every))
                for name in converts(f, linears(c), firsts(c)) if what == "type" else reads(c, f, linears(c)):
                    model = any(str(called(b)).endswith("PreTrainedModel") for b in c.bases)
                    held = set() if model else set(holders(tree, c.name))
                    if what == "read" and not model:  # a class that nothing makes runs nothing
                        ends |= {f"{h}.{name}" for h in held or paths(tree, c.name)}
                    else:
                        ends |= {f"{h}.{name}" for h in held} or {name}
    return ends


def main():
    what, found = sys.argv[1], collections.defaultdict(set)
    for path in sorted(FOLDER.glob("*/modeling_*.py")):
        tree = ast.parse(path.read_text())
        if ends := ends_of(tree, what):
            for kind in types_in(tree, types_of(path))[0]:
                found[kind] |= ends
    rows = collections.defaultdict(list)
    for kind, ends in found.items():
        rows[" ".join(sorted(ends))].append(kind)
    print(f"# {WHAT[what].format(importlib.metadata.version('transformers'))}, by model_type. Made by crosscheck/linears/typed.py.")
    print("# TYPES | ENDS of names")
    for ends, types in sorted(rows.items(), key=lambda r: sorted(r[1])):
        print(" ".join(sorted(types)) + "|" + ends)


if __name__ == "__main__":
    sys.exit(main())
