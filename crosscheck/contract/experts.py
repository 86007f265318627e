"""In which order transformers' classes make the parameters of stacked experts, type by type.

    experts.py [TYPE ...]     prints the version, and rows: types, a bar, the last part of a module's name, a bar, its own parameters in
                              their order, a bar, and "in" where each matrix is [in, out] (is_transposed)

PEFT wraps a module once for each of its parameters that target_parameters names, in this order, so that the last one is outermost; by
is_transposed it tells which dimension of a matrix is the input. Models without numbers are asked, those of ties.py. A type whose modules
of one name differ has no row for it.
"""
import collections
import sys

import ties
import transformers
from transformers.models.auto import configuration_auto


def of(kind):
    """(what, type) of each name of modules with at least two parameters of their own, one of them a stack."""
    found = collections.defaultdict(set)
    try:
        classes = ties.classes(kind)
        try:
            classes.append(ties.small.class_of(kind))
        except Exception:
            pass  # part of other configurations
        for cls in dict.fromkeys(classes):
            model = ties.built(kind, cls, None)
            for name, m in model.named_modules() if model is not None else ():
                own = dict(m.named_parameters(recurse=False))
                if len(own) > 1 and any(p.dim() == 3 for p in own.values()):
                    found[name.rpartition(".")[2]].add((" ".join(own), "in" * bool(getattr(m, "is_transposed", False))))
    except Exception as e:
        print(kind, e, file=sys.stderr)
        return
    for name, what in sorted(found.items()):
        if len(what) == 1 and not name.isdigit():
            yield "|".join((name, *what.pop())), kind


def rows(answers):
    same = collections.defaultdict(list)
    for answer in answers:
        for what, kind in answer:
            same[what].append(kind)
    return sorted((" ".join(sorted(kinds)), what) for what, kinds in same.items())


if __name__ == "__main__":
    print(transformers.__version__)
    for kinds, what in rows(map(of, sys.argv[1:] or sorted(configuration_auto.CONFIG_MAPPING_NAMES))):
        print(f"{kinds}|{what}")
