"""Writes the small model that README and the tests of the program show.

Run with torch 2.15, safetensors 0.8, numpy 2.4 and gguf 0.19:

    python make.py

The bytes depend on those versions; the shapes, types and names do not.
"""

import json
import os

import gguf
import numpy as np
import torch
from safetensors.torch import save_file

HERE = os.path.dirname(os.path.abspath(__file__))


class Block(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = torch.nn.LayerNorm(width)
        self.attn = torch.nn.MultiheadAttention(width, 4, batch_first=True)
        self.up = torch.nn.Linear(width, 4 * width)
        self.down = torch.nn.Linear(4 * width, width)


class Tiny(torch.nn.Module):
    """A language model of two layers, too small to say anything."""

    def __init__(self, vocab=96, width=16):
        super().__init__()
        self.embed = torch.nn.Embedding(vocab, width)
        self.layers = torch.nn.ModuleList([Block(width) for _ in range(2)])
        self.norm = torch.nn.LayerNorm(width)
        self.register_buffer("position_ids", torch.arange(32))


def main():
    torch.manual_seed(11)
    state = Tiny().state_dict()
    half = {k: v.to(torch.bfloat16) if v.ndim == 2 else v for k, v in state.items()}
    save_file(half, f"{HERE}/model.safetensors", metadata={"format": "pt"})
    torch.save(state, f"{HERE}/checkpoint.pt")

    rng = np.random.default_rng(11)
    np.savez_compressed(
        f"{HERE}/weights.npz",
        **{
            "W_enc": rng.standard_normal((16, 64), dtype="f4"),
            "W_dec": np.asfortranarray(rng.standard_normal((64, 16), dtype="f4")),
            "b_dec": np.zeros(16, ">f4"),
            "threshold": rng.random(64).astype("f2"),
            "step": np.int64(12000),
        },
    )

    w = gguf.GGUFWriter(f"{HERE}/tiny.gguf", "llama")
    w.add_name("tiny")
    w.add_block_count(1)
    w.add_context_length(32)
    w.add_embedding_length(32)
    w.add_feed_forward_length(64)
    w.add_head_count(4)
    w.add_layer_norm_rms_eps(1e-5)
    w.add_tokenizer_model("gpt2")
    w.add_tokenizer_pre("gpt-2")
    w.add_token_list([f"t{i}" for i in range(64)])
    w.add_token_types([1] * 64)
    w.add_token_merges([])
    w.add_bos_token_id(0)
    w.add_eos_token_id(1)
    q8 = gguf.GGMLQuantizationType.Q8_0
    for name, shape, kind in [
        ("token_embd.weight", (64, 32), q8),
        ("blk.0.attn_q.weight", (32, 32), q8),
        ("blk.0.attn_norm.weight", (32,), None),
        ("output_norm.weight", (32,), None),
    ]:
        data = rng.standard_normal(shape, dtype="f4")
        w.add_tensor(name, gguf.quants.quantize(data, kind) if kind else data, raw_dtype=kind)
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()

    # The same kind of model in two files, as llama-gguf-split names them.
    os.makedirs(f"{HERE}/split", exist_ok=True)
    w = gguf.GGUFWriter(f"{HERE}/split/tiny.gguf", "llama", split_max_tensors=2)
    w.add_block_count(1)
    for name in ["token_embd.weight", "blk.0.attn_q.weight", "output_norm.weight"]:
        w.add_tensor(name, np.ones((2, 32), "f4"))
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()

    # A model of two files, as the Hugging Face hub lays it out.
    os.makedirs(f"{HERE}/sharded", exist_ok=True)
    names = sorted(half)
    parts = [names[: len(names) // 2], names[len(names) // 2 :]]
    index = {"metadata": {"total_size": 0}, "weight_map": {}}
    for i, part in enumerate(parts):
        file = f"model-{i + 1:05}-of-{len(parts):05}.safetensors"
        save_file({k: half[k] for k in part}, f"{HERE}/sharded/{file}", metadata={"format": "pt"})
        for k in part:
            index["weight_map"][k] = file
            index["metadata"]["total_size"] += half[k].nbytes
    with open(f"{HERE}/sharded/model.safetensors.index.json", "w") as f:
        json.dump(index, f, indent=2)
        f.write("\n")

    adapter()


def adapter():
    """An adapter of PEFT's layout for the model of two files."""
    os.makedirs(f"{HERE}/adapter", exist_ok=True)
    rng = np.random.default_rng(11)
    ranks, tensors = 2, {}
    for module, (out, into) in {"layers.0.up": (64, 16), "layers.0.down": (16, 64), "layers.1.up": (64, 16)}.items():
        tensors[f"base_model.model.{module}.lora_A.weight"] = torch.from_numpy(rng.standard_normal((ranks, into), dtype="f4"))
        tensors[f"base_model.model.{module}.lora_B.weight"] = torch.from_numpy(rng.standard_normal((out, ranks), dtype="f4"))
    save_file(tensors, f"{HERE}/adapter/adapter_model.safetensors", metadata={"format": "pt"})
    config = {"base_model_name_or_path": None, "bias": "none", "fan_in_fan_out": False, "init_lora_weights": True, "lora_alpha": 4,
              "lora_dropout": 0.0, "modules_to_save": None, "peft_type": "LORA", "r": ranks, "target_modules": ["up", "down"], "task_type": None}
    with open(f"{HERE}/adapter/adapter_config.json", "w") as f:
        json.dump(config, f, indent=2)
        f.write("\n")


if __name__ == "__main__":
    main()
