"""Runs every check of this folder and prints rows for crosscheck/run.py."""
import json
import os
import pathlib
import sys
import traceback

import evidence
import hosts
import pipelines
import sarif

AMN = os.environ["CROSSCHECK_AMN"]


def main():
    work, rows = pathlib.Path(sys.argv[1]), []
    for module in (sarif, pipelines, evidence, hosts):
        folder = work / module.__name__
        folder.mkdir()
        for name, oracle, check in module.CHECKS:
            try:
                n, wrong = check(AMN, folder)
            except Exception:
                n, wrong = 0, [traceback.format_exc()]
            for text in wrong:
                print(f"{name}: {text}", file=sys.stderr)
            rows.append([f"gate: {name}", oracle, n, len(wrong)])
    print(json.dumps(rows))


if __name__ == "__main__":
    main()
