"""Files that loaded as wrong models once, or were refused for no reason: real models of transformers, through amn, and loaded again.

    python3 crosscheck/run.py cases          CROSSCHECK_CASES="drops groups" for some
    cases.py DUMP WORK                       as run.py calls it

    groups   experts of 192 columns in groups of 128: refused before a byte is written, or loaded without a missing key
    rows     fp8 of DeepSeek V3, whose kv_a_proj_with_mqa has 96 rows: it and q_a_proj are quantized, or neither
    drops    a merge that drops the first layer: no key is missing, and the layers that are left are those of the source
    mlx      formats of MLX of types that mlx-lm does not have: refused
    index    model.safetensors beside an index that names just that file, without config.json: one model
    neox     GPT-NeoX whose configuration has num_key_value_heads, which its class ignores
    zero3    an optimizer's shard of DeepSpeed ZeRO-3: not written as a model
    conv1d   GPT-2's modules under each type that has them, inside another model, and chosen by name: the same numbers
    square   stacked experts of as many rows as columns, adapted by target_parameters: every bit as PEFT merges them
    pair     adapters of the output layer of a vision-encoder-decoder, whose decoder ties it or not: as PEFT merges them
    mtp      GLM 4.5 that transformers saved without its layer of further tokens, to GGUF without a tokenizer: not refused for that layer
"""
import json
import os
import pathlib
import sys
import tempfile

import loads  # its path too
import peft
import reload as small
import safetensors.torch
import torch
import transformers as T
from targets import amn

SIZES = {"vocab_size": 128, "hidden_size": 256, "intermediate_size": 512, "num_hidden_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 4, "max_position_embeddings": 64}
MIXTURE = {"num_experts": 4, "n_routed_experts": 4, "num_experts_per_tok": 2, "moe_num_experts": 4, "moe_k": 2, "moe_intermediate_size": 256, "n_group": 1, "topk_group": 1, "q_lora_rank": 128, "kv_lora_rank": 64,
           "qk_rope_head_dim": 32, "qk_nope_head_dim": 32, "v_head_dim": 64, "head_dim": 64, "n_shared_experts": 1, "moe_num_shared_experts": 1}


def plain(kind, root, **more):
    """A small model, saved; its class."""
    base = T.CONFIG_MAPPING[kind]
    names = set(base().to_dict())
    config = base(**{k: v for k, v in {**SIZES, **MIXTURE, **more}.items() if k in names or k in more})
    torch.manual_seed(5)
    model = T.AutoModelForCausalLM.from_config(config).bfloat16()
    model.save_pretrained(root)
    return type(model)


def loaded(cls, folder):
    model, info = cls.from_pretrained(folder, dtype=torch.bfloat16, device_map="cpu", output_loading_info=True)
    lost = {k: sorted(map(str, v))[:3] for k, v in info.items() if v}
    return model, f"loads with {lost}" if lost else ""


def groups(root):
    for kind in ("qwen3_moe", "deepseek_v3"):
        cls = plain(kind, root / kind, moe_intermediate_size=192)
        for to in ("w4a16", "w8a16", "fp8_dynamic"):
            out = root / f"{kind}-{to}"
            done = amn("quantize", "-q", "--to", to, "-o", out, root / kind)
            yield f"{kind} to {to}", "" if done.returncode and not out.exists() else f"exit {done.returncode}, and the folder is there" if done.returncode else loaded(cls, out)[1]


def rows(root):
    cls = plain("deepseek_v3", root / "plain")
    done = amn("quantize", "--json", "--to", "fp8", "-o", root / "out", root / "plain")
    forgotten = json.loads(done.stdout.splitlines()[0])["forgotten"]
    kinds = {w["name"].split(".")[-2] for w in forgotten["weights"]}
    yield "fp8 of DeepSeek V3", "" if ("q_a_proj" in kinds) == ("kv_a_proj_with_mqa" in kinds) and not loaded(cls, root / "out")[1] else f"quantized {sorted(kinds)}"


def drops(root):
    for kind in ("deepseek_v3", "glm4_moe", "ernie4_5_moe", "bamba"):
        at, more = root / kind, {}
        if kind == "bamba":
            more = {"attn_layer_indices": [2], "mamba_n_heads": 8, "mamba_d_head": 64, "mamba_n_groups": 1, "mamba_d_state": 16}
        cls = plain(kind, at / "plain", **more)
        (at / "recipe.json").write_text(json.dumps({"merge_method": "passthrough", "slices": [{"sources": [{"model": "plain", "layer_range": [1, 3]}]}]}))
        done = amn("merge", "-q", at / "recipe.json", "-o", at / "out")
        if done.returncode:
            yield kind, done.stderr[-200:]
            continue
        model, lost = loaded(cls, at / "out")
        was = dict(loaded(cls, at / "plain")[0].named_parameters())
        wrong = [n for n, p in model.named_parameters() if ".layers.1." in n and not torch.equal(p, was[n.replace(".layers.1.", ".layers.2.")])]
        yield kind, lost or (f"other numbers in {wrong[:2]}" if wrong else "")


def mlx(root):
    for kind in ("vit", "siglip", "whisper"):
        small.VARIANTS = (small.LAYERS | small.TOKENS, small.LAYERS)
        small.built(kind, small.class_of(kind), root / kind, torch.bfloat16)
        done = amn("quantize", "--to", "mlx_4", "-o", root / f"{kind}-mlx", root / kind)
        yield f"{kind} to mlx_4", "" if done.returncode and not (root / f"{kind}-mlx").exists() else f"exit {done.returncode}"


def index(root):
    plain("llama", root)
    (root / "config.json").unlink()
    names = safetensors.torch.load_file(root / "model.safetensors")
    (root / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": dict.fromkeys(names, "model.safetensors")}))
    done = amn("dequantize", "-q", "--copy", "-o", root / "out", root)
    copies = {k: v for f in (root / "out").glob("*.safetensors") for k, v in safetensors.torch.load_file(f).items()} if done.returncode == 0 else {}
    yield "an index of one file", "" if set(copies) == set(names) and all(torch.equal(copies[k], v) for k, v in names.items()) else f"exit {done.returncode}: {done.stderr[-200:]}"


def neox(root):
    cls = plain("gpt_neox", root / "plain")
    config = json.loads((root / "plain" / "config.json").read_text())
    (root / "plain" / "config.json").write_text(json.dumps(config | {"num_key_value_heads": 2}))
    done = amn("quantize", "-q", "--to", "nf4", "-o", root / "out", root / "plain")
    yield "GPT-NeoX with num_key_value_heads", done.stderr[-200:] if done.returncode else loaded(cls, root / "out")[1]


def zero3(root):
    root.mkdir()
    flat = torch.zeros(64)
    torch.save({"optimizer_state_dict": {"zero_stage": 3, "partition_count": 2, "fp32_flat_groups": [flat], "optimizer_state_dict": {"state": {0: {"exp_avg": flat, "exp_avg_sq": flat}}, "param_groups": []}}}, root / "zero_pp_rank_0_mp_rank_00_optim_states.pt")
    done = amn("convert", "--to", "safetensors", "-o", root / "out.safetensors", root / "zero_pp_rank_0_mp_rank_00_optim_states.pt")
    yield "a ZeRO-3 optimizer's shard", "" if done.returncode and not (root / "out.safetensors").exists() else f"exit {done.returncode}"


def mtp(root):
    plain("glm4_moe", root / "plain", num_nextn_predict_layers=1)
    done = amn("convert", "--to", "gguf", "-o", root / "out.gguf", root / "plain")
    missing = "nextn" in done.stderr or "layers.3" in done.stderr
    yield "GLM 4.5 without its layer of further tokens", done.stderr[-200:] if missing or done.returncode and "token" not in done.stderr else ""


def conv1d(root):
    """GPT-2's modules of class Conv1D, under each type that has the class, inside another model, and chosen by name."""
    size = dict(n_embd=64, n_layer=2, n_head=2, vocab_size=96, n_positions=32)
    torch.manual_seed(5)
    cases = {"gpt2": T.GPT2LMHeadModel(T.GPT2Config(**size)), "gpt-sw3": T.GPT2LMHeadModel(T.GPT2Config(**size)), "openai-gpt": T.OpenAIGPTLMHeadModel(T.OpenAIGPTConfig(**size)), "gpt_bigcode": T.GPTBigCodeForCausalLM(T.GPTBigCodeConfig(**size)),
             "vision-encoder-decoder": T.VisionEncoderDecoderModel(T.VisionEncoderDecoderConfig.from_encoder_decoder_configs(
                 T.ViTConfig(hidden_size=64, num_hidden_layers=2, num_attention_heads=2, intermediate_size=128, image_size=32, patch_size=16), T.GPT2Config(**size, is_decoder=True, add_cross_attention=True)))}
    for kind, model in cases.items():
        model.bfloat16().save_pretrained(root / kind)
        config = json.loads((root / kind / "config.json").read_text())
        if kind == "gpt-sw3":
            (root / kind / "config.json").write_text(json.dumps(config | {"model_type": kind}))
        for to in ("nf4", "int8"):
            for more in ([], ["--include", "*.c_proj.weight", "--include", "*_attn.weight"]):
                what = " ".join([kind, "to", to, *more])
                done = amn("quantize", "-q", "-f", "--to", to, *more, "-o", root / "out", root / kind)
                back = amn("dequantize", "-q", "-f", "-o", root / "back", root / "out")
                if done.returncode or back.returncode:
                    yield what, (done.stderr + back.stderr)[-200:]
                    continue
                got, lost = loaded(type(model), root / "out")
                want, lost2 = loaded(type(model), root / "back")
                turned = {name + ".weight" for name, m in want.named_modules() if type(m).__name__ == "Conv1D"}
                a, b = loads.decoded(want), loads.decoded(got)
                far = [k for k in a if k not in b or not torch.equal(a[k].T if k in turned and type(got.get_submodule(k.removesuffix(".weight"))).__name__ != "Conv1D" else a[k], b[k].to(a[k].dtype))]
                plain = dict(model.named_parameters())
                far += [k for k, v in want.named_parameters() if (v.float() - plain[k].float()).abs().max() > 0.2 * plain[k].float().abs().max()]
                yield what, lost or lost2 or (f"other numbers in {far[:3]}" if far else "")


def whole(model, seed, part=""):
    """Gives parameters small whole numbers, whose sums are the same in any order."""
    g = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, p in model.named_parameters():
            if part in name:
                p.copy_(torch.randint(-3, 4, p.shape, generator=g).to(p.dtype))
    return model


def as_peft(cls, root, **config):
    """What is wrong with amn's merge of an adapter of root/plain, held against PEFT's."""
    base = lambda: cls.from_pretrained(root / "plain", dtype=torch.float32, device_map="cpu")  # noqa: E731
    part = "modules_to_save" if "modules_to_save" in config else "lora_"
    whole(peft.get_peft_model(base(), peft.LoraConfig(r=2, lora_alpha=4, **config)), 2, part).save_pretrained(root / "adapter")
    want = peft.PeftModel.from_pretrained(base(), root / "adapter").merge_and_unload().state_dict()
    done = amn("merge-lora", "--json", "-f", "-o", root / "out", root / "plain", root / "adapter")
    if done.returncode:
        return done.stdout[:200]
    model, info = cls.from_pretrained(root / "out", dtype=torch.float32, device_map="cpu", output_loading_info=True)
    if lost := {k: sorted(map(str, v))[:3] for k, v in info.items() if v}:
        return f"loads with {lost}"
    got, was = model.state_dict(), base().state_dict()
    far = [k for k in want if k not in got or not torch.equal(want[k], got[k])]
    if not far and all(torch.equal(want[k], was[k]) for k in was):
        return "the adapter changes nothing"
    return f"other numbers in {far[:3]}" if far or set(got) != set(want) else ""


def square(root):
    small.VARIANTS = (small.LAYERS | small.TOKENS | small.WIDTHS | small.HEADS | small.HEAD,)
    for kind, more, parameters in (("nemotron_h", {}, ["experts.up_proj", "experts.down_proj"]), ("nemotron_h", {}, ["experts.up_proj"]), ("gpt_oss", {"intermediate_size": 64}, ["experts.down_proj"]),
                                   ("gpt_oss", {"intermediate_size": 64, "num_local_experts": 1, "num_experts_per_tok": 1}, ["experts.down_proj"])):
        at, cls = root / f"{kind}-{len(more)}-{len(parameters)}", small.class_of(kind)
        small.SMALL[kind] = more
        whole(small.built(kind, cls, at / "plain", torch.float32), 1).save_pretrained(at / "plain")
        yield f"{kind} {more}, {parameters}", as_peft(cls, at, target_modules=[], target_parameters=parameters)


def pair(root):
    for tied in (True, False):
        gpt2 = T.GPT2Config(n_embd=32, n_layer=1, n_head=2, vocab_size=64, n_positions=32, is_decoder=True, add_cross_attention=True, tie_word_embeddings=tied)
        vit = T.ViTConfig(hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=64, image_size=16, patch_size=8)
        for config in ({"target_modules": ["decoder.lm_head"]}, {"target_modules": ["c_fc"], "modules_to_save": ["decoder.lm_head"], "fan_in_fan_out": True}):
            at = root / f"{tied}-{len(config)}"
            model = whole(T.VisionEncoderDecoderModel(T.VisionEncoderDecoderConfig.from_encoder_decoder_configs(vit, gpt2)), 1)
            model.save_pretrained(at / "plain")
            yield f"{'tied' if tied else 'not tied'}, {config}", as_peft(type(model), at, **config)


ALL = {f.__name__: f for f in (groups, rows, drops, mlx, index, neox, zero3, square, pair, mtp, conv1d)}


def main():
    out = []
    for name in os.environ.get("CROSSCHECK_CASES", "").split() or ALL:
        with tempfile.TemporaryDirectory(dir=sys.argv[2]) as work:
            count, bad = 0, 0
            try:
                for what, wrong in ALL[name](pathlib.Path(work) / name):
                    count, bad = count + 1, bad + bool(wrong)
                    print(f"{name}: {what}: {wrong or 'right'}", file=sys.stderr, flush=True)
            except Exception as e:
                print(f"{name}: {type(e).__name__}: {e}", file=sys.stderr, flush=True)
                count, bad = count + 1, bad + 1
            out.append([f"cases: {name}", f"transformers {T.__version__}", count, bad])
    print(json.dumps(out))


if __name__ == "__main__":
    main()
