"""Pickles as lists of instructions, and what can be done to those."""
import pickletools
import struct

CODES = {o.code.encode("latin1"): o for o in pickletools.opcodes}
NOARG = [c for c, o in CODES.items() if o.arg is None]


def split(data):
    """The instructions of a pickle, each as its bytes, and what follows STOP. None if it is no pickle."""
    try:
        places = [pos for _, _, pos in pickletools.genops(data)]
    except Exception:
        return None
    end = places[-1] + 1
    return [data[a:b] for a, b in zip(places, places[1:] + [end])], data[end:]


def text(s):
    return b"X" + struct.pack("<I", len(s)) + s


def integer(n):
    if 0 <= n < 256:
        return b"K" + bytes([n])
    if -1 << 31 <= n < 1 << 31:
        return b"J" + struct.pack("<i", n)
    raw = n.to_bytes(n.bit_length() // 8 + 1, "little", signed=True)
    return b"\x8a" + bytes([len(raw)]) + raw


INTS = (0, 1, 2, 3, 4, 7, 8, -1, 255, 1 << 31, (1 << 31) - 1, 1 << 63, (1 << 64) - 1, 1 << 64)
TEXTS = (b"cpu", b"meta", b"cuda:0", b"storage", b"0", b"1", b"a", b"w", b"conj", b"neg", b"data", b"real", b"keys", b"items", b"_metadata", b"torch.sparse_coo",
         b"torch.strided", b"latin1", b"__dict__", b"requires_grad", b"little", b"")
GLOBALS = [b"torch._utils\n" + n for n in (b"_rebuild_tensor", b"_rebuild_tensor_v2", b"_rebuild_tensor_v3", b"_rebuild_parameter", b"_rebuild_qtensor",
           b"_rebuild_sparse_tensor", b"_rebuild_meta_tensor_no_storage", b"_rebuild_parameter_with_state", b"_rebuild_device_tensor_from_numpy",
           b"_rebuild_device_tensor_from_cpu_tensor", b"_rebuild_wrapper_subclass", b"_rebuild_nested_tensor", b"_rebuild_sparse_csr_tensor")]
GLOBALS += [b"torch\n" + n for n in (b"FloatStorage", b"LongStorage", b"HalfStorage", b"ByteStorage", b"BoolStorage", b"QInt8Storage", b"float32", b"int64",
            b"float16", b"uint8", b"qint8", b"float8_e4m3fn", b"Size", b"device", b"Tensor", b"FloatTensor", b"per_tensor_affine")]
GLOBALS += [b"torch.storage\nUntypedStorage", b"torch.storage\nTypedStorage", b"torch.nn.parameter\nParameter", b"torch._tensor\n_rebuild_from_type_v2",
            b"torch.serialization\n_get_layout", b"collections\nOrderedDict", b"collections\nCounter", b"collections\ndefaultdict", b"collections\ndeque",
            b"builtins\nset", b"builtins\nbytearray", b"builtins\ncomplex", b"builtins\nfrozenset", b"builtins\nslice", b"builtins\nrange", b"__builtin__\nset",
            b"builtins\ndict", b"builtins\nlist", b"_codecs\nencode", b"argparse\nNamespace", b"types\nSimpleNamespace", b"datetime\ndate", b"pathlib\nPosixPath",
            b"torch.torch_version\nTorchVersion", b"numpy\ndtype", b"numpy\nndarray", b"numpy._core.multiarray\nscalar", b"numpy._core.multiarray\n_reconstruct",
            b"os\nsystem", b"builtins\neval"]


def fresh(r):
    """One instruction at random."""
    k = r.randrange(8)
    if k < 3:
        return r.choice(NOARG)
    if k == 3:
        return integer(r.choice(INTS))
    if k == 4:
        return text(r.choice(TEXTS))
    if k == 5:
        return b"c" + r.choice(GLOBALS) + b"\n"
    if k == 6:
        return b"h" + bytes([r.randrange(16)])
    return b"q" + bytes([r.randrange(16)])


def another(r, op):
    """An instruction of the same kind with another operand."""
    code = op[:1]
    if code in b"KMJI\x8aL":
        return integer(r.choice(INTS))
    if code in b"XU\x8cTVS\x8d":
        return text(r.choice(TEXTS))
    if code == b"c":
        return b"c" + r.choice(GLOBALS) + b"\n"
    if code in b"hq":
        return code + bytes([r.randrange(16)])
    if code in b"\x88\x89NKJ":
        return r.choice((b"\x88", b"\x89", b"N", b"K\0"))
    return fresh(r)


def mutate(r, ops):
    """A few changes; the last instruction, which is STOP, stays."""
    ops = list(ops)
    for _ in range(r.choice((1, 1, 1, 2, 3))):
        n = max(1, len(ops) - 1)
        i, j = r.randrange(n), r.randrange(n)
        k = r.randrange(10)
        if k < 3:
            ops[i] = another(r, ops[i])
        elif k == 3:
            del ops[i]
        elif k == 4:
            ops.insert(i, fresh(r))
        elif k == 5:
            ops.insert(j, ops[i])
        elif k == 6:
            ops[i], ops[j] = ops[j], ops[i]
        elif k == 7:
            # A run of instructions once more: aliases, equal keys.
            run = ops[i:i + r.randrange(1, 12)]
            ops[j:j] = run
        elif k == 8:
            # Late: something of the memo changes before the end.
            ops[n:n] = late(r)
        else:
            ops[i:i + r.randrange(1, 6)] = []
        if not ops:
            return [b"N", b"."]
    return ops


def late(r):
    get = b"h" + bytes([r.randrange(12)])
    value = r.choice(([b"h" + bytes([r.randrange(12)])], [integer(r.choice(INTS))], [text(r.choice(TEXTS))], [b"N"], [b"}"]))
    key = [text(r.choice(TEXTS))] if r.random() < 0.6 else [integer(r.choice(INTS))]
    k = r.randrange(5)
    if k == 0:
        return [get, *value, b"a", b"0"]
    if k == 1:
        return [get, *key, *value, b"s", b"0"]
    if k == 2:
        return [get, b"}", *key, *value, b"s", b"b", b"0"]
    if k == 3:
        return [get, b"(", *value, *value, b"e", b"0"]
    return [get, *value, b"b", b"0"]
