"""The memory of caches that amn inspect --context states, and that of transformers'
StaticCache after a model has run: the sums of the bytes of its keys and values. Of models
with latents (DeepSeek), transformers keeps what is made of them; their sum is that of
the formula."""
import json
import os
import pathlib
import subprocess
import sys

sys.path = [p for p in sys.path if pathlib.Path(p).resolve() != pathlib.Path(__file__).resolve().parent]  # of torch.py and others

import torch  # noqa: E402
import transformers
from safetensors.torch import save_file
from transformers import AutoConfig, AutoModelForCausalLM, StaticCache

AMN = os.environ["CROSSCHECK_AMN"]
WORK = pathlib.Path(sys.argv[2])
TYPES = """llama qwen2 qwen2_moe qwen3 qwen3_moe granite granitemoe smollm3 olmo olmo2 olmoe cohere gemma glm glm4 stablelm
mistral mixtral phi3 starcoder2 gemma2 gemma3_text cohere2 gpt_oss olmo3""".split()
SMALL = dict(num_hidden_layers=6, hidden_size=64, intermediate_size=64, num_attention_heads=4, num_key_value_heads=2, vocab_size=128, pad_token_id=0,
             bos_token_id=1, eos_token_id=2, num_local_experts=2, num_experts=2, num_experts_per_tok=1, moe_intermediate_size=32, shared_expert_intermediate_size=32,
             max_position_embeddings=512)
files = elements = differences = 0


def wrong(text):
    global differences
    differences += 1
    print(text, file=sys.stderr)


def stated(folder, context, batch):
    run = subprocess.run([AMN, "inspect", "--json", "--context", str(context), "--batch", str(batch), str(folder)], capture_output=True, text=True)
    return json.loads(run.stdout)["memory"] if run.returncode == 0 else {"unknown": run.stderr}


def folder(config, i):
    d = WORK / f"{config.model_type}-{i}"
    d.mkdir()
    config.save_pretrained(d)
    save_file({"x": torch.zeros(1)}, d / "model.safetensors")
    return d


for name in TYPES:
    for i, more in enumerate([{}, {"head_dim": 32}, {"sliding_window": 24}, {"sliding_window": 24, "use_sliding_window": True, "max_window_layers": 2, "num_key_value_heads": 4}]):
        known = AutoConfig.for_model(name)
        options = {k: v for k, v in (SMALL | more).items() if hasattr(known, k) or k == "head_dim"}
        try:
            config = AutoConfig.for_model(name, **options, dtype="bfloat16")
            torch.manual_seed(0)
            model = AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16).eval()
            cache = StaticCache(config=config, max_cache_len=40)
            with torch.no_grad():
                model(torch.ones(3, 5, dtype=torch.long), past_key_values=cache, use_cache=True)
        except Exception as e:  # a combination that transformers does not take
            print(f"{name} {more}: not built: {e}"[:200], file=sys.stderr)
            continue
        want = sum(x.keys.nbytes + x.values.nbytes for x in cache.layers)
        got = stated(folder(config, i), 40, 3)
        files, elements = files + 1, elements + want // 2
        if "does not state layer_types" in got.get("unknown", ""):
            continue  # qwen3_moe writes none with windows: that is said, not guessed
        if got.get("cache") != want:
            wrong(f"{name} {more}: {got}, transformers {want}")

for name in ("deepseek_v2", "deepseek_v3"):
    config = AutoConfig.for_model(name, num_hidden_layers=5, kv_lora_rank=48, qk_rope_head_dim=16, dtype="float16")
    got = stated(folder(config, 0), 100, 2)
    want = 5 * (48 + 16) * 100 * 2 * 2
    files, elements = files + 1, elements + want // 2
    if got.get("cache") != want:
        wrong(f"{name}: {got}, {want}")
for name in ("mamba", "bert", "t5", "qwen3_next", "falcon_h1"):
    got = stated(folder(AutoConfig.for_model(name, dtype="float16"), 0), 100, 2)
    files += 1
    if "cache" in got or "unknown" not in got:
        wrong(f"{name}: {got}")

print(json.dumps({"files": files, "tensors": files, "elements": elements, "differences": differences, "versions": f"transformers {transformers.__version__}"}))
