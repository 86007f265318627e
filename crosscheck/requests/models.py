"""Two models whose headers are those of published ones and whose numbers are holes in a file."""

import json
import struct
from pathlib import Path


def text(s):
    s = s if isinstance(s, bytes) else s.encode()
    return struct.pack("<Q", len(s)) + s


def gguf(path: Path, tokens=150_000, layers=32):
    """A GGUF of a vocabulary of 150,000: tokens, types and merges; its size without the numbers."""
    kv = []

    def add(key, kind, value):
        kv.append(text(key) + struct.pack("<I", kind) + value)

    def strings(key, values):
        add(key, 9, struct.pack("<IQ", 8, len(values)) + b"".join(text(v) for v in values))

    add("general.architecture", 8, text("llama"))
    add("general.name", 8, text("a model with a large vocabulary"))
    for key, value in (("block_count", layers), ("context_length", 8192), ("embedding_length", 4096), ("feed_forward_length", 14336), ("attention.head_count", 32), ("attention.head_count_kv", 8), ("vocab_size", tokens)):
        add(f"llama.{key}", 4, struct.pack("<I", value))
    add("llama.attention.layer_norm_rms_epsilon", 6, struct.pack("<f", 1e-5))
    add("tokenizer.ggml.model", 8, text("gpt2"))
    add("tokenizer.ggml.pre", 8, text("llama-bpe"))
    names = [f"tok{i:x}" for i in range(tokens)]
    strings("tokenizer.ggml.tokens", names)
    add("tokenizer.ggml.token_type", 9, struct.pack("<IQ", 5, tokens) + struct.pack("<i", 1) * tokens)
    strings("tokenizer.ggml.merges", [f"t{i:x} k{i:x}" for i in range(tokens)])
    add("tokenizer.ggml.bos_token_id", 4, struct.pack("<I", 0))
    shapes = [("token_embd.weight", (4096, tokens)), ("output_norm.weight", (4096,)), ("output.weight", (4096, tokens))]
    for i in range(layers):
        for part, shape in (("attn_q", (4096, 4096)), ("attn_k", (4096, 1024)), ("attn_v", (4096, 1024)), ("attn_output", (4096, 4096)), ("ffn_gate", (4096, 14336)), ("ffn_up", (4096, 14336)), ("ffn_down", (14336, 4096)), ("attn_norm", (4096,)), ("ffn_norm", (4096,))):
            shapes.append((f"blk.{i}.{part}.weight", shape))
    infos, at = b"", 0
    for name, shape in shapes:
        count = shape[0] * (shape[1] if len(shape) > 1 else 1)
        kind, size = (0, 4 * count) if len(shape) == 1 else (8, count // 32 * 34)  # F32, Q8_0
        infos += text(name) + struct.pack("<I", len(shape)) + b"".join(struct.pack("<Q", d) for d in shape) + struct.pack("<IQ", kind, at)
        at += size + -size % 32
    head = b"GGUF" + struct.pack("<IQQ", 3, len(shapes), len(kv)) + b"".join(kv) + infos
    with open(path, "wb") as f:
        f.write(head)
        f.truncate(len(head) + -len(head) % 32 + at)
    return len(head)


def sharded(folder: Path, shards=30):
    """A safetensors model of 30 files of 1 GB, with its index."""
    where, heads = {}, 0
    for n in range(1, shards + 1):
        name, header, at = f"model-{n:05}-of-{shards:05}.safetensors", {}, 0
        for i in range(60):
            size = 2 * 2048 * 4096
            header[f"model.layers.{n}.mlp.experts.{i}.up_proj.weight"] = {"dtype": "BF16", "shape": [2048, 4096], "data_offsets": [at, at + size]}
            where[f"model.layers.{n}.mlp.experts.{i}.up_proj.weight"] = name
            at += size
        plain = json.dumps(header).encode()
        plain += b" " * (-len(plain) % 8)
        heads += 8 + len(plain)
        with open(folder / name, "wb") as f:
            f.write(struct.pack("<Q", len(plain)) + plain)
            f.truncate(8 + len(plain) + at)
    index = json.dumps({"metadata": {"total_size": shards * at}, "weight_map": where}).encode()
    (folder / "model.safetensors.index.json").write_bytes(index)
    (folder / "config.json").write_text(json.dumps({"architectures": ["LlamaForCausalLM"], "model_type": "llama", "torch_dtype": "bfloat16"}))
    return heads + len(index)
