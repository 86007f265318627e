"""What amn inspect --context says that weights and cache take, and what hf-mem says: of models
whose layers attend to all of the context. hf-mem asks a hub for header and config.json; here
its own functions get those of a folder. Of sliding windows and of latents (DeepSeek) it counts
the whole context and whole heads: there cache.py asks transformers.
"""
import json
import os
import pathlib
import struct
import subprocess
import sys

sys.path = [p for p in sys.path if pathlib.Path(p).resolve() != pathlib.Path(__file__).resolve().parent]  # of safetensors.py

import gguf  # noqa: E402
import hf_mem  # noqa: E402
import numpy  # noqa: E402
from hf_mem.gguf import parse_gguf_metadata  # noqa: E402
from hf_mem.safetensors.kv_cache import compute_safetensors_kv_cache_size, resolve_kv_cache_dtype  # noqa: E402
from hf_mem.safetensors.metadata import parse_safetensors_metadata  # noqa: E402
from transformers import AutoConfig  # noqa: E402

AMN = os.environ["CROSSCHECK_AMN"]
WORK = pathlib.Path(sys.argv[2])
TYPES = "llama qwen2 qwen2_moe qwen3 qwen3_moe granite granitemoe smollm3 olmo olmo2 olmoe cohere gemma glm glm4 stablelm mistral mixtral phi3 starcoder2".split()
WIDTHS = {"F32": 4, "F16": 2, "BF16": 2, "I64": 8, "F8_E4M3": 1, "U8": 1}
differences = elements = files = 0

for name in TYPES:
    # Newer configurations state their windows by layer.
    config = AutoConfig.for_model(name, dtype="bfloat16", **({"sliding_window": None} if hasattr(AutoConfig.for_model(name), "sliding_window") else {}))
    folder = WORK / name
    config.save_pretrained(folder)
    said = {k: v for k, v in json.loads((folder / "config.json").read_text()).items() if v is not None}  # it multiplies null
    (folder / "config.json").write_text(json.dumps(said))
    header, at = {}, 0
    for i, (dtype, width) in enumerate(WIDTHS.items()):
        shape = [7 + i, 64]
        header[f"layers.{i}.weight"] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + shape[0] * 64 * width]}
        at += shape[0] * 64 * width
    text = json.dumps(header).encode()
    with open(folder / "model.safetensors", "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text)
        f.truncate(8 + len(text) + at)
    weights = parse_safetensors_metadata({"Transformer": header})
    for context, batch in ((8192, 4), (131072, 1), (1, 33)):
        run = subprocess.run([AMN, "inspect", "--json", "--context", str(context), "--batch", str(batch), str(folder)], capture_output=True, text=True)
        got = json.loads(run.stdout)["memory"]
        kind = resolve_kv_cache_dtype(said, "auto", weights, name)
        want = {"weights": weights.bytes_count, "cache": compute_safetensors_kv_cache_size(said, kind, context, batch)}
        files, elements = files + 1, elements + want["cache"] // 2
        for key, value in want.items():
            if got.get(key) != value:
                differences += 1
                print(f"{name}, {context} x {batch}: {key} {got}, hf-mem {value}", file=sys.stderr)

# GGUF: the size of a head is only what hf-mem divides, so no file states another.
SHAPES = {"llama": (32, 4096, 32, 8), "qwen2": (28, 3584, 28, 4), "qwen3moe": (48, 2048, 32, 4), "gpt2": (12, 768, 12, 12), "starcoder2": (30, 3072, 24, 2)}
for name, (layers, width, heads, shared) in SHAPES.items():
    path = WORK / f"{name}.gguf"
    w = gguf.GGUFWriter(path, name)
    w.add_block_count(layers)
    w.add_embedding_length(width)
    w.add_head_count(heads)
    w.add_head_count_kv(shared)
    w.add_context_length(4096)
    w.add_tensor("token_embd.weight", numpy.zeros((4, 32), numpy.float32))
    w.add_tensor("output_norm.weight", numpy.zeros(32, numpy.float16))
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()
    for context, batch in ((8192, 4), (131072, 1), (1, 33)):
        run = subprocess.run([AMN, "inspect", "--json", "--context", str(context), "--batch", str(batch), str(path)], capture_output=True, text=True)
        got = json.loads(run.stdout)["memory"]
        said = parse_gguf_metadata(path.read_bytes(), experimental=True, max_model_len=context, batch_size=batch)
        want = {"weights": said.bytes_count, "cache": said.kv_cache.cache_size}
        files, elements = files + 1, elements + want["cache"] // 2
        for key, value in want.items():
            if got.get(key) != value:
                differences += 1
                print(f"{name}.gguf, {context} x {batch}: {key} {got}, hf-mem {value}", file=sys.stderr)

print(json.dumps({"files": files, "tensors": files, "elements": elements, "differences": differences, "versions": f"hf-mem {hf_mem.__version__ if hasattr(hf_mem, '__version__') else '0.5.6'}"}))
