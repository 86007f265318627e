"""Families that transformers has no class for, their code being published beside the
weights: random tensors under the names and in the shapes of that code. The oracle is
llama.cpp's converter; llama.cpp runs the file, and the folder's tensors come back."""
import json

import models
import newest
import numpy as np
import published
import rare
import rarest
import torch
import transformers as tf
from safetensors.torch import load_file, save_file

H, F, HEADS, GROUPS, VOCAB = 64, 96, 4, 2, models.VOCAB
D = H // HEADS
BASE = dict(hidden_size=H, intermediate_size=F, num_hidden_layers=2, num_attention_heads=HEADS, num_key_value_heads=GROUPS, vocab_size=VOCAB, max_position_embeddings=256, rms_norm_eps=1e-6,
            rope_theta=10000.0, hidden_act="silu", bos_token_id=1, eos_token_id=2, tie_word_embeddings=False)


def layered(n, outer, inner):
    return outer | {f"{name.replace('#', str(i))}": s for i in range(n) for name, s in inner.items()}


def weights(at="", **shapes):
    return {at + n.replace("__", ".") + ".weight": s for n, s in shapes.items()}


LLAMA = weights(model__embed_tokens=(VOCAB, H), model__norm=(H,), lm_head=(VOCAB, H))
MLP = weights("model.layers.#.", mlp__gate_proj=(F, H), mlp__up_proj=(F, H), mlp__down_proj=(H, F))
NORMS = weights("model.layers.#.", input_layernorm=(H,), post_attention_layernorm=(H,))
ATTENTION = weights("model.layers.#.", self_attn__q_proj=(H, H), self_attn__k_proj=(GROUPS * D, H), self_attn__v_proj=(GROUPS * D, H), self_attn__o_proj=(H, H))
EVEN = weights("model.layers.#.", self_attn__q_proj=(H, H), self_attn__k_proj=(H, H), self_attn__v_proj=(H, H), self_attn__o_proj=(H, H))


def experts(at, n, wide, shared):
    out = weights(at, gate=(n, H), shared_experts__gate_proj=(shared, H), shared_experts__up_proj=(shared, H), shared_experts__down_proj=(H, shared))
    for e in range(n):
        out |= weights(f"{at}experts.{e}.", gate_proj=(wide, H), up_proj=(wide, H), down_proj=(H, wide))
    return out


def internlm2():
    inner = weights("model.layers.#.", attention_norm=(H,), attention__wqkv=((HEADS + 2 * GROUPS) * D, H), attention__wo=(H, H), ffn_norm=(H,), feed_forward__w1=(F, H), feed_forward__w3=(F, H), feed_forward__w2=(H, F))
    return BASE | dict(model_type="internlm2", architectures=["InternLM2ForCausalLM"], bias=False, rope_scaling={"type": "dynamic", "factor": 2.0}), layered(2, weights(model__tok_embeddings=(VOCAB, H), model__norm=(H,), output=(VOCAB, H)), inner), chatting, None


def internlm3():
    return BASE | dict(model_type="internlm3", architectures=["InternLM3ForCausalLM"], head_dim=32, qkv_bias=False, bias=False), layered(2, LLAMA, NORMS | MLP | weights(
        "model.layers.#.", self_attn__q_proj=(HEADS * 32, H), self_attn__k_proj=(GROUPS * 32, H), self_attn__v_proj=(GROUPS * 32, H), self_attn__o_proj=(H, HEADS * 32))), chatting, None


def baichuan(layers):
    c = {k: v for k, v in BASE.items() if k not in ("num_key_value_heads", "max_position_embeddings", "rope_theta")} | dict(model_type="baichuan", architectures=["BaichuanForCausalLM"], num_hidden_layers=layers)
    c |= {"max_position_embeddings": 256} if layers == 32 else {"model_max_length": 256}
    return c, layered(layers, LLAMA, NORMS | MLP | weights("model.layers.#.", self_attn__W_pack=(3 * H, H), self_attn__o_proj=(H, H))), models.sentencepiece, None


def minicpm(**more):
    c = BASE | dict(model_type="minicpm", architectures=["MiniCPMForCausalLM"], scale_emb=12, scale_depth=1.4, dim_model_base=16) | more
    outer = {n: s for n, s in LLAMA.items() if n != "lm_head.weight"} if more.get("tie_word_embeddings") else LLAMA
    return c, layered(2, outer, NORMS | MLP | ATTENTION), models.sentencepiece, None


def exaone(**more):
    c = {k: v for k, v in BASE.items() if k not in ("num_hidden_layers", "rms_norm_eps", "hidden_act")} | dict(model_type="exaone", architectures=["ExaoneForCausalLM"], num_layers=2, layer_norm_epsilon=1e-5, activation_function="silu") | more
    inner = weights("transformer.h.#.", ln_1=(H,), attn__attention__q_proj=(H, H), attn__attention__k_proj=(GROUPS * D, H), attn__attention__v_proj=(GROUPS * D, H), attn__attention__out_proj=(H, H),
                    ln_2=(H,), mlp__c_fc_0=(F, H), mlp__c_fc_1=(F, H), mlp__c_proj=(H, F))
    return c, layered(2, weights(transformer__wte=(VOCAB, H), transformer__ln_f=(H,), lm_head=(VOCAB, H)), inner), models.byte_level, "exaone"


def bailing():
    c = BASE | dict(model_type="bailing_moe", architectures=["BailingMoeForCausalLM"], num_experts=4, num_experts_per_tok=2, moe_intermediate_size=48, num_shared_experts=2, first_k_dense_replace=0, norm_topk_prob=True,
                    use_qkv_bias=False, use_bias=False, norm_head=False, norm_softmax=False)
    inner = NORMS | weights("model.layers.#.", attention__query_key_value=((HEADS + 2 * GROUPS) * D, H), attention__dense=(H, H)) | experts("model.layers.#.mlp.", 4, 48, 96)
    return c, layered(2, weights(model__word_embeddings=(VOCAB, H), model__norm=(H,), lm_head=(VOCAB, H)), inner), models.byte_level, "llama-bpe"


def bailing2():
    c = BASE | dict(model_type="bailing_moe_v2", architectures=["BailingMoeV2ForCausalLM"], num_hidden_layers=3, num_experts=4, num_experts_per_tok=2, moe_intermediate_size=48, moe_shared_expert_intermediate_size=48, num_shared_experts=1,
                    first_k_dense_replace=1, norm_topk_prob=True, routed_scaling_factor=2.5, score_function="sigmoid", n_group=2, topk_group=1, partial_rotary_factor=0.5, use_qk_norm=True, use_qkv_bias=False, use_bias=False,
                    num_nextn_predict_layers=0, head_dim=D)
    inner = NORMS | weights("model.layers.#.", attention__query_key_value=((HEADS + 2 * GROUPS) * D, H), attention__dense=(H, H), attention__query_layernorm=(D,), attention__key_layernorm=(D,))
    t = layered(3, weights(model__word_embeddings=(VOCAB, H), model__norm=(H,), lm_head=(VOCAB, H)), inner)
    t |= {n.replace("#", "0"): s for n, s in MLP.items()}
    for i in (1, 2):
        t |= experts(f"model.layers.{i}.mlp.", 4, 48, 48) | {f"model.layers.{i}.mlp.gate.expert_bias": (4,)}
    return c, t, models.byte_level, "llama-bpe"


def deepseek():
    c = BASE | dict(model_type="deepseek", architectures=["DeepseekForCausalLM"], num_key_value_heads=HEADS, n_routed_experts=4, n_shared_experts=2, num_experts_per_tok=2, moe_intermediate_size=48, first_k_dense_replace=1, moe_layer_freq=1,
                    norm_topk_prob=False, scoring_func="softmax")
    t = layered(2, LLAMA, NORMS | EVEN) | {n.replace("#", "0"): s for n, s in MLP.items()} | experts("model.layers.1.mlp.", 4, 48, 96)
    return c, t, models.byte_level, "deepseek-llm"


def chatglm():
    c = dict(model_type="chatglm", architectures=["ChatGLMModel"], hidden_size=H, ffn_hidden_size=F, num_layers=2, num_attention_heads=HEADS, multi_query_attention=True, multi_query_group_num=GROUPS, kv_channels=D, seq_length=256,
             padded_vocab_size=VOCAB, vocab_size=VOCAB, layernorm_epsilon=1.5625e-07, rope_ratio=500, rmsnorm=True, add_bias_linear=False, add_qkv_bias=True, original_rope=True, post_layer_norm=True,
             apply_residual_connection_post_layernorm=False, tie_word_embeddings=False, eos_token_id=[2, 3])
    at = "transformer.encoder.layers.#."
    inner = weights(at, input_layernorm=(H,), self_attention__query_key_value=((HEADS + 2 * GROUPS) * D, H), self_attention__dense=(H, H), post_attention_layernorm=(H,), mlp__dense_h_to_4h=(2 * F, H), mlp__dense_4h_to_h=(H, F))
    inner |= {at + "self_attention.query_key_value.bias": ((HEADS + 2 * GROUPS) * D,)}
    outer = weights("transformer.", embedding__word_embeddings=(VOCAB, H), encoder__final_layernorm=(H,), output_layer=(VOCAB, H)) | {"transformer.rotary_pos_emb.inv_freq": (D // 4,)}
    return c, layered(2, outer, inner), models.glm, "glm4"


LONG = {"rope_type": "longrope", "original_max_position_embeddings": 64, "long_factor": [1.0 + i / 3 for i in range(8)], "short_factor": [1.0 + i / 50 for i in range(8)]}
LLAMA3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 64}

FAMILIES = {
    "internlm2": internlm2, "internlm3": internlm3, "baichuan-7b": lambda: baichuan(32), "baichuan-13b": lambda: baichuan(40), "minicpm": lambda: minicpm(tie_word_embeddings=True), "minicpm4": lambda: minicpm(rope_scaling=LONG),
    "exaone": exaone, "exaone-long": lambda: exaone(rope_scaling=LLAMA3), "bailing": bailing, "bailing2": bailing2, "deepseek": deepseek, "chatglm": chatglm,
}
FAMILIES |= published.FAMILIES | rare.FAMILIES | rarest.FAMILIES | newest.FAMILIES
ONE_WAY = {"minicpm", "minicpm4", "chatglm", *published.FAMILIES, *rare.FAMILIES, *rarest.FAMILIES, *newest.FAMILIES}
# Keys that amn writes and the converter leaves out, without which llama.cpp does not load the file.
# Of CogVLM it also leaves out the tensors of what the model sees, as it does not for other models.
BESIDE = {"exaone.attention.layer_norm_rms_epsilon"}


def chatting(folder, _):
    """A sentencepiece model whose texts end with <|im_end|>."""
    models.sentencepiece(folder, None)
    path = folder / "tokenizer_config.json"
    config = json.loads(path.read_text())
    config["added_tokens_decoder"]["5"] = {"content": "<|im_end|>", "special": True}
    path.write_text(json.dumps(config))


def reserved(folder):
    """InternLM 2 has tokens that are reserved, and one of no bytes; none is beyond the model's own. It gives their number."""
    from sentencepiece import sentencepiece_model_pb2 as pb

    path = folder / "tokenizer.model"
    m = pb.ModelProto.FromString(path.read_bytes())
    m.pieces[300].piece, m.pieces[301].piece, m.pieces[302].piece = "[UNUSED_TOKEN_1]", "\x00", "[UNUSED_TOKEN_2]"
    path.write_bytes(m.SerializeToString())
    path = folder / "tokenizer_config.json"
    config = json.loads(path.read_text())
    config["added_tokens_decoder"] = {k: v for k, v in config["added_tokens_decoder"].items() if int(k) < len(m.pieces)} | {"302": {"content": "▁xq", "special": False}}
    path.write_text(json.dumps(config))
    return len(m.pieces)


def stated(of):
    """A tensor of stated values."""
    return torch.tensor(of[1], dtype={"i64": torch.int64, "bool": torch.bool}[of[0]])


def make(name, folder, dtype):
    torch.manual_seed(0)
    config, shapes, vocabulary, pre = FAMILIES[name]()
    vocabulary(folder, "llama-bpe" if pre in ("exaone", "deepseek-llm") else pre)
    if name == "internlm2":
        config["vocab_size"] = n = reserved(folder)
        shapes = {k: (n, H) if s == (VOCAB, H) else s for k, s in shapes.items()}
    tensors = {n: stated(s) if s and isinstance(s[0], str) else (torch.randn(s) * 0.1 + (1 if "norm" in n or "ln_" in n else 0)).to(dtype) for n, s in shapes.items()}
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    (folder / "config.json").write_text(json.dumps(config))
    return pre


def check(name, work, amn, converter, same, wrong, logits):
    counted = bad = 0
    for kind, dtype in {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}.items():
        folder, back = work / f"{name}-{kind}", work / f"{name}-{kind}-back"
        folder.mkdir()
        pre = make(name, folder, dtype)
        ours, theirs = work / f"{name}-{kind}-ours.gguf", work / f"{name}-{kind}-theirs.gguf"
        extra = ["--gguf-kv", f"tokenizer.ggml.pre={pre}"] if pre else []
        of = folder / "target" if name in rare.DRAFTS or name in rarest.DRAFTS else None
        extra += ["--target-model", of] if of else []
        if why := amn("convert", folder, "--to", "gguf", *extra, "-o", ours):
            return counted, bad + wrong(name, why)
        tf.PreTrainedConfig.max_position_embeddings = 0  # which transformers asks of a configuration that it has no class for
        try:
            converter.write(folder, theirs, kind, pre, target=of)
        finally:
            del tf.PreTrainedConfig.max_position_embeddings
        got, want = converter.read(ours), converter.read(theirs)
        counted += sum(int(np.prod(t[1])) for t in want[1].values())
        bad += same(f"{name} {kind}", ({k: v for k, v in got[0].items() if k not in BESIDE}, {k: v for k, v in got[1].items() if not (name == "cogvlm" and ".vis_" in k)}), want)
        numbers, why = logits(ours, [] if of or name in rarest.LOADED else [1, *range(5, 25)])  # drafts read the target's hidden states: they are loaded
        if numbers is None or not np.isfinite(numbers).all():
            bad += wrong(name, f"llama.cpp does not run it: {why}")
        if not of and (why := amn("diff", folder, ours)):
            bad += wrong(name, f"amn diff: {why}")
        why = amn("convert", ours, "--to", "hf", "-o", back)
        if name in ONE_WAY:
            bad += 0 if "not supported" in why else wrong(name, f"it is led back: {why}")
            continue
        if why:
            bad += wrong(name, why)
            continue
        a, b = load_file(folder / "model.safetensors"), load_file(back / "model.safetensors")
        bad += sum(wrong(name, f"back: {n}") for n in sorted(set(a) | set(b)) if n not in a or n not in b or a[n].dtype != b[n].dtype or not torch.equal(a[n], b[n]))
        counted += sum(t.numel() for t in a.values())
        a, b = (json.loads((p / "config.json").read_text()) for p in (folder, back))
        apart = {"internlm3": ("architectures", "model_type", "eos_token_id"), "internlm2": ("eos_token_id",)}  # which comes back as Llama: the same model; whose texts end otherwise
        a = {k: v for k, v in a.items() if k not in apart.get(name, ())}
        bad += sum(wrong(name, f"back: {n} is {b[n]}, and was {a[n]}") for n in sorted(set(a) & set(b)) if a[n] != b[n] and n != "torch_dtype" and not isinstance(a[n], (dict, float)))
    return counted, bad
