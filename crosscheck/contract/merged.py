"""Which tensors of a checkpoint transformers joins, splits or computes with when it loads it, type by type.

    merged.py         prints the version, and rows: types, a bar, sources, ">", targets, and the operations in brackets

transformers' own function is called; a star stands for the number of an expert. Conversions that only give a tensor
another name are not listed.
"""
import collections

import transformers
from transformers.conversion_mapping import get_checkpoint_conversion_mapping
from transformers.core_model_loading import WeightConverter
from transformers.models.auto.configuration_auto import CONFIG_MAPPING_NAMES


def rows():
    same = collections.defaultdict(list)
    for kind in sorted(CONFIG_MAPPING_NAMES):
        for c in get_checkpoint_conversion_mapping(kind) or ():
            if isinstance(c, WeightConverter):
                plain = lambda patterns: " ".join(sorted(p.replace("\\.", ".").strip(".") for p in patterns))
                same[f"{plain(c.source_patterns)} > {plain(c.target_patterns)} [{' '.join(type(o).__name__ for o in c.operations)}]"].append(kind)
    return sorted((" ".join(kinds), what) for what, kinds in same.items())


if __name__ == "__main__":
    print(transformers.__version__)
    for kinds, what in rows():
        print(f"{kinds}|{what}")
