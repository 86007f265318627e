"""Makes internal/transformers/float32.txt: the parameters that transformers makes float32 when it loads
a model in float16 or bfloat16.

    float32.py [TYPE ...] > internal/transformers/float32.txt

A class lists modules in _keep_in_fp32_modules (for float16) and _keep_in_fp32_modules_strict
(for bfloat16 too); a model has the lists of all models in it. Which parameters they mean is
found as loading finds it: the names that a class saves are renamed as when they are read,
and the lists are searched in the result. Classes are built as build.py builds them, those
alone whose module has such a list, or whose configuration has a part of such a type.

A row is the types that have the same parameters, and their names in the file as a tree: a
number is *, a leaf says + for both types, ^ for float16 alone, _ for a parameter that is left as
it is. Names of which classes of one type say different things are left out.
"""
import gc
import importlib
import inspect
import re
import signal
import sys

import torch
import transformers as T
from build import SECONDS, classes
from table import tree, write
from transformers.conversion_mapping import get_model_conversion_mapping
from transformers.core_model_loading import WeightConverter, WeightRenaming, build_glob_alternation, rename_source_key, revert_weight_conversion
from transformers.models.auto import configuration_auto


def pattern(name):
    return ".".join("*" if part.isdigit() else part for part in name.split("."))


def lists(cls):
    """Whether the module of a class has a list that is not empty."""
    text = inspect.getsource(importlib.import_module(cls.__module__))
    return re.search(r"_keep_in_fp32_modules(_strict)?\b[^=\n]*=\s*\[\s*\"", text) is not None


def parts(config):
    """The types of a configuration and of those in it."""
    yield config.model_type
    for key in getattr(config, "sub_configs", {}):
        if getattr(config, key, None) is not None:
            yield from parts(getattr(config, key))


def candidates():
    """The types of which a class may have a list."""
    found = {kind: [n for n in names if hasattr(T, n)] for kind, names in classes().items()}
    own = set()
    for kind, names in found.items():
        try:
            if any(lists(getattr(T, n)) for n in names):
                own.add(kind)
        except (ImportError, OSError):
            pass
    for kind, names in found.items():
        try:
            inside = set(parts(configuration_auto.CONFIG_MAPPING[kind]()))
        except Exception:
            inside = set()
        if kind in own or inside & own:
            yield kind, names


def ask(kind, name):
    """What becomes of the parameters of a class, by the pattern of their saved names."""
    cls = getattr(T, name)
    config = cls.config_class() if cls.config_class.model_type == kind else configuration_auto.CONFIG_MAPPING[kind]()
    with torch.device("meta"):
        model = cls(config)
    half, both = (set(model._get_dtype_plan(t)) for t in (torch.float16, torch.bfloat16))
    if not half | both:
        return {}
    marks = [(mark, build_glob_alternation(sorted(names))[0]) for mark, names in (("+", both), ("^", half)) if names]
    state = model.state_dict()
    mapping = get_model_conversion_mapping(model, None, None)
    renamings, converters = ([w for w in mapping if isinstance(w, c)] for c in (WeightRenaming, WeightConverter))
    out = {}
    for saved, value in revert_weight_conversion(model, dict(state)).items():
        if not value.is_floating_point():
            continue
        loaded, _ = rename_source_key(saved, renamings, converters, model.base_model_prefix, state)
        mark = next((m for m, names in marks if names.search(loaded)), "_")
        if out.setdefault(pattern(saved), mark) != mark:
            out[pattern(saved)] = ""
    return out


def main():
    signal.signal(signal.SIGALRM, lambda *_: (_ for _ in ()).throw(TimeoutError(f"more than {SECONDS} s")))
    types, rows = {}, {}
    for kind, names in candidates():
        if sys.argv[1:] and kind not in sys.argv[1:]:
            continue
        for name in names:
            signal.alarm(SECONDS)
            try:
                said = ask(kind, name)
            except Exception as e:
                print(kind, name, type(e).__name__, str(e)[:100], file=sys.stderr, flush=True)
                continue
            finally:
                signal.alarm(0)
                gc.collect()
            print(kind, name, sum(m in ("+", "^") for m in said.values()), file=sys.stderr, flush=True)
            own = types.setdefault(kind, {})
            for p, m in said.items():
                own[p] = m if own.get(p, m) == m else ""
    for kind, names in types.items():
        kept = {p: m for p, m in names.items() if m in ("+", "^")}
        if kept:
            rows.setdefault(write(tree(kept)), []).append(kind)
    print(f"# Parameters that transformers keeps in float32, by model_type. Made by crosscheck/linears/float32.py of transformers {T.__version__}.")
    print("# TYPES | NAMES: + when the model is loaded in float16 or bfloat16, ^ in float16 alone.")
    for row, kinds in sorted(rows.items(), key=lambda r: r[1]):
        print(" ".join(sorted(kinds)) + "|" + row)


if __name__ == "__main__":
    main()
