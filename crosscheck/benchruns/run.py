"""A folder of transformers to GGUF: amn beside llama.cpp's converter, by turns in one
run, on a Llama of 2 GB in BF16 that is made first. Prints seconds and memory of each.
The converter does not wait for the disk; amn is timed without waiting and, as it runs
by default, with.

    make bench-gguf PYTHON=.venv/bin/python          5 GB of disk, some minutes
"""
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "ggml"), str(HERE.parent / "runs")]
os.environ |= {"HF_HUB_OFFLINE": "1"}

import llamacpp  # noqa: E402

ROUNDS = 3
ONCE = "import resource,subprocess,sys;r=subprocess.run(sys.argv[1:]).returncode;print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss//1024);sys.exit(r)"


def make(folder):
    """Random weights, one layer after the other; the vocabulary of the tiny models."""
    import models
    import torch
    from safetensors.torch import save_file

    hidden, inner, layers = 2048, 5632, 24
    folder.mkdir()
    models.byte_level(folder, "llama-bpe")
    config = models.sizes(hidden_size=hidden, intermediate_size=inner, num_hidden_layers=layers, num_attention_heads=32, num_key_value_heads=8, architectures=["LlamaForCausalLM"], model_type="llama",
                          rms_norm_eps=1e-5, rope_theta=500000.0, torch_dtype="bfloat16", tie_word_embeddings=False)
    (folder / "config.json").write_text(json.dumps(config))
    r = lambda *s: torch.empty(s, dtype=torch.bfloat16).normal_(0, 0.02)  # noqa: E731
    tensors = {"model.embed_tokens.weight": r(models.VOCAB, hidden), "lm_head.weight": r(models.VOCAB, hidden), "model.norm.weight": torch.ones(hidden, dtype=torch.bfloat16)}
    for i in range(layers):
        at = f"model.layers.{i}."
        for n, s in {"self_attn.q_proj": (hidden, hidden), "self_attn.k_proj": (512, hidden), "self_attn.v_proj": (512, hidden), "self_attn.o_proj": (hidden, hidden),
                     "mlp.gate_proj": (inner, hidden), "mlp.up_proj": (inner, hidden), "mlp.down_proj": (hidden, inner)}.items():
            tensors[at + n + ".weight"] = r(*s)
        for n in ("input_layernorm", "post_attention_layernorm"):
            tensors[at + n + ".weight"] = torch.ones(hidden, dtype=torch.bfloat16)
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})


def timed(out, command):
    if out.exists():
        out.unlink()
    began = time.monotonic()
    done = subprocess.run([sys.executable, "-c", ONCE, *map(str, command)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    seconds = time.monotonic() - began
    if done.returncode or not out.exists():
        sys.exit(f"{command[0]} failed: {done.stderr[-500:]}")
    return seconds, int(done.stdout.split()[-1])


def main():
    amn, tree = os.environ["CROSSCHECK_AMN"], llamacpp.sources()
    with tempfile.TemporaryDirectory(dir=os.environ.get("BENCH_DIR")) as tmp:
        folder, out = pathlib.Path(tmp) / "model", pathlib.Path(tmp) / "out.gguf"
        subprocess.run([sys.executable, __file__, "--make", folder], check=True)
        # The converter asks a table for the digest of the vocabulary, which is a new one.
        patched = ("import sys,runpy;sys.path.insert(0,sys.argv[1]);sys.path.insert(0,sys.argv[1]+'/gguf-py');from conversion.base import TextModel;"
                   "TextModel.get_vocab_base_pre=lambda *_:'llama-bpe';sys.argv=sys.argv[1:];sys.argv[0]+='/convert_hf_to_gguf.py';runpy.run_path(sys.argv[0],run_name='__main__')")
        ours = [amn, "convert", folder, "--to", "gguf", "--gguf-kv", "tokenizer.ggml.pre=llama-bpe", "-o", out]
        commands = {
            "amn, --no-sync": [*ours, "--no-sync"],
            "amn, synced to disk": ours,
            "llama.cpp's converter": [sys.executable, "-c", patched, tree, folder, "--outtype", "bf16", "--outfile", out],
        }
        took = {name: [] for name in commands}
        for _ in range(ROUNDS):
            for name, command in commands.items():
                took[name].append(timed(out, command))
        size = (folder / "model.safetensors").stat().st_size
        print(f"{size / 1e9:.2f} GB in BF16, {ROUNDS} rounds by turns; files are in the page cache from the second round on")
        for name, all_ in took.items():
            print(f"{name:24} {' '.join(f'{s:7.2f} s' for s, _ in all_)}   {max(m for _, m in all_)} MiB")
        *ours, theirs = (statistics.median(s for s, _ in took[n]) for n in commands)
        print("medians: amn is " + ", ".join(f"{theirs / s:.1f}" for s in ours) + " times as fast")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--make"]:
        make(pathlib.Path(sys.argv[2]))
    else:
        main()
