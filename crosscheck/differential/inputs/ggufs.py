"""GGUF: files of every version, kind and layout, and mutants of seeds."""
import struct

from . import zips

U8, I8, U16, I16, U32, I32, F32, BOOL, STR, ARR, U64, I64, F64 = range(13)
FORM = {U8: "B", I8: "b", U16: "H", I16: "h", U32: "I", I32: "i", F32: "f", BOOL: "B", U64: "Q", I64: "q", F64: "d"}
# Type: elements and bytes of a block.
TYPES = {0: (1, 4), 1: (1, 2), 2: (32, 18), 3: (32, 20), 6: (32, 22), 7: (32, 24), 8: (32, 34), 10: (256, 84), 11: (256, 110), 12: (256, 144), 13: (256, 176),
         14: (256, 210), 20: (32, 18), 24: (1, 1), 25: (1, 2), 26: (1, 4), 27: (1, 8), 28: (1, 8), 30: (1, 2), 34: (256, 54), 39: (32, 17)}
KEYS = [b"general.name", b"general.architecture", b"general.alignment", b"general.file_type", b"tokenizer.ggml.tokens", b"llama.block_count", b"a", b"x.y", b"split.count",
        b"split.no", b"split.tensors.count", "\u00e9".encode(), b"", b"A", b"a\0b", b"general.quantization_version"]
TEXTS = [b"llama", b"", b"x", "\u00e9".encode(), b"\xff", b"a\0b", b"bert"]
NAMES = [b"a", b"b", b"token_embd.weight", b"blk.0.ffn_up.weight", b"w" * 63, b"c", b"d", b"e"]
ODD_NAMES = [b"", b"w" * 64, b"a\0b", b"\xff", b"a", b"A"]


class Writer:
    def __init__(self, r, p):
        self.r, self.p = r, p
        self.end = ">" if r.random() < 0.1 else "<"
        self.version = r.choice((3, 3, 3, 3, 2, 1)) if r.random() > p else r.choice((0, 4, 1 << 16, 3 << 24))
        self.size = "I" if self.version == 1 else "Q"

    def odd(self):
        return self.r.random() < self.p

    def num(self, form, n):
        if form in "fd":
            return struct.pack(self.end + form, n)
        width = struct.calcsize(form)
        return (int(n) & (1 << 8 * width) - 1).to_bytes(width, "big" if self.end == ">" else "little")

    def count(self, n):
        if self.odd():
            n = self.r.choice((0, n + 1, n - 1, 1 << 31, 1 << 32, (1 << 64) - 1, 1 << 62))
        return self.num(self.size, n)

    def text(self, s):
        return self.count(len(s)) + s

    def value(self, kind, depth=0):
        r = self.r
        if kind == STR:
            return self.text(r.choice(TEXTS if self.odd() else TEXTS[:4]))
        if kind == ARR:
            of = r.choice((U8, I32, F32, STR, U64, BOOL, U16)) if depth > 2 or r.random() < 0.9 else ARR
            n = r.choice((0, 1, 2, 3))
            code = of if not self.odd() else r.choice((13, 9, 255))
            return self.num("I", code) + self.count(n) + b"".join(self.value(of, depth + 1) for _ in range(n))
        if kind == BOOL:
            return bytes([r.randrange(2) if not self.odd() else r.randrange(256)])
        if kind in (F32, F64):
            return self.num(FORM[kind], r.choice((0.0, 1.0, -1.5, float("nan"), float("inf"))))
        return self.num(FORM[kind], r.choice((0, 1, 2, 8, 32, 64, 127, 255, -1)))

    def key(self, name):
        r = self.r
        kind = r.randrange(13)
        if name == b"general.alignment" and not self.odd():
            self.alignment = r.choice((8, 16, 32, 32, 64, 128) if not self.odd() else (0, 1, 3, 12, 4, 1 << 31))
            return self.text(name) + self.num("I", U32) + self.num("I", self.alignment)
        if name == b"general.architecture" and not self.odd():
            return self.text(name) + self.num("I", STR) + self.text(b"llama")
        if name.startswith(b"split.") and not self.odd():
            return self.text(name) + self.num("I", U16) + self.num("H", r.choice((0, 1)))
        return self.text(name) + self.num("I", kind if not self.odd() else r.choice((13, 255, 1 << 31))) + self.value(kind)

    def write(self):
        r = self.r
        self.alignment = 32
        names = r.sample(KEYS[:12] if not self.odd() else KEYS, r.randrange(6))
        if not self.odd():
            names = [n for n in names if not n.startswith(b"split.")]
        if self.odd() and names:
            names.append(r.choice(names))
        keys = b"".join(self.key(n) for n in names)
        rows, body = self.tensors()
        head = (b"GGUF" if not self.odd() else r.choice((b"FUGG", b"gguf", b"GGUF"))) + self.num("I", self.version) + self.count(len(rows)) + self.count(len(names))
        head += keys + b"".join(rows)
        pad = -len(head) % max(1, min(self.alignment, 4096))
        if rows or r.random() < 0.7:
            head += bytes(pad) if not self.odd() else r.choice((bytes(pad + 1), b"\xff" * pad, b"", bytes(pad + 32)))
        return head + body

    def tensors(self):
        r, rows, body = self.r, [], b""
        align = max(1, min(self.alignment, 4096))
        list_ = r.sample(NAMES, r.randrange(5)) if not self.odd() else [r.choice(NAMES + ODD_NAMES) for _ in range(3)]
        for i, name in enumerate(list_):
            kind = r.choice(list(TYPES)) if not self.odd() else r.choice((4, 5, 9, 15, 31, 32, 33, 36, 40, 41, 42, 43, 44, 1000, 1 << 31))
            elems, size = TYPES.get(kind, (1, 1))
            dims = [elems * r.choice((1, 1, 2))] + [r.choice((1, 1, 2, 3)) for _ in range(r.randrange(4))]
            if self.odd():
                dims = r.choice(([], [1] * 5, [0], [elems + 1], [1 << 62, 4], [elems, 0], [elems, 1 << 32, 1 << 32], dims))
            n = size
            for d in dims[1:]:
                n *= d
            n = n * dims[0] // elems if dims else n
            n = n if n < 1 << 16 else 64
            offset = len(body) if not self.odd() else r.choice((0, len(body) + align, len(body) + 1, 1 << 63, max(0, len(body) - align)))
            rows.append(self.text(name) + self.num("I", len(dims)) + b"".join(self.num(self.size, d) for d in dims) + self.num("I", kind) + self.num("Q", offset))
            body += r.randbytes(n)
            if i < len(list_) - 1 or r.random() > 0.03:
                body += bytes(-len(body) % align) if not self.odd() else b"\x01" * (-len(body) % align)
        if self.odd():
            body = r.choice((body[:-1], body + b"\0", body + bytes(align), body[:-align], b""))
        return rows, body


def whole(r, seeds):
    return Writer(r, r.choice((0, 0.01, 0.02, 0.05))).write()


def of_bytes(r, seeds):
    return zips.spoil(r, seeds.pick(r))


def of_head(r, seeds):
    """Bytes of the first keys and counts."""
    data = seeds.pick(r)
    n = r.choice((32, 128, 1024))
    return zips.spoil(r, data[:n]) + data[n:]


GENERATORS = [(6, whole), (2, of_head), (1, of_bytes)]
