"""Pickles of calls: every name of vm's allowlist that a plain pickle can use, called
with what it is written with, and given states; now and then an argument of another
kind, or one at the edge of what its class takes."""


import pickles

INTS = (0, 1, 2, 3, 4, 7, 12, 64, -1, -2, 127, 128, 255, 256, 10**6, 2**31 - 1, 2**31, -2**31, 2**53, 2**63 - 1, -2**63, 2**63, 2**64)
FLOATS = (0.0, -0.0, 1.0, 0.5, 2.0**64, float("nan"), float("inf"))
TEXTS = ("", "a", "b", "w", "C", "F", "A", "K", "c", "latin1", "latin-1", "utf-8", "utf8", "ascii", "f4", "<f4", "i8", "O8", "V4", "S3", "U2", "cpu", "cuda:0", "meta", "torch.strided",
         "torch.sparse_coo", "/x", "x", "..", "a/b", "1.2.3", "2.0.0+cpu", "nonsense", "\0", "\u00e9", "\u20ac", "keys", "data", "__class__", "default_factory", "maxlen", "kind")
CODES = {"b1": 1, "i1": 1, "i2": 2, "i4": 4, "i8": 8, "u1": 1, "u2": 2, "u4": 4, "u8": 8, "f2": 2, "f4": 4, "f8": 8, "f16": 16, "c8": 8, "c16": 16, "c32": 32,
         "m8": 8, "M8": 8, "S3": 3, "S0": 0, "U2": 8, "U0": 0, "V4": 4, "V0": 0, "V8": 8, "V1": 1}
ODD_CODES = ("O8", "O", "O4", "f12", "c24", "f3", "i16", "V", "S", "U", "?", "b", "<f4", ">i2", "=f8", "(2,)f4", "f4,i4", "f04", "V4294967296", "S2147483647", "U536870911", "U536870912", "T", "m8[s]",
             "M8[ns]", "V-1", "a3", "float32", "V+4", "V 4", "V4 ", "V\u0664")
CLASSES = ("bool", "bool_", "byte", "bytes_", "complex64", "complex128", "datetime64", "double", "float16", "float32", "float64", "half", "int8", "int64", "intc", "longdouble",
           "longlong", "single", "str_", "timedelta64", "ubyte", "uint8", "uint64", "uintp")
CLASS_SIZES = {"bool": 1, "bool_": 1, "byte": 1, "float16": 2, "half": 2, "float32": 4, "single": 4, "float64": 8, "int8": 1, "int64": 8, "uint8": 1, "uint64": 8, "complex64": 8, "datetime64": 8,
               "timedelta64": 8, "bytes_": 0, "str_": 0}
UNITS = ("Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as", "generic")
ORDERS = ("<", "|", ">", "=")
PLAIN_TYPES = ("bool", "dict", "float", "int", "list", "object", "str", "tuple")
PATHS = ("Path", "PosixPath", "PurePath", "PurePosixPath", "PureWindowsPath", "WindowsPath")
CONTAINERS = ("OrderedDict", "Counter", "deque", "set", "frozenset", "bytearray", "defaultdict")


class Calls(pickles.Program):
    """Values by their sort. What depends on another (bytes on a shape) is kept in here."""

    legacy = False

    def oneof(self, *ways):
        self.r.choice(ways)()

    def none(self):
        self.op(b"N")

    def number_of(self, usual):
        """An integer: one of the usual ones, or any."""
        def push():
            if not self.odd():
                self.int(self.r.choice(usual))
            else:
                self.oneof(lambda: self.int(self.r.choice(INTS)), lambda: self.bool(self.r.random() < 0.5), lambda: self.int(self.r.choice(INTS)), self.any)
        return push

    def word(self, *usual):
        def push():
            if not self.odd():
                self.text(self.r.choice(usual))
            else:
                self.oneof(lambda: self.text(self.r.choice(TEXTS)), lambda: self.text(self.r.choice(TEXTS)), self.any)
        return push

    def flag(self):
        self.oneof(lambda: self.bool(True), lambda: self.bool(False)) if not self.odd() else self.any()

    def bytes(self, n):
        data = self.r.randbytes(n)
        if self.odd():
            data = self.r.choice((data + b"\0", data[:-1], b""))
        k = self.r.randrange(20) if self.odd() else 0
        if k == 1:
            self.call("builtins", "bytearray", lambda: self.raw(data))
        elif k == 2:
            self.text(data.decode("latin1"))
        elif k == 3:
            self.op(b"\x96" + len(data).to_bytes(8, "little") + data)  # BYTEARRAY8
        elif k == 4:
            self.any()
        elif k < 12:
            self.raw(data)
        else:
            self.call("_codecs", "encode", lambda: self.text(data.decode("latin1")), lambda: self.text("latin1"))

    def raw(self, data):
        self.op(b"C" + bytes([len(data)]) + data if len(data) < 256 else b"B" + len(data).to_bytes(4, "little") + data)

    def many(self, *pushes):
        """A tuple of any length."""
        self.op(b"(")
        for p in pushes:
            p()
        self.op(b"t")

    def args(self, *pushes):
        """The arguments of a call: mostly these, now and then fewer, more or others."""
        pushes = list(pushes)
        if self.odd():
            k = self.r.randrange(4)
            if k == 0 and pushes:
                pushes.pop()
            elif k == 1:
                pushes.append(self.any)
            elif k == 2 and pushes:
                pushes[self.r.randrange(len(pushes))] = self.any
            else:
                self.r.shuffle(pushes)
        return pushes

    def make(self, module, name, *pushes, new=False):
        self.call(module, name, *self.args(*pushes), new=new != (self.odd() and self.r.random() < 0.3))
        self.maybe_put("made", 0.3)

    def build(self, push):
        """A state, or another one, or two."""
        push() if not self.odd() else self.any()
        self.op(b"b")
        if self.odd() and self.r.random() < 0.3:
            push()
            self.op(b"b")

    # Python's.
    def container(self):
        r = self.r
        name = r.choice(CONTAINERS)
        if name == "bytearray":
            self.make("builtins", name, *r.choice(((), (lambda: self.bytes(3),), (lambda: self.text("ab"), self.word("latin1", "latin-1")))))
        elif name == "defaultdict":
            self.make("collections", name, *([self.factory] + [lambda: self.dict(2)] * r.randrange(2))[:r.choice((0, 1, 1, 2))])
        elif name == "deque":
            self.make("collections", name, *((self.list, self.number_of((0, 1, 2, 5)) if r.random() < 0.7 else self.none)[:r.randrange(3)]))
        else:
            elements = self.list if name in ("set", "frozenset") else self.pairs
            self.make("builtins" if name in ("set", "frozenset") else "collections", name, *([elements] if r.random() < 0.5 else []))
        if self.odd():
            self.build(self.attributes)

    def factory(self):
        k = self.r.randrange(6) if not self.odd() else 9
        if k == 0:
            self.none()
        elif k < 5:
            self.glob("builtins", self.r.choice(PLAIN_TYPES + ("set", "bytes", "frozenset", "bytearray")))
        elif k == 5:
            self.glob("collections", self.r.choice(("OrderedDict", "Counter", "deque")))
        else:
            self.oneof(self.any, lambda: self.glob("builtins", "complex"), lambda: self.glob("argparse", "Namespace"))

    def plain(self):
        r = self.r
        k = r.randrange(9)
        if k == 0:
            self.make("builtins", "complex", lambda: self.float(r.choice(FLOATS)), lambda: self.float(r.choice(FLOATS)))
        elif k == 1:
            self.make("builtins", "slice", *[self.none if r.random() < 0.4 else self.number_of((0, 1, 5, -1))] * 3)
        elif k == 2:
            self.make("builtins", "range", self.number_of((0, 1)), self.number_of((0, 5)), self.number_of((1, 2, -1)))
        elif k == 3:
            self.make("builtins", "bytes")
        elif k == 4:
            self.make("_codecs", "encode", self.word("a", "\u00e9", ""), self.word("latin1", "utf-8"))
        elif k == 5:
            self.namespace()
        elif k == 6:
            self.make(r.choice(("pathlib", "pathlib", "pathlib._local")), r.choice(PATHS[:4] if not self.odd() else PATHS), *[self.word("/", "a", "b.c", "..")] * r.randrange(4))
        elif k == 7:
            self.make("torch.torch_version", "TorchVersion", self.word("2.1.0", "2.0.0+cpu"), new=r.random() < 0.5)
            if self.odd():
                self.build(lambda: self.op(b"}"))
        else:
            self.moment()

    def namespace(self):
        r = self.r
        k = r.randrange(4)
        module, name = r.choice((("argparse", "Namespace"), ("types", "SimpleNamespace")))
        if k == 0:
            self.make("copyreg", "_reconstructor", lambda: self.glob(module, name), lambda: self.glob("builtins", "object" if not self.odd() else r.choice(PLAIN_TYPES)), self.none)
        else:
            self.make(module, name, new=k == 1)
        if r.random() < 0.8:
            self.build(self.attributes)

    def moment(self):
        r = self.r
        kind = r.choice(("date", "datetime", "time", "timedelta", "timezone"))
        whole = {"date": (7, 232, r.choice((1, 12)), r.choice((1, 28))), "time": (r.choice((0, 23)), 59, 59, 0, 0, 1),
                 "datetime": (7, 232, 2, 28, 23, 59, 59, 0, 0, 1)}
        if kind in whole:
            def data():
                parts = bytearray(whole[kind])
                if self.odd():
                    parts[r.randrange(len(parts))] = r.choice((0, 1, 13, 32, 60, 128, 129, 255))
                if self.odd():
                    parts = parts[:-1] if r.random() < 0.5 else parts + b"\0"
                self.raw(bytes(parts)) if r.random() < 0.7 else self.text(parts.decode("latin1"))
            self.make("datetime", kind, data, *([lambda: self.zone(2)] if kind != "date" and r.random() < 0.4 else []))
        elif kind == "timedelta":
            self.delta()
        else:
            self.zone(0)

    def delta(self, days=(0, 1, -1, 999999999)):
        self.make("datetime", "timedelta", self.number_of(days), self.number_of((0, 1, 86399)), self.number_of((0, 1, 999999)))

    def zone(self, depth):
        if depth > 1 and self.r.random() < 0.3:
            self.none()
        else:
            self.make("datetime", "timezone", lambda: self.delta((0, -1)), *([self.word("UTC")] if self.r.random() < 0.3 else []))

    # NumPy's.
    def code(self):
        return self.r.choice(list(CODES)) if not self.odd() else self.r.choice(ODD_CODES)

    def dtype(self, code=None, depth=0):
        """Pushes a dtype and returns the size of an element."""
        r = self.r
        if code is None and r.random() < 0.15:
            code = r.choice(CLASSES)
            self.make("numpy", "dtype", lambda: self.glob("numpy", code), *self.copied(2))
            if self.odd():
                self.build(lambda: self.state("V4", 4, depth))
            return CLASS_SIZES.get(code, 8)
        code = code or self.code()
        size = CODES.get(code, 4)
        self.make("numpy", "dtype", lambda: self.text(code), *self.copied(r.choice((2, 2, 2, 2, 1, 0) if self.odd() else (2,))))
        if r.random() < 0.85:
            self.build(lambda: self.state(code, size, depth))
        return size

    def copied(self, n):
        """The flags of a dtype, which NumPy before 1.20 wrote as numbers."""
        if self.odd():
            return [self.flag] * n
        if self.r.random() < 0.3:
            return [lambda: self.int(0), lambda: self.int(1)][:n]
        return [lambda: self.bool(False), lambda: self.bool(True)][:n]

    def state(self, code, size, depth):
        r, void = self.r, code[0] == "V" and depth < 3
        sub = fields = False
        if void and r.random() < 0.6:
            sub = r.random() < 0.4
            fields = not sub
        if self.odd() and depth < 3:
            sub, fields = r.random() < 0.5, r.random() < 0.5
        names = r.choice(([], ["a"], ["a", "b"])) if fields else []
        other = [n for n in names] if not self.odd() else r.choice(([], ["a"], ["b", "a"], ["a", "c"], ["a", "a"]))
        sized = code[0] not in "SUV"
        parts = [
            self.number_of((4 if code[0] in "mM" else 3,) if not self.odd() else (0, 1, 2, 3, 4, 5)),
            self.word("|" if size == 1 or code[0] in "SV" else r.choice("<<<>")) if not self.odd() else self.word(*ORDERS),
            (lambda: self.subarray(size, depth)) if sub else self.none,
            (lambda: self.many(*[self.word(n) for n in names])) if fields else self.none,
            (lambda: self.fields(other, size, depth)) if fields else self.none,
            self.number_of((-1,) if sized else (size,)),
            self.number_of((-1,) if sized else (4,) if code[0] == "U" else (1,) if not self.odd() else (0, 2, 4, 8, -1, 3)),
            self.number_of((8,) if code[0] == "U" else (0, 16, 16, 144, 24) if fields else (0,) if not self.odd() else (8, 16, 128, 1, 2, 4, 63, 64, 27)),
        ]
        if code[0] in "mM":
            parts.append(lambda: self.tuple_of(self.meta, lambda: self.unit()))
        elif self.odd():
            parts.append(self.meta)
        if self.odd() and r.random() < 0.4:
            del parts[r.randrange(len(parts))]
        self.many(*parts)

    def tuple_of(self, *pushes):
        self.many(*self.args(*pushes))

    def meta(self):
        self.oneof(self.none, lambda: self.op(b"}"), lambda: self.dict(1)) if not self.odd() else self.any()

    def unit(self):
        r = self.r
        self.tuple_of((lambda: self.raw(r.choice(UNITS).encode())) if r.random() < 0.6 else self.word(*UNITS), self.number_of((1,)), self.number_of((1,)), self.number_of((1,)))

    def subarray(self, size, depth):
        r = self.r
        code = {8: "f4", 4: "i2", 1: "i1"}.get(size, "i1")
        n = size // CODES[code]
        shape = lambda: self.tuple_of(self.number_of((n,))) if r.random() < 0.6 else self.number_of((n,))()
        self.tuple_of(lambda: self.dtype(code if not self.odd() else None, depth + 1), shape)

    def fields(self, names, size, depth):
        r = self.r
        self.op(b"}")
        for at, name in enumerate(dict.fromkeys(names)):
            self.word(name)()
            one = max(size // max(len(names), 1), 1)
            code = {4: "f4", 2: "f2", 8: "f8", 1: "i1"}.get(one, "i1")
            if r.random() < 0.2:
                code = f"V{one}"
            self.tuple_of(lambda: self.dtype(code if not self.odd() else None, depth + 1), self.number_of((at * one,)), *([self.word("title")] if self.odd() else []))
            self.op(b"s")

    def shape(self):
        r = self.r
        return [r.choice((0, 1, 1, 2, 3)) for _ in range(r.choice((0, 1, 1, 2, 3)))]

    def array(self):
        r = self.r
        k = r.randrange(8)
        old, size, shape = r.random() < 0.4, [4], self.shape()
        core = "numpy.core." if old else "numpy._core."
        count = 1
        for d in shape:
            count *= d

        def dtype():
            size[0] = self.dtype()
        dims = lambda: self.ints(shape) if not self.odd() else self.oneof(lambda: self.ints([r.choice(INTS) for _ in shape]), self.any, lambda: self.number_of((count,))())
        if k < 2:
            self.make(core + "multiarray", "scalar", dtype, lambda: self.bytes(size[0]))
        elif k < 5:
            code = self.code() if r.random() < 0.9 else None
            n = count * CODES.get(code, 4)
            axes = list(range(len(shape)))
            r.shuffle(axes)
            turned = r.random() < 0.2
            self.make(core + "numeric", "_frombuffer", lambda: self.bytes(n), lambda: self.dtype(code), dims, self.word("K") if turned else self.word("C", "F"),
                      *([lambda: self.ints(axes if not self.odd() else [r.choice((0, 0, 1, -1, 2)) for _ in axes])] if turned else []))
        else:
            self.make(core + "multiarray", "_reconstruct", lambda: self.glob("numpy", "ndarray"), lambda: self.tuple_of(self.number_of((0,))),
                      lambda: self.raw(b"b") if not self.odd() else self.oneof(lambda: self.text("b"), self.any))
            if r.random() < 0.9:
                versioned = [self.number_of((1, 1, 1, 0))] if r.random() < 0.9 else []
                self.build(lambda: self.many(*self.args(*versioned, dims, dtype, self.flag, lambda: self.bytes(count * size[0]))))

    # PyTorch's, without storages.
    def torches(self):
        r = self.r
        k = r.randrange(10)
        if k < 3:
            self.meta_tensor()
        elif k == 3:
            self.make("torch", "device", self.word("cpu", "cuda", "meta", "cuda:0"), *([self.number_of((0, 1))] if r.random() < 0.3 else []))
        elif k == 4:
            self.make("torch", "Size", *([lambda: self.ints(self.shape())] if r.random() < 0.8 else []), new=r.random() < 0.3)
        elif k == 5:
            self.make("torch._utils", "_rebuild_device_tensor_from_numpy", self.array, lambda: self.glob("torch", r.choice(pickles.DTYPES)), self.word("cpu", "meta", "cuda:0"), self.flag)
        elif k == 6:
            self.make("torch._utils", "_rebuild_device_tensor_from_cpu_tensor", self.meta_tensor, lambda: self.glob("torch", r.choice(pickles.DTYPES)), self.word("cpu", "meta"), self.flag)
        elif k == 7:
            self.make("torch._utils", "_rebuild_parameter", self.meta_tensor, self.flag, lambda: self.call("collections", "OrderedDict"))
        elif k == 8:
            self.make("torch.serialization", "_get_layout", self.word("torch.strided", "torch.sparse_coo", "torch.jagged", "torch.sparse_csr", "torch._mkldnn"))
        else:
            self.make("torch.nn.parameter", "Parameter", *[self.meta_tensor, self.flag][:r.randrange(3)], new=r.random() < 0.5)

    def meta_tensor(self):
        r = self.r
        _, shape, stride = self.geometry(16)
        self.make("torch._utils", "_rebuild_meta_tensor_no_storage", lambda: self.glob("torch", r.choice(pickles.DTYPES)), lambda: self.ints(shape), lambda: self.ints(stride),
                  lambda: self.bool(False) if not self.odd() else self.flag())

    def leaf(self):
        r = self.r
        k = r.randrange(9)
        if k == 0:
            self.none()
        elif k < 3:
            self.int(r.choice(INTS))
        elif k == 3:
            self.float(r.choice(FLOATS))
        elif k < 6:
            self.text(r.choice(TEXTS))
        elif k == 6:
            self.raw(r.randbytes(r.randrange(5)))
        elif k == 7:
            self.bool(r.random() < 0.5)
        else:
            self.glob(*r.choice((("builtins", r.choice(PLAIN_TYPES)), ("numpy", "ndarray"), ("numpy", r.choice(CLASSES)), ("torch", r.choice(pickles.DTYPES)), ("collections", "deque"),
                                 ("argparse", "Namespace"), ("types", "SimpleNamespace"))))

    def any(self):
        """A value of any sort."""
        self.budget -= 1
        if self.budget < 0 or self.depth > 8:
            self.leaf()
            return
        self.depth += 1
        self.oneof(self.leaf, self.leaf, self.leaf, lambda: self.get("made", "dict", "odict", "list", "ints") or self.leaf(), self.list, lambda: self.dict(2), self.container, self.plain,
                   self.array, lambda: self.dtype(), self.torches, lambda: self.many(*[self.any] * self.r.randrange(3)), lambda: self.op(b"]"), lambda: self.op(b"}"), lambda: self.op(b")"))
        self.depth -= 1

    def value(self):
        self.any() if self.odd() else self.thing()

    def thing(self):
        self.budget -= 1
        if self.budget < 0 or self.depth > 8:
            self.leaf()
            return
        self.depth += 1
        self.oneof(self.array, self.array, lambda: self.dtype(), self.plain, self.plain, self.container, self.torches, self.leaf)
        self.depth -= 1


def program(seed):
    p = Calls(seed)
    p.out = bytearray(b"\x80" + bytes([p.r.choice((2, 2, 2, 3, 4, 5))]))
    p.wild = p.r.choice((0, 0.02, 0.05, 0.1))
    n = p.r.choice((1, 1, 1, 2, 3))
    p.budget = 4 * n
    if n == 1:
        p.thing()
    else:
        p.many(*[p.thing] * n)
    p.op(b".")
    return p, bytes(p.out)


def of_calls(r, seeds):
    return program(r.randrange(1 << 48))[1]


def of_calls_in_archive(r, seeds):
    """The same in a checkpoint."""
    p, data = program(r.randrange(1 << 48))
    p.order = "little"
    return pickles.archive(p, data)
