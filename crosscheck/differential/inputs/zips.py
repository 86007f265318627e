"""ZIP archives, field by field: written from a model, read into one, mutated.

A field that is not overridden is what an honest writer would put there."""
import dataclasses
import struct
import zlib

LOCAL = ("sig", "version", "flags", "method", "time", "date", "crc", "csize", "usize", "nlen", "elen")
CENTRAL = ("sig", "made", "version", "flags", "method", "time", "date", "crc", "csize", "usize", "nlen", "elen", "clen", "disk", "iattr", "eattr", "offset")
END = ("sig", "disk", "cddisk", "here", "entries", "size", "offset", "clen")
END64 = ("sig", "length", "made", "version", "disk", "cddisk", "here", "entries", "size", "offset")
LOCATOR = ("sig", "disk", "offset", "disks")
FORMS = {LOCAL: "<IHHHHHIIIHH", CENTRAL: "<IHHHHHHIIIHHHHHII", END: "<IHHHHIIH", END64: "<IQHHIIQQQQ", LOCATOR: "<IIQI"}
MASK = {"B": 0xFF, "H": 0xFFFF, "I": 0xFFFFFFFF, "Q": 0xFFFFFFFFFFFFFFFF}


def pack(names, values):
    form = FORMS[names]
    return struct.pack(form, *(values[n] & MASK[c] for n, c in zip(names, form[1:])))


@dataclasses.dataclass
class Member:
    name: bytes
    body: bytes
    method: int = 0
    align: int = 0          # of the data, by a field "FB" as torch writes it
    lname: bytes = None     # another name in the local header
    lextra: bytes = b""
    cextra: bytes = b""
    comment: bytes = b""
    gap: bytes = b""        # before the local header
    tail: bytes = b""       # after the data: a descriptor, or anything
    descriptor: int = 0     # 0 none, 1 of 32 bits, 2 of 64 bits, 3 without signature
    zip64: int = 0          # 1 in the local header, 2 in the central one, 3 in both
    local: dict = dataclasses.field(default_factory=dict)
    central: dict = dataclasses.field(default_factory=dict)
    is_local: bool = True
    is_central: bool = True


@dataclasses.dataclass
class Archive:
    members: list
    prefix: bytes = b""
    suffix: bytes = b""
    comment: bytes = b""
    gap: bytes = b""        # before the directory
    endgap: bytes = b""     # before the end record
    zip64: int = 0          # 1: a zip64 end record and locator, the plain one with true values; 2: with 0xffff
    end: dict = dataclasses.field(default_factory=dict)
    end64: dict = dataclasses.field(default_factory=dict)
    locator: dict = dataclasses.field(default_factory=dict)
    order: list = None      # of the directory
    shift: bool = False     # offsets count from behind the prefix

    def bytes(self):
        out = bytearray(self.prefix)
        base = len(self.prefix) if self.shift else 0
        rows = []
        for m in self.members:
            out += m.gap
            rows.append(self.member(out, m, len(out) - base))
        out += self.gap
        start = len(out) - base
        order = self.order if self.order is not None else range(len(rows))
        listed = [i for i in order if i < len(rows) and self.members[i].is_central]
        for i in listed:
            out += rows[i]
        size = len(out) - base - start
        out += self.endgap
        self.ends(out, base, len(listed), start, size)
        return bytes(out + self.suffix)

    def member(self, out, m, at):
        data = m.body
        if m.method == 8:
            c = zlib.compressobj(6, zlib.DEFLATED, -15)
            data = c.compress(m.body) + c.flush()
        v = {"sig": 0x04034B50, "version": 20, "flags": 0, "method": m.method, "time": 0, "date": 0x21, "crc": zlib.crc32(m.body), "csize": len(data),
             "usize": len(m.body), "made": 20, "clen": len(m.comment), "disk": 0, "iattr": 0, "eattr": 0, "offset": at}
        if m.descriptor:
            v["flags"] |= 8
        if not m.name.isascii():
            v["flags"] |= 0x800
        c = v | {"sig": 0x02014B50, "nlen": len(m.name)}
        if m.descriptor:
            v |= {"crc": 0, "csize": 0, "usize": 0}
        if m.is_local:
            self.local(out, m, v, data)
        extra = m.cextra
        if m.zip64 & 2:
            extra = struct.pack("<HHQQQ", 1, 24, c["usize"], c["csize"], at) + extra
            c |= {"usize": 0xFFFFFFFF, "csize": 0xFFFFFFFF, "offset": 0xFFFFFFFF, "version": 45}
        c["elen"] = len(extra)
        return pack(CENTRAL, c | m.central) + m.name + extra + m.comment

    def local(self, out, m, v, data):
        extra, name = m.lextra, m.name if m.lname is None else m.lname
        crc = zlib.crc32(m.body)
        if m.zip64 & 1:
            extra = struct.pack("<HHQQ", 1, 16, len(m.body), len(data)) + extra
            v |= {"usize": 0xFFFFFFFF, "csize": 0xFFFFFFFF, "version": 45}
        if m.align:
            here = len(out) + 30 + len(name) + len(extra)
            pad = -(here + 4) % m.align
            extra += b"FB" + struct.pack("<H", pad) + b"Z" * pad
        v["nlen"], v["elen"] = len(name), len(extra)
        out += pack(LOCAL, v | m.local) + name + extra + data
        if m.descriptor:
            form = "<III" if m.descriptor != 2 else "<IQQ"
            if m.descriptor != 3:
                out += b"PK\x07\x08"
            out += struct.pack(form, crc, len(data), len(m.body))
        out += m.tail

    def ends(self, out, base, n, start, size):
        v = {"sig": 0x06054B50, "disk": 0, "cddisk": 0, "here": n, "entries": n, "size": size, "offset": start, "clen": len(self.comment)}
        if self.zip64:
            at = len(out) - base
            out += pack(END64, v | {"sig": 0x06064B50, "length": 44, "made": 45, "version": 45} | self.end64)
            out += pack(LOCATOR, {"sig": 0x07064B50, "disk": 0, "offset": at, "disks": 1} | self.locator)
            if self.zip64 == 2:
                v |= {"here": 0xFFFF, "entries": 0xFFFF, "size": 0xFFFFFFFF, "offset": 0xFFFFFFFF}
        out += pack(END, v | self.end) + self.comment


def parse(data):
    """The model of an honest archive: members with their bodies, order of the
    file. None if it is none."""
    import io
    import zipfile
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as z:
            members = []
            for i in sorted(z.infolist(), key=lambda i: i.header_offset):
                align = 64 if data[i.header_offset + 30 + len(i.orig_filename.encode()):][:2] == b"FB" else 0
                members.append(Member(i.orig_filename.encode(), z.read(i), i.compress_type if i.compress_type == 8 else 0, align=align,
                                      descriptor=1 if i.flag_bits & 8 else 0))
            return Archive(members, comment=z.comment)
    except Exception:
        return None


# ---- mutation

INTERESTING = (0, 1, 2, 3, 7, 8, 20, 45, 63, 64, 0x7F, 0x80, 0xFF, 0x100, 0x800, 0x7FFF, 0x8000, 0xFFFE, 0xFFFF, 0x10000, 0x7FFFFFFF,
               0x80000000, 0xFFFFFFFE, 0xFFFFFFFF, 0x100000000, 0x7FFFFFFFFFFFFFFF, 0xFFFFFFFFFFFFFFFF)
FLAGS = (0, 1, 2, 4, 6, 8, 0x20, 0x40, 0x800, 0x808, 0x80E, 0x2000)


def number(r, name):
    if name == "flags":
        return r.choice(FLAGS)
    if name == "method":
        return r.choice((0, 8, 9, 12, 14, 93, 1))
    return r.choice(INTERESTING) if r.random() < 0.6 else r.randrange(0, 200)


def name(r, old):
    """Another spelling of a name."""
    k = r.randrange(12)
    folder, _, last = old.rpartition(b"/")
    return [old.upper(), old.swapcase(), old.lower(), b"./" + old, b"/" + old, old + b"/", old + b"\0", old.replace(b"/", b"\\"), last, b"x/" + old,
            old + b"\0.npy", folder + b"//" + last][k]


NAMES = (b"archive/data.pkl", b"archive/DATA.PKL", b"archive/version", b"archive/byteorder", b"archive/BYTEORDER", b"archive/data/0", b"archive/DATA/0",
         b"archive/.data/version", b"archive/.data/serialization_id", b"archive/constants.pkl", b"archive/CONSTANTS.PKL", b"archive/code/__torch__.py",
         b"archive/.format_version", b"archive/.storage_alignment", b"archive/attributes.pkl", b"archive/extra/x", b"version", b"data.pkl", b"a.npy", b"A.NPY",
         b"a", b"a.npy/b", b"other/data.pkl", b"archive/models/x.json", b"archive/tensors/0", b"archive/bytecode.pkl", b"archive/mobile_debug_handles.pkl")
EXTRAS = (b"FB\0\0", b"FB\x04\0ZZZZ", b"\x01\0\x10\0" + bytes(16), b"\x01\0\x08\0" + bytes(8), b"\x01\0\0\0", b"up\x06\0\x01" + bytes(4) + b"x",
          b"\x55\x54\x05\0\x01" + bytes(4), b"x", b"\x99\x99\xff\xff", b"\x75\x70\x05\0\x01\0\0\0\0", b"\xff\xff\0\0", b"\x01\x99\x07\0" + bytes(7))
BODIES = (b"", b"0", b"3\n", b"1\n", b"10\n", b"11\n", b"little", b"big", b"LITTLE", b"little\n", b"\x80\x02}.", b"\x80\x02N.", b"\x80\x02cos\nsystem\n.",
          b"PK\x05\x06" + bytes(18), b"\x93NUMPY\x01\0")


def member_change(r, a):
    m = r.choice(a.members)
    k = r.randrange(16)
    if k == 0:
        f = r.choice(LOCAL)
        m.local[f] = number(r, f)
    elif k == 1:
        f = r.choice(CENTRAL)
        m.central[f] = number(r, f)
    elif k == 2:
        f = r.choice(("flags", "method", "crc", "csize", "usize", "version", "time", "date"))
        m.local[f] = m.central[f] = number(r, f)
    elif k == 3:
        m.name = name(r, m.name) if r.random() < 0.5 else r.choice(NAMES)
    elif k == 4:
        m.lname = name(r, m.name) if r.random() < 0.5 else r.choice(NAMES)
    elif k == 5:
        m.lextra += r.choice(EXTRAS)
    elif k == 6:
        m.cextra += r.choice(EXTRAS)
    elif k == 7:
        m.descriptor = r.randrange(4)
    elif k == 8:
        m.zip64 = r.randrange(4)
    elif k == 9:
        m.method = 8 if m.method == 0 else 0
    elif k == 10:
        m.body = r.choice(BODIES) if r.random() < 0.5 else spoil(r, m.body)
    elif k == 11:
        m.comment = r.choice((b"c", b"PK\x05\x06" + bytes(18), bytes(40)))
    elif k == 12:
        m.gap = r.choice((b"x", b"PK\x03\x04", bytes(30)))
    elif k == 13:
        m.tail = r.choice((b"x", b"PK\x07\x08" + bytes(12), bytes(16)))
    elif k == 14:
        m.align = r.choice((0, 16, 64, 4096))
    else:
        m.is_local, m.is_central = r.choice(((True, False), (False, True)))


def archive_change(r, a):
    k = r.randrange(13)
    if k == 0:
        a.prefix, a.shift = r.choice((b"x", b"PK\x03\x04", b"#!/bin/sh\n", bytes(512), b"\x80\x02]q.")), r.random() < 0.5
    elif k == 1:
        a.suffix = r.choice((b"x", bytes(22), b"PK\x05\x06" + bytes(18), b"\0" * 100))
    elif k == 2:
        a.comment = r.choice((b"c", b"PK\x05\x06" + bytes(18), b"PK\x05\x06" + bytes(17), bytes(65535)))
    elif k == 3:
        a.gap = r.choice((b"x", bytes(20), b"PK\x01\x02"))
    elif k == 4:
        a.endgap = r.choice((b"x", b"PK\x06\x07" + bytes(16), bytes(20)))
    elif k == 5:
        a.zip64 = r.randrange(3)
    elif k == 6:
        f = r.choice(END)
        a.end[f] = number(r, f)
    elif k == 7:
        a.zip64 = a.zip64 or r.randrange(1, 3)
        f = r.choice(END64)
        a.end64[f] = number(r, f)
    elif k == 8:
        a.zip64 = a.zip64 or r.randrange(1, 3)
        f = r.choice(LOCATOR)
        a.locator[f] = number(r, f)
    elif k == 9:
        a.order = [r.randrange(len(a.members)) for _ in a.members] if r.random() < 0.3 else r.sample(range(len(a.members)), len(a.members))
    elif k == 10:
        a.members.insert(r.randrange(len(a.members) + 1), Member(r.choice(NAMES), r.choice(BODIES), r.choice((0, 8))))
    elif k == 11:
        a.members.append(dataclasses.replace(r.choice(a.members)))
    else:
        a.members.pop(r.randrange(len(a.members)))


def mutate(r, a):
    for _ in range(r.choice((1, 1, 1, 2, 2, 3))):
        if a.members and r.random() < 0.65:
            member_change(r, a)
        elif a.members:
            archive_change(r, a)
    return a


def spoil(r, data):
    """One change of some bytes."""
    if not data:
        return r.choice((b"\0", b"x"))
    data, i = bytearray(data), r.randrange(len(data))
    k, n = r.randrange(7), r.choice((1, 1, 2, 4, 8, 16))
    if k == 0:
        data[i] ^= 1 << r.randrange(8)
    elif k == 1:
        data[i] = r.choice((0, 1, 0x7F, 0x80, 0xFF, 10, 46, 47)) if r.random() < 0.5 else r.randrange(256)
    elif k == 2:
        del data[i:i + n]
    elif k == 3:
        data[i:i] = data[i:i + n]
    elif k == 4:
        data[i:i] = r.randbytes(n)
    elif k == 5:
        w = r.choice((1, 2, 4, 8))
        data[i:i + w] = (r.choice(INTERESTING) & (1 << 8 * w) - 1).to_bytes(w, r.choice(("little", "big")))
    else:
        j = r.randrange(len(data))
        data[i:i + n], data[j:j + n] = data[j:j + n], data[i:i + n]
    return bytes(data)
