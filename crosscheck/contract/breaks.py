"""Makes the rows of internal/transformers/breaks.txt of compressed-tensors anew, for the types that crosscheck/every.py tried.

    breaks.py crosscheck/contract/every.jsonl internal/transformers/breaks.txt

A type is listed if transformers raises when it loads its w4a16, as it does for every folder of that format. Where it asks for the
weight of a module that has codes alone, the row is of packed formats. A type that loads is listed no more. What loads with a missing key is a bug of ours
until it is understood, and is not listed.
"""
import collections
import pathlib
import sys

import ledger

LIBRARY, PACKED = "compressed-tensors/", "compressed-tensors-packed/"


def main():
    file = pathlib.Path(sys.argv[2])
    # Of a type without a table it is said that nobody tried it, and no more.
    known = {kind for line in (file.parent / "linears.txt").read_text().splitlines() if not line.startswith("#") for kind in line.partition("|")[0].split()}
    tried = {}
    for r in ledger.rows(sys.argv[1]):
        if r["to"] == "w4a16" and r["verdict"] not in ("not built", "breaks", "refused"):
            tried[r["type"]] = r["why"].removeprefix("does not load: ").partition(": ")[2] if r["why"].startswith("does not load: ") else ""
    rows, top = collections.defaultdict(list), []
    for line in file.read_text().splitlines():
        if line.startswith("#"):
            top.append(line)
            continue
        names, _, why = line.partition("|")
        rows[why] += [n for n in names.split() if not (n.startswith((LIBRARY, PACKED)) and n.partition("/")[2] in tried)]
    for kind, why in tried.items():
        if why and kind in known:
            rows[why].append((PACKED if "weight" in why and "no attribute" in why else LIBRARY) + kind)
    note = "# The rows of compressed-tensors are those of crosscheck/every.py, by crosscheck/contract/breaks.py."
    lines = sorted(" ".join(sorted(names)) + "|" + why for why, names in rows.items() if names)
    # As targets.py sorts them: by library, then by what is said.
    lines.sort(key=lambda line: (line.partition("/")[0], line.partition("|")[2]))
    file.write_text("\n".join([*[t for t in top if t != note], note, *lines]) + "\n")


if __name__ == "__main__":
    main()
