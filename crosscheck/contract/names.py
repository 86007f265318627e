"""Which linear modules have other names in transformers than in the file, by type and class.

    names.py [CLASS ...]     prints the version, and rows: types with their class after a slash, a bar, and beginnings of names: in
                             the file, ">", in the model. # is a number, a beginning of nothing is "."

A list of modules in config.json that are not quantized is compared with the names of the model. The library's own
function for saving is asked, on models without numbers; of each type the class for language models, the bare one, and the
one that crosscheck/every.py tries. A class that is not listed has the same names, or was not built.
"""
import collections
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path = [p for p in sys.path if pathlib.Path(p or ".").resolve() not in (HERE, HERE.parent)]
sys.path.append(str(HERE.parent / "linears"))
import reload as small  # noqa: E402
import torch  # noqa: E402
import transformers  # noqa: E402
from models import GIVEN, OF_CLASS, default, named  # noqa: E402
from transformers.conversion_mapping import get_checkpoint_conversion_mapping  # noqa: E402
from transformers.core_model_loading import revert_weight_conversion  # noqa: E402
from transformers.models.auto import configuration_auto, modeling_auto  # noqa: E402
from transformers.pytorch_utils import Conv1D  # noqa: E402


def pairs(kind, cls):
    """(name in the file, name in the model) of each linear module, with # for numbers."""
    for values in (small.LAYERS | small.TOKENS, small.LAYERS, {}):
        try:
            config = small.small(default(kind, cls), values, GIVEN.get(kind, {}) | OF_CLASS.get(cls.__name__, {}))
            with torch.device("meta"):
                model = cls(config)
            break
        except Exception:
            continue
    else:
        return
    state = dict(model.state_dict())
    saved = {id(v): k for k, v in revert_weight_conversion(model, dict(state)).items()}
    for name, m in model.named_modules():
        if isinstance(m, (torch.nn.Linear, Conv1D)) and (v := state.get(name + ".weight")) is not None and id(v) in saved:
            yield tuple(re.sub(r"(?<![^.])\d+(?![^.])", "#", n) for n in (saved[id(v)].removesuffix(".weight"), name))


def beginnings(found):
    """The shortest list of beginnings from which all pairs follow; the longest that fits decides."""
    out = set()
    for file, model in found:
        f, m = file.split("."), model.split(".")
        while f and m and f[-1] == m[-1]:
            f.pop(), m.pop()
        out.add((".".join(f), ".".join(m)))
    while more := {(f, m) for f, m in found if renamed(out, f) != m} - out:
        out |= more  # whole names, which are longer than all beginnings that do not fit
    for one in sorted(out, key=lambda r: (-len(r[0]), r)):
        if len(out) > 1 and all(renamed(out - {one}, f) == m for f, m in found):
            out.remove(one)
    return out


def renamed(list, name):
    for f, m in sorted(list, key=lambda r: (-len(r[0]), r)):  # of a set, whose own order differs from run to run
        if not f or name == f or name.startswith(f + "."):
            rest = name[len(f):].removeprefix(".")
            return ".".join(p for p in (m, rest) if p)
    return name


def classes(kind):
    names = [modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES.get(kind), modeling_auto.MODEL_MAPPING_NAMES.get(kind), modeling_auto.MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES.get(kind)]
    found = {}
    for n in names:
        for one in n if isinstance(n, (list, tuple)) else [n]:
            try:
                found[one] = named(kind, one)
            except (AttributeError, TypeError, ImportError):
                pass
    try:
        cls = small.class_of(kind)
        found[cls.__name__] = cls
    except Exception:
        pass
    return [c for c in found.values() if isinstance(c, type) and issubclass(c, transformers.PreTrainedModel) and c.config_class is not None]


def renames(kind, cls):
    """Whether the library renames anything of a type, or of a type inside it."""
    own = cls.config_class
    inside = [c.model_type for c in getattr(own, "sub_configs", {}).values() if getattr(c, "model_type", None)]
    return any(get_checkpoint_conversion_mapping(k) for k in (kind, cls.__name__, *inside)) or "AutoConfig" in {c.__name__ for c in getattr(own, "sub_configs", {}).values()}


def of(kind, only=()):
    """(what, type/class) of each class of a type."""
    for cls in classes(kind):
        if only and cls.__name__ not in only:
            continue
        try:
            if not renames(kind, cls):
                continue
            found = set(pairs(kind, cls))
        except Exception as e:
            print(kind, cls.__name__, e, file=sys.stderr)
            continue
        if any(f != m for f, m in found):
            yield " ".join(f"{f or '.'}>{m or '.'}" for f, m in sorted(beginnings(found))), f"{kind}/{cls.__name__}"


def rows(answers):
    same = collections.defaultdict(set)
    for answer in answers:
        for what, name in answer:
            same[what].add(name)
    return sorted((" ".join(sorted(names)), what) for what, names in same.items())


if __name__ == "__main__":
    print(transformers.__version__)
    for names, what in rows(of(kind, sys.argv[1:]) for kind in sorted(configuration_auto.CONFIG_MAPPING_NAMES)):
        print(f"{names}|{what}")
