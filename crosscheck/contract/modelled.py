"""The tables for which models of transformers are built or its functions are called: merged.txt, names.txt and ties.txt, in one process that
imports the libraries once and asks the types in as many forks as there are processors.

    modelled.py [TYPE ...]     prints a line of JSON: the version, and the rows of each table

Each of merged.py, names.py and ties.py answers for one type at a time, so an answer depends on the type alone, and the order of the rows on
their text: what forks, and in which order, changes no byte.
"""
import gc
import json
import multiprocessing
import os
import sys

import expects
import merged
import ties  # takes the folder of crosscheck off the path: its modules are called like libraries
import names
import reload as small
import transformers
from transformers.models.auto.configuration_auto import CONFIG_MAPPING_NAMES

TABLES = {"expects.txt": expects, "merged.txt": merged, "names.txt": names, "ties.txt": ties}


def asked(kind):
    return [list(module.of(kind)) for module in TABLES.values()]


def main():
    kinds = sys.argv[1:] or sorted(CONFIG_MAPPING_NAMES)
    small.classes()  # imports the modules of all types, once for all forks
    gc.collect()
    gc.freeze()
    with multiprocessing.get_context("fork").Pool(os.cpu_count()) as pool:
        answers = pool.map(asked, kinds, chunksize=8)
    print(json.dumps([transformers.__version__, {name: module.rows(a[i] for a in answers) for i, (name, module) in enumerate(TABLES.items())}]))


if __name__ == "__main__":
    main()
