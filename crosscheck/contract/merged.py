"""Which tensors of a checkpoint transformers joins, splits or computes with when it loads it, type by type.

    merged.py         prints the version, and rows: types, a bar, sources, ">", targets, and the operations in brackets

transformers' own function is called; a star stands for the number of an expert. Of the conversions that only give a tensor
another name those of stacked experts are listed, with no operation: adapters call them by their names in the model.
"""
import collections
import re

import transformers
from transformers.conversion_mapping import get_checkpoint_conversion_mapping
from transformers.core_model_loading import WeightConverter, WeightRenaming
from transformers.models.auto.configuration_auto import CONFIG_MAPPING_NAMES


def is_stack(c):
    """Another name for the matrices of all experts of a layer."""
    return isinstance(c, WeightRenaming) and len(c.target_patterns) == 1 and re.fullmatch(r"[\w.\\]*\bexperts\.(gate_up|up|down)_proj", c.target_patterns[0])


def of(kind):
    """(what, type) of each conversion of a type."""
    for c in get_checkpoint_conversion_mapping(kind) or ():
        if isinstance(c, WeightConverter) or is_stack(c):
            plain = lambda patterns: " ".join(sorted(p.replace("\\.", ".").strip(".") for p in patterns))
            yield f"{plain(c.source_patterns)} > {plain(c.target_patterns)} [{' '.join(type(o).__name__ for o in getattr(c, 'operations', ()))}]", kind


def rows(answers):
    same = collections.defaultdict(list)
    for answer in answers:
        for what, kind in answer:
            same[what].append(kind)
    return sorted((" ".join(kinds), what) for what, kinds in same.items())


if __name__ == "__main__":
    print(transformers.__version__)
    for kinds, what in rows(map(of, sorted(CONFIG_MAPPING_NAMES))):
        print(f"{kinds}|{what}")
