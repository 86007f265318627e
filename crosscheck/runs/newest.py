"""The models of this month, as rare.FAMILIES: published configurations, which transformers saves under other names."""
import models
from published import ATTENTION, D, F, H, HEADS, LLAMA, MLP, NORMS, VOCAB, experts, layered, weights  # noqa: F401
from rare import LAYER, plain

LATENT = dict(q_lora_rank=48, kv_lora_rank=32, v_head_dim=16)
MIXED = dict(n_routed_experts=4, num_experts_per_tok=2, n_shared_experts=1, moe_intermediate_size=48, first_k_dense_replace=1, norm_topk_prob=True, routed_scaling_factor=2.5, n_group=1, topk_group=1)
INDEXED = dict(index_n_heads=2, index_head_dim=32, index_topk=64)


def latent(at, nope, rope, wide=16):
    return weights(at + "self_attn.", q_a_proj=(48, H), q_a_layernorm=(48,), q_b_proj=(HEADS * (nope + rope), 48), kv_a_proj_with_mqa=(32 + rope, H), kv_a_layernorm=(32,), kv_b_proj=(HEADS * (nope + wide), 32), o_proj=(H, HEADS * wide))


def indexed(at):
    t = weights(at + "self_attn.indexer.", wq_b=(64, 48), wk=(32, H), k_norm=(32,), weights_proj=(2, H))
    return t | {at + "self_attn.indexer.k_norm.bias": (32,)}


def mixed(at):
    at += "mlp."
    return experts(at + "experts.", 4, 48) | weights(at, gate=(4, H)) | {at + "gate.e_score_correction_bias": (4,)} | weights(at + "shared_experts.", gate_proj=(48, H), up_proj=(48, H), down_proj=(H, 48))


def of_layer(at, t):
    return {n.replace(LAYER, at): s for n, s in t.items()}


def glm53(ahead):
    """Layers of linear attention, of latent attention with an indexer and with that of an earlier layer, and one that predicts further tokens."""
    kinds = ["linear_attention", "full_attention", "linear_attention", "full_attention"]
    text = plain("", "glm5_next_text", {}, num_hidden_layers=4, num_key_value_heads=HEADS, head_dim=0, qk_nope_head_dim=16, qk_rope_head_dim=0, mla_use_nope=True, mhc=True, layer_types=kinds, indexer_types=["full", "full", "shared", "shared"],
                 index_kpool=16, index_kpool_always_select_tail=True, hc_mult=4, hc_eps=1e-6, hc_sinkhorn_iters=20, swiglu_limit=10.0, scoring_func="sigmoid", num_nextn_predict_layers=1 if ahead else 0,
                 linear_attn_config=dict(num_heads=HEADS, head_dim=D, short_conv_kernel_size=4, gate_lower_bound=-5.0), **LATENT, **MIXED, **INDEXED)[0]
    text.pop("architectures")
    text.pop("rope_theta")
    t = dict(LLAMA)
    for i, kind in enumerate(kinds + ["full_attention"] * ahead):
        at = f"model.layers.{i}."
        t |= of_layer(at, NORMS) | (mixed(at) if i else of_layer(at, MLP))
        if i < 4:
            t |= {f"{at}hc_{p}_{n}": s for p in ("attn", "ffn") for n, s in (("fn", (24, 4 * H)), ("base", (24,)), ("scale", (3,)))}
        if kind == "full_attention":
            t |= latent(at, 16, 0)
        if i in (1, 4):
            t |= indexed(at) | {at + "self_attn.indexer.index_kpool_compress_gate": (32, H), at + "self_attn.indexer.index_kpool_compress_ape": (16, 32)}
        if kind == "linear_attention":
            t |= weights(at + "self_attn.", q_proj=(H, H), k_proj=(H, H), v_proj=(H, H), q_conv1d=(H, 1, 4), k_conv1d=(H, 1, 4), v_conv1d=(H, 1, 4), f_a_proj=(D, H), f_b_proj=(H, D), b_proj=(HEADS, H), g_a_proj=(D, H), g_b_proj=(H, D), o_norm=(D,), o_proj=(H, H))
            t |= {at + "self_attn.A_log": (HEADS,), at + "self_attn.dt_bias": (H,)}
    if ahead:
        t |= weights("model.layers.4.", eh_proj=(H, 2 * H), enorm=(H,), hnorm=(H,), shared_head__norm=(H,))
    t = {n.replace("model.", "model.language_model.", 1): s for n, s in t.items()} | {"model.visual.a.weight": (2, 3)}
    return {"architectures": ["Glm5NextForConditionalGeneration"], "model_type": "glm5_next", "text_config": text, "vision_config": {"hidden_size": 8}}, t, models.glm, "glm4"


def dots3(name, rescaled, ahead=False):
    """Two kinds of latent attention; the layer that predicts further tokens has that of a window."""
    kinds = ["full_attention", "sliding_attention", "full_attention"]
    window = dict(num_attention_heads=2, num_key_value_heads=2, q_lora_rank=48, kv_lora_rank=64, head_dim=40, qk_nope_head_dim=32, qk_rope_head_dim=8, v_head_dim=24)
    c, t = plain(name, "of_one", dict(LLAMA), num_hidden_layers=3, num_key_value_heads=HEADS, qk_nope_head_dim=16, qk_rope_head_dim=8, head_dim=24, layer_types=kinds, scoring_func="sigmoid", topk_method="noaux_tc", sliding_window_size=16, use_dsa=True,
                 apply_mla_qkv_lora_rescale=rescaled, swa_rope_theta=50000.0, **LATENT, **MIXED, **INDEXED, **{"swa_" + n: v for n, v in window.items()})
    for i, kind in enumerate(kinds + ["sliding_attention"] * ahead):
        at = f"model.layers.{i}."
        t |= of_layer(at, NORMS) | (mixed(at) if 0 < i < 3 else of_layer(at, MLP)) | weights(at + "self_attn.", k_rope_only_layernorm=(8,))
        if kind == "full_attention":
            t |= latent(at, 16, 8) | indexed(at) | weights(at + "self_attn.", g_proj=(HEADS, H))
        else:
            t |= weights(at + "self_attn.", q_a_proj=(48, H), q_a_layernorm=(48,), q_b_proj=(80, 48), kv_a_proj_with_mqa=(72, H), kv_a_layernorm=(64,), kv_b_proj=(112, 64), o_proj=(H, 48), g_proj=(2, H))
    if ahead:
        t |= weights("model.layers.3.", eh_proj=(H, 2 * H), enorm=(H,), hnorm=(H,), shared_head__norm=(H,)) | {"model.mtp.embed_tokens.weight": (VOCAB, H)}
    return c, t | {"vision_encoder.a.weight": (2, 3), "audio_encoder.b.weight": (2, 3)}, lambda f, p: models.byte_level(f, p, more=["<|endofassistant|>"]), "llama-bpe"


def rugpt():
    """Biases everywhere, and learned positions."""
    c, _ = plain("RuGPT3XLForCausalLM", "of_one", {}, layer_norm_eps=1e-5)
    c = {k: v for k, v in c.items() if k not in ("num_key_value_heads", "rms_norm_eps", "rope_theta")}
    inner = NORMS | weights(LAYER, self_attn__q_proj=(H, H), self_attn__k_proj=(H, H), self_attn__v_proj=(H, H), self_attn__o_proj=(H, H), mlp__up_proj=(F, H), mlp__down_proj=(H, F))
    t = layered(2, LLAMA | {"model.norm.bias": (H,), "model.embed_positions.weight": (256, H)}, inner | {n.replace(".weight", ".bias"): s[:1] for n, s in inner.items()})
    return c, t, models.byte_level, "gpt-2"


FAMILIES = {"rugpt3xl": rugpt, "glm5.3": lambda: glm53(False), "glm5.3-ahead": lambda: glm53(True), "dots3": lambda: dots3("Dots3NoteForConditionalGeneration", True, True)}
FAMILIES |= {n: (lambda n=n: dots3(n, False)) for n in ("Dots3NoteForCausalLM", "Dots3NoteTextForCausalLM")}
