"""Vocabularies in files of other libraries: Mistral's tekken.json, and Kimi's
tiktoken.model, which llama.cpp's converter reads by code of the model's folder."""
import json
import os
import pathlib
import shutil
import subprocess

import models
import numpy as np
import torch
import transformers as tf

AMN = os.environ["CROSSCHECK_AMN"]
# Of tokenization_kimi.py, which Kimi's models are published with.
KIMI = "|".join([r"[\p{Han}]+", r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
                 r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
                 r"\p{N}{1,3}", r" ?[^\s\p{L}\p{N}]+[\r\n]*", r"\s*[\r\n]+", r"\s+(?!\S)", r"\s+"])
BASE = 2000  # the first of Llama 3's tokens are a vocabulary by themselves
NAMED = {BASE: "[BOS]", BASE + 1: "[EOS]", BASE + 2: "<|im_end|>", BASE + 9: "[PAD]", BASE + 10: "[UNK]", 7: "not one of these"}


class Kimi:
    """What the class of that file gives the converter: ranks, and tokens behind them."""

    def __init__(self, folder):
        import tiktoken
        from tiktoken.load import load_tiktoken_bpe

        named = json.loads((folder / "tokenizer_config.json").read_text())["added_tokens_decoder"]
        given = load_tiktoken_bpe(str(folder / "tiktoken.model"))
        self.special_tokens = {named.get(str(i), {}).get("content", f"<|reserved_token_{i}|>"): i for i in range(len(given), len(given) + 256)}
        self.model = tiktoken.Encoding("tiktoken.model", pat_str=KIMI, mergeable_ranks=given, special_tokens=self.special_tokens)

    def encode(self, text):
        return self.model.encode(text, allowed_special="all")


def kimi(folder, published):
    folder = pathlib.Path(folder)
    (folder / "tiktoken.model").write_bytes(b"".join(published("llama3-ranks").read_bytes().splitlines(keepends=True)[:BASE]))
    (folder / "tokenizer_config.json").write_text(json.dumps({
        "tokenizer_class": "TikTokenTokenizer", "bos_token": "[BOS]", "eos_token": "[EOS]", "pad_token": "[PAD]", "unk_token": "[UNK]", "add_bos_token": False,
        "added_tokens_decoder": {str(i): {"content": t, "special": True} for i, t in NAMED.items()}, "chat_template": "{% for m in messages %}{{ m['content'] }}{% endfor %}"}))


def kinds(published):
    deepseek, llama, mistral = (models.FAMILIES[n]()[0] for n in ("deepseek3", "llama3", "mistral"))
    for n in (0, 256, 200):
        yield f"kimi, {n} behind", tf.DeepseekV3ForCausalLM, deepseek, BASE + n, lambda folder: kimi(folder, published), "kimi-k2", False
    for name in ("tekken", "tekken-v3"):
        yield name, tf.MistralForCausalLM, mistral, 131072, lambda folder, n=name: shutil.copy(published(n), pathlib.Path(folder) / "tekken.json"), None, True
    yield "tekken, of other versions", tf.LlamaForCausalLM, llama, 700, lambda folder: short(folder, published, "v7", None), None, True
    yield "tekken, with its own", tf.LlamaForCausalLM, llama, 700, lambda folder: short(folder, published, "v3", ["<unk>", "<s>", "</s>", "[INST]", "[/INST]", "[X]", "[TOOL_CALLS]", "[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]", "[TOOL_RESULTS]", "[/TOOL_RESULTS]", "<pad>", "[PREFIX]", "[MIDDLE]", "[SUFFIX]"]), None, True


def short(folder, published, version, special):
    """A part of it, in another version, some special tokens named."""
    whole = json.loads(published("tekken").read_text())
    whole["config"] |= {"version": version, "default_vocab_size": 700, "default_num_special_tokens": 30}
    whole["vocab"] = whole["vocab"][:900]
    whole.pop("image", None)  # which asks for tokens of its own
    if special:
        whole["special_tokens"] = [{"rank": i, "token_str": t, "is_control": True} for i, t in enumerate(special)]
    (pathlib.Path(folder) / "tekken.json").write_text(json.dumps(whole))
    (pathlib.Path(folder) / "tokenizer_config.json").write_text(json.dumps({"add_prefix_space": False, "chat_template": "not this one"}))


def check(converter, work, published, wrong, rows):
    for name, cls, config, size, vocabulary, pre, alone in kinds(published):
        folder = work / ("v" + str(len(rows)))
        folder.mkdir()
        config.vocab_size, config.hidden_size = size, 64
        models.FAMILIES["foreign"] = lambda: (config, cls, lambda f, _: vocabulary(f), pre)  # noqa: B023
        models.make("foreign", folder, torch.float32)
        ours, theirs = work / "ours.gguf", work / "theirs.gguf"
        extra = ["--gguf-kv", f"tokenizer.ggml.pre={pre}"] if pre else []
        done = subprocess.run([AMN, "convert", folder, "--to", "gguf", "--force", "-o", ours, *extra], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode:
            rows.append([f"tokens: {name}", "llama.cpp's converter", 0, wrong(name, done.stdout)])
            continue
        keep = tf.AutoTokenizer.from_pretrained
        if not alone:
            def loads(path, trust_remote_code=False, **_):
                if not trust_remote_code:
                    raise ValueError("code of the folder is needed")
                return Kimi(pathlib.Path(path))
            tf.AutoTokenizer.from_pretrained = loads
        try:
            converter.write(folder, theirs, "f32", pre)
        finally:
            tf.AutoTokenizer.from_pretrained = keep
        (keys, tensors), (want, others) = converter.read(ours), converter.read(theirs)
        bad = sum(wrong(name, f"{k}: {str(keys.get(k))[:200]}, want {str(want.get(k))[:200]}") for k in sorted({*keys, *want}) if keys.get(k) != want.get(k))
        bad += 0 if tensors == others else wrong(name, "tensors differ")
        rows.append([f"tokens: {name}", "llama.cpp's converter", sum(len(v[1]) if isinstance(v[1], list) else 1 for v in want.values()) + sum(int(np.prod(t[1])) for t in others.values()), bad])
        for p in (ours, theirs):
            p.unlink()
        shutil.rmtree(folder)
