"""Writes internal/torchcode/operators.txt: the operators of a program of PyTorch, by what they do, from torch's own registry.

    python3 crosscheck/kinds/torch_operators.py > internal/torchcode/operators.txt

A line is the name of an operator that only computes, or a name and why it is not taken for one. All
overloads of a name must only compute. Nothing here names an operator: what decides is its namespace,
the types and names of its arguments, what its schema says it writes, whether torch's own pass that
removes dead code may remove it, and, of operators that are private by their name, whether modules
of torch.nn consist of them.
"""
import collections
import pathlib
import re
import sys

import torch
import torch.fx.node

VALUES = {"Tensor", "int", "bool", "float", "number", "complex", "str", "Device", "t", "t1", "t2", "tVal", "Any", "Generator", "QScheme", "NoneType", "AnyEnumType", "Enum"}


def reached():
    """The private operators of torch.nn's own modules: those that their sources call, and those for
    which torch's exporter of traced modules has a form in ONNX."""
    home = pathlib.Path(torch.__file__).parent
    names = set()
    for file in sorted((home / "nn").rglob("*.py")):
        names |= {"aten::" + n for n in re.findall(r"\b(?:torch(?:\._C\._nn)?|_VF)\.(_[a-z]\w+)\(", file.read_text())}
    for file in sorted((home / "onnx").rglob("symbolic_opset*.py")):
        names |= set(re.findall(r'"(aten::_\w+)"', file.read_text()))
    return names


def atoms(kind):
    """The types of which a type consists."""
    if kind.kind() in ("ListType", "OptionalType"):
        return atoms(kind.getElementType())
    if kind.kind() == "DictType":
        return atoms(kind.getKeyType()) | atoms(kind.getValueType())
    if kind.kind() in ("TupleType", "UnionType"):
        return set().union(*map(atoms, kind.elements() if kind.kind() == "TupleType" else kind.containedTypes()))
    return {str(kind)}


def removable(schema):
    """Whether the pass that removes dead code removes a call whose results nobody needs."""
    g = torch._C.Graph()
    inputs = []
    for a in schema.arguments:
        v = g.addInput()
        v.setType(a.type)
        inputs.append(v)
    node = g.create(schema.name, inputs, len(schema.returns))
    for out, r in zip(node.outputs(), schema.returns):
        out.setType(r.type)
    g.appendNode(node)
    try:
        torch._C._jit_pass_dce(g)
    except RuntimeError:  # it finds no operator of these types (aten::view.dtype): an operator without a rule of its own
        return True
    return not list(g.nodes())


def why_not(schema, private):
    """Why an overload is not taken for one that only computes, or None."""
    space, name = schema.name.split("::")
    if space not in ("aten", "prim"):
        return "an operator of a library"
    if any(a.name == "filename" for a in schema.arguments):
        return "reads or writes a file"
    kinds = set().union(*(atoms(a.type) for a in [*schema.arguments, *schema.returns]), set())
    if strange := sorted(kinds - VALUES):
        return f"takes or gives a {strange[0]}"
    writes = [a for a in schema.arguments if a.alias_info and a.alias_info.is_write]
    if any("Generator" in str(a.type) for a in writes):
        return "sets the state of a generator"
    if space == "prim" and "..." in str(schema):
        return "an instruction of the compiler"
    if not schema.returns and not writes:
        op = getattr(getattr(torch.ops.aten, name, None), schema.overload_name or "default", None)
        return None if op in torch.fx.node._side_effectful_functions else "gives no result: what it does is elsewhere"
    asks = [str(r.type) for r in schema.returns] == ["bool"]  # of the state of the library, such as is_grad_enabled
    if not writes and not asks and not removable(schema):
        return "has an effect besides its results"
    if name.startswith("_") and not name.startswith("__") and schema.name not in private:
        return "a private operator that no module of torch.nn consists of"
    return None


def main():
    private = reached()
    found = collections.defaultdict(list)
    for schema in torch._C._jit_get_all_schemas():
        found[schema.name].append(why_not(schema, private))
    print(f"# Written by crosscheck/kinds/torch_operators.py from the registry of torch {torch.__version__.split('+')[0]}; do not edit.")
    for name in sorted(found):
        why = next((w for w in found[name] if w), None)
        print(f"{name}: {why}" if why else name)
    print(f"{len(found)} names, {sum(not any(w) for w in found.values())} of them only compute", file=sys.stderr)


if __name__ == "__main__":
    main()
