"""A tiny mixture of experts, and what mlx_lm.convert makes of it: plain, and in 4 bits.

    python3 testdata/mlx/generate.py        Python 3.11.7, torch 2.15.0, transformers 5.23.0, mlx 0.32.4, mlx-lm 0.32.2

Of the reference's folders config.json and the weights are kept.
"""
import json
import pathlib
import shutil
import sys
import tempfile

import torch
import transformers as tf
from mlx_lm.convert import convert
from tokenizers import Tokenizer, models

HERE = pathlib.Path(__file__).resolve().parent
torch.manual_seed(3)
config = tf.Qwen3MoeConfig(vocab_size=64, hidden_size=64, intermediate_size=64, moe_intermediate_size=64, num_hidden_layers=1, num_attention_heads=2,
                           num_key_value_heads=1, head_dim=32, num_experts=2, num_experts_per_tok=1, max_position_embeddings=64)
with tempfile.TemporaryDirectory() as temp:
    folder = pathlib.Path(temp) / "model"
    tf.Qwen3MoeForCausalLM(config).to(torch.bfloat16).save_pretrained(folder)
    tf.PreTrainedTokenizerFast(tokenizer_object=Tokenizer(models.WordLevel({"a": 0}, "a"))).save_pretrained(folder)
    stated = json.loads((folder / "config.json").read_text())
    # As transformers 4 spells them, which mlx-lm asks for.
    stated |= {"rope_theta": stated["rope_parameters"]["rope_theta"], "num_experts": 2, "torch_dtype": "bfloat16"}
    (folder / "config.json").write_text(json.dumps(stated, indent=1))
    convert(str(folder), temp + "/plain")
    convert(str(folder), temp + "/q4", quantize=True)
    for name in ("model", "plain", "q4"):
        shutil.rmtree(HERE / name, ignore_errors=True)
        (HERE / name).mkdir()
        for file in ("config.json", "model.safetensors", "model.safetensors.index.json"):
            if (source := pathlib.Path(temp) / name / file).exists():
                shutil.copy(source, HERE / name)
sys.exit(0)
