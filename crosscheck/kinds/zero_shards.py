"""Writes checkpoints of DeepSpeed's ZeRO with the library itself, on the CPU, over gloo, and merges them with its own zero_to_fp32.

    python3 zero.py FOLDER    each case of CASES as a folder of its own

A case is (stage, processes, type, kind of model). DeepSpeed is 0.19.8; the optimizer is torch's Adam."""
import os
import pathlib
import socket
import subprocess
import sys

CASES = {
    "one": (1, 1, "float32", "plain"), "one-two": (1, 2, "bfloat16", "plain"), "two": (2, 1, "float16", "tied"), "two-two": (2, 2, "bfloat16", "frozen"), "two-three": (2, 3, "float32", "groups"),
    "three": (3, 1, "bfloat16", "frozen"), "three-two": (3, 2, "bfloat16", "frozen"), "three-three": (3, 3, "float32", "groups"), "three-tied": (3, 2, "float16", "tied"),
}


def model(kind):
    import torch

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = torch.nn.Embedding(7, 6)
            self.body = torch.nn.Sequential(torch.nn.Linear(6, 5), torch.nn.Linear(5, 6, bias=False))
            self.norm = torch.nn.LayerNorm(6)
            self.head = torch.nn.Linear(6, 7, bias=False)
            self.scale = torch.nn.Parameter(torch.tensor([0.5]))
            self.register_buffer("mean", torch.randn(3, 2))
            self.register_buffer("halves", torch.tensor([0.1, -2.5, 65504.0, 6e-8], dtype=torch.float64).half())
            self.register_buffer("mask", torch.tensor([True, False]))
            self.register_buffer("position", torch.tensor([0, 1, 2**40 + 1, -3]))
            if kind == "tied":
                self.head.weight = self.embed.weight
            if kind == "frozen":
                self.embed.weight.requires_grad_(False)
                self.body[0].bias.requires_grad_(False)

        def forward(self, x):
            hidden = self.norm(self.body(self.embed(x))) * self.scale
            return self.head(hidden).float().logsumexp(-1).sum()

    return Net()


def worker(root, names):
    import deepspeed
    import torch
    deepspeed.get_accelerator().is_fp16_supported = lambda: True  # slow on a CPU, and only that
    deepspeed.ops.__compatible_ops__["deepspeed_shm_comm"] = False  # C++ that is compiled on the spot; gloo does the same
    for name in names:
        stage, _, dtype, kind = CASES[name]
        torch.manual_seed(stage)
        net = model(kind)
        trained = [p for p in net.parameters() if p.requires_grad]
        groups = [{"params": trained[:3], "lr": 1e-3}, {"params": trained[3:], "weight_decay": 0.1}] if kind == "groups" else trained
        config = {"train_micro_batch_size_per_gpu": 2, "zero_optimization": {"stage": stage, "stage3_param_persistence_threshold": 0}, "zero_allow_untested_optimizer": True, "zero_force_ds_cpu_optimizer": False,
                  "bf16": {"enabled": dtype == "bfloat16"}, "fp16": {"enabled": dtype == "float16", "initial_scale_power": 4}}
        engine, *_ = deepspeed.initialize(model=net, optimizer=torch.optim.Adam(groups, lr=1e-2), config=config)
        for _ in range(2):
            engine.backward(engine(torch.randint(0, 7, (2,))))
            engine.step()
        engine.save_checkpoint(str(root / name))
        engine.destroy()


def write(root, names=CASES):
    """Writes the cases, and returns their folders."""
    for processes in (1, 2, 3):
        wanted = [n for n in names if CASES[n][1] == processes]
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            port = s.getsockname()[1]
        env = os.environ | {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": str(processes), "DS_ACCELERATOR": "cpu", "OMP_NUM_THREADS": "1", "LOCAL_SIZE": str(processes)}
        running = [subprocess.Popen([sys.executable, __file__, "--worker", str(root), *wanted], env=env | {"RANK": str(r), "LOCAL_RANK": str(r)}, stdout=sys.stderr) for r in range(processes) if wanted]
        if any([p.wait() for p in running]):
            raise RuntimeError(f"{wanted}: a process failed")
    return [root / name for name in names]


def merged(folder):
    """What DeepSpeed's zero_to_fp32 makes of a checkpoint."""
    from deepspeed.utils.zero_to_fp32 import get_fp32_state_dict_from_zero_checkpoint
    return get_fp32_state_dict_from_zero_checkpoint(str(folder))


if __name__ == "__main__":
    if sys.argv[1] == "--worker":
        worker(pathlib.Path(sys.argv[2]), sys.argv[3:])
    else:
        write(pathlib.Path(sys.argv[1]))
