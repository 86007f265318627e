"""Writes the files of this folder: python3 generate.py, in this folder.

Written with Python 3.11.7, whose bz2 is libbz2 1.0.8.
"""
import bz2
import random

r = random.Random(1)
words = [bytes(r.choices(b"abcdefghijklmnop", k=r.randint(1, 9))) for _ in range(300)]
text = b" ".join(r.choices(words, k=22_000))


def write(name, data, level=9):
    with open(name + ".bz2", "wb") as f:
        f.write(bz2.compress(data, level))


write("text", text, 1)  # more than one block
write("random", r.randbytes(3_000))
write("zeros", bytes(3_000_000))
write("runs", b"".join(bytes([r.randrange(4)]) * r.randint(1, 600) for _ in range(2_000)))
write("fours", b"".join(bytes([i % 256]) * 4 for i in range(5_000)))
write("few", bytes(r.choices(b"ab", weights=[9, 1], k=20_000)))
