"""Makes convert/linears.txt of what build.py asked transformers.

    table.py IN.jsonl > convert/linears.txt

A row is the types that have the same weights, the beginnings that names may have
(classes with a head put their model below one), and the names as a tree: a number
is *, a leaf says what becomes of the weight. Where classes of one type differ in
which linear modules they leave alone, the name decides. Types of which no class could be built are left out.
"""
import collections
import json
import sys

MARK = {"linear": "+", "conv1d": "^", "kept": "~", "other": "_", "fused": "!"}


def fold(rows):
    """The names of one type's classes as one dict of marks, without the beginnings
    that are listed."""
    classes = [{p.removesuffix(".weight"): MARK["kept" if p in r.get("mixed", ()) else k] for p, k in r["patterns"].items()} for r in rows]
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
            out[p] = k if was == k else "?" if {was, k} <= set("+~?") else MARK["kept"]
    return sorted(starts - {""}), out


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


def main():
    types = collections.defaultdict(list)
    for line in open(sys.argv[1]):
        row = json.loads(line)
        if "error" not in row and row["patterns"]:
            types[row["type"]].append(row)
    rows = collections.defaultdict(list)
    for kind, found in types.items():
        starts, names = fold(found)
        rows[" ".join(starts) + "|" + write(tree(names))].append(kind)
    print("# Which weights transformers quantizes with bitsandbytes, by model_type. Made by crosscheck/linears of transformers 5.23.0.")
    print("# TYPES | BEGINNINGS | NAMES: + quantized, ^ quantized transposed (Conv1D), ~ kept, ? kept in some classes, _ not linear, ! fused with others.")
    for row, kinds in sorted(rows.items(), key=lambda r: r[1]):
        print(" ".join(sorted(kinds)) + "|" + row)


if __name__ == "__main__":
    main()
