"""What is mutated: every honest file of corpus/valid and every recipe of a format,
as files."""
import functools
import pathlib

BIGGEST = 1 << 18  # a seed that is larger says nothing that a small one does not
FOLDERS = {"pth": ("pth", "zip", "npz"), "npz": ("npz", "zip", "pth"), "pickle": ("pickle",), "zip": ("zip", "npz", "pth")}


class Seeds:
    """all: pairs of name and bytes; honest: those of them that are no recipes."""

    def __init__(self, root, corpus, form):
        self.honest, self.hostile = [], []
        for folder in FOLDERS.get(form, (form,)):
            self.honest += files(pathlib.Path(root) / "corpus" / "valid" / folder, (".txt", ".py", ".pyc"))
            self.hostile += files(pathlib.Path(corpus) / folder, ())
        self.all = self.honest + self.hostile

    def pick(self, r):
        return r.choice(self.honest if self.honest and r.random() < 0.7 else self.all)

    @functools.cache
    def parsed(self, data, parse):
        """parse(data), once: seeds are few and come again."""
        return parse(data)


def files(folder, without):
    if not folder.is_dir():
        return []
    found = [p for p in sorted(folder.iterdir()) if p.is_file() and p.suffix not in without and p.stat().st_size <= BIGGEST]
    return [p.read_bytes() for p in found]
