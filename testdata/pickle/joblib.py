"""Writes arrays.joblib, one-array.joblib and objects.joblib beside itself, with
joblib 1.6 and numpy 2.4: python3 testdata/pickle/joblib.py"""
# The folder of this script must not hide the library of the same name.
import sys

HERE = sys.path.pop(0)
import os

import joblib
import numpy as np

joblib.dump({
    "a": np.arange(6.0).reshape(2, 3), "f": np.asfortranarray(np.ones((2, 2), "i4")), "s": np.array(["ab", "c"]), "n": 3, "z": np.zeros((0, 3)),
}, os.path.join(HERE, "arrays.joblib"))
joblib.dump(np.arange(4), os.path.join(HERE, "one-array.joblib"), protocol=2)
joblib.dump({"o": np.array([1, "x", None], dtype=object)}, os.path.join(HERE, "objects.joblib"))
