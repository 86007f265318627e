"""Writes this folder's samples with the reference libraries: the weights of a
very small model of the LLaMA family, random but distributed as real ones are.

Python 3.11.7, safetensors 0.8.0, torch 2.15.0, huggingface_hub 2.4.0. Run
it in the root of the repository; the same versions give the same bytes, but for
the order of the keys in metadata of more than one.

  tiny-llama.safetensors   one file, bfloat16, norms in float32
  tiny-llama-sharded/      the same model as save_torch_model writes it in shards, with an index; lm_head is tied to the embedding, and the
                           index says so
"""
import hashlib
import json
import os

import huggingface_hub
import safetensors
import safetensors.torch
import torch

OUT = "testdata/safetensors/"
HIDDEN, FEED, VOCAB, LAYERS, HEADS = 32, 64, 160, 2, 4
torch.manual_seed(20)


class Norm(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(1 + torch.randn(HIDDEN) / 50)


def linear(i, o):
    m = torch.nn.Linear(i, o, bias=False)
    torch.nn.init.normal_(m.weight, std=0.02)
    return m.to(torch.bfloat16)


class Attention(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.q_proj, self.o_proj = linear(HIDDEN, HIDDEN), linear(HIDDEN, HIDDEN)
        self.k_proj, self.v_proj = linear(HIDDEN, HIDDEN // 2), linear(HIDDEN, HIDDEN // 2)


class MLP(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.gate_proj, self.up_proj, self.down_proj = linear(HIDDEN, FEED), linear(HIDDEN, FEED), linear(FEED, HIDDEN)


class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.self_attn, self.mlp = Attention(), MLP()
        self.input_layernorm, self.post_attention_layernorm = Norm(), Norm()


class Body(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embed_tokens = torch.nn.Embedding(VOCAB, HIDDEN).to(torch.bfloat16)
        torch.nn.init.normal_(self.embed_tokens.weight, std=0.02)
        self.layers = torch.nn.ModuleList(Layer() for _ in range(LAYERS))
        self.norm = Norm()


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.model = Body()
        self.lm_head = linear(HIDDEN, VOCAB)


model = Model()
safetensors.torch.save_file(model.state_dict(), OUT + "tiny-llama.safetensors", metadata={"format": "pt"})

folder = OUT + "tiny-llama-sharded/"
os.makedirs(folder, exist_ok=True)
for name in os.listdir(folder):
    os.remove(folder + name)
model.lm_head.weight = model.model.embed_tokens.weight
huggingface_hub.save_torch_model(model, folder, max_shard_size=20_000, metadata={"format": "pt"})
config = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": HIDDEN, "intermediate_size": FEED, "num_attention_heads": HEADS,
    "num_hidden_layers": LAYERS, "num_key_value_heads": HEADS // 2, "vocab_size": VOCAB, "tie_word_embeddings": True, "torch_dtype": "bfloat16",
}
with open(folder + "config.json", "w") as f:
    json.dump(config, f, indent=2)
    f.write("\n")

expect = {}
for name in ["tiny-llama.safetensors"] + sorted("tiny-llama-sharded/" + n for n in os.listdir(folder) if n.endswith(".safetensors")):
    for key, t in safetensors.deserialize(open(OUT + name, "rb").read()):
        group = expect.setdefault(name.split("/")[0], {})
        group[key] = {"dtype": t["dtype"], "shape": t["shape"], "sha256": hashlib.sha256(t["data"]).hexdigest()}
with open(OUT + "expect-samples.json", "w") as f:
    json.dump(expect, f, indent=1, sort_keys=True)
    f.write("\n")
