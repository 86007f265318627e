#!/usr/bin/env python3
"""Searches for files that this module and a loader read differently.

    python3 crosscheck/differential/run.py --formats pth npz --count 100000 --seed 1
    python3 crosscheck/differential/run.py --file x.pt ...

Inputs are made from a seed (inputs/), both sides are asked (ask.py), and what must
hold is in rules.py. Differences that known.py does not explain are grouped, made
small and written to --out, each with a draft of a recipe. It ends with 1 if there
are any. See README.md.
"""
import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE))

import canary  # noqa: E402
import known  # noqa: E402
import ledger  # noqa: E402
import rules  # noqa: E402
import shrink  # noqa: E402
from ask import Loaders, Ours  # noqa: E402
from inputs import GENERATORS, Source  # noqa: E402

BATCH = 4000  # so that a child of the loaders has work


class Group:
    """Differences of one signature, with the smallest input that showed one."""

    def __init__(self):
        self.count, self.data, self.difference = 0, None, None

    def add(self, data, difference):
        self.count += 1
        if self.data is None or len(data) < len(self.data):
            self.data, self.difference = data, difference


class Search:
    def __init__(self, ours, loaders):
        self.ours, self.loaders = ours, loaders
        self.groups = collections.defaultdict(Group)

    def ask(self, inputs):
        """What this module says of each, and what the loaders that it is given to answer."""
        said = self.ours.ask(inputs)
        return said, self.read(inputs, said)

    def read(self, inputs, said):
        """What the loaders answer that each is given to."""
        wanted = [rules.wanted(s) for s in said]
        answers = [{} for _ in inputs]
        asked = [i for i, names in enumerate(wanted) if names]
        there = self.loaders.names
        for i, a in zip(asked, self.loaders.ask([([n for n in wanted[i] if n in there], inputs[i]) for i in asked])):
            answers[i] = a
        return answers

    def batch(self, inputs, said):
        """Compares, and returns what the ledger counts."""
        answers = self.read(inputs, said)
        asked, explained, accepted, differences = collections.Counter(), collections.Counter(), 0, 0
        for data, s, a in zip(inputs, said, answers):
            accepted += s["class"] == "ok"
            asked.update(a.keys())
            for d in rules.differences(s, a):
                why = known.reason(d)
                if why:
                    explained[why] += 1
                else:
                    differences += 1
                    self.groups[d.signature].add(data, d)
        return {"inputs": len(inputs), "accepted": accepted, "asked": asked, "explained": explained, "differences": differences}

    def same(self, signature):
        """Whether candidates show a difference of one signature."""
        def of(inputs):
            out = []
            for at in range(0, len(inputs), BATCH):
                part = inputs[at:at + BATCH]
                out += [any(d.signature == signature and not known.reason(d) for d in rules.differences(s, a)) for s, a in zip(*self.ask(part))]
            return out
        return of


def report(search, group, signature, out, seconds, amn_corpus):
    """Writes a group as a folder: the input, what both say of it, a draft of a recipe."""
    data, same = group.data, search.same(signature)
    stable = same([data])[0]
    if stable:
        data = shrink.smaller(data, same, seconds)
    name = "".join(c if c.isalnum() else "-" for c in signature)[:80].strip("-") + f"-{abs(hash_of(signature)) % 10000:04}"
    folder = pathlib.Path(out) / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "input").write_bytes(data)
    (said,), (answers,) = search.ask([data])
    text = {"signature": signature, "count": group.count, "detail": group.difference.detail, "stable": stable, "ours": said, "loaders": answers}
    (folder / "report.json").write_text(json.dumps(text, indent=1, ensure_ascii=False) + "\n")
    draft = subprocess.run([amn_corpus, "recipe", folder / "input"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    (folder / "recipe.txt").write_bytes(draft.stdout)
    print(f"  {group.count:>6} x {signature}\n           {group.difference.detail[:300]}\n           {folder}/input, {len(data)} bytes{'' if stable else ', not shown again'}", flush=True)


def hash_of(text):
    import zlib
    return zlib.crc32(text.encode())


def search_format(search, form, a, corpus, book):
    """Searches a.count inputs, or until the ledger has a.until that differ. Returns its row."""
    make, seen = Source(form, a.seed, ROOT, corpus), ledger.Seen(book, form)
    first = max(a.first, book.next(form, a.seed))
    began, row = time.monotonic(), book.begin(form, a.seed, first)

    def left(made, fresh):
        """How many to make next, beside those that are being compared."""
        if a.seconds and time.monotonic() - began >= a.seconds:
            return 0
        return min(BATCH, a.until - book.total(form)["inputs"] - fresh if a.until else a.count - row["made"] - made)

    def prepare(start, n):
        """Inputs from the number start on, and what this module says of those that are new."""
        fresh = seen.fresh(make(i) for i in range(start, start + n))
        return n, fresh, search.ours.ask(fresh)

    # While the loaders answer for one batch, the next is made.
    with concurrent.futures.ThreadPoolExecutor(1) as aside:
        def begin(made, fresh):
            n = left(made, fresh)
            return aside.submit(prepare, first + row["made"] + made, n) if n > 0 else None

        coming = begin(0, 0)
        while coming:
            n, fresh, said = coming.result()
            digests, coming = seen.take(), begin(n, len(fresh))
            for k, v in search.batch(fresh, said).items():
                row[k] = collections.Counter(row[k]) + v if isinstance(v, collections.Counter) else row[k] + v
            row["made"] += n
            row["seconds"] = round(time.monotonic() - began, 1)
            seen.keep(digests)
            book.write()
    return row


def tell(form, t, what):
    """One run, or all of them."""
    asked = ", ".join(f"{k} {n:,}" for k, n in sorted(t["asked"].items(), key=lambda x: -x[1]))
    print(f"{form}{what}: {t['made']:,} made, {t['inputs']:,} distinct, {t['accepted']:,} accepted, {t['differences']:,} differences that nothing explains, "
          f"{sum(t['explained'].values()):,} explained; {t['seconds'] / 3600:.2f} h, {t['made'] / (t['seconds'] or 1):.0f}/s")
    print(f"  compared with {asked or 'none'}")
    for why, n in sorted(t["explained"].items(), key=lambda x: -x[1]):
        print(f"  {n:>7,} explained: {why}")
    sys.stdout.flush()


def build(folder):
    for name, package in (("ours", "./crosscheck/differential/ours"), ("amn-corpus", "./corpus/amn-corpus")):
        subprocess.run(["go", "build", "-o", os.path.join(folder, name), package], cwd=ROOT, check=True)


def flags():
    f = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    f.add_argument("--formats", nargs="+", choices=sorted(GENERATORS), default=sorted(GENERATORS))
    f.add_argument("--count", type=int, default=10_000, help="inputs of each format")
    f.add_argument("--until", type=int, default=0, help="inputs of each format in the ledger, all runs together")
    f.add_argument("--ledger", default="", help="folder that keeps the numbers of all runs: go on where the last one ended, count no input twice")
    f.add_argument("--seconds", type=float, default=0, help="of each format, at most")
    f.add_argument("--first", type=int, default=0, help="number of the first input")
    f.add_argument("--seed", type=int, default=1)
    f.add_argument("--shrink", type=float, default=20, help="seconds to make one input small")
    f.add_argument("--out", default="differential-out", help="folder for what is found")
    f.add_argument("--python", default=os.environ.get("CROSSCHECK_PYTHON") or str(ROOT / ".venv" / "bin" / "python"))
    f.add_argument("--rows", action="store_true", help="end with rows for crosscheck/run.py")
    f.add_argument("--file", nargs="+", default=[], help="only these files: print what both sides say")
    return f.parse_args()


def main():
    a = flags()
    if not pathlib.Path(a.python).exists():
        sys.exit(f"there is no {a.python}: make crosscheck PART=differential installs the loaders, --python names another Python that has them")
    os.environ.setdefault("CROSSCHECK_GGML", str(ROOT / ".venv" / "libggml-crosscheck.so"))
    with tempfile.TemporaryDirectory() as tmp:
        build(tmp)
        ours, archives, loaders = Ours([os.path.join(tmp, "ours")]), Ours([os.path.join(tmp, "ours"), "zip"]), Loaders(a.python)
        versions = ", ".join(f"{k} {v}" for k, v in loaders.versions.items())
        print(versions, file=sys.stderr, flush=True)
        try:
            unseen = canary.blind(loaders)
            if unseen:
                sys.exit("the machine is blind: " + unseen)
            sys.exit(files(Search(ours, loaders), a.file) if a.file else all_formats(a, tmp, {"zip": archives}, ours, loaders, versions))
        finally:
            ours.close()
            archives.close()
            loaders.close()


def all_formats(a, tmp, others, ours, loaders, versions):
    corpus = os.path.join(tmp, "corpus")
    subprocess.run([os.path.join(tmp, "amn-corpus"), "write", corpus], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    rows, book = [], ledger.Ledger(a.ledger)
    for form in a.formats:
        search = Search(others.get(form, ours), loaders)
        row = search_format(search, form, a, corpus, book)
        tell(form, row, f" (seed {a.seed}, from {row['first']:,})")
        if a.ledger:
            tell(form, book.total(form), f", all runs under the rules {book.rules}")
        for signature, group in sorted(search.groups.items(), key=lambda g: -g[1].count):
            report(search, group, signature, a.out, a.shrink, os.path.join(tmp, "amn-corpus"))
        rows.append([f"differential/{form}: {row['inputs']:,} files, {row['accepted']:,} accepted", versions, sum(row["asked"].values()), row["differences"]])
    if a.rows:
        print(json.dumps(rows))
    return any(row[3] for row in rows)


def files(search, paths):
    bad = False
    for path in paths:
        (said,), (answers,) = search.ask([pathlib.Path(path).read_bytes()])
        print(path, json.dumps(said))
        for name, answer in answers.items():
            print(f"  {name}: {json.dumps(answer)[:600]}")
        for d in rules.differences(said, answers):
            why = known.reason(d)
            bad = bad or not why
            print(f"  {'explained: ' + why if why else 'DIFFERENCE'}: {d.signature}: {d.detail[:300]}")
    return bad


if __name__ == "__main__":
    main()
