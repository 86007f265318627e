"""Makes internal/loaders/tried.txt: which library loaded which types in which format, from the ledgers of what was loaded.

    tried.py > internal/loaders/tried.txt

    linears/reload.jsonl       nf4 and int8, transformers and bitsandbytes
    linears/targets.jsonl      fp8, w4a16, gptq, awq, transformers
    contract/loads.jsonl       odd widths, each line with its date and versions; the newer word
    contract/every.jsonl       whole widths, every type; the same

A folder that is not quantized is plain: loads.py and every.py load what amn dequantize makes, beside the quantized one.

A row is a library with its version, a bar, formats, a bar, types. A type is in it if all that was tried of it loaded.
"""
import collections
import json
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "ggml"))
import ledger  # noqa: E402
import llamacpp  # noqa: E402

OLDER = "5.23.0"  # of the ledgers whose lines have no versions
GOOD = {"equal", "fewer", "other type", "amn alone"}


def rows(name):
    return [json.loads(line) for line in (HERE.parent / name).read_text().splitlines()]


def main():
    found = {}
    for r in rows("linears/reload.jsonl"):
        for to in ("nf4", "int8"):
            found[r["type"], to] = ("transformers", OLDER, r["verdict"] in GOOD)
    for r in rows("linears/targets.jsonl"):
        found[r["type"], r["to"]] = ("transformers", OLDER, r["verdict"] in GOOD)
    newer = collections.defaultdict(list)
    for r in ledger.rows(HERE / "loads.jsonl") + ledger.rows(HERE / "every.jsonl"):
        if r["verdict"] not in ("not built", "breaks", "refused"):
            newer[r["type"], r["to"]].append(r)
    for key, lines in newer.items():
        library = "mlx-lm" if key[1].startswith("mlx") else "transformers"
        found[key] = (library, max(r["versions"][library] for r in lines), {"equal" if r["verdict"] == "numbers" else r["verdict"] for r in lines} in ({"equal"}, {"equal", "said"}))  # what was said is said again
    plain = collections.defaultdict(str)
    for r in ledger.rows(HERE / "loads.jsonl") + ledger.rows(HERE / "every.jsonl"):
        if r["verdict"] in ("equal", "numbers"):  # the folder that amn dequantize made was loaded too, with an empty report
            plain[r["type"]] = max(plain[r["type"]], r["versions"]["transformers"])
    found |= {(kind, "plain"): ("transformers", version, True) for kind, version in plain.items()}
    of = collections.defaultdict(set)
    for (kind, to), (library, version, good) in found.items():
        if good:
            of[library, version, kind].add(to)
    same = collections.defaultdict(list)
    for (library, version, kind), formats in of.items():
        same[library, version, " ".join(sorted(formats))].append(kind)
    print("# Made by crosscheck/contract/tried.py.")
    print(f"# llama.cpp {llamacpp.VERSION.split()[1]}")
    for (library, version, formats), kinds in sorted(same.items()):
        print(f"{library} {version}|{formats}|{' '.join(sorted(kinds))}")


if __name__ == "__main__":
    main()
