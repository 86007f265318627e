"""Honest checkpoints: what torch.save writes, and what must be found in it.

    python generate.py    writes the files beside this script and testdata/pth/golden.json

cases() yields Case rows; flatten() says which tensors a loaded object holds,
under the names that parser/pth gives them. Nothing here reads a file that it
did not write itself.
"""

import collections
import dataclasses
import io
import json
import pathlib
import warnings

import numpy as np
import torch

warnings.simplefilter("ignore")

# torch's types and the names that the parser gives them. Types that are not
# here keep torch's own name.
NAMES = {
    torch.bool: "BOOL", torch.uint8: "U8", torch.int8: "I8",
    torch.uint16: "U16", torch.int16: "I16", torch.uint32: "U32", torch.int32: "I32",
    torch.uint64: "U64", torch.int64: "I64",
    torch.float16: "F16", torch.bfloat16: "BF16", torch.float32: "F32", torch.float64: "F64",
    torch.complex32: "C32", torch.complex64: "C64", torch.complex128: "C128",
    torch.float8_e4m3fn: "F8_E4M3", torch.float8_e5m2: "F8_E5M2",
    torch.float8_e4m3fnuz: "F8_E4M3FNUZ", torch.float8_e5m2fnuz: "F8_E5M2FNUZ",
    torch.float8_e8m0fnu: "F8_E8M0", torch.float4_e2m1fn_x2: "F4",
    torch.qint8: "QI8", torch.quint8: "QU8", torch.qint32: "QI32",
    torch.quint4x2: "QU4X2", torch.quint2x4: "QU2X4",
}

# Elements of a byte.
PACKED = {torch.quint4x2: 2, torch.quint2x4: 4}

# Types of which torch can make a tensor from raw bytes, with their size.
RAW = {
    torch.bool: 1, torch.uint8: 1, torch.int8: 1, torch.uint16: 2, torch.int16: 2,
    torch.uint32: 4, torch.int32: 4, torch.uint64: 8, torch.int64: 8,
    torch.float16: 2, torch.bfloat16: 2, torch.float32: 4, torch.float64: 8,
    torch.complex32: 4, torch.complex64: 8, torch.complex128: 16,
    torch.float8_e4m3fn: 1, torch.float8_e5m2: 1, torch.float8_e4m3fnuz: 1,
    torch.float8_e5m2fnuz: 1, torch.float8_e8m0fnu: 1, torch.float4_e2m1fn_x2: 1,
    torch.bits8: 1, torch.bits16: 2, torch.bits1x8: 1, torch.bits2x4: 1, torch.bits4x2: 1,
    torch.bcomplex32: 4,
}


@dataclasses.dataclass
class Case:
    name: str
    make: object  # () -> what is saved
    legacy: bool = True  # torch.save can write it in the old format, too
    commit: bool = False  # small enough, and typical enough, to live in the repository


def noise(seed, *shape, dtype=torch.float32):
    """Random bytes as a tensor of any type; bools stay 0 and 1."""
    size = RAW[dtype]
    count = int(np.prod(shape)) if shape else 1
    data = np.random.default_rng(seed).integers(0, 2 if dtype == torch.bool else 256, count * size, dtype=np.uint8)
    return torch.from_numpy(data).view(dtype)[:count].reshape(shape)


def quantized(kind, dtype, rows=4, cols=8):
    x = torch.from_numpy(np.random.default_rng(7).standard_normal((rows, cols)).astype(np.float32))
    if kind == "tensor":
        return torch.quantize_per_tensor(x, 0.05, 3, dtype)
    if kind == "channel":
        return torch.quantize_per_channel(x, torch.linspace(0.01, 0.1, rows, dtype=torch.float64), torch.arange(rows), 0, dtype)
    return torch.quantize_per_channel(x, torch.linspace(0.01, 0.1, rows), torch.linspace(0, 3, rows), 0, dtype)


class Old:
    """Pickles as a call that today's torch.save no longer writes."""

    def __init__(self, func, *args):
        self.call = func, args

    def __reduce__(self):
        return self.call


def model():
    torch.manual_seed(1)
    return torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4), torch.nn.Linear(4, 2, bias=False))


def trained():
    m = model()
    opt = torch.optim.Adam(m.parameters(), lr=1e-3)
    sched = torch.optim.lr_scheduler.StepLR(opt, 1)
    m(torch.ones(5, 3)).sum().backward()
    opt.step()
    sched.step()
    return m, opt, sched


def checkpoint():
    m, opt, sched = trained()
    return {
        "epoch": 3, "loss": 0.25, "note": "caf\u00e9 \u6a21\u578b", "done": False, "best": None, "seed": 2**70,
        "state_dict": m.state_dict(), "optimizer": opt.state_dict(), "lr_scheduler": sched.state_dict(),
        "config": {"layers": [3, 4, 2], "act": ("relu", 1.5), "tags": {"a"}},
    }


def tied():
    w = noise(3, 4, 4)
    return {"wte.weight": w, "lm_head.weight": w, "row": w[1], "col": w[:, 2], "block": w[1:3, 1:3], "all": w.view(16)}


def with_attributes():
    t = noise(4, 2, 2)
    t.scale, t.label = noise(5, 3), "w"
    p = torch.nn.Parameter(noise(6, 2))
    p.mask = noise(8, 2, dtype=torch.bool)
    return {"t": t, "p": p}


def sparse(layout):
    dense = torch.tensor([[0, 1.5, 0, 2], [0, 0, 0, 0], [3, 0, 0, 4], [0, 5, 6, 0]])
    return {
        "coo": lambda: dense.to_sparse(),
        "coo1": lambda: dense.to_sparse(1),
        "uncoalesced": lambda: torch.sparse_coo_tensor([[0, 0, 1], [1, 1, 2]], [1.0, 2.0, 3.0], (4, 4)),
        "empty": lambda: torch.sparse_coo_tensor(size=(3, 4)),
        "csr": lambda: dense.to_sparse_csr(),
        "csc": lambda: dense.to_sparse_csc(),
        "bsr": lambda: dense.to_sparse_bsr((2, 2)),
        "bsc": lambda: dense.to_sparse_bsc((2, 2)),
        "batched": lambda: torch.stack([dense, dense]).to_sparse_csr(),
        "csr32": lambda: torch.sparse_csr_tensor(
            torch.tensor([0, 1, 1], dtype=torch.int32), torch.tensor([2], dtype=torch.int32), torch.tensor([1.0]), (2, 3)),
    }[layout]()


def numpy_state():
    return {
        "scalar": np.float64(3.5), "int": np.int64(-2), "flag": np.bool_(True), "half": np.float16(0.5),
        "array": np.arange(6, dtype=np.float32).reshape(2, 3), "fortran": np.asfortranarray(np.arange(6).reshape(2, 3)),
        "rng": np.random.RandomState(0).get_state(), "dtype": np.dtype("<f4"), "w": noise(9, 2),
    }


def collections_state():
    return {
        "dd": collections.defaultdict(int, a=1), "counter": collections.Counter("aab"), "deque": collections.deque([1, noise(1, 2)]),
        "od": collections.OrderedDict(x=noise(2, 2)), "set": {1, 2}, "bytes": b"ab\xff", "bytearray": bytearray(b"zz"),
        "complex": 1 + 2j, "empty": [(), [], {}, "", b""],
    }


def torch_values():
    return {
        "size": torch.Size([1, 2]), "device": torch.device("cpu"), "dtype": torch.float16, "layout": torch.sparse_csr,
        "qscheme": torch.per_tensor_affine, "rng": torch.get_rng_state()[:8].clone(), "meta": torch.empty(2, 3, device="meta"),
    }


def strided():
    base = noise(11, 4, 6)
    return {
        "transposed": base.t(), "column": base[:, 3], "steps": base[::2, ::3], "permuted": noise(12, 2, 3, 4).permute(2, 0, 1),
        "channels_last": noise(13, 2, 3, 4, 5).contiguous(memory_format=torch.channels_last),
        "expanded": noise(14, 3, 1).expand(3, 5), "scalar_expanded": noise(15).expand(2, 3),
        "windows": noise(16, 8).unfold(0, 3, 1), "diagonal": base.diagonal(), "offset": base[2:], "last": base[3, 5],
    }


def odd_shapes():
    return {
        "scalar": noise(1), "one": noise(2, 1), "empty": torch.empty(0), "empty2": torch.empty(5, 0), "empty3": torch.empty(0, 3, 2),
        "ones": noise(3, 1, 1, 1, 1, 1), "empty_view": noise(4, 4)[4:], "nine": noise(5, 1, 2, 1, 2, 1, 2, 1, 2, 1),
    }


def names():
    return {
        "": noise(1, 1), "a.b": noise(2, 1), "a": {"c": noise(3, 1)}, " ": noise(4, 1), "\u00fc\u0442": noise(5, 1), "x/y": noise(6, 1),
        "list": [noise(7, 1), (noise(8, 1), [noise(9, 1)])], 5: noise(10, 1), -1: noise(11, 1), None: noise(12, 1), True: noise(13, 1),
    }


def colliding():
    return {"a": {"b": noise(1, 1)}, "a.b": noise(2, 1), 0: noise(3, 1), "0": noise(4, 1), "l": [noise(5, 1)], "l.0": noise(6, 1), "plain.c": noise(7, 1)}


def views():
    c, d = noise(21, 3, dtype=torch.complex64), noise(22, 3, dtype=torch.complex128)
    return {"conj": c.conj(), "plain": c, "part": c.conj()[1:], "neg": torch.imag(d.conj()), "steps": torch.imag(d.conj())[::2],
            "int": torch._neg_view(noise(23, 3, dtype=torch.int16)), "both": torch._neg_view(noise(24, 2, dtype=torch.complex64).conj())}


def cases():
    every = {str(d).removeprefix("torch."): noise(i, 2, 4, dtype=d) for i, d in enumerate(RAW)}
    typed = {k: v for k, v in every.items() if v.dtype not in torch.storage._new_dtypes()}
    yield Case("every-dtype", lambda: every, commit=True)
    yield Case("typed-dtypes", lambda: typed, commit=True)
    for name, t in every.items():
        yield Case("dtype-" + name, lambda t=t: {"t": t, "scalar": t[0, 0].clone(), "view": t[1:, 1::2]})
    for kind, dtypes in (("tensor", (torch.qint8, torch.quint8, torch.qint32)), ("channel", (torch.qint8, torch.quint8, torch.qint32)),
                         ("float", (torch.qint8, torch.quint8, torch.quint4x2, torch.quint2x4))):
        for d in dtypes:
            yield Case(f"quantized-{kind}-{str(d)[6:]}", lambda k=kind, d=d: {"q": quantized(k, d)}, commit=d in (torch.qint8, torch.quint4x2))
    yield Case("quantized-odd", lambda: {"q": quantized("float", torch.quint4x2, 3, 5), "r": quantized("float", torch.quint2x4, 3, 5)})
    for layout in ("coo", "coo1", "uncoalesced", "empty", "csr", "csc", "bsr", "bsc", "batched", "csr32"):
        yield Case("sparse-" + layout, lambda n=layout: {"s": sparse(n), "dense": noise(2, 2)}, commit=layout in ("coo", "csr", "bsc", "batched", "csr32"))
    yield Case("checkpoint", checkpoint, commit=True)
    yield Case("state-dict", lambda: model().state_dict(), commit=True)
    yield Case("parameters", lambda: dict(model().named_parameters()), commit=True)
    yield Case("adamw", lambda: trained()[1].state_dict(), commit=True)
    yield Case("tied", tied, commit=True)
    yield Case("strided", strided, commit=True)
    yield Case("odd-shapes", odd_shapes, commit=True)
    yield Case("names", names, commit=True)
    yield Case("colliding", colliding, commit=True)
    yield Case("attributes", with_attributes, commit=True)
    yield Case("conj-neg", views, commit=True)
    yield Case("numpy", numpy_state, commit=True)
    yield Case("collections", collections_state, commit=True)
    yield Case("torch-values", torch_values, commit=True)
    yield Case("root-tensor", lambda: noise(1, 2, 3), commit=True)
    yield Case("root-scalar", lambda: noise(1), commit=False)
    yield Case("root-list", lambda: [noise(1, 2), {"x": noise(2, 2)}, 3], commit=True)
    yield Case("root-tuple", lambda: (noise(1, 2), "x"))
    yield Case("root-int-keys", lambda: {0: noise(1, 2), 7: {"exp_avg": noise(2, 2)}}, commit=True)
    yield Case("root-parameter", lambda: torch.nn.Parameter(noise(1, 2)))
    yield Case("root-sparse", lambda: sparse("coo"))
    yield Case("root-none", lambda: None)
    yield Case("root-empty", lambda: {}, commit=True)
    yield Case("buffer", lambda: {"b": torch.nn.Buffer(noise(1, 2))})
    yield Case("storages", lambda: {"s": noise(1, 4)._typed_storage(), "h": noise(2, 4, dtype=torch.float16)._typed_storage()}, commit=True)
    yield Case("storages-packed", lambda: {n: quantized("float", d).storage() for n, d in (("s", torch.quint4x2), ("t", torch.quint2x4))})
    yield Case("untyped-storage", lambda: {"s": noise(1, 4).untyped_storage()})
    yield Case("nested-tensor", lambda: {"n": torch.nested.nested_tensor([noise(1, 2, 3), noise(2, 1, 3)])}, commit=True)
    yield Case("rebuild-v1", lambda: {"w": Old(torch._utils._rebuild_tensor, noise(1, 6)._typed_storage(), 1, (2, 2), (2, 1))}, commit=True)
    yield Case("set-state", lambda: {"w": SetState(noise(1, 6))}, commit=True)
    yield Case("shared-objects", lambda: (lambda t, d: {"a": t, "b": [t, t], "c": d, "d": d})(noise(1, 2), {"x": noise(2, 2)}))
    yield Case("deep", deep)
    yield Case("many", lambda: {f"layers.{i}.weight": noise(i, 2, 2, dtype=torch.bfloat16) for i in range(300)})
    yield Case("wide-frames", lambda: {f"k{i}" * 40: noise(i, 1) for i in range(64)} | {"text": "x" * 100_000})


class SetState:
    """A tensor as torch pickled it before rebuild functions: an empty one and its state."""

    def __init__(self, t):
        self.t = t

    def __reduce__(self):
        return torch.Tensor, (), (self.t._typed_storage(), 0, tuple(self.t.shape), self.t.stride())


def deep():
    o = {"w": noise(1, 2)}
    for i in range(40):
        o = {"d": o} if i % 2 else [o]
    return o


def save(case, legacy, protocol):
    f = io.BytesIO()
    torch.save(case.make(), f, pickle_protocol=protocol, _use_new_zipfile_serialization=not legacy)
    return f.getvalue()


# ---- what the parser must list ----

Leaf = collections.namedtuple("Leaf", "name exact dtype shape data")


def leaves(obj, plain=(), exact=(), seen=()):
    """Every tensor of a loaded object, in the order of the object, each with its raw bytes."""
    if id(obj) in seen:
        return
    here = seen + (id(obj),)
    if isinstance(obj, torch.Tensor):
        yield from tensor_leaves(obj, plain, exact)
        yield from attribute_leaves(obj, plain, exact, here)
    elif isinstance(obj, (torch.TypedStorage, torch.UntypedStorage)):
        typed = obj if isinstance(obj, torch.TypedStorage) else torch.TypedStorage(wrap_storage=obj, dtype=torch.uint8, _internal=True)
        # A storage of packed elements counts bytes, where a tensor counts elements.
        yield leaf(plain, exact, typed.dtype, [typed._size() * PACKED.get(typed.dtype, 1)], bytes(typed._untyped_storage))
    elif isinstance(obj, dict):
        for k, v in obj.items():
            yield from leaves(v, plain + (text(k),), exact + (exact_key(k),), here)
        yield from attribute_leaves(obj, plain, exact, here)
    elif isinstance(obj, (list, tuple, collections.deque)) and not isinstance(obj, torch.Size):
        for i, v in enumerate(obj):
            yield from leaves(v, plain + (str(i),), exact + (f"[{i}]",), here)


def attribute_leaves(obj, plain, exact, seen):
    for k, v in getattr(obj, "__dict__", {}).items():
        if not (isinstance(obj, torch.Tensor) and k.startswith("_backward")):
            yield from leaves(v, plain + (k,), exact + ("@" + escape(k),), seen)


def text(k):
    return k if isinstance(k, str) else repr(k)


def escape(s):
    for c in "\\.[@":
        s = s.replace(c, "\\" + c)
    return s


def exact_key(k):
    return escape(k) if isinstance(k, str) else f"[{k!r}]"


def leaf(plain, exact, dtype, shape, data, undescribed=False):
    return Leaf(".".join(plain) if plain else "tensor", ".".join(exact) if exact else "tensor",
                str(dtype) if undescribed else NAMES.get(dtype, str(dtype)), [int(n) for n in shape], data)


def undescribed(t):
    """Packed elements that do not lie side by side, or do not fill the bytes of a row."""
    if t.dtype in PACKED:
        return t.shape[-1] % PACKED[t.dtype] != 0
    return t.dtype == torch.float4_e2m1fn_x2 and t.dim() > 0 and t.shape[-1] != 1 and t.stride(-1) != 1 and not t.is_contiguous()


def tensor_leaves(t, plain, exact):
    def part(name, value):
        return tensor_leaves(value, (plain or ("tensor",)) + (name,), (exact or ("tensor",)) + (name,))

    if t.device.type == "meta":
        return
    if t.is_nested:
        for name, value in (("buffer", t.values()), ("sizes", t._nested_tensor_size()), ("strides", t._nested_tensor_strides()),
                            ("offsets", t._nested_tensor_storage_offsets())):
            yield from part(name, value)
        return
    if t.layout == torch.sparse_coo:
        yield from part("indices", t._indices())
        yield from part("values", t._values())
        return
    if t.layout != torch.strided:
        rows = t.layout in (torch.sparse_csr, torch.sparse_bsr)
        yield from part("crow_indices" if rows else "ccol_indices", t.crow_indices() if rows else t.ccol_indices())
        yield from part("col_indices" if rows else "row_indices", t.col_indices() if rows else t.row_indices())
        yield from part("values", t.values())
        return
    yield leaf(plain, exact, t.dtype, shape_of(t), dense(t), undescribed(t))
    if t.is_quantized and t.qscheme() != torch.per_tensor_affine:
        yield from part("scales", t.q_per_channel_scales())
        yield from part("zero_points", t.q_per_channel_zero_points())


def shape_of(t):
    s = list(t.shape)
    if t.dtype == torch.float4_e2m1fn_x2 and not undescribed(t):
        s[-1:] = [2 * s[-1]] if s else [2]
    return s


def dense(t):
    t = t.detach().resolve_conj().resolve_neg()
    if t.is_quantized:
        if t.dtype in PACKED:
            return bytes(t.untyped_storage())
        t = t.int_repr()
    flat = torch.empty(t.shape, dtype=t.dtype)
    if flat.numel() == 0:
        return b""
    size = t.element_size()
    as_int = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64, 16: torch.complex128}[size]
    u = torch.empty((0,), dtype=as_int).set_(t.untyped_storage(), t.storage_offset(), t.shape, t.stride())
    return u.contiguous().numpy().tobytes()


def flatten(obj):
    """The leaves under their final names: the exact ones where plain ones collide."""
    rows = list(leaves(obj))
    count = collections.Counter(r.name for r in rows)
    return [(r.exact if count[r.name] > 1 else r.name, r.dtype, r.shape, r.data) for r in rows]


def expected(case, data):
    """What torch finds in its own file; where it cannot read it, what was saved."""
    try:
        return flatten(torch.load(io.BytesIO(data), weights_only=False))
    except (AttributeError, RuntimeError):
        return flatten(case.make())


# The protocols in which the committed files are written; the others are for
# the cross-check.
def variants(case):
    yield False, 2
    if case.legacy and case.name in ("typed-dtypes", "checkpoint", "tied", "strided", "quantized-channel-qint8", "sparse-csr", "root-list", "odd-shapes"):
        yield True, 2
    if case.name in ("checkpoint", "numpy", "collections", "sparse-coo", "names"):
        for protocol in (3, 4, 5):
            yield False, protocol
        yield True, 4


def main():
    here = pathlib.Path(__file__).parent
    for old in here.glob("*.pt"):
        old.unlink()
    files = []
    for case in cases():
        for legacy, protocol in variants(case) if case.commit else ():
            name = case.name + ("-legacy" if legacy else "") + (f"-p{protocol}" if protocol != 2 else "") + ".pt"
            data = save(case, legacy, protocol)
            (here / name).write_bytes(data)
            rows = [dict(zip(("name", "dtype", "shape", "data"), (n, d, s, b.hex()))) for n, d, s, b in expected(case, data)]
            files.append({"file": name, "tensors": rows})
    out = here.parents[2] / "testdata" / "pth" / "golden.json"
    out.parent.mkdir(parents=True, exist_ok=True)
    head = json.dumps({"torch": torch.__version__, "numpy": np.__version__})[:-1]
    out.write_text(head + ', "files": [\n' + ",\n".join(json.dumps(f) for f in files) + "\n]}\n")
    print(len(files), "files,", sum(p.stat().st_size for p in here.glob("*.pt")), "bytes;", out.stat().st_size, "bytes of goldens")


if __name__ == "__main__":
    main()
