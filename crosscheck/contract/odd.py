"""Writes the tables of odd widths in docs/quantize.md from the ledger of crosscheck/loads.py.

    odd.py crosscheck/contract/loads.jsonl docs/quantize.md
"""
import collections
import pathlib
import sys

import ledger as answers

MARK = "<!-- made by crosscheck/contract/odd.py -->"
ORDER = ["nf4", "fp8", "w4a16", "nvfp4", "fp8_dynamic", "fp8_tensor", "fp8_block", "mxfp8", "mxfp4", "w8a8", "w8a16", "w4a16_asym", "w8a16_asym", "fp4", "int8", "torchao_fp8", "torchao_fp8_e5m2", "torchao_fp8_e5m2_group", "torchao_fp8_e5m2_tensor", "torchao_int8",
         "gptq", "gptq_2", "gptq_3", "gptq_8", "awq", "gpt_oss", "modelopt_fp8", "modelopt_fp8_channel", "modelopt_fp8_block", "modelopt_nvfp4", "modelopt_mxfp8",
         "mlx_4", "mlx_2", "mlx_3", "mlx_5", "mlx_6", "mlx_8", "mlx_mxfp4", "mlx_mxfp8", "mlx_nvfp4"]
# Targets that the table of types names together if all of them have one result for all widths.
FAMILIES = {"all of MLX": [t for t in ORDER if t.startswith("mlx_")], "all of ModelOpt": [t for t in ORDER if t.startswith("modelopt_")], "all of TorchAO": [t for t in ORDER if t.startswith("torchao_")],
            "all of GPTQ": [t for t in ORDER if t.startswith("gptq")], "both asymmetric": ["w4a16_asym", "w8a16_asym"]}
VERDICTS = ("equal", "numbers", "read", "said", "refused", "not built", "WRONG")


def named(some, widths):
    """The targets of a cell, a Counter of widths by target: families by their names, then the others."""
    whole = [t for t in some if some[t] == widths[t]]
    names = [f for f, members in FAMILIES.items() if all(t in whole for t in members)]
    together = {t for f in names for t in FAMILIES[f]}
    rest = [t + (f" ({some[t]})" if some[t] != widths[t] else "") for t in ORDER + sorted(set(some) - set(ORDER)) if some[t] and t not in together]
    return ", ".join(rest + names)


def write(ledger, path):
    """The tables of odd widths in docs/quantize.md, from the ledger: targets by verdict, and types that are not equal in all."""
    rows = answers.rows(ledger)
    targets, kinds, widths = collections.defaultdict(collections.Counter), collections.defaultdict(lambda: collections.defaultdict(collections.Counter)), collections.Counter()
    for r in rows:
        targets[r["to"]][r["verdict"]] += 1
        kinds[r["type"]][r["verdict"]][r["to"]] += 1
        widths[r["type"], r["to"]] += 1
    total = collections.Counter(r["verdict"] for r in rows)
    libraries = sorted({f"{k} {v}" for r in rows for k, v in r["versions"].items() if k != "amn"})
    dates = sorted({r["date"] for r in rows})
    lines = [f"{len(rows)} folders of {len(kinds)} types, {dates[0]} to {dates[-1]}: " + ", ".join(f"{total[v]} {v}" for v in VERDICTS if total[v] or v == "WRONG") + ".", "", ", ".join(libraries) + ".", "",
             "| target | " + " | ".join(VERDICTS) + " |", "|---|" + "---:|" * len(VERDICTS)]
    order = [t for t in ORDER if t in targets] + sorted(set(targets) - set(ORDER))
    lines += [f"| {to} | " + " | ".join(str(targets[to][v]) for v in VERDICTS) + " |" for to in order]
    shown = [v for v in VERDICTS if v not in ("equal", "read")]
    shown = [v for v in shown if total[v]]
    lines += ["", "The other results, by type. A number in parentheses says for how many of the widths, if not for all. \"All of MLX\" and the like are the targets of that library in the table above; \"both asymmetric\" are `w4a16_asym` and `w8a16_asym`.", "", "| type | " + " | ".join(shown) + " |", "|---|" + "---|" * len(shown)]
    for kind, by in sorted(kinds.items()):
        cells = [named(by[v], {to: widths[kind, to] for to in order}) for v in shown]
        if any(cells):
            lines.append(f"| {kind} | " + " | ".join(cells) + " |")
    text = path.read_text()
    begin = text.index(MARK) + len(MARK)
    end = text.find("\n## ", begin)
    path.write_text(text[:begin] + "\n" + "\n".join(lines) + "\n" + (text[end:] if end > 0 else ""))


if __name__ == "__main__":
    write(sys.argv[1], pathlib.Path(sys.argv[2]))
