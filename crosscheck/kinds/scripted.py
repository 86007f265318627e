"""Writes programs of TorchScript, and says what torch.jit.load has of each: python3 scripted.py FOLDER.

The honest ones are modules of torch.nn and of the language, scripted, traced and frozen. The others do
more than compute, each in one way.
"""
import enum
import io
import pathlib
import pickle
import sys
import typing
import warnings
import zipfile

import torch
from torch import nn

warnings.simplefilter("ignore")
torch.manual_seed(1)


class Pair(typing.NamedTuple):
    a: torch.Tensor
    b: int


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


@torch.jit.script
class Box:
    def __init__(self, n: int):
        self.n = n

    def more(self, by: int = 1) -> int:
        self.n += by
        return self.n


@torch.jit.interface
class Step(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        pass


class Double(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * 2


class Language(nn.Module):
    """Statements and expressions of all kinds."""
    step: Step

    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.randn(3, 3))
        self.step = Double()
        self.names = {"a": 1, "b": 2}
        self.parts = nn.ModuleList([nn.Linear(3, 3), nn.Linear(3, 3)])

    def forward(self, x: torch.Tensor, mode: str = "sum", k: typing.Optional[int] = None) -> typing.Tuple[torch.Tensor, typing.Dict[str, int]]:
        box = Box(1)
        out: typing.List[torch.Tensor] = []
        if k is not None and k not in [4, 5]:
            x = x + k
        elif mode == "sum" or not self.training:
            x = x - 1.5e-3
        else:
            raise ValueError("no mode " + mode)
        for i, part in enumerate(self.parts):
            out.append(part(x) @ self.w)
        n = 0
        while n < 10:
            n += box.more(2)
            if n == 5:
                continue
            if n > 8:
                break
        pair = Pair(x, n)
        colour = Colour.RED if n > 3 else Colour.BLUE
        y = torch.stack([t[..., 0:2, None] for t in out])
        y[0] = 1
        squares = [j * j for j in range(n)]
        found = {name: v + n for name, v in self.names.items()}
        assert len(squares) >= 0, f"{n} squares"
        a, b = pair
        text = "{} and {}".format(a.size(0), colour.name)
        if torch.jit.isinstance(found, typing.Dict[str, int]):
            found[text] = b
        return self.step(y).sum(dim=[1, 2], keepdim=True), found


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(4, 3, num_layers=2, bidirectional=True)

    def forward(self, x: torch.Tensor):
        return self.rnn(x)[0]


class Quantized(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("q", torch.quantize_per_tensor(torch.randn(3, 4), 0.1, 3, torch.qint8))

    def forward(self, x: torch.Tensor):
        return x + self.q.dequantize()


def honest():
    image, words = torch.zeros(1, 3, 8, 8), torch.zeros(2, 5, 8)
    vision = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Upsample(scale_factor=2.0), nn.Flatten(), nn.LazyLinear(2)).eval()
    vision(image)
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval()
    yield "script-language", torch.jit.script(Language().eval())
    yield "script-vision", torch.jit.script(vision)
    yield "trace-vision", torch.jit.trace(vision, image)
    yield "freeze-vision", torch.jit.freeze(torch.jit.script(vision))
    yield "script-transformer", torch.jit.script(nn.TransformerEncoder(layer, 2).eval())
    yield "trace-transformer", torch.jit.trace(layer, words, check_trace=False)
    yield "script-lstm", torch.jit.script(Recurrent().eval())
    yield "trace-lstm", torch.jit.trace(Recurrent().eval(), torch.zeros(5, 2, 4))
    yield "script-quantized", torch.jit.script(Quantized())
    yield "script-warns", torch.jit.script(Warns())
    for made in (nn.GRU(4, 3), nn.Embedding(5, 3), nn.LayerNorm(4), nn.GroupNorm(2, 4), nn.MultiheadAttention(8, 2), nn.Conv1d(2, 3, 2, padding="same"), nn.ConvTranspose2d(2, 3, 2),
                 nn.PReLU(), nn.Bilinear(2, 3, 4), nn.EmbeddingBag(5, 3), nn.GELU(), nn.Softmax(-1), nn.PixelShuffle(2), nn.AdaptiveAvgPool2d(2), nn.Dropout(), nn.InstanceNorm2d(3, affine=True),
                 nn.CrossEntropyLoss(), nn.CosineSimilarity(), nn.Fold((4, 5), 2), nn.TransformerDecoderLayer(8, 2, 16)):
        yield "script-" + type(made).__name__.lower(), torch.jit.script(made.eval())


class Base(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.ones(2))


class Prints(Base):
    def forward(self, x: torch.Tensor):
        print(x)
        return x + self.w


class Saves(Base):
    def forward(self, x: torch.Tensor):
        torch.save(x, "/tmp/never")
        return x + self.w


class Reads(Base):
    def forward(self, x: torch.Tensor):
        return x + torch.from_file("/etc/hostname", False, 2)


class Forks(Base):
    def forward(self, x: torch.Tensor):
        return torch.jit.wait(torch.jit.fork(torch.relu, x)) + self.w


class Warns(Base):
    def forward(self, x: torch.Tensor):
        warnings.warn("here")
        return x + self.w


class Seeds(Base):
    def forward(self, x: torch.Tensor):
        torch.manual_seed(1)
        return x + self.w


class Grads(Base):
    def forward(self, x: torch.Tensor):
        with torch.no_grad():
            return x + self.w


class State(Base):
    @torch.jit.export
    def __getstate__(self):
        return (self.w, self.training)

    @torch.jit.export
    def __setstate__(self, state: typing.Tuple[torch.Tensor, bool]):
        self.w = state[0] * 2
        self.training = state[1]

    def forward(self, x: torch.Tensor):
        return x + self.w


class Packed(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = torch.ao.nn.quantized.Linear(4, 3)

    def forward(self, x: torch.Tensor):
        return self.lin(x)


class Library(Base):
    def forward(self, x: torch.Tensor):
        return torch.ops.quantized.add(x, x, 1.0, 1) + self.w


# What a forger writes in place of the code's "return": torch compiles each.
FORGED = {
    "alias": "f = torch.save\n    _ = f(x, \"/tmp/never\")\n    return x",
    "method": "_ = (x).save(\"/tmp/never\", )\n    return x",
    "getattr": "_ = getattr(x, \"save\")(\"/tmp/never\")\n    return x",
    "default": "return torch.add(x, ops.aten.from_file(\"/etc/hostname\", False, 2))",
    "isnot": "return torch.add(x, 1 if x is notops.aten.from_file(\"/etc/hostname\", False, 2) else 2)",
    "comment": "# def\n    return x",
    "triple": "_ = \"\"\" \"\"\"\n    return x",
    "continued": "return torch.\\\n      from_file(\"/etc/hostname\", False, 2)",
    "comprehension": "_ = [torch.from_file(\"/etc/hostname\", False, i) for i in [2]]\n    return x",
    "lambda": "def g(y: Tensor) -> Tensor:\n      return torch.from_file(\"/etc/hostname\", False, 2)\n    _ = fork(g, x)\n    return x",
    "assert": "assert torch.equal(torch.from_file(\"/etc/hostname\", False, 2), x), \"no\"\n    return x",
    "subscript": "return x[torch.numel(torch.from_file(\"/etc/hostname\", False, 2)):]",
}


def forge(path, source, forged):
    """Copies an archive with another body of forward."""
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(path, "w") as new:
        for info in old.infolist():
            data = old.read(info)
            if b"class Base2(" in data:
                head, _ = data.decode().split("    return ", 1)
                data = (head + "    " + forged + "\n").encode()
            new.writestr(info.filename, data)


TYPES = {torch.float32: "F32", torch.int64: "I64", torch.qint8: "QI8", torch.bool: "BOOL", torch.float64: "F64"}


def constants(path):
    """The tensors of constants.pkl, which the code names by their number."""
    reader = torch._C.PyTorchFileReader(str(path))
    raw = reader.get_record("constants.pkl")

    class Constants(pickle.Unpickler):
        def persistent_load(self, given):
            _, kind, key, _, count = given
            data = reader.get_storage_from_record("constants/" + key, count, kind.dtype)
            return torch.storage.TypedStorage(wrap_storage=data._typed_storage()._untyped_storage, dtype=kind.dtype, _internal=True)

    return list(Constants(io.BytesIO(raw)).load())


def tensors(path):
    """All tensors of a program: type, shape and bytes."""
    module = torch.jit.load(str(path))
    own = dict(module.state_dict())
    for name, part in module.named_modules():  # recurrent ones have a list of their weights, too
        own |= {f"{name}._flat_weights.0.{k}".removeprefix("."): t for k, t in enumerate(getattr(part, "_flat_weights", ()))}
    own |= {f"CONSTANTS.c{k}": t for k, t in enumerate(constants(path)) if isinstance(t, torch.Tensor)}
    return {n: (TYPES[t.dtype], tuple(t.shape), (t.int_repr() if t.is_quantized else t).detach().contiguous().flatten().view(torch.uint8).numpy().tobytes() if t.numel() else b"") for n, t in own.items()}


def write(folder):
    """Yields path, whether it only computes, and its tensors; None if torch does not load it."""
    for name, module in honest():
        path = folder / (name + ".pt")
        torch.jit.save(module, str(path))
        yield path, True, tensors(path)
    for made in (Prints, Saves, Reads, Forks, Seeds, Grads, State, Packed, Library):
        path = folder / f"does-{made.__name__.lower()}.pt"
        torch.jit.save(torch.jit.script(made().eval()), str(path))
        yield path, False, None
    plain = folder / "forged.pt"
    torch.jit.save(torch.jit.script(Base2().eval()), str(plain))
    for name, body in FORGED.items():
        path = folder / f"forged-{name}.pt"
        forge(path, plain, body)
        try:
            torch.jit.load(str(path))
        except RuntimeError as e:
            print(f"{path.name}: torch refuses it: {str(e).strip().splitlines()[0]}", file=sys.stderr)
        yield path, False, None


class Base2(Base):
    def forward(self, x: torch.Tensor):
        return x + self.w


if __name__ == "__main__":
    for path, computes, has in write(pathlib.Path(sys.argv[1])):
        print(path.name, "computes" if computes else "does more", len(has or ()))
