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
VERDICTS = ("equal", "numbers", "read", "said", "refused", "not built", "WRONG")


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
    lines += ["", "The other results, by type. A number in parentheses says for how many of the widths, if not for all:", "", "| type | " + " | ".join(shown) + " |", "|---|" + "---|" * len(shown)]
    for kind, by in sorted(kinds.items()):
        cells = [", ".join(to + (f" ({by[v][to]})" if by[v][to] != widths[kind, to] else "") for to in order if by[v][to]) for v in shown]
        if any(cells):
            lines.append(f"| {kind} | " + " | ".join(cells) + " |")
    text = path.read_text()
    begin = text.index(MARK) + len(MARK)
    end = text.find("\n## ", begin)
    path.write_text(text[:begin] + "\n" + "\n".join(lines) + "\n" + (text[end:] if end > 0 else ""))


if __name__ == "__main__":
    write(sys.argv[1], pathlib.Path(sys.argv[2]))
