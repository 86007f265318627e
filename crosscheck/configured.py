"""Adapters of random configurations, merged by amn and by PEFT: all tensors of the merged folders must be equal, or amn refuses with a reason.

    python3 crosscheck/run.py configured     CROSSCHECK_COUNT=200 configurations, from CROSSCHECK_SEED on; CROSSCHECK_TYPES="gpt2 t5" for some
    configured.py DUMP WORK                  as run.py calls it

A configuration has what LoraConfig takes, each at random: rank and alpha, for all and by pattern, rsLoRA, DoRA, biases of each kind, lists and expressions of
modules, modules left out, layers by number and by name, modules saved whole, fan_in_fan_out whether it is so or not, and initializations that change the base.
PEFT trains nothing: the matrices get random numbers, are saved, loaded beside the base, and merged by merge_and_unload. Verdicts:

    equal       the same names, shapes and types, and numbers within 2e-5 of the largest of the tensor. Where PEFT's folder lacks a tensor of
                PEFT's own merged model, that is the tensor of the model: BERT's bias of the output layer, whose head is saved whole
    refused     amn writes nothing, and says why
    not merged  PEFT does not make, save, load or merge it
    WRONG       all else
"""
import collections
import json
import os
import pathlib
import random
import shutil
import sys
import tempfile
import traceback
import warnings

import loads  # noqa: F401  its path
import peft
import reload as small
import safetensors.torch
import torch
import transformers as T
from targets import amn

warnings.filterwarnings("ignore")
TYPES = "llama qwen2 gpt2 openai-gpt bert t5 opt falcon gpt_neox qwen3_moe mixtral gemma2 vision-encoder-decoder".split()
INITS = [True, True, True, True, False, "gaussian", "orthogonal", "pissa", "olora"]


def base(kind, root):
    """A small model whose attention is square, saved; its class."""
    torch.manual_seed(7)
    if kind == "vision-encoder-decoder":
        gpt2 = T.GPT2Config(n_embd=32, n_layer=2, n_head=2, vocab_size=64, n_positions=32, is_decoder=True, add_cross_attention=True)
        vit = T.ViTConfig(hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64, image_size=16, patch_size=8)
        model = T.VisionEncoderDecoderModel(T.VisionEncoderDecoderConfig.from_encoder_decoder_configs(vit, gpt2))
    else:
        names = {"vocab_size": 64, "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 3, "num_attention_heads": 2, "num_key_value_heads": 2, "head_dim": 16, "max_position_embeddings": 32, "n_embd": 32, "n_layer": 3, "n_head": 2,
                 "n_positions": 32, "d_model": 32, "d_ff": 64, "d_kv": 16, "num_layers": 2, "num_heads": 2, "ffn_dim": 64, "word_embed_proj_dim": 32, "num_experts": 4, "num_local_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 64}
        config = T.CONFIG_MAPPING[kind]
        own = {k: v for k, v in names.items() if k in config().to_dict() or k in config.attribute_map}
        own = {k: v for k, v in own.items() if config.attribute_map.get(k) not in own}
        model = small.class_of(kind)(config(**own))
    model.float().save_pretrained(root)
    return type(model)


def configuration(r, model):
    """LoraConfig's arguments, at random."""
    linear = sorted({n for n, m in model.named_modules() if (isinstance(m, torch.nn.Linear) or type(m).__name__ == "Conv1D") and n != "lm_head" and m.weight.numel()})
    last = sorted({n.rpartition(".")[2] for n in linear})
    some = lambda list, most=3: r.sample(list, r.randint(1, min(most, len(list))))  # noqa: E731
    maybe = lambda p: r.random() < p  # noqa: E731
    c = {"r": r.choice([1, 2, 4, 5, 8]), "lora_alpha": r.choice([1, 4, 8, 16, 3.5])}
    c["target_modules"] = r.choice([some(last), some(last, 5), some(linear, 4), "all-linear", rf".*\.({'|'.join(some(last))})"])
    if isinstance(c["target_modules"], str) and maybe(0.2):
        c["target_modules"] = ".*[012].*(" + "|".join(some(last)) + ")"
    if maybe(0.35):
        c["rank_pattern"] = {n: r.choice([1, 2, 3, 6]) for n in some(last, 2)} | ({rf".*\.1\..*{some(last, 1)[0]}": 7} if maybe(0.4) else {}) | ({some(linear, 1)[0]: 2} if maybe(0.3) else {}) | ({"^" + some(last, 1)[0]: 3} if maybe(0.2) else {})
    if maybe(0.35):
        c["alpha_pattern"] = {n: r.choice([1, 2, 32]) for n in some(last, 2)} | ({rf"(.*\.)?0\..*{some(last, 1)[0]}": 5} if maybe(0.4) else {}) | ({some(linear, 1)[0]: 9} if maybe(0.3) else {})
    c["use_rslora"], c["use_dora"] = maybe(0.3), maybe(0.3)
    c["bias"] = r.choice(["none", "none", "none", "all", "lora_only"])
    c["lora_bias"] = maybe(0.12)
    c["fan_in_fan_out"] = maybe(0.5) if any(type(m).__name__ == "Conv1D" for m in model.modules()) else maybe(0.1)
    if maybe(0.2):
        c["modules_to_save"] = r.choice([[n for n in ("lm_head", "classifier", "cls", "embed_out") if any(m == n for m, _ in model.named_modules())] or some(last, 1), some(linear, 1), some(last, 1)])
    if maybe(0.2):
        c["exclude_modules"] = r.choice([some(linear, 2), some(last, 1), rf".*\.0\..*{some(last, 1)[0]}.*"])
    if maybe(0.2):
        c["layers_to_transform"] = r.choice([0, 1, [0], [0, 1], [1, 2]])
        if maybe(0.5):
            c["layers_pattern"] = r.choice(["layers", "h", "layer", "block", ["layers", "h"]])
    if maybe(0.05):
        c["layer_replication"] = [(0, 2), (1, 3)]
    c["init_lora_weights"] = r.choice(INITS)
    return c


def roused(model, seed):
    """Gives an adapter numbers as training leaves them."""
    g = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, p in model.named_parameters():
            if "lora_magnitude" in name:
                p.mul_(1 + 0.2 * torch.rand(p.shape, generator=g))
            elif "lora_" in name:
                p.copy_(torch.randn(p.shape, generator=g) * 0.2)
            elif p.requires_grad:  # a bias, or what is saved whole
                p.add_(torch.randn(p.shape, generator=g) * 0.05)
    return model


def state(folder):
    tensors = {}
    for f in sorted(pathlib.Path(folder).glob("*.safetensors")):
        tensors |= safetensors.torch.load_file(f)
    return tensors


def one(cls, root, config, seed):
    plain, adapter, ours, theirs = (root / n for n in ("plain", "adapter", "ours", "theirs"))
    for folder in (adapter, ours, theirs):
        shutil.rmtree(folder, ignore_errors=True)
    try:
        torch.manual_seed(seed)
        model = roused(peft.get_peft_model(cls.from_pretrained(plain, dtype=torch.float32), peft.LoraConfig(**config)), seed)
        model.save_pretrained(adapter)
        merged = peft.PeftModel.from_pretrained(cls.from_pretrained(plain, dtype=torch.float32), adapter).merge_and_unload()
        merged.save_pretrained(theirs)
    except Exception as e:
        if os.environ.get("CROSSCHECK_TRACE"):
            traceback.print_exc()
        return "not merged", small.said(e), 0
    done = amn("merge-lora", "--json", "-f", "-o", ours, plain, adapter)
    if done.returncode:
        error = json.loads(done.stdout.splitlines()[0])["error"] if done.stdout else {"message": done.stderr}
        return ("refused" if done.returncode in (2, 3, 5) and error["message"] else "WRONG"), error["message"], 0
    a, b = state(ours), state(theirs)
    why = ""
    if more := set(a) - set(b):
        # transformers leaves out a tensor that shares its bytes, also where its configuration no longer says so, and misses it then.
        b |= {k: v for k, v in lacking(cls, theirs, merged).items() if k in more}
        why = "PEFT's folder lacks a tensor of its model"
    if set(a) != set(b):
        return "WRONG", f"names {sorted(set(a) ^ set(b))[:4]}", 0
    for k, want in b.items():
        if a[k].shape != want.shape or a[k].dtype != want.dtype:
            return "WRONG", f"{k}: {a[k].dtype} {list(a[k].shape)}, not {want.dtype} {list(want.shape)}", 0
        if want.numel() and not (a[k] - want).abs().max() <= 2e-5 * want.abs().max():
            return "WRONG", f"{k} differs by {(a[k] - want).abs().max():.3g} of {want.abs().max():.3g}", 0
    return "equal", why, sum(v.numel() for v in b.values())


def lacking(cls, folder, model):
    """The tensors of a model that the folder it was saved to lacks: transformers reports them as missing when it loads the folder."""
    _, info = cls.from_pretrained(folder, dtype=torch.float32, output_loading_info=True)
    return {k: v for k, v in model.state_dict().items() if k in info["missing_keys"]}


def main():
    types = os.environ.get("CROSSCHECK_TYPES", "").split() or TYPES
    count, seed = int(os.environ.get("CROSSCHECK_COUNT") or 260), int(os.environ.get("CROSSCHECK_SEED") or random.randrange(1 << 30))
    print("seed", seed, file=sys.stderr)
    verdicts, elements, reasons = collections.defaultdict(collections.Counter), collections.Counter(), collections.Counter()
    with tempfile.TemporaryDirectory(dir=sys.argv[2]) as work:
        for k, kind in enumerate(types):
            root = pathlib.Path(work) / kind
            cls = base(kind, root / "plain")
            model = cls.from_pretrained(root / "plain")
            for n in range(count // len(types) + (k < count % len(types))):
                r = random.Random(f"{seed} {kind} {n}")
                config = configuration(r, model)
                verdict, why, size = one(cls, root, config, r.randrange(1 << 30))
                verdicts[kind][verdict] += 1
                elements[kind] += size
                if verdict != "equal":
                    reasons[verdict, why[:110]] += 1
                if verdict == "WRONG":
                    print("WRONG", kind, n, json.dumps(config), why, file=sys.stderr, flush=True)
    for (verdict, why), n in sorted(reasons.items()):
        print(f"{n:4} {verdict}: {why}", file=sys.stderr)
    print(json.dumps([[f"configured, {kind}: " + ", ".join(f"{n} {v}" for v, n in sorted(c.items())), f"peft {peft.__version__}, seed {seed}", elements[kind], c["WRONG"]] for kind, c in verdicts.items()]))


if __name__ == "__main__":
    main()
