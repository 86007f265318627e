"""Writes the tables of docs/loads.md from the ledgers of crosscheck/every.py and crosscheck/mapped.py, and the tables of internal/loaders.

    page.py crosscheck/contract/every.jsonl crosscheck/contract/mapped.jsonl docs/loads.md
"""
import collections
import json
import pathlib
import re
import sys

import ledger as answers

HERE = pathlib.Path(__file__).resolve().parent
TABLES = HERE.parent.parent / "internal" / "loaders"
MARK = "<!-- made by crosscheck/contract/page.py -->"
VERDICTS = {
    "equal": "loaded, with equal parameters and answers",
    "numbers": "loaded, with equal parameters; no input is known with which it runs here, or its answers differ from run to run",
    "said": "not loaded as it is by transformers, and `Loads` said so",
    "refused": "refused by amn before a byte was written",
    "breaks": "not loaded by transformers even before it was quantized",
    "not built": "not built here",
    "WRONG": "wrong: a bug, not mended yet",
}
# How each library's contract is known.
HOW = {
    "transformers": "run: its own functions make the tables of names and of what it joins, and every.py loads what is written",
    "bitsandbytes": "run, through transformers",
    "compressed-tensors": "run, through transformers; its formats are read",
    "mlx-lm": "run for the types that loads.py tried; its types and methods are read",
    "vllm": "read; its functions that map names and skip layers are run", "sglang": "read; its function that skips layers is run", "diffusers": "read", "peft": "read; merges of adapters are compared with it", "llama.cpp": "read; its converter and its runtime are compared by `make crosscheck PART=runs`",
    "autoawq": "read", "gptqmodel": "read; its modules decode what is written in `make crosscheck PART=served`", "modelopt": "read; its export is compared by `make crosscheck PART=layouts`", "torchao": "read; its modules decode what is written in `make crosscheck PART=layouts`",
}


def cell(text):
    return " ".join(text.replace("|", "/").replace("<", "&lt;").replace("{", "").replace("}", "").split())[:180]


def rows(ledger):
    """The last line of each type and target."""
    return {(r["type"], r["to"]): r for r in answers.rows(ledger)}


def reason(r):
    """Why, without what differs from type to type."""
    why = r["why"].partition("; not run: ")[2] or r["why"]
    return cell(why if r["verdict"] == "not built" else re.sub(r"\b\d[\d,]*(\.\d+)?(e[+-]?\d+)?\b", "N", why))


def ledger(found):
    targets = [t for t in ("nf4", "fp8", "w4a16", "nvfp4") if any(to == t for _, to in found)]
    count = collections.Counter((r["verdict"], to) for (_, to), r in found.items() if not part(r))
    kinds = {k for (k, to), r in found.items() if not part(r)}
    parts = sorted({k for (k, to), r in found.items() if part(r)})
    versions = collections.defaultdict(collections.Counter)
    for r in found.values():
        for library, version in r["versions"].items():
            versions[library][version] += 1
    amn = versions.pop("amn", {})
    libraries = ", ".join(f"{k} {v.most_common(1)[0][0]}" for k, v in versions.items())
    libraries += "; " + ", ".join(f"{n} rows with amn at {commit}" for commit, n in sorted(amn.items())) if amn else ""
    if again := sum("loaded" in r for r in found.values()):
        libraries += f"; {again} rows wrote again, byte for byte, what was loaded before"
    dates = sorted({r["date"] for r in found.values()})
    out = [f"{len(kinds)} model types, {sum(count.values())} folders, {dates[0]}" + (f" to {dates[-1]}" if len(dates) > 1 else "") + f"; {libraries}.", "",
           "| verdict | " + " | ".join(targets) + " |", "|---|" + "---:|" * len(targets)]
    for v, text in VERDICTS.items():
        if any(count[v, t] for t in targets) or v == "WRONG":
            out.append(f"| {text} | " + " | ".join(str(count[v, t]) for t in targets) + " |")
    swept = {r["type"] for r in map(json.loads, open(HERE.parent / "linears" / "reload.jsonl")) if r["why"] != "no class"}
    if left := swept - kinds - set(parts):
        out += ["", f"**{len(left)} types with a class have not been asked yet**: the sweep is not complete."]
    if parts:
        out += ["", f"{len(parts)} more types are part of other configurations, without a class of their own: {', '.join(parts)}."]
    whole = sorted(k for k in kinds if all(found.get((k, t), {}).get("verdict") == "equal" for t in targets))
    out += ["", f"**Loaded in all four**: {', '.join(whole)}.", "", "Every other answer:", "", "| type | " + " | ".join(targets) + " |", "|---|" + "---|" * len(targets)]
    notes = {}
    for k in sorted(kinds - set(whole)):
        cells = []
        for t in targets:
            r = found.get((k, t))
            if r is None:
                cells.append("")
            elif r["verdict"] == "equal":
                cells.append("equal")
            else:
                n = notes.setdefault((r["verdict"], reason(r)), len(notes) + 1)
                cells.append(f"{r['verdict']} ({n})")
        out.append(f"| {k} | " + " | ".join(cells) + " |")
    out += ["", *(f"{n}. {v}: {why}" for (v, why), n in notes.items())]
    return out


def part(r):
    return r["why"].startswith("no class of its own")


def libraries():
    """What is known of each library, by table, with its version."""
    known = collections.defaultdict(lambda: collections.defaultdict(int))
    version = {}
    for table in ("fused", "takes", "reads", "names", "merged", "layers"):
        name = ""
        for line in (TABLES / (table + ".txt")).read_text().splitlines():
            if line.startswith("# Made"):
                continue
            if line.startswith("# "):
                name, _, version[line[2:].partition(" ")[0]] = line[2:].partition(" ")
            else:
                first = line.split("|")[1 if table in ("fused", "takes", "reads") else 0]
                known[name][table] += len(first.split())
    words = {"fused": "{} classes or types with fused matrices", "takes": "{} types or classes, with the modules that it makes quantized", "reads": "{} methods", "names": "{} classes with other names than the file", "merged": "{} types whose tensors it joins or splits",
             "layers": "{} types whose layers other members count"}
    out = ["| library | version | tables | how |", "|---|---|---|---|"]
    for name in sorted(known, key=str.lower):
        out.append(f"| {name} | {version[name]} | " + "; ".join(words[t].format(n) for t, n in known[name].items()) + f" | {HOW[name]} |")
    return out


def mapped(file):
    """What vLLM's and SGLang's functions decide, by class."""
    lines = [json.loads(line) for line in open(file)]
    answers, versions = collections.defaultdict(dict), sorted({f"{r['library']} {r['version']}" for r in lines})
    for r in lines:
        text = f"{r['modules']} modules" if r["verdict"] == "equal" else f"{r['verdict']}: {cell(r['why'])}"
        answers[r["class"], r["library"]][r["to"]] = text
    count = collections.Counter(r["verdict"] for r in lines)
    folders = {(r["type"], r["width"], r["to"]) for r in lines}
    out = [f"{len(folders)} folders, {len(lines)} answers, {', '.join(versions)}: " + ", ".join(f"{count[v]} {v}" for v in ("equal", "read", "WRONG") if count[v] or v == "WRONG") + ".", "", "| class | vLLM | SGLang |", "|---|---|---|"]
    for cls in sorted({c for c, _ in answers}):
        out.append(f"| {cls} | " + " | ".join("; ".join(dict.fromkeys(f"{to}: {text}" if not text.startswith("read") else text for to, text in answers[cls, lib].items())) for lib in ("vllm", "sglang")) + " |")
    return out


def main():
    page = pathlib.Path(sys.argv[3])
    text = page.read_text()
    for heading, lines in (("## Libraries", libraries()), ("## vLLM and SGLang", mapped(sys.argv[2])), ("## The ledger", ledger(rows(sys.argv[1])))):
        begin = text.index(MARK, text.index(heading)) + len(MARK)
        end = text.find("\n## ", begin)
        text = text[:begin] + "\n" + "\n".join(lines) + "\n" + (text[end:] if end > 0 else "")
    page.write_text(text)


if __name__ == "__main__":
    main()
