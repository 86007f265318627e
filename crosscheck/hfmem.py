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

import hf_mem  # noqa: E402
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

print(json.dumps({"files": files, "tensors": files, "elements": elements, "differences": differences, "versions": f"hf-mem {hf_mem.__version__ if hasattr(hf_mem, '__version__') else '0.5.6'}"}))
