"""Writes a checkpoint with a tied weight, and what safetensors makes of it.

Run with torch 2.15 and safetensors 0.8: python tied.py
"""

import os
import shutil

import torch
from safetensors.torch import save_model

HERE = os.path.dirname(os.path.abspath(__file__))


class Tied(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.model = torch.nn.ModuleDict({"embed_tokens": torch.nn.Embedding(8, 4)})
        self.norm = torch.nn.LayerNorm(4)
        self.lm_head = torch.nn.Linear(4, 8, bias=False)
        self.lm_head.weight = self.model["embed_tokens"].weight


def main():
    torch.manual_seed(3)
    shutil.rmtree(f"{HERE}/tied", ignore_errors=True)
    os.makedirs(f"{HERE}/tied")
    model = Tied()
    torch.save(model.state_dict(), f"{HERE}/tied/pytorch_model.bin")
    with open(f"{HERE}/tied/config.json", "w") as f:
        f.write('{\n  "tie_word_embeddings": true\n}\n')
    save_model(model, f"{HERE}/tied.safetensors", metadata={"format": "pt"})


main()
