"""Pickle programs at random, as checkpoints of torch.save.

    from pickles import checkpoint
    data = checkpoint(seed)          # a zip archive or a legacy file

A program is made of expressions: each leaves one value on the stack. Most are
what torch.save writes; some have an argument of another kind, a key that equals
another one, a name that the class owns, or change late what a call was given
(the memo hands it out again, and APPEND, SETITEM or BUILD follow). Instructions
are mostly those that PyTorch's restricted loader knows. Nothing here imports
torch, and a seed gives the same bytes on every machine.
"""
import io
import random
import struct
import zipfile

ELEMENT = {
    "FloatStorage": 4, "DoubleStorage": 8, "HalfStorage": 2, "BFloat16Storage": 2, "LongStorage": 8, "IntStorage": 4, "ShortStorage": 2,
    "CharStorage": 1, "ByteStorage": 1, "BoolStorage": 1, "ComplexFloatStorage": 8, "ComplexDoubleStorage": 16,
    "QInt8Storage": 1, "QUInt8Storage": 1, "QInt32Storage": 4, "QUInt4x2Storage": 1, "QUInt2x4Storage": 1, "UntypedStorage": 1,
}
PLAIN = ["FloatStorage", "FloatStorage", "FloatStorage", "LongStorage", "HalfStorage", "BFloat16Storage", "DoubleStorage", "IntStorage", "ByteStorage"]
FLOATS = ("FloatStorage", "DoubleStorage", "HalfStorage", "BFloat16Storage", "ComplexFloatStorage", "ComplexDoubleStorage")
DTYPES = ["float32", "float64", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "bool", "uint16", "uint32", "uint64",
          "complex64", "complex32", "float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu", "bits8", "qint8", "quint8", "float4_e2m1fn_x2", "int4", "uint1"]
WIDTH = {"float32": 4, "float64": 8, "float16": 2, "bfloat16": 2, "int64": 8, "int32": 4, "int16": 2, "uint16": 2, "uint32": 4, "uint64": 8,
         "complex64": 8, "complex32": 4}
PLAIN_NAMES = ["a", "b", "w", "bias", "weight", "_metadata", "_is_hf_initialized", "tensor_model_parallel", "0", "x.y", "version"]
OWNED_NAMES = ["data", "real", "imag", "grad", "requires_grad", "T", "shape", "keys", "items", "values", "get", "update", "names", "dtype", "detach",
               "_backward_hooks", "_base", "numpy", "storage", "untyped_storage", "size", "elements", "popitem", "__class__", "__dict__", "_cdata"]
SIZE = 64  # bytes of a storage


class Program:
    def __init__(self, seed, wild=None):
        self.r = random.Random(seed)
        self.out = bytearray(b"\x80\x02")
        self.memo = {}      # index: sort of value
        self.next = 0
        self.keys = {}      # storages: (class, elements)
        self.budget = self.r.randint(3, 60)
        self.depth = 0
        # How often something is out of the ordinary.
        self.wild = self.r.choice([0, 0.02, 0.05, 0.15]) if wild is None else wild
        self.big = False

    def odd(self):
        return self.r.random() < self.wild

    # Instructions.
    def op(self, b):
        self.out += b

    def glob(self, module, name):
        self.op(b"c" + module.encode() + b"\n" + name.encode() + b"\n")

    def text(self, s):
        b = s.encode("utf-8", "surrogatepass")
        self.op(b"X" + struct.pack("<I", len(b)) + b)

    def int(self, n):
        if 0 <= n < 256:
            self.op(b"K" + bytes([n]))
        elif -2**31 <= n < 2**31:
            self.op(b"J" + struct.pack("<i", n))
        else:
            b = n.to_bytes(n.bit_length() // 8 + 1, "little", signed=True)
            self.op(b"\x8a" + bytes([len(b)]) + b)

    def float(self, f):
        self.op(b"G" + struct.pack(">d", f))

    def bool(self, v):
        self.op(b"\x88" if v else b"\x89")

    def put(self, sort):
        i = self.next
        self.next += 1
        self.memo[i] = sort
        self.op(b"q" + bytes([i]) if i < 256 else b"r" + struct.pack("<I", i))

    def maybe_put(self, sort, p=0.5):
        if self.r.random() < p:
            self.put(sort)

    def get(self, *sorts):
        """A value of the memo, if there is one of these sorts."""
        have = [i for i, s in self.memo.items() if s in sorts]
        if not have:
            return None
        i = self.r.choice(have)
        self.op(b"h" + bytes([i]) if i < 256 else b"j" + struct.pack("<I", i))
        return self.memo[i]

    def tuple(self, n):
        if n == 0:
            self.op(b")")
        elif n <= 3:
            self.op(bytes([0x84 + n]))
        else:
            raise AssertionError

    def call(self, module, name, *args, new=False):
        """Pushes the call of a global; an argument is a function that pushes it."""
        self.glob(module, name)
        if len(args) <= 3:
            for a in args:
                a()
            self.tuple(len(args))
        else:
            self.op(b"(")
            for a in args:
                a()
            self.op(b"t")
        self.op(b"\x81" if new else b"R")

    # Small values.
    def number(self):
        r = self.r
        k = r.randrange(8)
        if k < 4:
            self.int(r.choice([0, 1, 2, 3, 7, 255, 256, 65536, -1, 2**31, 2**53, 2**63, 2**64, -2**64]))
        elif k < 6:
            self.float(r.choice([0.0, 1.0, -0.0, 2.0, 2.0**53, 2.0**63, 2.0**64, -2.0**64, 0.5, float("nan"), float("inf")]))
        elif k == 6:
            self.bool(r.random() < 0.5)
        else:
            self.call("builtins", "complex", lambda: self.float(r.choice([0.0, 1.0, 2.0**64])), lambda: self.float(r.choice([0.0, -0.0, 1.0])))

    def leaf(self):
        r = self.r
        k = r.randrange(14)
        if k < 2:
            self.op(b"N")
        elif k < 6:
            self.number()
        elif k < 9:
            self.text(r.choice(PLAIN_NAMES))
        elif k == 9:
            self.glob("torch", r.choice(DTYPES))
        elif k == 10:
            self.call("torch", "device", lambda: self.text(r.choice(["cpu", "cuda", "meta", "cuda:0"])))
        elif k == 11:
            self.size()
        elif k == 12:
            self.call("_codecs", "encode", lambda: self.text("ab\u00e9"), lambda: self.text("latin1"))
        else:
            self.call("builtins", "bytearray", *([] if r.random() < 0.5 else
                      [lambda: self.call("_codecs", "encode", lambda: self.text("ab"), lambda: self.text("latin1"))]))

    def size(self):
        self.call("torch", "Size", lambda: self.ints([self.r.choice([0, 1, 2, 3]) for _ in range(self.r.randrange(3))], "tuple"))

    def ints(self, values, form=None):
        """Integers as a tuple, a list (that the memo may hand out again) or a torch.Size."""
        form = form or ("tuple" if not self.odd() else self.r.choice(["list", "size", "memo", "tuple"]))
        if form == "memo" and self.get("ints"):
            return
        if form == "size":
            self.call("torch", "Size", lambda: self.ints(values, "tuple"))
            return
        if form == "tuple" and len(values) <= 3:
            for v in values:
                self.int(v)
            self.tuple(len(values))
            return
        if form == "tuple":
            self.op(b"(")
            for v in values:
                self.int(v)
            self.op(b"t")
            return
        self.op(b"]")
        self.put("ints")
        self.op(b"(")
        for v in values:
            self.int(v)
        self.op(b"e")

    # Storages and tensors.
    def storage(self, classes=None, key=None):
        """Pushes a persistent id and returns (class, elements)."""
        r = self.r
        if key is None:
            key = r.choice("0123")
        if key in self.keys and not self.odd() and (classes is None or self.keys[key][0] in classes):
            cls, n = self.keys[key]
        else:
            cls = r.choice(classes or (PLAIN if not self.odd() else list(ELEMENT)))
            n = SIZE // ELEMENT[cls]
            while key in self.keys and self.keys[key] != (cls, n) and not self.odd():
                key = str(len(self.keys))
                if key in self.keys and self.keys[key] != (cls, n):
                    key = str(r.randrange(1000))
            self.keys.setdefault(key, (cls, n))
        self.op(b"(")
        self.text("storage")
        module = "torch"
        if cls == "UntypedStorage":
            module = "torch.storage"
        elif self.odd() and not cls.startswith("Q"):
            module = "torch.cuda"
        self.glob(module, cls)
        self.text(key)
        self.text("cpu" if not self.odd() else r.choice(["cpu", "meta", "cuda:0", "cpu:0", "meta:0", "", "CPU"]))
        self.int(n if not self.odd() else r.choice([n, n - 1, n * 2, 0]))
        if self.legacy:
            if self.odd():
                self.text(r.choice(["v1", "v2", "0"]))
                self.int(r.choice([0, 1, 2]))
                self.int(r.choice([1, n - 2, n]))
                self.tuple(3)
            else:
                self.op(b"N")
        self.op(b"t")
        self.op(b"Q")
        return cls, n

    def geometry(self, n):
        """offset, size and stride over n elements."""
        r = self.r
        if self.odd():
            return r.choice([0, 1, n, -1]), [r.choice([0, 1, 2, 3]) for _ in range(r.randrange(3))], [r.choice([0, 1, 2, -1]) for _ in range(r.randrange(3))]
        shape = [r.choice([0, 1, 1, 2, 2, 3]) for _ in range(r.randrange(3))]
        if r.random() < 0.2:
            return 0, shape, [r.choice([0, 1]) for _ in shape]
        stride, at = [], 1
        for d in reversed(shape):
            stride.insert(0, at)
            at *= max(d, 1)
        offset = r.randrange(max(n - at, 0) + 1) if at <= n else 0
        if r.random() < 0.2:
            stride.reverse()
            shape.reverse()
        return offset, shape, stride

    def hooks(self):
        if self.odd():
            self.r.choice([lambda: self.op(b"N"), lambda: self.op(b"}"), lambda: self.get("dict", "odict") or self.op(b"N"),
                           lambda: self.dict(1), self.leaf])()
            return
        self.call("collections", "OrderedDict")
        self.maybe_put("odict", 0.3)

    def grad(self, cls):
        if self.odd():
            self.r.choice([lambda: self.bool(True), lambda: self.bool(False), lambda: self.int(1), lambda: self.op(b"N")])()
        else:
            self.bool(cls in FLOATS and self.r.random() < 0.3)

    def metadata(self):
        """conj and neg."""
        r = self.r
        if self.odd() and self.get("dict", "odict"):
            return
        self.op(b"}")
        self.put("dict")
        for name in r.sample(["conj", "neg"], r.randrange(3)):
            self.text(name if not self.odd() else r.choice(["conj", "x"]))
            self.bool(r.random() < 0.6)
            self.op(b"s")

    def dense(self):
        r = self.r
        form = r.choice(["v2", "v2", "v2", "v3", "v1"])
        cls = n = None
        state = {"c": "FloatStorage", "n": 1, "d": "float32", "g": (0, [1], [1])}

        def storage():
            classes = None
            if form == "v3" and not self.odd():
                classes = ["UntypedStorage"]
            state["c"], state["n"] = self.storage(classes)
            if form == "v3":
                state["d"] = r.choice(DTYPES)
                width = WIDTH.get(state["d"], 1)
                state["n"] = state["n"] * ELEMENT[state["c"]] // width
            state["g"] = self.geometry(state["n"])

        args = [storage, lambda: self.int(state["g"][0]), lambda: self.ints(state["g"][1]), lambda: self.ints(state["g"][2])]
        if form != "v1":
            args += [lambda: self.grad(state["c"] if form == "v2" else "FloatStorage" if "float" in state["d"] else ""), self.hooks]
        if form == "v3":
            args.append(lambda: self.glob("torch", state["d"]))
        if form != "v1" and r.random() < 0.15:
            args.append(self.metadata)
        if self.odd() and r.random() < 0.3:
            args[r.randrange(len(args))] = self.leaf
        if self.odd() and r.random() < 0.2:
            args.pop()
        self.call("torch._utils", {"v1": "_rebuild_tensor", "v2": "_rebuild_tensor_v2", "v3": "_rebuild_tensor_v3"}[form], *args)
        self.maybe_put("tensor", 0.5)

    def attributes(self):
        """A state: attributes of an object."""
        r = self.r
        if self.odd():
            k = r.randrange(4)
            if k == 0 and self.get("dict", "odict", "state"):
                return
            if k == 1:
                self.op(b"N")
                self.attributes()
                self.tuple(2)
                return
            if k == 2:
                self.op(b"N")
                return
        self.op(b"}")
        self.put("state")
        for _ in range(r.randrange(3)):
            self.text(r.choice(OWNED_NAMES) if self.odd() else r.choice(PLAIN_NAMES))
            self.value()
            self.op(b"s")

    def inner(self):
        """A tensor as an argument."""
        if self.odd() and self.get("tensor", "open", "param"):
            return
        if self.odd():
            self.value()
        elif self.odd():
            self.tensor()
        else:
            self.dense()

    def parameter(self):
        r = self.r
        k = r.randrange(8)
        if k < 3:
            self.call("torch._utils", "_rebuild_parameter", self.inner, lambda: self.grad("FloatStorage" if r.random() < 0.5 else ""), self.hooks)
        elif k < 6:
            self.call("torch._utils", "_rebuild_parameter_with_state", self.inner, lambda: self.grad(""), self.hooks, self.attributes)
        elif k == 6:
            args = [self.inner, lambda: self.grad("")][:r.choice([0, 1, 2, 2])]
            self.call("torch.nn.parameter", "Parameter", *args, new=r.random() < 0.5)
            if not args or self.odd():
                self.put("open")
                self.parameter_state()
                self.op(b"b")
        else:
            self.call("torch._tensor", "_rebuild_from_type_v2", lambda: self.glob("torch._utils", r.choice(["_rebuild_tensor_v2", "_rebuild_tensor_v2", "_rebuild_parameter", "_rebuild_parameter_with_state"])),
                      lambda: self.glob(*r.choice([("torch", "Tensor"), ("torch", "Tensor"), ("torch.nn.parameter", "Parameter"), ("torch", "FloatTensor")])),
                      self.dense_args, self.attributes)
        self.maybe_put("param", 0.5)

    def parameter_state(self):
        r = self.r
        k = r.randrange(3)
        if k == 0:
            self.bool(False)
            self.bool(False)
            self.hooks()
            self.tuple(3)
        elif k == 1:
            self.op(b"(")
            self.inner()
            self.op(b"N")
            self.hooks()
            self.bool(False)
            self.op(b"N" if r.random() < 0.5 else b"\x89")
            self.op(b"t")
        else:
            self.dense_args(4)

    def dense_args(self, count=6):
        self.op(b"(")
        cls, n = self.storage()
        offset, shape, stride = self.geometry(n)
        self.int(offset)
        self.ints(shape)
        self.ints(stride)
        if count > 4:
            self.grad(cls)
            self.hooks()
        self.op(b"t")

    def open_tensor(self):
        """A tensor class that is called with nothing, and built at once, later or never."""
        r = self.r
        name = r.choice(["FloatTensor", "FloatTensor", "DoubleTensor", "LongTensor", "ByteTensor", "Tensor"])
        module = "torch" if not self.odd() else r.choice(["torch.sparse", "torch.cuda", "torch"])
        self.call(module, name, new=self.odd())
        self.put("open")
        if not self.odd():
            if self.odd():
                self.dense_args(4)
            else:
                self.op(b"(")
                _, n = self.storage([name.replace("Tensor", "Storage") if name != "Tensor" else "FloatStorage"])
                offset, shape, stride = self.geometry(n)
                self.int(offset)
                self.ints(shape)
                self.ints(stride)
                self.op(b"t")
            self.op(b"b")

    def quantized(self):
        r = self.r
        state = {}

        def storage():
            state["c"], n = self.storage(["QInt8Storage", "QUInt8Storage", "QInt32Storage"] if not self.odd() else None)
            state["g"] = self.geometry(n)

        def quantizer():
            self.op(b"(")
            if r.random() < 0.6:
                self.glob("torch", "per_tensor_affine" if not self.odd() else r.choice(["per_tensor_symmetric", "per_channel_affine"]))
                self.float(0.5)
                self.int(r.choice([0, 3]))
            else:
                self.glob("torch", r.choice(["per_channel_affine", "per_channel_affine_float_qparams"]))
                n = state["g"][1][0] if state["g"][1] else 1
                for _ in range(2):
                    if r.random() < 0.5:
                        self.ints([1] * n, "list")
                    else:
                        self.dense()
                self.int(0 if not self.odd() else r.choice([0, 1, -1]))
            self.op(b"t")

        self.call("torch._utils", "_rebuild_qtensor", storage, lambda: self.int(state["g"][0]), lambda: self.ints(state["g"][1]), lambda: self.ints(state["g"][2]),
                  quantizer, lambda: self.grad(""), self.hooks)
        self.maybe_put("tensor")

    def hollow(self):
        r = self.r
        if r.random() < 0.6:
            _, shape, stride = self.geometry(16)
            self.call("torch._utils", "_rebuild_meta_tensor_no_storage", lambda: self.glob("torch", r.choice(DTYPES)), lambda: self.ints(shape), lambda: self.ints(stride),
                      lambda: self.grad(""))
        else:
            self.call("torch._utils", "_rebuild_device_tensor_from_cpu_tensor", self.inner, lambda: self.glob("torch", r.choice(DTYPES[:8])),
                      lambda: self.text(r.choice(["cpu", "cpu", "meta", "cuda:0"])), lambda: self.grad(""))
        self.maybe_put("tensor")

    def vector(self, cls, key, offset, shape, stride):
        """A dense tensor over a storage of its own."""
        self.op(b"c" + b"torch._utils\n_rebuild_tensor_v2\n(")
        self.storage([cls], key)
        self.int(offset)
        self.ints(shape, "tuple")
        self.ints(stride, "tuple")
        self.bool(False)
        self.hooks()
        self.op(b"tR")

    def compressed(self):
        """Parts of one row with at most two values: the storage of key 9 begins with 0, 1, 2, 3."""
        r = self.r
        layout = r.choice(["csr", "csc", "bsr", "bsc"])
        n = r.choice([0, 1, 1, 2])
        block = [1, 1] if layout[0] == "b" else []
        odd = lambda usual: usual if not self.odd() else r.choice([0, 2, 3])
        rows = [n, 3] if layout in ("csr", "bsr") else [3, n]
        size = [1, 3] if layout in ("csr", "bsr") else [3, 1]

        def parts():
            self.op(b"(")
            self.vector("LongStorage", "9", 0, [2], [odd(n if n else 0) if n != 1 else odd(1)])
            self.vector("LongStorage", "9", r.choice([0, 0, 1]) if n else 0, [n], [odd(1)])
            self.vector("FloatStorage", "8", 0, [n] + block, [odd(1)] + [1] * len(block))
            self.ints(size if not self.odd() else rows)
            self.op(b"t")

        self.call("torch._utils", "_rebuild_sparse_tensor", lambda: self.call("torch.serialization", "_get_layout", lambda: self.text("torch.sparse_" + layout)), parts)

    def sparse(self):
        r = self.r
        if r.random() < 0.4:
            self.compressed()
            return
        n = r.choice([0, 1, 2])

        def indices():
            self.op(b"c" + b"torch._utils\n_rebuild_tensor_v2\n(")
            _, have = self.storage(["LongStorage"], "9")
            self.int(0)
            self.ints([1, n] if not self.odd() else [n], "tuple")
            self.ints([n, 1] if not self.odd() else [1], "tuple")
            self.bool(False)
            self.hooks()
            self.op(b"tR")

        def values():
            self.op(b"c" + b"torch._utils\n_rebuild_tensor_v2\n(")
            self.storage(["FloatStorage"], "8")
            self.int(0)
            self.ints([n], "tuple")
            self.ints([1], "tuple")
            self.bool(False)
            self.hooks()
            self.op(b"tR")

        def parts():
            self.op(b"(")
            indices()
            values()
            self.ints([r.choice([2, 4])])
            if r.random() < 0.6:
                r.choice([lambda: self.bool(True), lambda: self.bool(False), lambda: self.op(b"N")])()
            self.op(b"t")

        self.call("torch._utils", "_rebuild_sparse_tensor", lambda: self.call("torch.serialization", "_get_layout", lambda: self.text("torch.sparse_coo")), parts)

    def tensor(self):
        k = self.r.randrange(20)
        if k < 10:
            self.dense()
        elif k < 15:
            self.parameter()
        elif k < 17:
            self.open_tensor()
        elif k == 17:
            self.quantized()
        elif k == 18:
            self.hollow()
        else:
            self.sparse()

    # Containers.
    def key(self):
        r = self.r
        k = r.randrange(10) if self.odd() else 0
        if k == 0 and not self.odd():
            self.text(r.choice(PLAIN_NAMES) + str(self.next) + str(len(self.out)))
        elif k < 3:
            self.text(r.choice(PLAIN_NAMES))
        elif k < 5:
            self.number()
        elif k == 5:
            self.size()
        elif k == 6:
            for _ in range(n := r.randrange(1, 3)):
                self.number()
            self.tuple(n)
        elif k == 7:
            self.call("_codecs", "encode", lambda: self.text("a"), lambda: self.text("latin1"))
        elif k == 8:
            self.get("tensor", "param", "key") or self.number()
        else:
            self.leaf()
        if self.odd():
            self.put("key")

    def dict(self, most=4):
        r = self.r
        if r.random() < 0.4:
            self.call("collections", "OrderedDict", *([] if not self.odd() else [self.pairs]))
            sort = "odict"
        elif self.odd():
            self.call("collections", "Counter")
            sort = "odict"
        else:
            self.op(b"}")
            sort = "dict"
        self.maybe_put(sort, 0.6)
        n = r.randrange(most + 1)
        if r.random() < 0.5:
            self.op(b"(")
            for _ in range(n):
                self.key()
                self.value()
            self.op(b"u")
        else:
            for _ in range(n):
                self.key()
                self.value()
                self.op(b"s")
        if sort == "odict" and r.random() < 0.3:
            self.attributes()
            self.op(b"b")

    def pairs(self):
        r = self.r
        k = r.randrange(4)
        if k == 0 and self.get("dict", "odict", "list"):
            return
        if k == 1:
            self.dict(2)
            return
        self.op(b"]")
        self.maybe_put("list")
        self.op(b"(")
        for _ in range(r.randrange(3)):
            self.key()
            self.value()
            self.tuple(2)
        self.op(b"e")

    def list(self):
        r = self.r
        self.op(b"]")
        self.maybe_put("list", 0.6)
        n = r.randrange(4)
        if r.random() < 0.5:
            self.op(b"(")
            for _ in range(n):
                self.value()
            self.op(b"e")
        else:
            for _ in range(n):
                self.value()
                self.op(b"a")

    def late(self):
        """A value of the memo that grows, or is given a state."""
        r = self.r
        sort = self.get("dict", "odict", "list", "ints", "open", "state", "param", "tensor")
        if sort is None:
            self.leaf()
        elif sort == "list":
            self.value()
            self.op(b"a")
        elif sort == "ints":
            self.int(r.choice([0, 1, 2]))
            self.op(b"a")
        elif sort in ("dict", "state") or sort == "odict" and r.random() < 0.6:
            k = r.randrange(3)
            if k == 0:
                self.text(r.choice(["conj", "neg"]))
                self.bool(True)
            else:
                self.key() if k == 1 else self.text(r.choice(PLAIN_NAMES + OWNED_NAMES))
                self.value()
            self.op(b"s")
        elif sort == "odict":
            self.attributes()
            self.op(b"b")
        else:
            if r.random() < 0.5:
                self.dense_args(4)
            else:
                self.parameter_state()
            self.op(b"b")

    def value(self):
        r = self.r
        self.budget -= 1
        if self.budget < 0 or self.depth > 6:
            self.leaf()
            return
        self.depth += 1
        k = r.randrange(24)
        if k < 8:
            self.tensor()
        elif k < 12:
            self.dict()
        elif k < 14:
            self.list()
        elif k == 14:
            for _ in range(n := r.randrange(4)):
                self.value()
            self.tuple(n)
        elif k == 15:
            self.get("dict", "odict", "list", "tensor", "param", "open", "state") or self.leaf()
        elif k == 16 and (self.wild or r.random() < 0.05):
            self.late()
        elif k == 17 and self.odd():
            self.storage()
        elif k == 18 and self.odd():
            self.call("builtins", "set", *([] if r.random() < 0.5 else [self.list]))
        else:
            self.leaf()
        self.depth -= 1

    def run(self, legacy):
        self.legacy = legacy
        k = self.r.random()
        if k < 0.7:
            self.budget += 4
            self.dict(6)
        else:
            self.value()
        self.op(b".")
        return bytes(self.out)


def body(r, cls, n):
    """What a storage holds: any bits, except where a type is read as numbers."""
    if cls == "LongStorage":
        return struct.pack("<8q", 0, 1, 2, 3, *(r.randrange(-2**40, 2**40) for _ in range(4)))
    if cls == "BoolStorage":
        return bytes(r.randrange(2) for _ in range(SIZE))
    return r.randbytes(SIZE)


def archive(program, pickle):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as z:
        def add(name, data):
            z.writestr(zipfile.ZipInfo("archive/" + name, (1980, 1, 1, 0, 0, 0)), data)
        add("data.pkl", pickle)
        if program.order:
            add("byteorder", program.order)
        for key, (cls, n) in program.keys.items():
            add("data/" + key, body(program.r, cls, n))
        add("version", "3\n")
    return out.getvalue()


def legacy(program, pickle):
    def small(b):
        return b"\x80\x02" + b + b"."

    magic = small(b"\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19")
    protocol = small(b"M\xe9\x03")
    system = small(b"}X\x0d\x00\x00\x00little_endian\x88s")
    keys = b"](" + b"".join(b"X" + struct.pack("<I", len(k)) + k.encode() for k in program.keys) + b"e"
    out = magic + protocol + system + pickle + small(keys)
    for cls, n in program.keys.values():
        out += struct.pack("<q", n) + body(program.r, cls, n)
    return out


def checkpoint(seed, wild=None):
    program = Program(seed, wild)
    r = random.Random(~seed)
    is_legacy = r.random() < 0.15
    program.order = None if r.random() < 0.3 else "big" if r.random() < 0.15 else "little"
    pickle = program.run(is_legacy)
    return (legacy if is_legacy else archive)(program, pickle)
