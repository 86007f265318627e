"""Cross-checks one module of cases, with the libraries on its path. run.py
starts it: worker.py DECODE MODULE ELEMENTS SEED. The rows go to stdout as JSON."""
import importlib
import json
import sys
import warnings

import torch

import cases

warnings.filterwarnings("ignore")
torch.set_num_threads(1)
binary, name, elements, seed = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
out, sys.stdout = sys.stdout, sys.stderr  # some libraries greet
module = importlib.import_module(name)
table = cases.Table(binary, elements)
if hasattr(module, "rows"):  # whole models, each once
    json.dump(module.rows(torch.Generator().manual_seed(seed)), out)
    sys.exit()
with torch.no_grad():
    while not table.rows or (elements and min(n for n, _ in table.rows.values()) < elements and not table.failures):
        table.check(module.cases(torch.Generator().manual_seed(seed)))
        seed += 1
        cases.GROWTH = 1 << 21  # the first round has the odd shapes, the others have size
for f in table.failures[:40]:
    print("DIFFERS", f, file=sys.stderr)
json.dump([[scheme, oracle, n, bad] for (scheme, oracle), (n, bad) in table.rows.items()], out)
