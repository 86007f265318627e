"""safetensors: headers of every spelling over bodies of every layout."""
import json
import struct

from . import zips

TYPES = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "I64": 8, "I32": 4, "I16": 2, "I8": 1, "U8": 1, "U16": 2, "U32": 4, "U64": 8, "BOOL": 1, "F8_E4M3": 1, "F8_E5M2": 1,
         "F8_E8M0": 1, "C64": 8, "F8_E4M3FNUZ": 1, "F8_E5M2FNUZ": 1}
ODD_TYPES = ["F4", "F6_E2M3", "F6_E3M2", "f32", "F128", "", "I4", "C128", "F32 ", "BF16\\u0000", "F\\u00332"]
NAMES = ["a", "b", "w", "model.layers.0.weight", "\u00e9", "e\u0301", "\U0001f600", "x y", "", "A", "__metadata__", "a\\u0000", "\\u0061", "\\ud83d\\ude00", "\\ud800", "a\\/b", "a\\tb", "\\\""]
NUMBERS = ["0", "1", "2", "4", "-0", "-1", "01", "1.0", "1e0", "1E2", "0.0", "18446744073709551615", "18446744073709551616", "9223372036854775808", "4294967296", "+1", "null",
           "\"1\"", "true", "[]", "1e400", "0x1", "-"]
SPACES = ["", "", "", "", " ", "\t", "\n", "\r\n", "\x0b", "\u00a0", "\ufeff", "//x\n"]


def rare(r, p, usual, others):
    return r.choice(others) if r.random() < p else usual


def header(r):
    """A header and how long its body is. Each field is now and then another."""
    p = r.choice((0, 0.01, 0.03, 0.1))
    entries, at = [], 0
    if r.random() < 0.3:
        pairs = [text(r, k) + ":" + rare(r, p, text(r, "v"), ["1", "null", "{}", "[]", "true"]) for k in r.sample(("format", "a", "b", "\u00e9"), r.randrange(3))]
        entries.append('"__metadata__":' + rare(r, p, "{" + ",".join(pairs) + "}", ["null", "[]", "1", "{}", '{"a":"1","a":"2"}']))
    for name in r.sample(NAMES[:10], r.randrange(5)) if r.random() > p else [r.choice(NAMES) for _ in range(3)]:
        dtype = rare(r, p, r.choice(list(TYPES)), ODD_TYPES)
        shape = [r.choice((0, 1, 1, 2, 3)) for _ in range(r.randrange(4))]
        size = TYPES.get(dtype, 1)
        for d in shape:
            size *= d
        begin = rare(r, p, at, [at + 1, at - 1, 0, at + 8])
        end = rare(r, p, begin + size, [begin, begin + size + 1, begin + size - 1])
        at += size
        entries.append(entry(r, p, name, dtype, shape, begin, end))
    if r.random() < 0.4:
        r.shuffle(entries)
    if r.random() < p and entries:
        entries.append(r.choice(entries))
    space = r.choice(SPACES) if r.random() < p else ""
    out = rare(r, p, "{", ["[", "", " {", "{{"]) + space + (space + "," + space).join(entries) + rare(r, p, "}", [",}", "", "}}", "]", "} x", "}\0", "}\n", "}\t"])
    return out, at


def text(r, s):
    if r.random() < 0.03 and s and "\\" not in s:
        return '"' + "".join(f"\\u{ord(c):04x}" if ord(c) < 0x10000 else c for c in s) + '"'
    return '"' + s + '"'


def entry(r, p, name, dtype, shape, begin, end):
    sizes = "[" + ",".join(rare(r, p, str(n), NUMBERS) for n in shape) + "]"
    offsets = "[" + rare(r, p, str(begin), NUMBERS) + "," + rare(r, p, str(end), NUMBERS) + rare(r, p, "", [",0", ",", ",1,2"]) + "]"
    fields = [f'"dtype":"{dtype}"', f'"shape":{rare(r, p, sizes, ["null", "{}", "1", "[1,]"])}', f'"data_offsets":{rare(r, p, offsets, ["null", "[]", "[0]"])}']
    if r.random() < 0.2:
        r.shuffle(fields)
    if r.random() < p:
        fields.append(r.choice(('"x":1', '"dtype":"U8"', '"Dtype":"F32"', '"shape":[1]', '"data_offsets":[0,0]', '"dtype":"F32"')))
    if r.random() < p:
        fields.pop(r.randrange(len(fields)))
    return text(r, name) + ":{" + ",".join(fields) + "}"


def whole(r, seeds):
    head, n = header(r)
    raw = head.encode("utf-8", "surrogatepass")
    if r.random() < 0.7:
        raw += b" " * (-len(raw) % 8)
    size = len(raw) if r.random() < 0.98 else len(raw) + r.choice((1, -1, 8, 1 << 40))
    body = r.randbytes(max(0, n if r.random() < 0.97 else n + r.choice((1, -1, 8))))
    return struct.pack("<Q", size & (1 << 64) - 1) + raw + body


def of_bytes(r, seeds):
    return zips.spoil(r, seeds.pick(r))


def of_header(r, seeds):
    """Bytes of the header, with its length put right."""
    data = seeds.pick(r)
    size = int.from_bytes(data[:8], "little")
    if not 0 < size <= len(data) - 8:
        return zips.spoil(r, data)
    head = data[8:8 + size]
    if r.random() < 0.4:
        head = swap_value(r, head)
    else:
        head = zips.spoil(r, head)
    return struct.pack("<Q", len(head)) + head + data[8 + size:]


def swap_value(r, head):
    """One value of the header is another's."""
    try:
        tree = json.loads(head)
        names = list(tree)
        a, b = tree[r.choice(names)], tree[r.choice(names)]
        key = r.choice(list(a))
        a[key] = b.get(key, r.choice((None, 0, "x", [], {})))
        return json.dumps(tree, ensure_ascii=r.random() < 0.5, separators=(",", ":")).encode("utf-8", "surrogatepass")
    except Exception:
        return zips.spoil(r, head)


GENERATORS = [(6, whole), (3, of_header), (1, of_bytes)]
