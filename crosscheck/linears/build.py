"""Asks transformers which weights it quantizes with bitsandbytes, for every model.

    build.py OUT.jsonl [TYPE ...]

Each class of transformers' auto mappings is built with its default configuration
on torch's meta device, which holds no numbers. Which modules transformers would
replace is what its own quantizer says (get_modules_to_not_convert,
should_convert_module; torch's Linear and transformers' Conv1D); linear modules that
it leaves alone are "kept", weights of all others "other". The names are
those of the file that it saves, after it has undone the renamings and fusions of
loading. A line of OUT: type, class, names of weights by kind.

Lines that are there are not made again, so it goes on where it was stopped.
"""
import functools
import gc
import json
import pathlib
import re
import signal
import sys

import torch
from torch import nn
from models import SECONDS, classes, default, named
from transformers.initialization import TORCH_INIT_FUNCTIONS
from transformers.core_model_loading import revert_weight_conversion
from transformers.pytorch_utils import Conv1D
from transformers.quantizers.base import HfQuantizer
from transformers.quantizers.quantizers_utils import should_convert_module

for function in TORCH_INIT_FUNCTIONS:  # nothing is there to be filled
    setattr(nn.init, function, lambda tensor, *_, **__: tensor)


def pattern(name):
    return re.sub(r"(?<=\.)\d+(?=\.)", "*", "." + name)[1:]


def ask(kind, name):
    """The names of weights, as patterns, by what becomes of them."""
    cls = named(kind, name)
    with torch.device("meta"):
        model = cls(default(kind, cls))
    # Where transformers loads a model, a head is not yet one with its embedding when this is asked: it is the last parameter.
    model.named_parameters = functools.partial(model.named_parameters, remove_duplicate=False)
    skip = HfQuantizer.get_modules_to_not_convert(model, None, model._keep_in_fp32_modules)
    kinds = {}
    for at, module in model.named_modules():
        if not isinstance(module, Conv1D) and type(module) is not nn.Linear:
            continue
        kind = "conv1d" if isinstance(module, Conv1D) else "linear"
        kinds[at + ".weight"] = kind if should_convert_module(at, skip) else "kept"
    state = {k: v for k, v in model.state_dict().items()}
    of = {id(v): kinds.get(k, "other") for k, v in state.items()}
    saved = revert_weight_conversion(model, dict(state))
    out, mixed = {}, set()
    for k, v in saved.items():
        if v.dim() != 2 or not k.endswith(".weight"):
            continue
        kind, p = of.get(id(v), "fused"), pattern(k)
        if out.setdefault(p, kind) != kind:
            mixed.add(p)  # left alone in the last layer
    return {"patterns": out, "mixed": sorted(mixed)}


def main():
    path = pathlib.Path(sys.argv[1])
    done = set()
    if path.exists():
        for line in path.read_text().splitlines():
            row = json.loads(line)
            done.add((row["type"], row["class"]))

    def late(*_):
        raise TimeoutError(f"more than {SECONDS} s")

    signal.signal(signal.SIGALRM, late)
    with path.open("a") as out:
        for kind in sys.argv[2:] or classes():
            for name in classes()[kind]:
                if (kind, name) in done:
                    continue
                row = {"type": kind, "class": name}
                signal.alarm(SECONDS)
                try:
                    row |= ask(kind, name)
                except Exception as e:
                    row["error"] = f"{type(e).__name__}: {str(e)[:200]}"
                signal.alarm(0)
                out.write(json.dumps(row) + "\n")
                out.flush()
                gc.collect()
                gc.freeze()  # the libraries, which every collection would walk


if __name__ == "__main__":
    main()
