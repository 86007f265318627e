"""Makes internal/transformers/linears.txt and internal/transformers/classes.txt of what build.py asked transformers.

    table.py IN.jsonl FOLDER      FOLDER is internal/transformers/

A row of linears.txt is the types that have the same weights, the beginnings that names may have
(classes with a head put their model below one), and the names as a tree: a number
is *, a leaf says what becomes of the weight. Where classes of one type differ in
which linear modules they leave alone, it says so. Types of which no class could be built are left out.

A row of classes.txt is a type and its classes, each with the names of which it says
something else than the type's row, as a tree below the class. Types that IN does not have
keep the rows that they have.
"""
import collections
import json
import pathlib
import sys

MARK = {"linear": "+", "conv1d": "^", "kept": "~", "other": "_", "fused": "!"}
VERSION = "5.23.0"


def marks(row):
    """What becomes of the weights of a class, by the patterns of their names."""
    return {p.removesuffix(".weight"): "$" if p in row.get("mixed", ()) else MARK[k] for p, k in row["patterns"].items()}


def fold(rows):
    """The names of one type's classes as one dict of marks, without the beginnings
    that are listed."""
    classes = [marks(r) for r in rows]
    base = min((c for c in classes if c), key=len, default={})
    starts, out = {""}, dict(base)
    for c in classes:
        for p in c:
            for b in base:
                if p.endswith("." + b):
                    starts.add(p[:-len(b)])
    starts = {s for s in starts if "*" not in s and any(sum(s + b in c for b in base) * 2 > len(base) for c in classes)}
    starts.add("")
    for c in classes:
        for p, k in c.items():
            for s in sorted(starts, key=len, reverse=True):
                if p.startswith(s) and p[len(s):] in base:
                    p = p[len(s):]
                    break
            was = out.get(p, k)
            out[p] = k if was == k else "?" if {was, k} <= set("+~?$") else MARK["kept"]
    return sorted(starts - {""}), out


def found(starts, names, p):
    """What a type's row says of a name, as the program reads it."""
    for s in ["", *starts]:
        if p.startswith(s) and p[len(s):] in names:
            return names[p[len(s):]]
    return None


def tree(names):
    nodes = {}
    for name, mark in names.items():
        at = nodes
        parts = name.split(".")
        for part in parts[:-1]:
            at = at.setdefault(part, {})
        at.setdefault(parts[-1], {})[""] = mark
    return nodes


def write(node):
    out = []
    for part in sorted(node):
        if part == "":
            continue
        below = node[part]
        mark = below.get("", "")
        rest = [k for k in below if k]
        text = part + mark
        if len(rest) == 1:
            text += "." + write(below)
        elif rest:
            text += ".(" + write(below) + ")"
        out.append(text)
    return " ".join(out)


def old(path, types):
    """The rows of a table, of types that are not asked again."""
    for line in path.read_text().splitlines() if path.exists() else ():
        kinds, _, row = line.partition("|")
        if not line.startswith("#"):
            yield from ((kind, row) for kind in kinds.split() if kind not in types)


def linears(types, before):
    rows = collections.defaultdict(list)
    for kind, row in before:
        rows[row].append(kind)
    for kind, (starts, names) in types.items():
        rows[" ".join(starts) + "|" + write(tree(names))].append(kind)
    yield f"# Which weights transformers quantizes with bitsandbytes, by model_type. Made by crosscheck/linears of transformers {VERSION}."
    yield "# TYPES | BEGINNINGS | NAMES: + quantized, ^ quantized transposed (Conv1D), ~ kept, ? kept in some classes, $ kept in the last layer, _ not linear, ! fused with others."
    for row, kinds in sorted(rows.items(), key=lambda r: sorted(r[1])):
        yield " ".join(sorted(kinds)) + "|" + row


def classes(types, asked, before):
    yield f"# The classes of each model_type, and what they say of a name that its row of linears.txt does not. Made by crosscheck/linears of transformers {VERSION}."
    yield "# TYPE | CLASSES, each with names below it: marks as in linears.txt."
    rows = dict(before)
    for kind, (starts, names) in types.items():
        node = {}
        for row in asked[kind]:
            own = {p: m for p, m in marks(row).items() if found(starts, names, p) != m}
            node[row["class"]] = tree(own)
        rows[kind] = write(node)
    yield from (kind + "|" + row for kind, row in sorted(rows.items()))


def main():
    asked = collections.defaultdict(list)
    for line in open(sys.argv[1]):
        row = json.loads(line)
        if "error" not in row:
            asked[row["type"]].append(row)
    types = {kind: fold(rows) for kind, rows in sorted(asked.items())}
    folder = pathlib.Path(sys.argv[2])
    names, of = folder / "linears.txt", folder / "classes.txt"
    names.write_text("\n".join([*linears(types, list(old(names, types)))]) + "\n")
    of.write_text("\n".join([*classes(types, asked, list(old(of, types)))]) + "\n")


if __name__ == "__main__":
    main()
