"""Holds `amn quantize` against what build.py asked transformers, for every class.

    sweep.py AMN IN.jsonl [OUT.md]

A model of each class is a folder with its names (one layer of each kind) and its
config.json; which weights a dry run would quantize must be those that transformers
quantizes. To take what is no linear module is an error ("more"): such a model does not
load. "Fewer" is counted, and "extra": linear modules that transformers leaves alone
where nobody tells it, which config.json does.
"""
import collections
import json
import pathlib
import re
import struct
import subprocess
import sys
import tempfile


def folder(dir, kind, patterns):
    names = [p.replace("*", "0") for p in patterns]
    header, at = {}, 0
    for n in names:
        header[n] = {"dtype": "BF16", "shape": [64, 64], "data_offsets": [at, at + 8192]}
        at += 8192
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(dir / "model.safetensors", "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text)
        f.truncate(8 + len(text) + at)
    (dir / "config.json").write_text(json.dumps({"model_type": kind}))


def main():
    amn, rows = sys.argv[1], [json.loads(line) for line in open(sys.argv[2])]
    total, types, bad = collections.Counter(), collections.defaultdict(set), []
    why = collections.defaultdict(dict)
    for row in rows:
        if "error" in row or not row["patterns"]:
            total["classes not built"] += 1
            types[row["type"]].add("not built")
            why[row["type"]].setdefault("not built", " ".join(row.get("error", "no matrix in it").split())[:100])
            continue
        with tempfile.TemporaryDirectory() as work:
            dir = pathlib.Path(work) / "m"
            dir.mkdir()
            folder(dir, row["type"], row["patterns"])
            done = subprocess.run([amn, "forget", "--dry-run", "--json", "-o", str(pathlib.Path(work) / "out"), str(dir)], capture_output=True, text=True)
        said = json.loads(done.stdout)
        got = {w["name"] for w in said.get("forgotten", {}).get("weights", [])}
        want = {p.replace("*", "0") for p, k in row["patterns"].items() if k in ("linear", "conv1d") and p not in row.get("mixed", ())}
        wrong = got & {p.replace("*", "0") for p, k in row["patterns"].items() if k in ("other", "fused")}
        verdict = "more" if wrong else "fewer" if want - got else "equal" if got == want else "extra"
        if done.returncode != 0 and want and "takes it apart" in done.stdout:
            verdict = "taken apart"
        elif done.returncode != 0 and want:
            verdict = "refused"
        total[verdict] += 1
        types[row["type"]].add(verdict)
        why[row["type"]].setdefault(verdict, reason(row, verdict, sorted(want - got) or sorted(got - want), said))
        if verdict in ("more", "refused"):
            bad.append((row["type"], row["class"], sorted(wrong)[:3], said.get("error")))
        elif verdict == "fewer":
            print("fewer", row["type"], row["class"], *sorted(want - got)[:3])
    for b in bad:
        print("BAD", *b)
    verdicts = {k: next((v for v in ORDER if v in t), "not built") for k, t in types.items()}
    worst = collections.Counter(verdicts.values())
    print("classes", dict(total), "types", dict(worst))
    if len(sys.argv) > 3:
        out = pathlib.Path(sys.argv[3])
        text = out.read_text() if out.exists() else ""
        again = text[text.index(AGAIN):] if AGAIN in text else ""  # what reload.py has said
        out.write_text(page(verdicts, total, worst, why) + again)
    return 1 if bad else 0


AGAIN = "\n## Loaded again\n"
ORDER = ("more", "refused", "taken apart", "fewer", "extra", "equal")
MEANING = {
    "equal": "what is quantized is what transformers quantizes",
    "extra": "also linear modules that transformers leaves alone where nobody tells it; config.json tells it",
    "fewer": "a linear module of some class is left alone, mostly the head of token classification; it loads",
    "taken apart": "refused: transformers takes a weight apart when it loads, which it does not beside quantized ones",
    "not built": "no class could be built with its default configuration here: names decide, and the output says so",
    "more": "a bug", "refused": "a bug",
}


def reason(row, verdict, names, said):
    """Why a class is not equal, in a few words."""
    if verdict in ("refused", "taken apart"):
        name = re.search(r'"[^"]+"', said.get("error", {}).get("message", ""))
        return f"{row['class']}: `{name[0][1:-1]}`" if name else "?"
    return "" if verdict == "equal" else f"{row['class']}: `{names[0]}`" + (f" and {len(names) - 1} more" if len(names) > 1 else "") if names else ""


def page(verdicts, total, worst, why):
    out = ["# Which weights of a model are quantized", "",
           "`amn quantize` asks a table (`convert/linears.txt`) which weights of a model type are linear modules of transformers 5.23. The table is made of",
           "transformers itself, and every class of it was held against a dry run:", "",
           "    python3 crosscheck/linears/build.py types.jsonl", "    python3 crosscheck/linears/table.py types.jsonl > convert/linears.txt",
           "    python3 crosscheck/linears/sweep.py amn types.jsonl docs/model-types.md", "",
           "| verdict | types | classes | meaning |", "|---|---:|---:|---|"]
    for v in ("equal", "extra", "fewer", "taken apart", "not built", "more", "refused"):
        classes = total["classes not built" if v == "not built" else v]
        out.append(f"| {v} | {worst[v]} | {classes} | {MEANING[v]} |")
    for v in ("taken apart", "fewer", "extra", "not built"):
        out += ["", f"## {v[0].upper()}{v[1:]}", "", "| type | why |", "|---|---|"]
        out += [f"| {k} | {why[k].get(v, '').replace('|', '/')} |" for k in sorted(k for k, w in verdicts.items() if w == v)]
    out += ["", "## Equal", "", ", ".join(sorted(k for k, w in verdicts.items() if w == "equal")) + "."]
    return "\n".join(out) + "\n"


if __name__ == "__main__":
    sys.exit(main())
