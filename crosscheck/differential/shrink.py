"""Minimizes an input that shows a difference: takes away members, instructions,
entries and bytes as long as the same difference stays (delta debugging).

Many candidates are asked about at once, since a round trip costs more than a file.
"""
import struct
import time

from inputs import checkpoints, ops, zips


def views(data):
    """Ways to see a file as a list of parts that can be left out, coarse ones
    first: pairs of the parts and a function that makes a file of those kept."""
    a = zips.parse(data)
    if a is not None and a.members:
        yield a.members, lambda kept: zips.Archive(kept, zip64=a.zip64).bytes()
        for i, m in enumerate(a.members):
            found = ops.split(m.body) if m.name.endswith(b".pkl") else None
            if found:
                yield found[0], with_pickle(a, i, found[1])
    elif data[:1] in (b"\x80", b"(", b"]", b"}", b"c", b"L", b"\x8a", b"I"):
        lists, tail = checkpoints.pieces(data)
        for i, found in enumerate(lists):
            yield found, with_piece(lists, i, tail)
    size = int.from_bytes(data[:8], "little")
    if data[8:9] == b"{" and size <= len(data) - 8:
        head, body = data[8:8 + size], data[8 + size:]
        yield list(head), lambda kept: struct.pack("<Q", len(kept)) + bytes(kept) + body
    if len(data) <= 1 << 13:
        yield list(data), bytes


def with_pickle(a, at, tail):
    def build(kept):
        members = [zips.dataclasses.replace(m) for m in a.members]
        members[at].body = b"".join(kept) + tail
        return zips.Archive(members, zip64=a.zip64).bytes()
    return build


def with_piece(lists, at, tail):
    return lambda kept: b"".join(b"".join(kept if i == at else p) for i, p in enumerate(lists)) + tail


def smaller(data, same, seconds):
    """The smallest file found in that time. same says of each of some candidates
    whether it shows the same difference."""
    end = time.monotonic() + seconds
    before = None
    while before != data and time.monotonic() < end:
        before = data
        # A view is of the file as it is by then.
        for k in range(len(list(views(data)))):
            now = list(views(data))
            if k < len(now):
                parts, build = now[k]
                if same([build(parts)])[0]:
                    data = reduce(parts, build, same, end)
    return data


def reduce(parts, build, same, end):
    size = max(1, len(parts) // 2)
    while parts:
        starts = list(range(0, len(parts), size))
        drop = [s for s, ok in zip(starts, same([build(parts[:s] + parts[s + size:]) for s in starts])) if ok]
        if drop:
            parts = without(parts, drop, size, build, same)
        if time.monotonic() > end:
            break
        if size > 1:
            size //= 2
        elif not drop:
            break
    return build(parts)


def without(parts, drop, size, build, same):
    """Leaves out as many of the runs as go together, the first of them at least."""
    n = len(drop)
    while n > 1:
        chosen = {i for s in drop[:n] for i in range(s, s + size)}
        kept = [p for i, p in enumerate(parts) if i not in chosen]
        if same([build(kept)])[0]:
            return kept
        n //= 2
    return parts[:drop[0]] + parts[drop[0] + size:]
