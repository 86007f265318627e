"""The ledgers of what was loaded: contract/every.jsonl of crosscheck/every.py and contract/loads.jsonl of crosscheck/loads.py.

    ledger.py FILE ...       packs each, so that it stays small

A row is an answer: type, width, to, verdict, why, elements, date, versions, and more in some ledgers. While a sweep goes on, each row is a
line of its own, added at the end; of two rows of the same question the later one counts. A packed ledger has one line for each type and width:

    {"runs": [{"date": "...", "versions": {...}, "also": {"nf4": {"bitsandbytes": "..."}}}, ...]}
    {"type": "llama", "width": "whole", "class": "LlamaForCausalLM", "rows": [["nf4 fp8", 0, "equal", "14 weights, 1 kept", 4011264, "input_ids"], ...]}

A row of it has the targets that gave the same answer, the number of the run, whose "also" has the versions of what one target needs alone, and
the values of FIELDS, without empty ones at the end. "wrote" has a digest of what amn wrote for each target, "loaded" the day and the amn of the
loading where it is older than the run: that run wrote the same bytes again. Nothing is left out: rows() gives what was packed.
"""
import collections
import json
import os
import pathlib
import sys

FIELDS = ("verdict", "why", "elements", "ran")  # what a row has of its own
BY = ("wrote", "loaded")  # what a line has by target
ALL = {"transformers", "torch", "amn"}  # the versions of every target of a run


def lines(file):
    """The rows of a ledger in their order, each as it was added."""
    runs = []
    for line in open(file):
        r = json.loads(line)
        if "runs" in r:
            runs = r["runs"]
        elif "rows" not in r:
            yield r
        else:
            head = {k: v for k, v in r.items() if k != "rows" and k not in BY}
            for targets, run, *values in r["rows"]:
                for to in targets.split():
                    of = runs[run]
                    given = dict(zip(FIELDS, values))
                    row = {**head, "to": to, "verdict": given["verdict"], "why": given.get("why", ""), "elements": given.get("elements", 0)}
                    if "class" in head:
                        row["ran"] = given.get("ran", "")
                    yield row | {"date": of["date"], "versions": of["versions"] | of.get("also", {}).get(to, {})} | {k: r[k][to] for k in BY if to in r.get(k, {})}


def key(r):
    return r["type"], r["width"], r["to"]


def rows(file):
    """The rows of a ledger, of each question the last one."""
    found = {}
    if os.path.exists(file):
        for r in lines(file):
            found.pop(key(r), None)
            found[key(r)] = r
    return list(found.values())


def add(file, *new):
    """Adds rows. One write, since several processes add."""
    with open(file, "a") as f:
        f.write("".join(json.dumps(r, separators=(",", ":")) + "\n" for r in new))


def packed(given):
    """The lines of a packed ledger."""
    runs, groups, by = [], collections.defaultdict(dict), collections.defaultdict(lambda: collections.defaultdict(dict))
    for r in sorted(given, key=lambda r: (r["date"], *key(r))):
        common = {k: v for k, v in r["versions"].items() if k in ALL}
        also = {k: v for k, v in r["versions"].items() if k not in ALL}
        for run in runs:
            if run["date"] == r["date"] and run["versions"] == common and run["also"].setdefault(r["to"], also) == also:
                break
        else:
            run = {"date": r["date"], "versions": common, "also": {r["to"]: also}}
            runs.append(run)
        head = tuple((k, r[k]) for k in ("type", "width", "class") if k in r)
        values = [r[k] for k in FIELDS if k in r]
        while values and values[-1] in ("", 0):
            values.pop()
        groups[head].setdefault((runs.index(run), *values), []).append(r["to"])
        for k in BY:
            if r.get(k):
                by[head][k][r["to"]] = r[k]
    short = [{k: v for k, v in {**run, "also": {to: a for to, a in run["also"].items() if a}}.items() if v} for run in runs]
    yield {"runs": short}
    for head, answers in sorted(groups.items()):
        yield dict(head) | {"rows": [[" ".join(targets), *values] for values, targets in answers.items()]} | dict(by[head])


def pack(file):
    was = rows(file)
    text = "".join(json.dumps(line, separators=(",", ":"), ensure_ascii=False) + "\n" for line in packed(was))
    new = pathlib.Path(str(file) + ".new")
    new.write_text(text)
    same = lambda given: sorted((json.dumps(r, sort_keys=True) for r in given))  # noqa: E731
    if same(rows(new)) != same(was):
        new.unlink()
        raise SystemExit(f"{file}: packed, it would have other rows")
    new.replace(file)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        pack(name)
