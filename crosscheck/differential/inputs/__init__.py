"""Where inputs come from: for each format the generators of GENERATORS, each a
function of a random.Random and the seeds that gives bytes. The same seed gives the
same bytes."""
import random

from . import arrays, checkpoints, ggufs, jsons, plain, zips
from .seeds import Seeds

# Format: rows of a weight and a generator.
GENERATORS = {
    "pth": checkpoints.GENERATORS, "pickle": plain.GENERATORS, "npz": arrays.ARCHIVES, "npy": arrays.GENERATORS,
    "safetensors": jsons.GENERATORS, "gguf": ggufs.GENERATORS, "zip": arrays.ARCHIVES,
}


class Source:
    """Input number i of a format under a seed."""

    def __init__(self, form, seed, root, corpus):
        self.form, self.seed = form, seed
        self.seeds = Seeds(root, corpus, form)
        rows = GENERATORS[form]
        self.weights, self.makers = [w for w, _ in rows], [f for _, f in rows]

    def __call__(self, i):
        r = random.Random(f"{self.seed}/{self.form}/{i}")
        return r.choices(self.makers, self.weights)[0](r, self.seeds)


__all__ = ["GENERATORS", "Source", "zips"]
