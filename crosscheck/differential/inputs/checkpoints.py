"""Checkpoints of PyTorch: mutants of seeds by their archive, their pickle or their
bytes, and programs of the grammar of pickles.py."""
import copy
import dataclasses

import pickles

from . import calls, ops, zips


def member(a):
    """The checkpoint's own pickle in an archive."""
    for m in a.members:
        if m.name.endswith(b"data.pkl"):
            return m
    return None


def archive(r, seeds):
    a = seeds.parsed(seeds.pick(r), zips.parse)
    if a is None:
        return None
    return dataclasses.replace(a, members=[dataclasses.replace(m, local=dict(m.local), central=dict(m.central)) for m in a.members])


def of_archive(r, seeds):
    """Fields of a zip."""
    a = archive(r, seeds)
    return zips.mutate(r, a).bytes() if a else of_bytes(r, seeds)


def of_pickle(r, seeds):
    """Instructions of the pickle, in an archive that is sound."""
    a = archive(r, seeds)
    m = a and member(a)
    found = m and seeds.parsed(m.body, ops.split)
    if not found:
        return of_legacy(r, seeds)
    m.body = b"".join(ops.mutate(r, found[0])) + found[1]
    return a.bytes()


def pieces(data):
    """The pickles of a legacy file as lists of instructions, and what follows."""
    out = []
    for _ in range(5):
        found = ops.split(data)
        if not found:
            break
        out.append(found[0])
        data = found[1]
    return out, data


def of_legacy(r, seeds):
    data = seeds.pick(r)
    found, tail = seeds.parsed(data, pieces) if data[:1] in (b"\x80", b"L", b"\x8a") else ([], b"")
    if not found:
        return of_bytes(r, seeds)
    found = list(found)
    i = min(3, len(found) - 1) if r.random() < 0.7 else r.randrange(len(found))
    found[i] = ops.mutate(r, found[i])
    return b"".join(b"".join(p) for p in found) + tail


def of_bytes(r, seeds):
    data = seeds.pick(r)
    for _ in range(r.choice((1, 1, 2, 4))):
        data = zips.spoil(r, data)
    return data


def of_grammar(r, seeds):
    return pickles.checkpoint(r.randrange(1 << 48))


def of_grammar_archive(r, seeds):
    """A program in an archive with other fields."""
    a = copy.deepcopy(zips.parse(of_grammar(r, seeds)))
    return zips.mutate(r, a).bytes() if a else of_grammar(r, seeds)


GENERATORS = [(2, of_archive), (3, of_pickle), (1, of_legacy), (1, of_bytes), (4, of_grammar), (1, of_grammar_archive), (1, calls.of_calls_in_archive)]
