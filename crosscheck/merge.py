"""Merging: adapters that PEFT writes are merged by amn and by PEFT, and models by
recipe by amn and by mergekit, GGUF adapters by amn and by llama.cpp; every tensor is compared.

    merge.py DUMP WORK          as crosscheck/run.py calls it

PEFT's sums are a matrix product's, whose order is that of the processor's library for
linear algebra. So each adapter is compared twice: with merge_and_unload, where the
difference is at most one unit in the last place of the base's type, or where terms
cancel each other, of a float32 unit for each of them; and with torch in the order that the
documentation of merge/lora states, where no bit differs.
"""
import copy
import json
import os
import pathlib
import subprocess
import sys
import warnings

HERE = pathlib.Path(__file__).resolve().parent
sys.path = [p for p in sys.path if pathlib.Path(p).resolve() != HERE] + [str(HERE / "ggml")]
warnings.simplefilter("ignore")

import adapters as gguf_adapters  # noqa: E402
import safetensors.torch as st  # noqa: E402
import torch  # noqa: E402
import transformers as T  # noqa: E402

WORK = pathlib.Path(sys.argv[2])
AMN = os.environ["CROSSCHECK_AMN"]
T.logging.set_verbosity_error()
T.logging.disable_progress_bar()
rows = []


def amn(*args):
    return subprocess.run([AMN, *map(str, args)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def state(folder):
    tensors = {}
    for f in sorted(pathlib.Path(folder).glob("*.safetensors")):
        tensors |= st.load_file(f)
    return tensors


class Row:
    """One line of the table."""

    def __init__(self, name, oracle):
        self.name, self.oracle, self.elements, self.differences, self.off = name, oracle, 0, 0, 0

    def wrong(self, text):
        self.differences += 1
        print(f"{self.name}: {text}", file=sys.stderr)

    def done(self):
        note = f" ({self.off:,} in the last bit)" if self.off else ""
        rows.append([self.name + note, self.oracle, self.elements, self.differences])
        print(rows[-1], file=sys.stderr, flush=True)


def ulps(a, b):
    """How many numbers of their type lie between two tensors' elements."""
    ints = {2: torch.int16, 4: torch.int32}[a.element_size()]

    def order(t):
        i = t.contiguous().view(ints).to(torch.int64)
        low = -(1 << (8 * t.element_size() - 1))
        return torch.where(i < 0, low - i, i)

    return (order(a) - order(b)).abs()


def compare(row, got, want, scale=None, rounded=None):
    """scale is the size of the terms by tensor, for F32; None asks for all bits. rounded is
    the type that results were rounded to before they were written in another one."""
    if set(got) != set(want):
        row.wrong(f"names {sorted(set(got) ^ set(want))[:6]}")
    for name in sorted(set(got) & set(want)):
        a, b = got[name], want[name]
        row.elements += b.numel()
        if a.dtype != b.dtype or a.shape != b.shape:
            row.wrong(f"{name}: {a.dtype} {tuple(a.shape)}, want {b.dtype} {tuple(b.shape)}")
            continue
        far = ulps(a, b) if a.is_floating_point() else (a != b).to(torch.int64)
        off = int((far > 0).sum())
        if scale is None or not a.is_floating_point():
            bad = off
        else:
            # A unit of the type for what is stored, and float32's for each term of the sum.
            term, ranks = scale.get(name, (b.float().abs(), 0))
            kind = torch.finfo(rounded or a.dtype)
            unit = kind.eps * b.float().abs().clamp(min=kind.tiny) if kind.bits < 32 else 0
            bad = int(((a.float() - b.float()).abs() > unit + (ranks + 4) * torch.finfo(torch.float32).eps * term).sum())
        row.off += off if scale is not None else 0
        if bad:
            row.wrong(f"{name}: {bad} of {b.numel()} differ, most {int(far.max())} units")


def llama(dtype, **more):
    torch.manual_seed(7)
    config = T.LlamaConfig(**{"vocab_size": 97, "hidden_size": 64, "intermediate_size": 176, "num_hidden_layers": 2, "num_attention_heads": 4,
                              "num_key_value_heads": 2, "tie_word_embeddings": False, **more})
    return T.LlamaForCausalLM(config).to(dtype)


def gpt2(dtype):
    torch.manual_seed(8)
    return T.GPT2LMHeadModel(T.GPT2Config(vocab_size=97, n_embd=64, n_layer=2, n_head=4, n_positions=32)).to(dtype)


def roused(model, seed):
    """Gives adapters numbers as training leaves them: B is zero before it."""
    g = torch.Generator().manual_seed(seed)
    for name, p in model.named_parameters():
        if "lora_" in name and "magnitude" not in name or "modules_to_save" in name or "trainable_tokens" in name or name.endswith(".bias") and p.requires_grad:
            with torch.no_grad():
                p.copy_(torch.randn(p.shape, generator=g) * (0.3 if "_A" in name else 0.05))
        elif "magnitude" in name:
            with torch.no_grad():
                p.mul_(1 + 0.1 * torch.randn(p.shape, generator=g))
    return model


ALL = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]


def adapters():
    """name -> base, auto class, list of LoraConfig's arguments, weights."""
    bf, half, full = torch.bfloat16, torch.float16, torch.float32
    causal = T.AutoModelForCausalLM
    yield "lora BF16", llama(bf), causal, [dict(r=8, lora_alpha=16, target_modules=ALL)], None
    yield "lora F16", llama(half), causal, [dict(r=16, lora_alpha=8, target_modules=ALL)], None
    yield "lora F32", llama(full), causal, [dict(r=5, lora_alpha=7, target_modules=ALL)], None
    yield "rsLoRA, patterns", llama(bf), causal, [dict(
        r=8, lora_alpha=16, target_modules=ALL, use_rslora=True, rank_pattern={"q_proj": 4, r"model\.layers\.1\.mlp\.up_proj": 12}, alpha_pattern={"v_proj": 3, "layers.0.mlp.gate_proj": 40})], None
    yield "DoRA BF16", llama(bf), causal, [dict(r=8, lora_alpha=16, target_modules=ALL, use_dora=True)], None
    yield "DoRA F32", llama(full), causal, [dict(r=8, lora_alpha=16, target_modules=ALL, use_dora=True)], None
    yield "Conv1D", gpt2(bf), causal, [dict(r=8, lora_alpha=16, target_modules=["c_attn", "c_proj", "c_fc"], fan_in_fan_out=True)], None
    yield "Conv1D with DoRA", gpt2(bf), causal, [dict(r=8, lora_alpha=16, target_modules=["c_attn", "c_fc"], fan_in_fan_out=True, use_dora=True)], None
    yield "biases", gpt2(bf), causal, [dict(r=8, lora_alpha=16, target_modules=["c_attn"], fan_in_fan_out=True, bias="all")], None
    yield "lora_bias", gpt2(bf), causal, [dict(r=8, lora_alpha=16, target_modules=["c_attn"], fan_in_fan_out=True, lora_bias=True)], None
    yield "embedding", llama(bf), causal, [dict(r=8, lora_alpha=16, target_modules=["embed_tokens", "q_proj"])], None
    yield "embedding F32", llama(full), causal, [dict(r=8, lora_alpha=16, target_modules=["embed_tokens", "lm_head"])], None
    yield "modules_to_save", llama(bf), causal, [dict(r=8, lora_alpha=16, target_modules=["q_proj"], modules_to_save=["lm_head"])], None
    yield "two adapters", llama(bf), causal, [dict(r=8, lora_alpha=16, target_modules=ALL), dict(r=4, lora_alpha=4, target_modules=["q_proj", "up_proj"])], [0.5, -0.25]
    yield "two DoRAs F32", llama(full), causal, [dict(r=8, lora_alpha=16, target_modules=ALL, use_dora=True), dict(r=4, lora_alpha=4, target_modules=["q_proj"], use_dora=True)], None
    torch.manual_seed(9)
    vit = T.ViTForImageClassification(T.ViTConfig(hidden_size=32, num_hidden_layers=1, num_attention_heads=4, intermediate_size=48, image_size=16, patch_size=4)).to(bf)
    yield "convolution", vit, T.AutoModelForImageClassification, [dict(r=6, lora_alpha=16, target_modules=["projection"])], None
    torch.manual_seed(10)
    oss = T.GptOssForCausalLM(T.GptOssConfig(vocab_size=97, hidden_size=64, intermediate_size=32, num_hidden_layers=1, num_attention_heads=4, num_key_value_heads=2,
                                             head_dim=16, num_local_experts=4, num_experts_per_tok=2, layer_types=["full_attention"])).to(bf)
    yield "experts", oss, causal, [dict(r=4, lora_alpha=16, target_modules=["q_proj"], target_parameters=["mlp.experts.gate_up_proj", "mlp.experts.down_proj"])], None
    both = dict(r=4, lora_alpha=16, target_modules=["q_proj"], target_parameters=["mlp.experts.gate_up_proj", "mlp.experts.down_proj"])
    sizes = dict(vocab_size=97, hidden_size=64, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, head_dim=16, num_experts_per_tok=2)
    torch.manual_seed(11)
    qwen = T.Qwen3MoeForCausalLM(T.Qwen3MoeConfig(intermediate_size=96, moe_intermediate_size=32, num_experts=4, **sizes))
    yield "experts saved one by one", qwen.to(bf), causal, [both], None
    torch.manual_seed(12)
    mixtral = T.MixtralForCausalLM(T.MixtralConfig(intermediate_size=32, num_local_experts=4, **sizes))
    yield "experts saved one by one, under other names", mixtral.to(bf), causal, [both], None
    for tied in (False, True):
        text = ", tied" if tied else ""
        base = llama(bf, tie_word_embeddings=tied)
        yield "vocabulary of 101 for 97" + text, base, causal, [dict(r=8, lora_alpha=16, target_modules=ALL, resize=101)], None
        yield "trained tokens" + text, base, causal, [dict(r=8, lora_alpha=16, target_modules=ALL, trainable_token_indices=[90, 3, 5])], None
        yield "trained tokens, vocabulary of 101" + text, base, causal, [dict(r=8, lora_alpha=16, target_modules=ALL, trainable_token_indices=[100, 3], resize=101)], None


def merges():
    import peft
    oracle = f"peft {peft.__version__}, torch {torch.__version__}"
    for n, (name, model, auto, configs, weights) in enumerate(adapters()):
        where = WORK / f"lora{n}"
        base = where / "base"
        model.save_pretrained(base, max_shard_size="60KB" if n % 2 else "5GB")
        plain = state(base)
        resize = max(a.pop("resize", 0) for a in configs)

        def opened():
            model = auto.from_pretrained(base, dtype="auto")
            if resize:
                model.resize_token_embeddings(resize)
            return model

        folders = []
        for k, arguments in enumerate(configs):
            tuned = roused(peft.get_peft_model(opened(), peft.LoraConfig(task_type=None, **arguments)), 100 * n + k)
            folder = where / f"adapter{k}"
            tuned.save_pretrained(folder, safe_serialization=n % 3 != 2)
            folders.append(folder)
            del tuned
        merged = None
        for k, folder in enumerate(folders):
            if merged is None:
                merged = peft.PeftModel.from_pretrained(opened(), folder, adapter_name="a0")
            else:
                merged.load_adapter(folder, adapter_name=f"a{k}")
        if weights:
            for m in merged.modules():
                for k, w in enumerate(weights):
                    if isinstance(m, peft.tuners.lora.LoraLayer):
                        m.set_scale(f"a{k}", w)
        names = [f"a{k}" for k in range(len(folders))]
        terms = terms_of(merged, names, plain)
        result = merged.merge_and_unload(adapter_names=names)
        result.save_pretrained(where / "peft")
        flags = [f"--weight={w}" for w in weights or []]
        done = amn("merge-lora", "-q", base, *folders, "-o", where / "amn", *flags)
        row = Row("merge-lora: " + name, oracle)
        if done.returncode:
            row.wrong(f"exit {done.returncode}: {done.stderr}")
            row.done()
            continue
        got = state(where / "amn")
        compare(row, got, state(where / "peft"), terms)
        loaded = auto.from_pretrained(where / "amn", dtype="auto").state_dict()
        if any(not torch.equal(loaded[k], v) for k, v in got.items() if k in loaded):
            row.wrong("transformers loads other numbers")
        files = sorted(f.name for f in base.iterdir())
        if sorted(f.name for f in (where / "amn").iterdir()) != files:
            row.wrong(f"files {sorted(f.name for f in (where / 'amn').iterdir())}, want {files}")
        sizes = [json.loads((where / f / "config.json").read_text()).get("vocab_size") for f in ("amn", "peft")]
        if sizes[0] != sizes[1]:
            row.wrong(f"vocab_size {sizes[0]}, want {sizes[1]}")
        row.done()
        if not any(a.get("use_dora") or a.get("target_parameters") and "experts saved one by one" not in name or a.get("bias") or a.get("lora_bias") or a.get("modules_to_save") for a in configs):
            exact = Row("merge-lora: " + name + ", in order", f"torch {torch.__version__}")
            compare(exact, got, ordered(plain, folders, weights))
            exact.done()


def terms_of(model, names, plain):
    """Of each adapted weight the sum of the sizes of all terms, and their count."""
    size = {}
    for name, m in model.named_modules():
        if not hasattr(m, "lora_A") or not hasattr(m, "get_delta_weight"):
            continue
        key = name.removeprefix("base_model.model.") + ".weight"
        if key not in plain:
            continue
        for a in names:
            held = [p for at in (m.lora_A, m.lora_B, m.lora_embedding_A, m.lora_embedding_B) if a in at for p in at[a].parameters()] if a in m.lora_A else \
                   [at[a] for at in (m.lora_embedding_A, m.lora_embedding_B) if a in at]
            if not held:
                continue
            was = [p.data.clone() for p in held]
            for p in held:
                p.data.abs_()
            term, ranks = size.get(key, (plain[key].float().abs(), 0))
            size[key] = term + m.get_delta_weight(a).detach().float().abs().reshape(plain[key].shape), ranks + m.r[a]
            for p, w in zip(held, was):
                p.data.copy_(w)
    return size


def ordered(plain, folders, weights):
    """The same sums in the order that is documented, one rank after the other."""
    import re
    out = dict(plain)
    for k, folder in enumerate(folders):
        config = json.loads((folder / "adapter_config.json").read_text())
        files = list(folder.glob("adapter_model.*"))
        tensors = st.load_file(files[0]) if files[0].suffix == ".safetensors" else torch.load(files[0])
        replaced(out, config, tensors)
        for key, a in tensors.items():
            if re.search(r"\.experts(\.base_layer)?\.lora_A\.weight$", key):
                cut_by_expert(out, config, key, a, tensors[key.replace("_A", "_B")])
                continue
            found = re.fullmatch(r"base_model\.model\.(.*)\.(lora_A\.weight|lora_embedding_A)", key)
            if not found:
                continue
            module, embedding = found[1], "embedding" in found[2]
            b = tensors[key.replace("_A", "_B")].float()
            a = a.float()
            r = a.shape[0]

            def of(patterns, default):
                return next((v for p, v in (patterns or {}).items() if re.match(rf"(.*\.)?({p})$", module)), default)

            assert r == of(config["rank_pattern"], config["r"])
            alpha = (weights[k] if weights else 1) * of(config["alpha_pattern"], config["lora_alpha"])
            scale = alpha / (r ** 0.5 if config["use_rslora"] else r)
            name = next(n for n in (module + ".weight", module.split(".", 1)[-1] + ".weight") if n in plain)
            w = out[name]
            left, right = b.reshape(b.shape[0], r), a.reshape(r, -1)
            if embedding or config["fan_in_fan_out"]:
                left, right = right.T, left.T
            total = torch.zeros(left.shape[0], right.shape[1])
            for i in range(r):
                total = total + left[:, i:i + 1] * right[i:i + 1, :]
            delta = (total * scale).reshape(w.shape)
            if embedding:
                delta = delta.to(w.dtype).float()
            out[name] = (w.float() + delta).to(w.dtype)
    return out


def replaced(out, config, tensors):
    """Embeddings that an adapter has whole, and the rows of trained tokens."""
    for ending in (".weight", ".trainable_tokens_delta"):
        for key, value in tensors.items():
            module = key.removeprefix("base_model.model.").replace(".token_adapter", "").replace(".base_layer", "").rpartition(".")[0]
            name = module + ".weight"
            if name not in out or "lora_" in key or not key.endswith(ending):
                continue
            value = value.to(out[name].dtype)
            if ending == ".weight":
                out[name] = value
            else:
                out[name] = out[name].clone()
                out[name][config["trainable_token_indices"]] = value


def cut_by_expert(out, config, key, a, b):
    """The product of a stack, cut by expert and by matrix: gate before up, w1 before w3."""
    stem = key.removeprefix("base_model.model.").partition("experts.")[0]
    stem = stem if any(n.startswith(stem + "experts.") for n in out) else stem.replace(".mlp.", ".block_sparse_moe.")
    own = [n for n in sorted(out) if n.startswith(stem + "experts.0.")]
    down = next(n for n in own if n.endswith(("down_proj.weight", "w2.weight")))
    experts = sum(n.startswith(stem + "experts.") for n in out) // len(own)
    matrices = [down] if b.shape[0] == out[down].shape[0] and a.shape[1] == out[down].shape[1] else [n for n in own if n != down]
    rank = a.shape[0] // experts
    for e in range(experts):
        for k, first in enumerate(matrices):
            name = first.replace("experts.0.", f"experts.{e}.")
            w = out[name]
            total = torch.zeros(w.shape)
            for i in range(rank):
                total = total + b[k * w.shape[0]:(k + 1) * w.shape[0], i * experts + e, None].float() * a[e * rank + i, None].float()
            delta = (total * (config["lora_alpha"] / config["r"])).to(w.dtype)
            out[name] = (w.float() + delta.float()).to(w.dtype)


def recipes():
    """name -> recipe for the models base, a, b."""
    def both(**parameters):
        return [{"model": "a", "parameters": dict(parameters, weight=0.7)}, {"model": "b", "parameters": dict(parameters, weight=0.4)}]
    yield "linear", {"merge_method": "linear", "models": both()}
    yield "linear, not normalized", {"merge_method": "linear", "models": both(), "parameters": {"normalize": False}}
    yield "linear by layers", {"merge_method": "linear", "models": [
        {"model": "a", "parameters": {"weight": [0.1, 0.9]}}, {"model": "b", "parameters": {"weight": [{"filter": "mlp", "value": 0.25}, {"value": 1}]}}]}
    yield "slerp", {"merge_method": "slerp", "base_model": "a", "models": [{"model": "a"}, {"model": "b"}], "parameters": {"t": [{"filter": "self_attn", "value": [0, 0.5, 1]}, {"value": 0.3}]}}
    yield "task_arithmetic", {"merge_method": "task_arithmetic", "base_model": "base", "models": both(), "parameters": {"lambda": 0.9}}
    yield "task_arithmetic, normalized", {"merge_method": "task_arithmetic", "base_model": "base", "models": [{"model": "base"}, *both()], "parameters": {"normalize": True}}
    yield "ties", {"merge_method": "ties", "base_model": "base", "models": both(density=0.3)}
    yield "ties, rescaled", {"merge_method": "ties", "base_model": "base", "models": both(density=0.05), "parameters": {"rescale": True, "normalize": False}}
    yield "passthrough", {"merge_method": "passthrough", "slices": [{"sources": [{"model": "a", "layer_range": [0, 3]}]}, {"sources": [{"model": "b", "layer_range": [1, 4]}]}]}
    yield "passthrough, scaled", {"merge_method": "passthrough", "slices": [
        {"sources": [{"model": "a", "layer_range": [0, 4], "parameters": {"scale": [{"filter": "o_proj", "value": 0.5}, {"value": 1}]}}]}]}
    yield "slerp of slices", {"merge_method": "slerp", "base_model": "a", "parameters": {"t": [0, 1]}, "slices": [
        {"sources": [{"model": "a", "layer_range": [0, 3]}, {"model": "b", "layer_range": [1, 4]}]}]}
    yield "dare_linear", {"merge_method": "dare_linear", "base_model": "base", "models": both(density=0.5), "seed": 3}
    yield "dare_ties", {"merge_method": "dare_ties", "base_model": "base", "models": both(density=0.5), "seed": 4}


def absolute(recipe, folder):
    if isinstance(recipe, dict):
        return {k: str(folder / v) if k in ("model", "base_model") else absolute(v, folder) for k, v in recipe.items()}
    return [absolute(v, folder) for v in recipe] if isinstance(recipe, list) else recipe


def models():
    from importlib.metadata import version
    # Which of equal magnitudes TIES keeps is left to torch's sort, which is not a
    # stable one: the first here.
    sort = torch.argsort
    torch.argsort = lambda *args, **more: sort(*args, **more | {"stable": True})
    oracle = f"mergekit {version('mergekit')}, torch {torch.__version__}"
    for dtype, within, out in ((torch.bfloat16, None, None), (torch.float32, None, None), (torch.bfloat16, None, "float16"), (torch.float32, "bfloat16", None),
                               (torch.float32, "bfloat16", "float16"), (torch.bfloat16, "float32", None)):
        folder = WORK / f"models-{dtype}-{within}-{out}".replace("torch.", "")
        base = llama(dtype, num_hidden_layers=4)
        g = torch.Generator().manual_seed(5)
        for name in ("base", "a", "b"):
            if name != "base":
                for p in base.parameters():
                    p.data = (p.data.float() + 0.02 * torch.randn(p.shape, generator=g)).to(dtype)
            base.save_pretrained(folder / name)
            if within:  # what amn computes with
                copy.deepcopy(base).to(getattr(torch, within)).save_pretrained(folder / "rounded" / name)
        for name, recipe in recipes():
            if within:
                recipe = dict(recipe, dtype=within)
            if out:
                recipe = dict(recipe, out_dtype=out)
            (folder / "recipe.json").write_text(json.dumps(recipe))
            to = folder / name.replace(" ", "-")
            row = Row(f"merge: {name}, {str(dtype).removeprefix('torch.')}{', dtype ' + within if within else ''}{' to ' + out if out else ''}", oracle)
            done = amn("merge", "-q", folder / "recipe.json", "-o", to)
            if done.returncode:
                row.wrong(f"exit {done.returncode}: {done.stderr}")
                row.done()
                continue
            got = state(to)
            stored = within or str(dtype).removeprefix("torch.")
            models = folder / "rounded" if within else folder
            if name.startswith("dare"):
                want = dare(models, recipe, stored if within else out or stored)
                want = {k: v.to(getattr(torch, out or stored)) for k, v in want.items()}
            else:
                r = {k: v for k, v in recipe.items() if k != "seed"}
                stepwise = recipe["merge_method"] in ("task_arithmetic", "ties")  # mergekit rounds each step to its dtype: amn the sum alone
                if within and not stepwise:
                    want = kit(r, folder, to)
                elif within and out:
                    want = {k: v.to(getattr(torch, out)) for k, v in kit(r | {"dtype": "float32", "out_dtype": within}, models, to).items()}
                else:
                    want = kit(r | {"dtype": "float32", "out_dtype": out or stored}, models, to)
            compare(row, got, want, {k: (v.float().abs().clamp(min=0.05), 4) for k, v in want.items()}, getattr(torch, within) if within and out else None)
            loaded = T.AutoModelForCausalLM.from_pretrained(to, dtype="auto")
            if any(not torch.equal(loaded.state_dict()[k], v) for k, v in got.items()):
                row.wrong("transformers loads other numbers")
            row.done()


def kit(recipe, folder, to):
    import mergekit.config
    import mergekit.merge
    import mergekit.options
    config = mergekit.config.MergeConfiguration.model_validate(absolute(recipe, folder))
    mergekit.merge.run_merge(config, str(to) + "-mergekit", mergekit.options.MergeOptions(copy_tokenizer=False, write_model_card=False, quiet=True))
    return state(str(to) + "-mergekit")


def dare(folder, recipe, out):
    """mergekit's own steps, with amn's random numbers for torch's."""
    import numpy as np
    from mergekit.merge_methods.generalized_task_arithmetic import get_mask
    from mergekit.sparsify import RescaleNorm, rescaled_masked_tensor
    mask64 = (1 << 64) - 1

    def mix(z):
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))

    def stream(key, first, n):
        with np.errstate(over="ignore"):
            return mix(np.uint64(key) + (np.arange(first, first + n, dtype=np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15))

    def key(text):
        h = 0xCBF29CE484222325
        for c in text.encode():
            h = (h ^ c) * 0x100000001B3 & mask64
        return int(stream(h, recipe["seed"], 1)[0])

    base, result = state(folder / "base"), {}
    for name, b in base.items():
        b, deltas, weights = b.float(), [], []
        for m in recipe["models"]:
            p = m["parameters"]
            d = state(folder / m["model"])[name].float() - b
            keep = stream(key(m["model"] + "\0" + name), 0, d.numel()) < np.uint64(int(p["density"] * 2.0**63) * 2)
            d = rescaled_masked_tensor(d, torch.from_numpy(keep.astype("f4")).reshape(d.shape), RescaleNorm.l1)
            deltas.append(d * torch.tensor(p["weight"]))
            weights.append(p["weight"])
        d = torch.stack(deltas)
        if recipe["merge_method"] == "dare_ties":
            d = d * get_mask(d, method="sum", mask_dtype=torch.float32)
        result[name] = (b + d.sum(dim=0)).to(getattr(torch, out))
    return result


def main():
    only = os.environ.get("CROSSCHECK_MERGE", "lora,gguf,models").split(",")
    if "lora" in only:
        merges()
    if "gguf" in only:
        gguf_adapters.merges(WORK, amn, Row, compare)
    if "models" in only:
        models()
    print(json.dumps(rows))


main()
