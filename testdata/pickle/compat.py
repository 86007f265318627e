#!/usr/bin/env python3
"""Writes what CPython maps the names of Python 2 to, as compat.json (the golden
of the test) and, with --go, as the tables of vm/python2.go on stdout.

Run with CPython 3.13: python3.13 testdata/pickle/compat.py [--go]
"""

import json
import os
import sys

import _compat_pickle as compat

modules = sorted(compat.IMPORT_MAPPING.items())
names = sorted((" ".join(old), " ".join(new)) for old, new in compat.NAME_MAPPING.items())

if "--go" in sys.argv:
    print("package vm\n")
    print("// The names of Python 2 and what Python 3 calls them: CPython 3.13,")
    print("// Lib/_compat_pickle.py. Written by testdata/pickle/compat.py.\n")
    print("// pythonTwoModules maps a module (IMPORT_MAPPING).")
    print("var pythonTwoModules = map[string]string{")
    for old, new in modules:
        print(f'\t"{old}": "{new}",')
    print("}\n\n// pythonTwoNames maps module and name (NAME_MAPPING).")
    print("var pythonTwoNames = map[string]string{")
    for old, new in names:
        print(f'\t"{old}": "{new}",')
    print("}")
else:
    here = os.path.dirname(os.path.abspath(__file__))
    with open(os.path.join(here, "compat.json"), "w") as f:
        json.dump({"python": sys.version.split()[0], "modules": modules, "names": names}, f, indent=0)
        f.write("\n")
