"""Writes the programs of this folder, with torch 2.15.0, and their tensors as torch reads them: python3 generate.py, in this folder."""
import hashlib
import json

import torch

torch.manual_seed(1)


class Inner(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = torch.nn.Linear(4, 3)
        self.h16 = torch.nn.Parameter(torch.randn(2, 3).half())
        self.register_buffer("buf", torch.arange(5))
        self.k = 3

    def forward(self, x):
        return self.lin(x) * self.k + torch.tensor([1.5, 2.5, 3.5])


class Outer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a = Inner()
        self.b = torch.nn.Sequential(torch.nn.Conv2d(1, 2, 3), torch.nn.ReLU())
        self.tied = self.a.lin
        self.names = ["x", "y"]

    def forward(self, x):
        return self.a(x).sum()


def dump(name, module, constants=()):
    torch.jit.save(module, name + ".pt")
    again = torch.jit.load(name + ".pt")
    tensors = dict(again.state_dict()) | {f"CONSTANTS.c{k}": t for k, t in enumerate(constants)}
    said = {n: [str(t.dtype), list(t.shape), hashlib.sha256(t.contiguous().numpy().tobytes()).hexdigest()] for n, t in tensors.items()}
    with open(name + ".json", "w") as f:
        json.dump(said, f, indent=1)


def constants(module):
    """The tensors that the code names CONSTANTS.c0, c1 and so on."""
    named = module.code_with_constants[1].const_mapping
    return [torch.as_tensor(named[f"c{k}"]) for k in range(len(named))]


script = torch.jit.script(Outer().eval())
dump("script", script)
frozen = torch.jit.freeze(torch.jit.script(Inner().eval()))
dump("frozen", frozen, constants(frozen))
trace = torch.jit.trace(Inner().eval(), torch.zeros(2, 4))
dump("trace", trace, constants(trace))
