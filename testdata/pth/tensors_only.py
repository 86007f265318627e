"""Checkpoints whose pickles hold more than data, and the tensors that torch finds in
them, written by safetensors.

    python tensors_only.py    writes tensors-only/ beside this script

torch 2.15.0, safetensors 0.8.0, omegaconf 2.4.0. NAME.pt is the checkpoint, NAME.safetensors what
torch.load(NAME.pt, weights_only=False) holds: the state dict of each module, under the
path that leads to it. Each is read back by torch before it is compared.
"""

import os
import pathlib

import torch
from omegaconf import OmegaConf
from safetensors.torch import save_file

HERE = pathlib.Path(__file__).resolve().parent / "tensors-only"


class Called:
    """A call of a function that is not allowed."""

    def __reduce__(self):
        return os.path.join, ("a", "b")


def module():
    torch.manual_seed(7)
    return torch.nn.Sequential(torch.nn.Linear(3, 5), torch.nn.BatchNorm1d(5), torch.nn.Sequential(torch.nn.Embedding(4, 2)))


def tensors(value, path=""):
    """What is a tensor, by the path that leads to it."""
    out = {}
    if isinstance(value, torch.nn.Module):
        value = value.state_dict()
    if isinstance(value, torch.Tensor):
        out[path] = value.detach().clone()
    elif isinstance(value, dict):
        for k, v in value.items():
            out |= tensors(v, f"{path}.{k}" if path else str(k))
    elif isinstance(value, (list, tuple)):
        for i, v in enumerate(value):
            out |= tensors(v, f"{path}.{i}" if path else str(i))
    return out


def main():
    m = module()
    config = OmegaConf.create({"model": {"dim": 8, "layers": [1, 2, 3]}, "lr": 0.1, "again": "${lr}"})
    lightning = {
        "epoch": 3, "global_step": 10, "pytorch-lightning_version": "2.6.6", "state_dict": {"model." + k: v for k, v in m.state_dict().items()},
        "hyper_parameters": config, "part": config.model, "optimizer_states": [torch.optim.AdamW(m.parameters()).state_dict()],
    }
    cases = {
        "whole": m, "ema": {"model": m, "ema": module().half(), "updates": 5, "lr": 0.1}, "lightning": lightning,
        "called": {"state_dict": m.state_dict(), "path": Called()},
    }
    for name, value in cases.items():
        for zipped in (True, False):
            if not zipped and name in ("whole", "ema"):
                continue  # with the source text of torch's classes in them
            file = HERE / (name + ("" if zipped else "-legacy") + ".pt")
            torch.save(value, file, _use_new_zipfile_serialization=zipped)
            save_file(tensors(torch.load(file, weights_only=False)), file.with_suffix(".safetensors"))


main()
