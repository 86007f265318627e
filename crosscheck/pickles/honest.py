"""Counts which honest pickles a program accepts, by the package that ships or wrote them.

    python3 crosscheck/pickles/honest.py AMN... -- FOLDER...

Every pickle, checkpoint and file of joblib below the folders is judged by each program
AMN, once for each content. A row is a package (the folder below site-packages) or a folder.
"""
import collections
import hashlib
import json
import pathlib
import subprocess
import sys

SUFFIXES = (".pkl", ".pickle", ".joblib")


def files(folder):
    for path in sorted(folder.rglob("*")):
        named = path.name.endswith(SUFFIXES) or ".pkl." in path.name or "joblib/test/data" in path.as_posix()
        if path.is_file() and named and path.suffix not in (".py", ".pyc", ".sh"):
            yield path


def group(path, folder):
    parts = path.parts
    return parts[parts.index("site-packages") + 1] if "site-packages" in parts else folder.name


def accepted(amn, paths):
    out = set()
    for at in range(0, len(paths), 200):
        done = subprocess.run([amn, "scan", "--json", *map(str, paths[at:at + 200])], capture_output=True, text=True)
        out.update(row["path"] for row in map(json.loads, done.stdout.splitlines()) if row.get("class") == "ok")
    return out


def main():
    split = sys.argv.index("--")
    programs, folders = sys.argv[1:split], sys.argv[split + 1:]
    rows, seen = collections.defaultdict(list), set()
    for folder in map(pathlib.Path, folders):
        for path in files(folder):
            digest = hashlib.sha256(path.read_bytes()).digest()
            if digest not in seen:
                seen.add(digest)
                rows[group(path, folder)].append(path)
    print("| files of | files |" + "".join(f" {pathlib.Path(p).name} |" for p in programs))
    print("|---|---|" + "---|" * len(programs))
    total = [0] * (1 + len(programs))
    for name, paths in sorted(rows.items()):
        counts = [len(paths)] + [len(accepted(p, paths)) for p in programs]
        total = [a + b for a, b in zip(total, counts)]
        print(f"| {name} | " + " | ".join(map(str, counts)) + " |")
    print("| all | " + " | ".join(map(str, total)) + " |")


if __name__ == "__main__":
    main()
