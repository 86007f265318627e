"""Compares `amn quantize` with what build.py asked transformers, for every class.

    sweep.py AMN IN.jsonl [LEDGER OUT.md]

A model of each class is a folder with its names (two layers of each kind) and its
config.json; which weights a dry run would quantize must be those that transformers
quantizes. A weight that is not of a linear module is an error ("more"): such a model does not
load. "Fewer" and "extra" are counted; extra are linear modules that transformers leaves
alone by default, and that config.json lists.

A line of LEDGER is a type: its verdict, how many classes were compared, and the classes that were not
built. Types that IN does not have keep their lines; OUT.md is made of all of them.
"""
import collections
import json
import pathlib
import re
import struct
import subprocess
import sys
import tempfile

from models import classes


def folder(dir, kind, cls, patterns):
    names = [p.replace("*", i) for p in patterns for i in ("01" if "*" in p else "0")]
    header, at = {}, 0
    for n in names:
        header[n] = {"dtype": "BF16", "shape": [64, 64], "data_offsets": [at, at + 8192]}
        at += 8192
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(dir / "model.safetensors", "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text)
        f.truncate(8 + len(text) + at)
    (dir / "config.json").write_text(json.dumps({"model_type": kind, "architectures": [cls]}))


def main():
    amn, rows = sys.argv[1], [json.loads(line) for line in open(sys.argv[2])]
    total, types, bad = collections.Counter(), collections.defaultdict(set), []
    why, missing, held = collections.defaultdict(dict), collections.defaultdict(dict), collections.Counter()
    for row in rows:
        if "error" in row:
            total["not built"] += 1
            types[row["type"]].add("not built")
            why[row["type"]].setdefault("not built", " ".join(row["error"].split())[:100])
            missing[row["type"]][row["class"]] = " ".join(row["error"].split())[:100]
            continue
        held[row["type"]] += 1
        with tempfile.TemporaryDirectory() as work:
            dir = pathlib.Path(work) / "m"
            dir.mkdir()
            folder(dir, row["type"], row["class"], row["patterns"])
            done = subprocess.run([amn, "forget", "--dry-run", "--json", "-o", str(pathlib.Path(work) / "out"), str(dir)], capture_output=True, text=True)
        said = json.loads(done.stdout)
        got = {w["name"] for w in said.get("forgotten", {}).get("weights", [])}
        want = {p.replace("*", i) for p, k in row["patterns"].items() if k in ("linear", "conv1d") or p in row.get("mixed", ())
                for i in ("0" if p in row.get("mixed", ()) or "*" not in p else "01")}
        wrong = got & {p.replace("*", i) for i in "01" for p, k in row["patterns"].items() if k in ("other", "fused")}
        verdict = "more" if wrong else "fewer" if want - got else "equal" if got == want else "extra"
        if said.get("forgotten", {}).get("by_name") or "unknown_class" in said.get("forgotten", {}) or said.get("forgotten", {}).get("guessed"):
            verdict = "by names"
        elif done.returncode != 0 and not want and "no weight in it is quantized" in done.stdout:
            verdict = "nothing"
        elif done.returncode != 0 and "takes it apart" in done.stdout:
            verdict = "taken apart"
        elif done.returncode != 0 and want:
            verdict = "refused"
        total[verdict] += 1
        types[row["type"]].add(verdict)
        why[row["type"]].setdefault(verdict, reason(row, verdict, sorted(want - got) or sorted(got - want), said))
        if verdict in ("more", "refused", "by names"):
            bad.append((row["type"], row["class"], sorted(wrong)[:3], said.get("error")))
        elif verdict in ("fewer", "extra"):
            print(verdict, row["type"], row["class"], *sorted(want ^ got)[:3])
    for b in bad:
        print("BAD", *b)
    verdicts = {k: next((v for v in ORDER if v in t), "not built") for k, t in types.items()}
    worst = collections.Counter(verdicts.values())
    print("classes", dict(total), "types", dict(worst))
    if len(sys.argv) > 4:
        ledger, out = map(pathlib.Path, sys.argv[3:5])
        lines = {r["type"]: r for r in map(json.loads, ledger.read_text().splitlines())} if ledger.exists() else {}
        lines |= {k: {"type": k, "verdict": v, "why": why[k].get(v, ""), "classes": held[k], "missing": missing[k]} for k, v in verdicts.items()}
        ledger.write_text("".join(json.dumps(lines[k]) + "\n" for k in sorted(lines)))
        text = out.read_text() if out.exists() else ""
        again = text[text.index(AGAIN):] if AGAIN in text else ""  # the part of reload.py
        out.write_text(page(lines, {kind for kind, names in classes().items() if not names}, {kind for kind, names in classes().items() if names and kind not in lines}) + again)
    return 1 if bad else 0


AGAIN = "\n## Loaded again\n"
ORDER = ("more", "by names", "refused", "taken apart", "fewer", "extra", "equal", "nothing")
MEANING = {
    "equal": "amn quantizes exactly the weights that transformers quantizes",
    "nothing": "refused: there is no linear module that transformers quantizes",
    "taken apart": "refused: transformers splits a weight while loading, which does not work next to quantized weights",
    "extra": "amn also quantizes linear modules that transformers leaves alone by default; config.json lists them",
    "fewer": "amn leaves alone a linear module that transformers quantizes; the model loads",
    "not built": "no model could be built here: amn decides by names, and the output says so",
    "more": "a bug", "by names": "a bug", "refused": "a bug",
}


def reason(row, verdict, names, said):
    """Why a class is not equal, in a few words."""
    if verdict in ("refused", "taken apart"):
        name = re.search(r'"[^"]+"', said.get("error", {}).get("message", ""))
        return f"{row['class']}: `{name[0][1:-1]}`" if name else "?"
    return "" if verdict == "equal" else f"{row['class']}: `{names[0]}`" + (f" and {len(names) - 1} more" if len(names) > 1 else "") if names else ""


def page(lines, none, rest):
    verdicts = {k: r["verdict"] for k, r in lines.items()}
    worst = collections.Counter(verdicts.values())
    missing = [(k, c, w) for k, r in lines.items() if r["verdict"] != "not built" for c, w in r["missing"].items()]
    out = ["# Which weights of a model are quantized", "",
           "`amn quantize` quantizes the linear modules of transformers 5.23. Two tables say which weights they are: `internal/transformers/linears.txt` by the `model_type` of config.json,",
           "and `internal/transformers/classes.txt` by the class in its `architectures`, where the classes of a type differ. amn decides by names, and its output says so, in three cases:", "",
           "- an unknown class of a known type, for weights in which the type's classes differ;",
           "- a type without a row;",
           "- matrices that no class of the type has with its default configuration.", "",
           "The tables are generated from transformers. Every class was compared with a dry run:", "",
           "    python3 crosscheck/linears/build.py types.jsonl", "    python3 crosscheck/linears/table.py types.jsonl internal/transformers",
           "    python3 crosscheck/linears/sweep.py amn types.jsonl crosscheck/linears/sweep.jsonl docs/model-types.md", "",
           "| verdict | types | meaning |", "|---|---:|---|"]
    out += [f"| {v} | {worst[v]} | {MEANING[v]} |" for v in MEANING if worst[v]]
    out += [f"| no class | {len(none)} | part of other configurations: transformers has no class for it alone |"]
    out += [f"| not asked | {len(rest)} | the row of the type is older: it joins the classes of the auto mappings into one, and names decide where they differ |"] if rest else []
    out += ["", f"A type has the worst verdict of its classes; {sum(r['classes'] for r in lines.values()):,} classes were compared. The verdicts are in `crosscheck/linears/sweep.jsonl`."]
    for v in ("taken apart", "fewer", "extra", "not built"):
        rows = [f"| {k} | {(lines[k]['why'] or next(iter(lines[k]['missing'].values()), '')).replace('|', '/')} |" for k in sorted(k for k, w in verdicts.items() if w == v)]
        if rows:
            out += ["", f"## {v[0].upper()}{v[1:]}", "", "| type | why |", "|---|---|", *rows]
    if missing:
        out += ["", "Classes that could not be built, of types with other classes that were:", "", "| type | class | why |", "|---|---|---|"]
        out += [f"| {k} | {c} | {w.replace('|', '/')} |" for k, c, w in sorted(missing)]
    for v in ("equal", "nothing"):
        out += ["", f"## {v[0].upper()}{v[1:]}", "", ", ".join(sorted(k for k, w in verdicts.items() if w == v)) + "."]
    if rest:
        out += ["", "## Not asked", "", ", ".join(sorted(rest)) + "."]
    out += ["", "## No class", "", ", ".join(sorted(none)) + "."]
    return "\n".join(out) + "\n"


if __name__ == "__main__":
    sys.exit(main())
