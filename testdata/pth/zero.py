"""Shards of a ZeRO-3 checkpoint in the form of DeepSpeed 0.19 (utils/zero_to_fp32.py reads
these members), and the state of an optimizer as transformers' Trainer saves it.

    python zero.py    writes zero/ beside this script

torch 2.15.0.
"""

import pathlib

import torch

HERE = pathlib.Path(__file__).resolve().parent / "zero"


def main():
    module = torch.nn.Linear(4, 4)
    optimizer = torch.optim.AdamW(module.parameters())
    module(torch.ones(4)).sum().backward()
    optimizer.step()
    flat = torch.arange(20.0)
    states = {"zero_stage": 3, "partition_count": 2, "fp32_flat_groups": [flat], "optimizer_state_dict": {"state": {0: {"exp_avg": flat, "exp_avg_sq": flat}}, "param_groups": [{"lr": 1e-4, "params": [0]}]}}
    HERE.mkdir(exist_ok=True)
    torch.save({"optimizer_state_dict": states, "ds_config": {"zero_optimization": {"stage": 3}}, "ds_version": "0.19.0"}, HERE / "zero_pp_rank_0_mp_rank_00_optim_states.pt")
    torch.save({"module": {"weight": torch.zeros(0)}, "param_shapes": [{"weight": torch.Size([4, 4])}], "buffer_names": [], "shared_params": {}, "ds_version": "0.19.0"}, HERE / "zero_pp_rank_0_mp_rank_00_model_states.pt")
    torch.save(optimizer.state_dict(), HERE / "optimizer.pt")


main()
