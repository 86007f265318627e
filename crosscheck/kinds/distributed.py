"""Writes distributed checkpoints with torch.distributed.checkpoint: python3 distributed.py FOLDER.

Those of several processes are written by as many, over gloo on a CPU.
"""
import argparse
import os
import pathlib
import shutil
import socket
import sys
import warnings

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
import torch.multiprocessing as mp
from torch import nn
from torch.distributed.checkpoint.format_utils import dcp_to_torch_save

warnings.simplefilter("ignore")
PROCESSES = 4


def save(state, folder, **options):
    dcp.save(state, storage_writer=dcp.FileSystemWriter(folder, **options))


def merge(folder, target):
    dcp_to_torch_save(folder, target)


def trained(model):
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
    model(torch.ones(2, 6)).sum().backward()
    optimizer.step()
    return optimizer


def plain():
    """What one process saves: nested dicts and lists, all types, values."""
    torch.manual_seed(1)
    types = [torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int8, torch.uint8, torch.bool, torch.float8_e4m3fn, torch.complex64]
    model = nn.Sequential(nn.Linear(6, 5), nn.Linear(5, 3))
    return {
        "model": model.state_dict(),
        "optim": trained(model).state_dict(),
        "types": [torch.arange(12).reshape(3, 4).to(t) for t in types],
        "step": 7, "name": "run", "none": None, "lr": 0.5, "pair": (torch.ones(2), 3), "empty": {},
        "scalar": torch.tensor(2.5), "nothing": torch.zeros(0, 4),
        "turned": torch.randn(4, 3).t(), "strided": torch.randn(6, 8)[::2, 1::3],
        "args": argparse.Namespace(a=1, b=[2, "c"]),
    }


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.norm = nn.Linear(6, 7), nn.Linear(7, 5, bias=False), nn.LayerNorm(5)

    def forward(self, x):
        return self.norm(self.b(self.a(x)))


def sharded(rank, work, port):
    """One of several processes."""
    from torch.distributed._tensor import DTensor, Replicate, Shard, distribute_tensor
    from torch.distributed.checkpoint.state_dict import StateDictOptions, get_state_dict
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    dist.init_process_group("gloo", rank=rank, world_size=PROCESSES)
    torch.manual_seed(2)
    line, square = init_device_mesh("cpu", (PROCESSES,)), init_device_mesh("cpu", (2, 2), mesh_dim_names=("a", "b"))
    state = {}
    for i, shape in enumerate([(8, 4), (5, 6), (3, 2), (9,), (4, 7, 6), (1, 16)]):
        whole = torch.randn(shape)
        for dim in range(len(shape)):
            state[f"line.{i}.{dim}"] = distribute_tensor(whole, line, [Shard(dim)])
        state[f"line.{i}.all"] = distribute_tensor(whole, line, [Replicate()])
        if len(shape) > 1:
            state[f"square.{i}.01"] = distribute_tensor(whole, square, [Shard(0), Shard(1)])
            state[f"square.{i}.10"] = distribute_tensor(whole.bfloat16(), square, [Shard(1), Shard(0)])
            state[f"square.{i}.00"] = distribute_tensor(whole.half(), square, [Shard(0), Shard(0)])
            state[f"square.{i}.r1"] = distribute_tensor(whole.double(), square, [Replicate(), Shard(1)])
            local = distribute_tensor(whole.transpose(0, 1).contiguous(), line, [Shard(1)]).to_local()
            if whole.shape[0] % PROCESSES == 0:  # parts that are not row-major
                state[f"turned.{i}"] = DTensor.from_local(local.transpose(0, 1), line, [Shard(0)])
    state |= {"step": 3, "plain": torch.arange(5)}
    save({k: state[k] for k in ("line.1.0", "line.2.0", "square.0.10", "square.4.01", "turned.0", "step")}, work / "few")
    save(state, work / "sharded")
    save(state, work / "threads", thread_count=2)
    save(state, work / "files", single_file_per_rank=False)
    for mesh, name in ((line, "fsdp"), (square, "hsdp")):
        torch.manual_seed(3)
        model = Model()
        fully_shard(model.a, mesh=mesh)
        fully_shard(model, mesh=mesh)
        optimizer = trained(model)
        weights, state = get_state_dict(model, optimizer)
        save({"model": weights, "optim": state}, work / name)
        weights, state = get_state_dict(model, optimizer, options=StateDictOptions(flatten_optimizer_state_dict=True))
        save({"app": {"model": weights, "optimizer": state}, "epoch": 1}, work / (name + "-flat"))
    dist.destroy_process_group()


def write(work):
    save(plain(), work / "plain")
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    mp.spawn(sharded, (work, port), nprocs=PROCESSES)
    return [work / name for name in ("plain", "few", "sharded", "threads", "files", "fsdp", "fsdp-flat", "hsdp", "hsdp-flat")]


if __name__ == "__main__":
    target = pathlib.Path(sys.argv[1])
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    for folder in write(target):
        print(folder)
