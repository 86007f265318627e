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


def main():
    rows = [json.loads(line) for line in (HERE / "linears" / "reload.jsonl").read_text().splitlines()]
    fit = [r["type"] for r in rows if r["verdict"] == "equal"]
    chance = random.sample(fit, min(len(fit), int(os.environ["CROSSCHECK_ELEMENTS"]) // EACH))
    types = os.environ["CROSSCHECK_TYPES"].split(",") if os.environ.get("CROSSCHECK_TYPES") else sorted({*WRONG_ONCE, *chance})
    done = subprocess.run([sys.executable, str(RELOAD), os.environ["CROSSCHECK_AMN"], *types], stdout=subprocess.PIPE, text=True)
    out = []
    for line in done.stdout.splitlines():
        row = json.loads(line)
        equal = row["verdict"] == "equal"
        if not equal:
            print(row, file=sys.stderr)
        out.append([f"reload: {row['type']}", "transformers, bitsandbytes", int(row["why"].split()[0]) if equal else 1, 0 if equal else 1])
    print(json.dumps(out or [["reload", f"ended with {done.returncode}", 0, 1]]))


if __name__ == "__main__":
    main()
