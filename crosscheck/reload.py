"""Some types of transformers, quantized by amn and by transformers and loaded by transformers:
those of which a rule was wrong once, and others by chance, more with more elements.

    python3 crosscheck/run.py reload
    reload.py DUMP WORK          as run.py calls it; CROSSCHECK_TYPES=llama,t5 asks these

The work is linears/reload.py's, which asks all types where it is run by itself.
"""
import json
import os
import pathlib
import random
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
RELOAD = HERE / "linears" / "reload.py"
WRONG_ONCE = ["blt", "deberta-v2", "granitemoe", "modernbert", "pp_doclayout_v3", "sam", "t5", "vitpose_backbone", "xlnet"]
EACH = 1_000_000  # elements for which a type is asked by chance


def ask(types):
    """The lines of linears/reload.py about types."""
    done = subprocess.run([sys.executable, str(RELOAD), os.environ["CROSSCHECK_AMN"], *types], stdout=subprocess.PIPE, text=True)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    if len(lines) != len(types):  # it ends with 1 for a verdict too
        raise SystemExit(f"reload: {len(lines)} of {len(types)} types, exit {done.returncode}")
    return lines


def by_chance(count):
    """The lines of so many types. A type that needs a package which is in no list of requirements
    (timm, for 26 of them) is not counted: another is drawn."""
    rows = [json.loads(line) for line in (HERE / "linears" / "reload.jsonl").read_text().splitlines()]
    left = [r["type"] for r in rows if r["verdict"] == "equal" and r["type"] not in WRONG_ONCE]
    random.shuffle(left)
    found = []
    while left and len(found) < count:
        drawn, left = left[:count - len(found)], left[count - len(found):]
        for row in ask(drawn):
            if row["verdict"] == "not built" and "library but it was not found in your environment" in row["why"]:
                print(f"{row['type']}: not asked: {row['why']}", file=sys.stderr)
            else:
                found.append(row)
    return found


def main():
    given = os.environ.get("CROSSCHECK_TYPES")
    rows = ask(given.split(",")) if given else ask(WRONG_ONCE) + by_chance(int(os.environ["CROSSCHECK_ELEMENTS"]) // EACH)
    out = []
    for row in sorted(rows, key=lambda r: r["type"]):
        equal = row["verdict"] == "equal"
        if not equal:
            print(row, file=sys.stderr)
        out.append([f"reload: {row['type']}", "transformers, bitsandbytes", int(row["why"].split()[0]) if equal else 1, 0 if equal else 1])
    print(json.dumps(out))


if __name__ == "__main__":
    main()
