"""Folders of odd widths that amn quantizes, and the functions of vLLM and SGLang that say which layers have codes.

    python3 crosscheck/run.py mapped         CROSSCHECK_TYPES="nemotron_h llama" CROSSCHECK_FORMATS="w4a16 fp8_block" for some
    mapped.py DUMP WORK                      as run.py calls it
                                             CROSSCHECK_LEDGER=FILE: a line of JSON for each answer; what it has is not asked again

contract/mapped_names.py runs the functions, out of the wheels that contract/make.py unpacks.
"""
import collections
import datetime
import json
import os
import pathlib
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
import loads  # noqa: E402
import reload as small  # noqa: E402
import torch  # noqa: E402

sys.path.append(str(HERE / "contract"))
import mapped_names as names  # noqa: E402
import wheels  # noqa: E402

WIDTH = "192"


def folder(kind, to, root):
    """A small model of a type, quantized by amn; None if it is refused."""
    small.VARIANTS = loads.variant(kind, WIDTH)
    small.SMALL[kind] = small.SMALL.get(kind, {}) | loads.OWN.get(kind, {})
    plain, ours = root / "plain", root / f"{kind}-{to}"
    if not plain.exists():
        small.built(kind, small.class_of(kind), plain, torch.bfloat16)
    return ours if loads.amn("quantize", "-q", "-f", "--to", to, "-o", ours, plain).returncode == 0 else None


def main():
    ledger = os.environ.get("CROSSCHECK_LEDGER") or os.path.join(sys.argv[2], "mapped.jsonl")
    types, formats = (os.environ.get(k, "").split() or d for k, d in (("CROSSCHECK_TYPES", loads.TYPES), ("CROSSCHECK_FORMATS", ["w4a16", "fp8_block", "fp8"])))
    lines = [json.loads(line) for line in open(ledger)] if os.path.exists(ledger) else []
    known = {(r["type"], r["to"]) for r in lines}
    libraries = {name: wheels.unpacked(name) for name in ("vllm", "sglang")}
    for kind in types:
        with tempfile.TemporaryDirectory(dir=sys.argv[2]) as tmp:
            for to in formats:
                if (kind, to) in known:
                    continue
                try:
                    made = folder(kind, to, pathlib.Path(tmp))
                except Exception as e:
                    print(kind, to, small.said(e), file=sys.stderr)
                    continue
                for r in names.rows(libraries["vllm"], libraries["sglang"], [made]) if made else ():
                    r.pop("folder")
                    lines.append({"type": kind, "width": WIDTH, "to": to, **r, "version": wheels.WHEELS[r["library"]], "date": datetime.date.today().isoformat()})
                    print(*lines[-1].values(), file=sys.stderr, flush=True)
                    with open(ledger, "a") as f:
                        print(json.dumps(lines[-1]), file=f)
    count = {name: collections.Counter(r["verdict"] for r in lines if r["library"] == name) for name in libraries}
    print(json.dumps([[f"layers with codes: " + ", ".join(f"{n} {v}" for v, n in count[name].items()), f"{name} {wheels.WHEELS[name]}", sum(r["modules"] for r in lines if r["library"] == name), count[name]["WRONG"]] for name in libraries]))


if __name__ == "__main__":
    main()
