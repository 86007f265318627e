"""Plain pickles: mutants of seeds by instruction or byte."""
from . import calls, ops, zips


def of_instructions(r, seeds):
    found = seeds.parsed(seeds.pick(r), ops.split)
    if not found:
        return of_bytes(r, seeds)
    return b"".join(ops.mutate(r, found[0])) + found[1]


def of_two(r, seeds):
    """The beginning of one and the end of another."""
    a, b = (seeds.parsed(seeds.pick(r), ops.split) for _ in range(2))
    if not a or not b:
        return of_bytes(r, seeds)
    i, j = r.randrange(len(a[0])), r.randrange(len(b[0]))
    return b"".join(a[0][:i] + b[0][j:])


def of_bytes(r, seeds):
    return zips.spoil(r, seeds.pick(r))


GENERATORS = [(6, of_instructions), (2, of_two), (2, of_bytes), (6, calls.of_calls)]
