"""Models that lack tensors: transformers' own report of missing keys beside what amn says of who loads them.

    python3 crosscheck/run.py lacks          CROSSCHECK_TYPES="llama bert" for some
    lacks.py DUMP WORK                       as run.py calls it

Of a small model of each type, each kind of tensor is dropped: all of the kind (numbers apart), and the last one alone; and all of the last
layer. transformers initializes what it misses at random: where its report has a missing key, amn's "loads" for it must be another word
than "loads", and where it has none, the word must be that of the whole model.
"""
import json
import os
import pathlib
import re
import shutil
import sys
import tempfile

import every
import loads  # noqa: F401  (its path)
import torch
import transformers as T
from safetensors.torch import load_file, save_file
from targets import amn

TYPES = "llama qwen3_moe deepseek_v3 gpt_oss nemotron_h qwen3_next jamba t5 whisper bert gpt2 llava qwen2_5_vl".split()


def kind_of(name):
    return re.sub(r"(?<![^.])\d+(?![^.])", "#", name)


def drops(names):
    """(what, names that are left out)."""
    by = {}
    for n in names:
        by.setdefault(kind_of(n), []).append(n)
    for kind, all in sorted(by.items()):
        yield f"all {kind}", set(all)
        if len(all) > 1:
            yield f"one {all[-1]}", {all[-1]}
    for beginning in sorted({kind_of(n).partition(".#.")[0] for n in names if ".#." in kind_of(n)}):
        numbers = {int(re.match(re.escape(beginning) + r"\.(\d+)\.", n)[1]) for n in names if n.startswith(beginning + ".") and re.match(re.escape(beginning) + r"\.(\d+)\.", n)}
        if numbers:
            yield f"layer {beginning}.{max(numbers)}", {n for n in names if n.startswith(f"{beginning}.{max(numbers)}.")}


def said(folder, to=None):
    done = amn("quantize", "--json", "--dry-run", "--to", to, folder) if to else amn("convert", "--json", "--dry-run", "--to", "safetensors", folder)
    answer = json.loads(done.stdout.splitlines()[0])
    if done.returncode:
        return "refused", answer["error"]["message"]
    of = answer["forgotten" if to else "converted"] if (("forgotten" if to else "converted") in answer) else answer
    one = next((l for l in of.get("loads", ()) if l["loader"] == "transformers"), {"verdict": "none"})
    return one["verdict"], one.get("why", "")


def missing(cls, folder):
    _, info = cls.from_pretrained(folder, dtype=torch.bfloat16, device_map="cpu", output_loading_info=True)
    return sorted(map(str, info["missing_keys"]))


def one(kind, root):
    """The row of a type."""
    cls = every.build(kind, root)
    whole = said(root / "plain")
    state = load_file(root / "plain" / "model.safetensors")
    cases = lost = wrong = 0
    for what, left in drops(sorted(state)):
        cut = root / "cut"
        shutil.rmtree(cut, ignore_errors=True)
        shutil.copytree(root / "plain", cut, ignore=shutil.ignore_patterns("*.safetensors"))
        save_file({k: v for k, v in state.items() if k not in left} or {"x": torch.zeros(1)}, cut / "model.safetensors", {"format": "pt"})
        try:
            report = missing(cls, cut)
        except Exception as e:
            report = [f"raises {type(e).__name__}: {e}"[:120]]
        for to in (None, "nf4") if cases % 8 == 0 else (None,):  # both ask one function
            verdict, why = said(cut, to)
            cases += 1
            lost += bool(report)
            if report and verdict == "loads" or not report and whole[0] == "loads" != verdict:
                wrong += 1
                print("WRONG" if report else "LOST", kind, to or "plain", what, "transformers:", report[:2], "amn:", verdict, why[:160], file=sys.stderr)
    print(f"{kind} {cls.__name__}: the whole model {whole[0]} {whole[1]}; {cases} cases, {lost} with missing keys, {wrong} wrong", file=sys.stderr, flush=True)
    return [f"lacks: {kind}, {lost} cases with missing keys, the whole model: {whole[0]}", f"transformers {T.__version__}", cases, wrong]


def main():
    work, rows = pathlib.Path(sys.argv[2]), []
    for kind in os.environ.get("CROSSCHECK_TYPES", " ".join(TYPES)).split():
        root = pathlib.Path(tempfile.mkdtemp(dir=work))
        rows.append(one(kind, root))
        shutil.rmtree(root)
    print(json.dumps(rows))


if __name__ == "__main__":
    main()
