"""Checkpoints whose pickles hold more than data: whole modules, averages of weights,
states of optimizers, arguments of transformers' trainer, and objects that hold
themselves. The tensors that amn convert --tensors-only writes are those that
torch.load(weights_only=False) finds."""
# The folder of this script must not hide the library of the same name.
import sys

HERE = sys.path.pop(0)
import json
import os
import pathlib
import subprocess

import safetensors
import safetensors.torch
import torch

AMN = os.environ["CROSSCHECK_AMN"]
WORK = pathlib.Path(sys.argv[2])
files = tensors = elements = differences = 0


class Node:
    """As OmegaConf's: it knows its parent, and has slots and attributes."""

    def __init__(self, parent, value):
        self._parent, self._content = parent, value


class Ema(torch.nn.Module):
    def __init__(self, of):
        super().__init__()
        self.module, self.decay, self.again = of, 0.99, [self]
        self.register_buffer("steps", torch.arange(3), persistent=True)


class Call:
    def __reduce__(self):
        return os.path.join, ("a", "b")


def module(seed):
    torch.manual_seed(seed)
    m = torch.nn.Sequential(torch.nn.Linear(9, 16), torch.nn.BatchNorm1d(16), torch.nn.Sequential(torch.nn.Embedding(7, 4), torch.nn.LSTM(4, 3)))
    m[0].to([torch.float32, torch.bfloat16, torch.float16][seed % 3])
    return m


def flat(value, path=""):
    if isinstance(value, torch.nn.Module):
        value = value.state_dict()
    if isinstance(value, torch.Tensor):
        return {path: value.detach().clone().contiguous()}
    if isinstance(value, (list, tuple)):
        value = dict(enumerate(value))
    out = {}
    if isinstance(value, dict):
        for k, v in value.items():
            out |= flat(v, f"{path}.{k}" if path else str(k))
    return out


def checkpoints():
    for seed in range(6):
        m = module(seed)
        trained = module(0)[0]
        optimizer = torch.optim.AdamW(trained.parameters())
        trained(torch.randn(2, 9)).sum().backward()
        optimizer.step()
        root = Node(None, {})
        root._content["child"] = Node(root, 3)
        yield "whole", m, []
        yield "nested", {"model": m.state_dict(), "ema": Ema(m), "epoch": 3, "call": Call()}, []
        yield "lightning", {"state_dict": {"model." + k: v for k, v in m.state_dict().items()}, "hyper_parameters": root,
                            "optimizer_states": [optimizer.state_dict()]}, []
        yield "selected", {"state_dict": {"model." + k: v for k, v in m.state_dict().items()}, "config": root, "more": m}, ["--select", "state_dict", "--strip-prefix", "model."]
    from transformers import TrainingArguments

    yield "training_args", {"args": TrainingArguments(output_dir="x", report_to=[], use_cpu=True), "w": torch.ones(3)}, []


def want(name, loaded):
    return flat(loaded["state_dict"]) if name == "selected" else flat(loaded)


for i, (name, value, flags) in enumerate(checkpoints()):
    for zipped in (True, False):
        path, out = WORK / f"{i}.pt", WORK / f"{i}.safetensors"
        torch.save(value, path, _use_new_zipfile_serialization=zipped)
        expected = want(name, torch.load(path, weights_only=False))
        if name == "selected":
            expected = {k.removeprefix("model."): v for k, v in expected.items()}
        run = subprocess.run([AMN, "convert", "-q", "-f", "--to", "safetensors", "--tensors-only", *flags, "-o", out, path], capture_output=True, text=True)
        got = safetensors.torch.load_file(out) if run.returncode == 0 else {}
        files += 1
        if set(got) != set(expected):
            differences += 1
            print(f"{name}: {run.stderr}{sorted(set(got) ^ set(expected))}", file=sys.stderr)
        for k in set(got) & set(expected):
            tensors, elements = tensors + 1, elements + got[k].numel()
            if got[k].dtype != expected[k].dtype or got[k].shape != expected[k].shape or got[k].numel() and got[k].reshape(-1).view(torch.uint8).tolist() != expected[k].reshape(-1).view(torch.uint8).tolist():
                differences += 1
                print(f"{name}: {k} differs", file=sys.stderr)

print(json.dumps({"files": files, "tensors": tensors, "elements": elements, "differences": differences, "versions": f"torch {torch.__version__}, transformers"}))
