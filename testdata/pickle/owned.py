#!/usr/bin/env python3
"""Writes owned.json beside itself: the names that the classes have already whose
objects a pickle may give attributes, without those that begin with two underscores.
With --go, the constants of vm/owned.go on stdout.

Run with torch 2.15: python3 testdata/pickle/owned.py [--go]
"""
import sys

HERE = sys.path.pop(0)
import argparse
import collections
import json
import os
import types

import torch

classes = {
    "Namespaces": (argparse.Namespace, types.SimpleNamespace),
    "Dicts": (collections.OrderedDict, collections.Counter),
    "Tensors": (torch.Tensor, torch.nn.Parameter, torch.nn.Buffer, torch.nn.parameter.UninitializedParameter, torch.nn.parameter.UninitializedBuffer),
}
owned = {kind: sorted({n for c in list for n in dir(c) if not n.startswith("__")}) for kind, list in classes.items()}
if "--go" in sys.argv:
    for kind, names in owned.items():
        lines, line = [], ""
        for n in names:
            if len(line) + len(n) > 117:
                lines.append(line)
                line = ""
            line += n + " "
        print(f'\townedBy{kind} = " ' + '" +\n\t\t"'.join([*lines, line]) + '"')
else:
    with open(os.path.join(HERE, "owned.json"), "w") as f:
        json.dump({"torch": torch.__version__, **owned}, f, indent=0)
        f.write("\n")
