"""Models of further classes that are published as code, as unclassed.FAMILIES: of these no folder is made again."""
import models

H, F, HEADS, GROUPS, VOCAB = 64, 96, 4, 2, models.VOCAB
D = H // HEADS
BASE = dict(hidden_size=H, intermediate_size=F, num_hidden_layers=2, num_attention_heads=HEADS, num_key_value_heads=GROUPS, vocab_size=VOCAB, max_position_embeddings=256, rms_norm_eps=1e-6,
            rope_theta=10000.0, hidden_act="silu", bos_token_id=1, eos_token_id=2, tie_word_embeddings=False)


def layered(n, outer, inner):
    return outer | {f"{name.replace('#', str(i))}": s for i in range(n) for name, s in inner.items()}


def weights(at="", **shapes):
    return {at + n.replace("__", ".") + ".weight": s for n, s in shapes.items()}


def biased(shapes):
    return shapes | {n.removesuffix("weight") + "bias": s[:1] for n, s in shapes.items()}


LLAMA = weights(model__embed_tokens=(VOCAB, H), model__norm=(H,), lm_head=(VOCAB, H))
MLP = weights("model.layers.#.", mlp__gate_proj=(F, H), mlp__up_proj=(F, H), mlp__down_proj=(H, F))
NORMS = weights("model.layers.#.", input_layernorm=(H,), post_attention_layernorm=(H,))
ATTENTION = weights("model.layers.#.", self_attn__q_proj=(H, H), self_attn__k_proj=(GROUPS * D, H), self_attn__v_proj=(GROUPS * D, H), self_attn__o_proj=(H, H))
HEADNORMS = weights("model.layers.#.", self_attn__q_norm=(D,), self_attn__k_norm=(D,))


def experts(at, n, wide, names=("gate_proj", "up_proj", "down_proj")):
    return {f"{at}{e}.{name}.weight": ((wide, H) if name not in ("down_proj", "down", "w2") else (H, wide)) for e in range(n) for name in names}


def plm():
    c = BASE | dict(model_type="plm", architectures=["PLMForCausalLM"], hidden_act="relu2", kv_lora_rank=32, qk_nope_head_dim=16, qk_rope_head_dim=8, v_head_dim=24, q_lora_rank=None, num_key_value_heads=HEADS, tie_word_embeddings=True)
    inner = NORMS | weights("model.layers.#.", self_attn__q_proj=(HEADS * 24, H), self_attn__kv_a_proj_with_mqa=(40, H), self_attn__kv_a_layernorm=(32,), self_attn__kv_b_proj=(HEADS * 40, 32), self_attn__o_proj=(H, HEADS * 24), mlp__up_proj=(F, H), mlp__down_proj=(H, F))
    return c, layered(2, {n: s for n, s in LLAMA.items() if "lm_head" not in n}, inner), models.byte_level, "llama-bpe"


def orion():
    c = BASE | dict(model_type="orion", architectures=["OrionForCausalLM"])
    norms = {n: s for n, s in {**NORMS, "model.norm.weight": (H,)}.items()}
    t = layered(2, LLAMA | {"model.norm.bias": (H,)}, NORMS | {n.replace("weight", "bias"): s for n, s in NORMS.items()} | ATTENTION | MLP)
    return c, t, models.sentencepiece, None


def refact():
    wide = 256
    c = dict(model_type="gpt_refact", architectures=["GPTRefactForCausalLM"], n_embd=H, n_head=HEADS, n_layer=2, n_positions=256, vocab_size=VOCAB, layer_norm_epsilon=1e-5, multi_query=True, bos_token_id=1, eos_token_id=2, tie_word_embeddings=False)
    inner = weights("transformer.h.#.", ln_1=(H,), attn__q=(H, H), attn__kv=(2 * D, H), attn__c_proj=(H, H), ln_2=(H,), mlp__gate_up_proj=(2 * wide, H), mlp__c_proj=(H, wide))
    return c, layered(2, weights(transformer__wte=(VOCAB, H), transformer__ln_f=(H,), lm_head=(VOCAB, H)), inner), models.byte_level, "refact"


def codeshell():
    c = dict(model_type="kclgpt", architectures=["CodeShellForCausalLM"], n_embd=H, n_head=HEADS, n_layer=2, n_positions=256, num_query_groups=GROUPS, vocab_size=VOCAB, layer_norm_epsilon=1e-5, bos_token_id=1, eos_token_id=2)
    inner = biased(weights("transformer.h.#.", ln_1=(H,), attn__c_attn=((HEADS + 2 * GROUPS) * D, H), attn__c_proj=(H, H), ln_2=(H,), mlp__c_fc=(4 * H, H), mlp__c_proj=(H, 4 * H))) | {"transformer.h.#.attn.rotary_emb.inv_freq": (D // 2,)}
    return c, layered(2, weights(transformer__wte=(VOCAB, H), transformer__ln_f=(H,), lm_head=(VOCAB, H)) | {"transformer.ln_f.bias": (H,)}, inner), models.byte_level, "starcoder"


def smallthinker(**more):
    c = {k: v for k, v in BASE.items() if k != "intermediate_size"} | dict(model_type="smallthinker", architectures=["SmallThinkerForCausalLM"], head_dim=D, moe_num_primary_experts=4, moe_num_active_primary_experts=2, moe_ffn_hidden_size=48,
                                                                              moe_primary_router_apply_softmax=False, sliding_window_layout=[0, 1], sliding_window_size=16) | more
    at = "model.layers.#.block_sparse_moe."
    return c, layered(2, LLAMA, NORMS | ATTENTION | {at + "primary_router.weight": (4, H)} | experts(at + "experts.", 4, 48, ("gate", "up", "down"))), models.byte_level, "qwen2"


def maple():
    c = BASE | dict(model_type="maple", architectures=["MapleForCausalLM"], head_dim=D, num_experts=4, num_experts_per_tok=2, moe_intermediate_size=48, nope_on_global_attention=True, sliding_window=16, layer_types=["sliding_attention", "full_attention"], norm_topk_prob=True,
                    score_function="sigmoid")
    at = "model.layers.#.mlp."
    return c, layered(2, LLAMA, NORMS | ATTENTION | HEADNORMS | {at + "gate.weight": (4, H)} | experts(at + "experts.", 4, 48)), models.byte_level, "qwen2"


def spark():
    c = BASE | dict(model_type="spark2_5", architectures=["Spark2_5ForCausalLM"], head_dim=D, hidden_act="gelu", gate_attn_act_mode="sigmoid", headwise_attn_output_gate=True, sliding_window=16, layer_types=["sliding_attention", "full_attention"],
                    rope_parameters={"full_attention": {"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.5}, "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 1.0}})
    c.pop("rope_theta")
    inner = NORMS | MLP | weights("model.layers.#.", self_attn__q_k_v_proj=((HEADS + 2 * GROUPS) * D, H), self_attn__g_proj=(HEADS, H), self_attn__o_proj=(H, H))
    return c, layered(2, LLAMA, inner), models.byte_level, "llama-bpe"


def maincoder():
    return BASE | dict(model_type="maincoder", architectures=["MaincoderForCausalLM"], head_dim=D), layered(2, LLAMA, NORMS | ATTENTION | MLP | HEADNORMS), models.byte_level, "qwen2"


def lladamoe(name):
    """As many tokens as its published models have, one of which the converter states as a number."""
    many = 157184
    c = BASE | dict(model_type="llada_moe", architectures=[name], vocab_size=many, head_dim=D, num_experts=4, num_experts_per_tok=2, expert_intermediate_size=48)
    at = "model.layers.#.mlp."
    t = layered(2, LLAMA, NORMS | ATTENTION | HEADNORMS | {at + "gate.weight": (4, H)} | experts(at + "experts.", 4, 48))
    return c, {n: (many, H) if s == (VOCAB, H) else s for n, s in t.items()}, models.byte_level, "llama-bpe"


def mimo2(ahead):
    """MiMo V2: layers with a window have one head of keys and sinks; the first layer has no experts."""
    wide = 24
    c = BASE | dict(model_type="mimo_v2", architectures=["MiMoV2FlashForCausalLM"], num_hidden_layers=3, head_dim=D, v_head_dim=wide, swa_head_dim=D, swa_v_head_dim=wide, swa_num_attention_heads=HEADS, swa_num_key_value_heads=1, n_routed_experts=4, num_experts_per_tok=2,
                    moe_intermediate_size=48, hybrid_layer_pattern=[0, 1, 1], moe_layer_freq=[0, 1, 1], sliding_window=16, topk_method="noaux_tc", scoring_func="sigmoid", add_swa_attention_sink_bias=True, add_full_attention_sink_bias=False, layernorm_epsilon=1e-5,
                    partial_rotary_factor=0.5, swa_rope_theta=10000, rope_theta=5000000, attention_value_scale=0.7)
    t = layered(3, LLAMA, NORMS | weights("model.layers.#.", self_attn__q_proj=(H, H), self_attn__o_proj=(H, HEADS * wide)))
    for i in range(3):
        heads = 1 if i else GROUPS
        t |= weights(f"model.layers.{i}.", self_attn__k_proj=(heads * D, H), self_attn__v_proj=(heads * wide, H))
    t |= {n.replace("#", "0"): s for n, s in MLP.items()}
    for i in (1, 2):
        at = f"model.layers.{i}."
        t |= {at + "self_attn.attention_sink_bias": (HEADS,), at + "mlp.gate.weight": (4, H), at + "mlp.gate.e_score_correction_bias": (4,)} | experts(at + "mlp.experts.", 4, 48)
    if ahead:
        for i in range(3):
            at = f"model.mtp.layers.{i}."
            t |= {n.replace("model.layers.#.", at): s for n, s in {**NORMS, **MLP}.items()} | weights(at, self_attn__q_proj=(H, H), self_attn__o_proj=(H, HEADS * wide), self_attn__k_proj=(D, H), self_attn__v_proj=(wide, H), eh_proj=(H, 2 * H), enorm=(H,), hnorm=(H,), final_layernorm=(H,))
            t[at + "self_attn.attention_sink_bias"] = (HEADS,)
    return c, t, models.byte_level, "qwen2"


def step35(ahead):
    """Step 3.5: full attention in the first layer and windows in the others, experts from the second on."""
    n, wide = 3, 48
    c = {k: v for k, v in BASE.items() if k not in ("num_key_value_heads", "rope_theta")} | dict(
        model_type="step3p5_code", architectures=["Step3p5ForCausalLM"], num_hidden_layers=n, head_dim=32, num_attention_groups=2, attention_other_setting={"attention_type": "sliding_attention", "num_attention_heads": 2, "num_attention_groups": 1, "head_dim": 32},
        layer_types=["full_attention", "sliding_attention", "sliding_attention"], partial_rotary_factors=[0.5, 1.0, 1.0], rope_theta=[500000.0, 10000.0, 10000.0], sliding_window=16,
        rope_scaling={"rope_type": "llama3", "factor": 2.0, "low_freq_factor": 1.0, "high_freq_factor": 32.0, "original_max_position_embeddings": 131072}, moe_num_experts=4, moe_top_k=2, moe_intermediate_size=wide, share_expert_dim=80, moe_layers_enum="1,2",
        moe_router_scaling_factor=3.0, norm_expert_weight=True, swiglu_limits=[0.0, 0.0, 7.0], swiglu_limits_shared=[None, 0.0, 16.0], num_nextn_predict_layers=ahead)
    t = dict(LLAMA)
    for i in range(n + ahead):
        at, heads, groups = f"model.layers.{i}.", (2 if 0 < i < n else HEADS), (1 if 0 < i < n else 2)
        t |= weights(at, input_layernorm=(H,), post_attention_layernorm=(H,), self_attn__q_norm=(32,), self_attn__k_norm=(32,), self_attn__q_proj=(heads * 32, H), self_attn__k_proj=(groups * 32, H), self_attn__v_proj=(groups * 32, H), self_attn__o_proj=(H, heads * 32), self_attn__g_proj=(heads, H))
        if 0 < i < n:
            t |= weights(at, moe__gate=(4, H), moe__gate_proj=(4, wide, H), moe__up_proj=(4, wide, H), moe__down_proj=(4, H, wide), share_expert__gate_proj=(80, H), share_expert__up_proj=(80, H), share_expert__down_proj=(H, 80)) | {at + "moe.router_bias": (4,)}
        else:
            t |= {k.replace("model.layers.#.", at): s for k, s in MLP.items()}
        if i >= n:
            t |= weights(at, eh_proj=(H, 2 * H), enorm=(H,), hnorm=(H,), transformer__shared_head__norm=(H,), transformer__shared_head__output=(VOCAB, H))
    return c, t, models.byte_level, "qwen2"


FAMILIES = {"step3.5": lambda: step35(0), "step3.5-ahead": lambda: step35(1), "mimo2": lambda: mimo2(False), "mimo2-ahead": lambda: mimo2(True), "llada-moe": lambda: lladamoe("LLaDAMoEModelLM"), "llada-moe-model": lambda: lladamoe("LLaDAMoEModel"), "maincoder": maincoder, "plm": plm, "orion": orion, "refact": refact, "codeshell": codeshell, "smallthinker": smallthinker, "maple": maple, "spark2.5": spark}
