"""NumPy's files: headers of every field and spelling, and archives of them."""
import dataclasses
import struct

from . import zips

CODES = ["<f4", ">f4", "<f8", "<i8", ">i8", "<i4", "|i1", "|u1", "<u2", ">u2", "|b1", "<f2", "<c8", ">c16", "<f4", "<i4"]
ODD_CODES = ["=f4", "f4", "|f4", "<i1", ">u1", "<b1", "|i8", "<V2", "|V2", "|V1", "|V3", "<U2", "|S3", "|O", "<M8[ns]", "<m8", "<f16", "<c32", "<f1", "<f0", "float32", "i",
             "|V0", "<f4 ", " <f4", "<F4", "<u8,<u8", "2<f4", "(2,)<f4", "<q", "<l", "@f4", "<?", "|b", "B", "<f", "<4f", "f<4"]
WIDTH = {c: int(c[2:]) for c in CODES}


def literal(r, code, fortran, shape):
    """The dict, sometimes in a spelling of its own."""
    keys = [("descr", quote(r, code)), ("fortran_order", fortran), ("shape", shape)]
    if r.random() < 0.2:
        r.shuffle(keys)
    if r.random() < 0.04:
        keys.append(r.choice([("descr", "'<f8'"), ("extra", "1"), ("shape", "(1,)")]))
    if r.random() < 0.03:
        keys.pop(r.randrange(3))
    q = r.choice("''''\"")
    colon, comma = (": ", ", ") if r.random() < 0.8 else r.choice(((":", ","), (" : ", " , "), (":\n", ",\t"), (": ", ", \\\n")))
    text = "{" + comma.join(q + k + q + colon + v for k, v in keys)
    text += r.choice((", }", ", }", ", }", "}", ",}", " }", ", } ", ",,}", "", ", }\\", ", }#"))
    if r.random() < 0.05:
        text = r.choice((" ", "(", "\ufeff", "#\n", "\t", "\x0c")) + text
    return text


def quote(r, code):
    if r.random() < 0.9:
        return repr(code)
    return r.choice((f'"{code}"', f"u'{code}'", f"b'{code}'", f"r'{code}'", f"'{code[:1]}' '{code[1:]}'", f"('{code}')", f"'''{code}'''", code, f"'\\x3cf4'",
                     f"[('a', '{code}')]", f"[('', '{code}')]", f"('{code}', (2,))", f"'\\74f4'", f"'\\N{{LESS-THAN SIGN}}f4'"))


def sizes(r, shape):
    if r.random() < 0.85:
        return repr(tuple(shape))
    n = r.choice(("1", "2", "0"))
    return r.choice((f"[{n}]", f"({n})", n, f"({n}L,)", f"(0{n},)", f"(+{n},)", f"(-{n},)", f"({n}.0,)", f"({n}, )", f"(True,)", f"(0x{n},)", f"(1_{n},)", "()", "None", "(None,)",
                     f"({n},,)", f"( {n} , {n} )", f"({n}e0,)", f"(-{n}+{n},)", f"({n}+0j,)", "(,)", f"({n}\n,)", f"(0b{n},)", f"(0o{n},)", f"(-0,)", f"(00,)"))


def header(r, text, version=None):
    version = version or r.choice((1, 1, 1, 1, 2, 3, 0, 4, 5, 255)) if r.random() < 0.3 else version or 1
    raw = text.encode("utf-8" if version == 3 or r.random() < 0.5 else "latin1", "replace")
    wide = version in (2, 3)
    if r.random() < 0.9:
        raw += b" " * (-(len(raw) + (12 if wide else 10) + 1) % 64)
    raw += b"\n" if r.random() < 0.97 else b""
    size = len(raw) if r.random() < 0.97 else len(raw) + r.choice((1, -1, 2))
    minor = 0 if r.random() < 0.98 else 1
    return b"\x93NUMPY" + bytes([version, minor]) + struct.pack("<I" if wide else "<H", size) + raw


def array(r, seeds):
    code = r.choice(CODES) if r.random() < 0.85 else r.choice(ODD_CODES)
    shape = [r.choice((0, 1, 1, 2, 3, 4)) for _ in range(r.choice((0, 1, 1, 2, 2, 3)))]
    fortran = r.choice(("False", "False", "True")) if r.random() < 0.95 else r.choice(("0", "1", "None", "true", "not True", "'a'", "False or True"))
    width = WIDTH.get(code, r.choice((1, 2, 4)))
    n = width
    for d in shape:
        n *= d
    body = r.randbytes(n) if code != "|b1" else bytes(r.randrange(2 if r.random() < 0.9 else 256) for _ in range(n))
    if r.random() < 0.04:
        body = body[:-1] if r.random() < 0.5 else body + b"\0"
    return header(r, literal(r, code, fortran, sizes(r, shape))) + body


def of_bytes(r, seeds):
    return zips.spoil(r, seeds.pick(r))


def of_header(r, seeds):
    """Bytes of the header alone: most of a seed's own fields stay."""
    data = seeds.pick(r)
    return zips.spoil(r, data[:128]) + data[128:]


GENERATORS = [(6, array), (2, of_header), (1, of_bytes)]

NAMES = (b"a.npy", b"b.npy", b"c.npy", b"w.npy", b"x/y.npy", b"arr_0.npy", b"a b.npy", b"a.npy.npy", b"0.npy", b".npy", "\u00fc.npy".encode())
ODD_NAMES = NAMES + (b"A.npy", b"a", b"a.NPY", b"README", b"a.npy/", b"b.npy/c.npy", b"data.pkl", b"x/data.pkl", b"x/version", b"x/data/0", b"..npy", b"./a.npy", b"\xff.npy")


def bundle(r, seeds):
    """An npz, mostly as numpy.savez writes it."""
    members = []
    for name in r.sample(NAMES, r.randrange(1, 5)) if r.random() < 0.8 else [r.choice(ODD_NAMES) for _ in range(r.randrange(1, 5))]:
        body = plain(r) if r.random() < 0.85 else array(r, seeds)
        members.append(zips.Member(name, body, r.choice((0, 0, 8)), descriptor=r.choice((0, 0, 0, 1, 2)), zip64=r.choice((0, 0, 1, 2, 3))))
    a = zips.Archive(members, zip64=r.choice((0, 0, 0, 1, 2)))
    return a if r.random() < 0.3 else zips.mutate(r, a)


def plain(r):
    n = r.randrange(4)
    return header(r, f"{{'descr': '{r.choice(('<f4', '<i4', '>i4'))}', 'fortran_order': {r.choice((True, False))}, 'shape': ({n},), }}", 1) + r.randbytes(4 * n)


def of_bundle(r, seeds):
    return bundle(r, seeds).bytes()


def of_seed(r, seeds):
    a = seeds.parsed(seeds.pick(r), zips.parse)
    if a is None:
        return of_bytes(r, seeds)
    a = dataclasses.replace(a, members=[dataclasses.replace(m, local=dict(m.local), central=dict(m.central)) for m in a.members])
    return zips.mutate(r, a).bytes()


ARCHIVES = [(6, of_bundle), (3, of_seed), (1, of_bytes)]
