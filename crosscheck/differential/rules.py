"""The rules that this module and the loaders must satisfy, and what a difference is.

  - What we accept, its own loader reads as the same tensors (rules "refuses" and
    "tensors"), and whoever opens it does nothing else ("effect"), survives
    ("dies"), and reads nothing where it is the loader of another format
    ("foreign").
  - What we call weights_only: yes PyTorch's restricted loader takes
    ("weights_only yes"), and what we call no it refuses ("weights_only no").
  - This module never ends by a mistake of its own ("internal").

That a loader reads what we refuse is no difference.
"""
import dataclasses
import re

OWNERS = {
    "pth": ["torch.load"], "npy": ["numpy", "numpy allow_pickle"], "npz": ["numpy", "numpy allow_pickle"],
    "safetensors": ["safetensors"], "gguf": ["gguf-py", "ggml"], "pickle": ["pickle", "joblib"],
    "zip": ["zipfile"],
}
RESTRICTED = "torch.load weights_only"
LOADERS = ["torch.load", RESTRICTED, "torch.jit.load", "numpy", "numpy allow_pickle", "safetensors", "gguf-py", "ggml", "pickle", "joblib",
           "tarfile", "zipfile"]


@dataclasses.dataclass
class Difference:
    format: str
    rule: str
    loader: str
    detail: str
    finds: tuple = ()  # the codes of our findings

    @property
    def signature(self):
        """What groups differences: the words of the detail without its names and numbers."""
        text = re.sub(r": \[.*", "", self.detail)
        text = re.sub(r"'[^']*'|\"[^\"]*\"|`[^`]*`", "'...'", text)
        text = re.sub(r"0x[0-9a-f]+|\d+", "N", text)
        return f"{self.format}: {self.rule}: {self.loader}: {text[:120]}"


def wanted(said):
    """The loaders that a file is given to, by what this module says of it."""
    if said["class"] == "ok":
        # An archive of anything may hold a pickle: it goes to no other loader.
        return LOADERS if said["format"] != "zip" else OWNERS["zip"]
    if said["format"] == "pth" and said.get("weights_only") in ("yes", "no"):
        return [RESTRICTED]
    return []


def differences(said, answers):
    if said["class"] == "internal":
        yield Difference(said["format"], "internal", "ours", said["error"])
    if said["class"] == "ok":
        for d in accepted(said, answers):
            d.finds = tuple(said["finds"] or ())
            yield d
    if RESTRICTED in answers and said["format"] == "pth":
        yield from restricted(said, answers[RESTRICTED], answers.get("torch.load"))


def accepted(said, answers):
    form, told = said["format"], set()
    for loader, a in answers.items():
        # The two ways of one loader do mostly the same: it is said once.
        fact = (loader.split()[0], repr(a))
        if fact in told:
            continue
        told.add(fact)
        if "effects" in a:
            yield Difference(form, "effect", loader, a["effects"][0])
        elif "died" in a:
            yield Difference(form, "dies", loader, str(a["died"]))
        elif loader in OWNERS[form]:
            yield from own(said, loader, a)
        elif "rows" in a and loader != RESTRICTED and not blank(form, loader, a["rows"]):
            yield Difference(form, "foreign", loader, f"reads {len(a['rows'])} rows: {a['rows'][:2]}")


def own(said, loader, a):
    form = said["format"]
    if "error" in a:
        rule = "refuses a type" if any(row[1] == "unknown" for row in said["tensors"]) else "refuses"
        yield Difference(form, rule, loader, ": ".join(a["error"]))
    elif form != "pickle":
        # Members of an npz that are no arrays are bytes to NumPy, and no tensors.
        rows = [row for row in a["rows"] if form != "npz" or row[1] != "bytes"]
        ours = said["tensors"]
        if loader == "ggml":  # which has four dimensions, always
            ours, rows = ([[r[0], r[1], short(r[2]), r[3]] for r in list_] for list_ in (ours, rows))
        for text in unequal(ours, rows):
            yield Difference(form, "tensors", loader, text)
            return


def short(shape):
    """A shape without the outer dimensions of 1."""
    at = next((i for i, n in enumerate(shape) if n != 1), len(shape))
    return shape[at:]


def unequal(ours, theirs):
    """How two lists of tensors differ. A part that is None is not compared."""
    have, want = {row[0]: row for row in ours}, {row[0]: row for row in theirs}
    if len(have) != len(ours) or len(want) != len(theirs):
        yield "a name stands twice"
    for name in have.keys() - want.keys():
        yield f"we list {name!r}, it does not: {sorted(want.keys() - have.keys())[:5]}"
    for name in want.keys() - have.keys():
        yield f"it lists {name!r}, we do not: {sorted(have.keys() - want.keys())[:5]}"
    for name in have.keys() & want.keys():
        for part, a, b in zip(("type", "shape", "values"), have[name][1:], want[name][1:]):
            if a is not None and b is not None and a != b:
                yield f"{part} of {name!r}: we {a!r}, it {b!r}"


def blank(form, loader, rows):
    """Whether the loader of another format has read nothing that counts."""
    if loader == "zipfile":
        return form in ("npz", "pth")
    if loader.startswith("numpy") and form == "pth":
        return all(row[1] in ("bytes", "int") for row in rows)  # members as bytes; a legacy file's first number
    if loader in ("pickle", "joblib") and form == "pth":
        return rows[0][1] == "int"  # a legacy file's first number
    if loader == "numpy allow_pickle" and form == "pickle":
        return True  # it calls pickle
    return not rows


def restricted(said, a, full):
    """a is what the restricted loader answers, full what the other one does, if
    it was asked: what both do is said of that one."""
    form, verdict = said["format"], said.get("weights_only")
    if "rows" in a:
        if verdict == "no":
            yield Difference(form, "weights_only no", RESTRICTED, "loads; ours: " + said.get("why", ""))
        if said["class"] == "ok" and a != full:
            for text in unequal(said["tensors"], a["rows"]):
                yield Difference(form, "tensors", RESTRICTED, text)
                return
        return
    error = a.get("error", ["died", ""])
    if verdict != "yes" or a == full or "effects" in a:
        return
    if said["class"] == "ok" or error[0] == "UnpicklingError":
        yield Difference(form, "weights_only yes", RESTRICTED, error[0] + ": " + error[1].rpartition("WeightsUnpickler error: ")[2])
