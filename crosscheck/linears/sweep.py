"""Holds `amn forget` against what build.py asked transformers, for every class.

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
    for row in rows:
        if "error" in row or not row["patterns"]:
            total["classes not built"] += 1
            types[row["type"]].add("not built")
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
        if verdict in ("more", "refused"):
            bad.append((row["type"], row["class"], sorted(wrong)[:3], said.get("error")))
        elif verdict == "fewer":
            print("fewer", row["type"], row["class"], *sorted(want - got)[:3])
    for b in bad:
        print("BAD", *b)
    worst = collections.Counter(next((v for v in ("more", "refused", "taken apart", "fewer", "extra", "equal") if v in t), "not built") for t in types.values())
    print("classes", dict(total), "types", dict(worst))
    return 1 if any(b for b in bad) else 0


if __name__ == "__main__":
    sys.exit(main())
