"""What has been searched: a folder with a row of numbers for each run, and the
digests of all inputs, so that a run goes on where the last one ended and no input
counts twice.

Rows count together if the same rules held (RULES, by their bytes). Each also says
by what the reader was built, since a later one may be another.
"""
import array
import collections
import hashlib
import json
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
RULES = ("audit.py", "ggml.py", "hashes.py", "known.py", "loaders.py", "rules.py", "ours/answer.go", "ours/archive.go",
         "../../corpus/valid/pth/generate.py")
COUNTS = ("made", "inputs", "accepted", "differences")


def short(parts):
    """A digest of files, by their bytes."""
    h = hashlib.sha256()
    for path in parts:
        h.update(hashlib.sha256(path.read_bytes()).digest())
    return h.hexdigest()[:12]


def rules():
    return short(HERE / name for name in RULES)


def reader():
    """Of all files of this module that the reader is built from."""
    form = "{{if not .Standard}}{{$d := .Dir}}{{range .GoFiles}}{{$d}}/{{.}}\n{{end}}{{end}}"
    got = subprocess.run(["go", "list", "-deps", "-f", form, "./crosscheck/differential/ours"], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    return short(pathlib.Path(p) for p in sorted(got.stdout.split()))


class Ledger:
    """The rows of a folder. Without one nothing is kept, and every search begins anew."""

    def __init__(self, folder):
        self.path = pathlib.Path(folder) / "ledger.json" if folder else None
        self.rows = []
        if self.path and self.path.exists():
            self.rows = json.loads(self.path.read_text())
        self.rules, self.reader = rules(), reader()

    def total(self, form):
        """Of a format, under the rules that hold now."""
        out = {"asked": collections.Counter(), "explained": collections.Counter()} | dict.fromkeys(COUNTS + ("seconds",), 0)
        for row in self.rows:
            if row["format"] == form and row["rules"] == self.rules:
                for k in out:
                    out[k] += collections.Counter(row[k]) if isinstance(row[k], dict) else row[k]
        return out

    def next(self, form, seed):
        """The first input of a seed that no row has."""
        return max((row["first"] + row["made"] for row in self.rows if (row["format"], row["seed"], row["rules"]) == (form, seed, self.rules)), default=0)

    def begin(self, form, seed, first):
        row = {"format": form, "seed": seed, "first": first, "rules": self.rules, "reader": self.reader, "seconds": 0, "asked": {}, "explained": {}}
        self.rows.append(row | dict.fromkeys(COUNTS, 0))
        return self.rows[-1]

    def write(self):
        if self.path is None:
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        new = self.path.with_suffix(".new")
        new.write_text("[\n" + ",\n".join(map(json.dumps, self.rows)) + "\n]\n")
        os.replace(new, self.path)


class Seen:
    """The digests of a format's inputs, eight bytes each."""

    def __init__(self, ledger, form):
        self.path = ledger.path and ledger.path.with_name(f"{form}-{ledger.rules}.seen")
        self.all, self.new = set(), array.array("Q")
        if self.path and self.path.exists():
            kept = array.array("Q", self.path.read_bytes()[: self.path.stat().st_size // 8 * 8])
            self.all.update(kept)

    def fresh(self, inputs):
        """Those of them that were not seen before."""
        out = []
        for data in inputs:
            d = int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "little")
            if d not in self.all:
                self.all.add(d)
                self.new.append(d)
                out.append(data)
        return out

    def take(self):
        """The digests of what was new since the last call."""
        new, self.new = self.new, array.array("Q")
        return new

    def keep(self, digests):
        """Writes digests, once their inputs were compared."""
        if self.path:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with open(self.path, "ab") as f:
                digests.tofile(f)


def main():
    """Prints what a ledger has under the rules that hold, as rows of a table."""
    book = Ledger(sys.argv[1])
    print("| format | distinct files | accepted, and compared | explained | not explained | hours | files a second |\n|---|---|---|---|---|---|---|")
    for form in dict.fromkeys(row["format"] for row in book.rows):
        t = book.total(form)
        print(f"| {form} | {t['inputs']:,} | {t['accepted']:,} | {sum(t['explained'].values()):,} | {t['differences']:,} | "
              f"{t['seconds'] / 3600:.2f} | {t['inputs'] / (t['seconds'] or 1):.0f} |")


if __name__ == "__main__":
    main()
