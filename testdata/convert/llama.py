"""Writes a small Llama quantized to FP8 by blocks, and what torch decodes it to.

Run with torch 2.15, safetensors 0.8 and transformers 5.23:

    python llama.py

testdata/demo/llama-fp8 is the model's folder, llama-bf16.safetensors beside this
script the same weights decoded: as transformers does, w.float() * scale of its
block, rounded to bfloat16.
"""

import json
import os
import shutil

import torch
from safetensors.torch import load_file, save_file
from transformers import LlamaConfig, LlamaForCausalLM

HERE = os.path.dirname(os.path.abspath(__file__))
FOLDER = f"{HERE}/../demo/llama-fp8"
BLOCK = 16


def main():
    torch.manual_seed(7)
    shutil.rmtree(FOLDER, ignore_errors=True)
    config = LlamaConfig(
        vocab_size=64,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        max_position_embeddings=64,
        tie_word_embeddings=False,
        dtype="bfloat16",
    )
    LlamaForCausalLM(config).to(torch.bfloat16).save_pretrained(FOLDER)
    stored, decoded = {}, {}
    for name, value in load_file(f"{FOLDER}/model.safetensors").items():
        stored[name] = decoded[name] = value
        if "_proj" not in name:
            continue
        rows, cols = value.shape
        blocks = value.float().view(rows // BLOCK, BLOCK, cols // BLOCK, BLOCK)
        scale = blocks.abs().amax((1, 3)) / 448
        code = (blocks / scale[:, None, :, None]).to(torch.float8_e4m3fn)
        stored[name] = code.view(rows, cols)
        stored[f"{name}_scale_inv"] = scale
        decoded[name] = (code.float() * scale[:, None, :, None]).view(rows, cols).to(torch.bfloat16)
    save_file(stored, f"{FOLDER}/model.safetensors", metadata={"format": "pt"})
    save_file(decoded, f"{HERE}/llama-bf16.safetensors", metadata={"format": "pt"})
    with open(f"{FOLDER}/config.json") as f:
        config = json.load(f)
    config["quantization_config"] = {
        "activation_scheme": "dynamic",
        "fmt": "e4m3",
        "quant_method": "fp8",
        "weight_block_size": [BLOCK, BLOCK],
    }
    with open(f"{FOLDER}/config.json", "w") as f:
        json.dump(config, f, indent=2, sort_keys=True)
        f.write("\n")
    for name, text in {
        "tokenizer.json": "{}\n",
        "chat_template.jinja": "{{ messages[0]['content'] }}\n",
        "LICENSE": "None: the weights are random.\n",
        "modeling_llama.py": "raise SystemExit('code of a folder is never copied')\n",
    }.items():
        with open(f"{FOLDER}/{name}", "w") as f:
            f.write(text)


main()
