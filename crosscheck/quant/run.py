"""Compares the decoder of this repository with the libraries that own each
scheme, on fresh random models. Run by `make crosscheck`; by hand:

    go build -o /tmp/decode ./crosscheck/quant/decode
    python crosscheck/quant/run.py /tmp/decode [rounds] [module ...]
"""
import importlib
import random
import sys
import warnings

import torch

from cases import Table
from run_modules import MODULES

warnings.filterwarnings("ignore")
table = Table(sys.argv[1])
rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 1
for _ in range(rounds):
    seed = random.randrange(2**31)
    print("seed", seed, flush=True)
    for name in sys.argv[3:] or MODULES:
        table.check(importlib.import_module(name).cases(torch.Generator().manual_seed(seed)))
sys.exit(0 if table.print() else 1)
