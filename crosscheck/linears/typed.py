"""Makes internal/transformers/typed.txt: linear modules to whose weight's type a class of transformers converts numbers.

    typed.py > internal/transformers/typed.txt

`hidden_states.to(self.proj.weight.dtype)` is a mistake once the weight is codes: the numbers become bytes. Some classes ask first
whether the type is one of numbers, or uint8; the others are listed here, by the end of the module's name: the attribute, behind
that which holds its class, where one does.
"""
import ast
import collections
import importlib.metadata
import sys

from inits import FOLDER, attribute, called, types_in, types_of

ASKS = ("is_floating_point", "uint8")


def linears(c):
    """The attributes of a class that are given a torch Linear."""
    return {called(t) for n in ast.walk(c) if isinstance(n, ast.Assign) and isinstance(n.value, ast.Call) and attribute(n.value.func) == "Linear" for t in n.targets}


def converts(node, own):
    """The attributes of own whose weight's type is read, but where a condition asks about it."""
    if isinstance(node, ast.If) and any(called(n) in ASKS for n in ast.walk(node.test)):
        for one in node.orelse:
            yield from converts(one, own)
        return
    if attribute(node) == "dtype" and attribute(node.value) == "weight" and called(node.value.value) in own and called(getattr(node.value.value, "value", None)) == "self":
        yield called(node.value.value)
    for one in ast.iter_child_nodes(node):
        yield from converts(one, own)


def holders(tree, name):
    """The attributes that hold an instance of a class, or a list of them."""
    for n in ast.walk(tree):
        if isinstance(n, ast.Assign) and any(isinstance(m, ast.Call) and called(m.func) == name for m in ast.walk(n.value)):
            yield from filter(None, map(attribute, n.targets))


def main():
    found = collections.defaultdict(set)
    for path in sorted(FOLDER.glob("*/modeling_*.py")):
        tree, ends = ast.parse(path.read_text()), set()
        for c in ast.walk(tree):
            if isinstance(c, ast.ClassDef):
                for f in c.body:
                    if isinstance(f, ast.FunctionDef) and f.name != "_init_weights":
                        for name in converts(f, linears(c)):
                            model = any(str(called(b)).endswith("PreTrainedModel") for b in c.bases)
                            held = set() if model else set(holders(tree, c.name))
                            ends |= {f"{h}.{name}" for h in held} or {name}
        if ends:
            for kind in types_in(tree, types_of(path))[0]:
                found[kind] |= ends
    rows = collections.defaultdict(list)
    for kind, ends in found.items():
        rows[" ".join(sorted(ends))].append(kind)
    print(f"# Linear modules to whose weight's type transformers {importlib.metadata.version('transformers')} converts numbers, by model_type. Made by crosscheck/linears/typed.py.")
    print("# TYPES | ENDS of names")
    for ends, types in sorted(rows.items(), key=lambda r: sorted(r[1])):
        print(" ".join(sorted(types)) + "|" + ends)


if __name__ == "__main__":
    sys.exit(main())
