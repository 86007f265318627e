"""Sizes that operators make of constants, against what ONNX Runtime makes or asks for.

Random programs of operators (sizes/program.py) are run node by node in little memory, and judged by
`amn scan`. A row differs for each program of which ONNX Runtime makes more than the default policy grants
and which is accepted. Programs that make little and are refused are counted with their reasons, in
stderr: they are honest, if odd.

    CROSSCHECK_PROGRAMS=10000 CROSSCHECK_SEED=1 CROSSCHECK_KEEP=FOLDER"""
import collections
import json
import os
import pathlib
import random
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
AMN = os.environ["CROSSCHECK_AMN"]
GRANTED = 1 << 28  # elements of four bytes that the parser lets pass without a charge, and no small file pays for more
PROGRAMS = int(os.environ.get("CROSSCHECK_PROGRAMS", 10_000))


def grow(folder, seed):
    """Runs the programs. One that ends the process of the runtime is left out."""
    results, first = folder / "results.jsonl", 0
    while first < PROGRAMS:
        subprocess.run([sys.executable, str(HERE / "sizes/program.py"), str(folder), str(first), str(min(PROGRAMS - first, 2000)), str(seed)], stderr=subprocess.DEVNULL)
        lines = [json.loads(s) for s in results.read_text().splitlines()]
        if not lines or lines[-1]["n"] < first:
            sys.exit("the runtime does not start")
        first = lines[-1]["n"] + 1
    return [o for o in lines if "made" in o]


def judged(folder, programs):
    """The verdict of each program."""
    said = {}
    for k in range(0, len(programs), 500):
        paths = [str(folder / f"{p['n']}.onnx") for p in programs[k:k + 500]]
        done = subprocess.run([AMN, "scan", "--json", *paths], stdout=subprocess.PIPE, text=True)
        for line in done.stdout.splitlines():
            v = json.loads(line)
            if "path" in v:
                said[pathlib.Path(v["path"]).stem] = v
    return said


def reason(v):
    if "error" in v and v["error"]:
        return v["error"].get("axis") or v["error"].get("rule") or v["class"]
    return next((f"{f['code']} {f.get('where', '')}" for f in v.get("findings", []) if f.get("severity") == "danger"), v["class"])


def main():
    folder = pathlib.Path(os.environ.get("CROSSCHECK_KEEP") or sys.argv[2])
    folder.mkdir(exist_ok=True, parents=True)
    seed = int(os.environ.get("CROSSCHECK_SEED") or random.randrange(1 << 31))
    print(f"sizes: seed {seed}", file=sys.stderr)
    programs = grow(folder, seed)
    said = judged(folder, programs)
    large, doors, small, needless = 0, [], 0, collections.Counter()
    for p in programs:
        v = said[str(p["n"])]
        if p["made"] > GRANTED:
            large += 1
            if v["exit"] == 0:
                doors.append(p)
        else:
            small += 1
            if v["exit"] != 0:
                needless[reason(v)] += 1
    for p in doors[:40]:
        print(f"accepted: {p['n']}.onnx makes {p['made']:,} elements: {' '.join(p['operators'])}", file=sys.stderr)
    print(f"sizes: {large} programs make too much, {small} little, of which {sum(needless.values())} are refused: {needless.most_common(12)}", file=sys.stderr)
    import onnxruntime

    print(json.dumps([["sizes of operators on constants", f"ONNX Runtime {onnxruntime.__version__}", large + small, len(doors)]]))


main()
