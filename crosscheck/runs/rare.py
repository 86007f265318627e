"""Further models that are published as code, or of which transformers has other names, as published.FAMILIES."""
import json

import models
from published import ATTENTION, BASE, D, F, GROUPS, H, HEADNORMS, HEADS, LLAMA, MLP, NORMS, VOCAB, biased, experts, layered, weights

LAYER = "model.layers.#."


def plain(name, kind, t, **more):
    return BASE | dict(model_type=kind, architectures=[name], **more), t


def ocr(name):
    """DeepSeek-OCR: the text model's configuration is a member."""
    text = {k: v for k, v in BASE.items()} | dict(num_key_value_heads=HEADS, n_routed_experts=4, n_shared_experts=2, num_experts_per_tok=2, moe_intermediate_size=48, first_k_dense_replace=1, norm_topk_prob=False, use_mla=False, q_lora_rank=None,
                                                    kv_lora_rank=None, qk_nope_head_dim=0, qk_rope_head_dim=D, v_head_dim=0, n_group=1, topk_group=1, topk_method="greedy")
    attention = {n: (H, H) for n in ATTENTION}
    t = layered(2, LLAMA, NORMS | attention) | {n.replace("#", "0"): s for n, s in MLP.items()} | experts("model.layers.1.mlp.experts.", 4, 48) | {"model.layers.1.mlp.gate.weight": (4, H)}
    t |= weights("model.layers.1.mlp.shared_experts.", gate_proj=(96, H), up_proj=(96, H), down_proj=(H, 96))
    t |= {"model.sam_model.patch_embed.proj.weight": (2, 3), "model.vision_model.a.weight": (2, 3), "model.projector.layers.weight": (2, 3), "model.image_newline": (2,), "model.view_seperator": (2,)}
    return {"architectures": [name], "model_type": "deepseek_vl_v2", "language_config": text, "vision_config": {"hidden_size": 8}}, t, models.byte_level, "llama-bpe"


def deci(blocks):
    """Layers of other widths: with groups of heads, with one matrix instead of attention, with neither."""
    c, t = plain("DeciLMForCausalLM", "nemotron-nas", dict(LLAMA), num_hidden_layers=4 if blocks else 2)
    vocabulary = models.byte_level, "llama-bpe"
    if not blocks:
        c |= dict(num_key_value_heads_per_layer=[2, 1], vocab_size=VOCAB - 2)  # as many tokens as the vocabulary has, which is not padded
        t = {n: (VOCAB - 2, H) if s == (VOCAB, H) else s for n, s in t.items()}
        c.pop("num_key_value_heads")
        for i, n in enumerate((2, 1)):
            at = f"model.layers.{i}."
            t |= weights(at, self_attn__q_proj=(H, H), self_attn__k_proj=(n * D, H), self_attn__v_proj=(n * D, H), self_attn__o_proj=(H, H)) | {k.replace(LAYER, at): s for k, s in {**NORMS, **MLP}.items()}
        return c, t, characters, None
    c |= dict(vocab_size=128256, num_key_value_heads=None, intermediate_size=None, block_configs=[
        {"attention": {"n_heads_in_group": 2, "no_op": False, "replace_with_linear": False}, "ffn": {"ffn_mult": 1.3125, "no_op": False}},
        {"attention": {"n_heads_in_group": None, "no_op": False, "replace_with_linear": True}, "ffn": {"ffn_mult": 5.25, "no_op": False}},
        {"attention": {"n_heads_in_group": None, "no_op": True, "replace_with_linear": False}, "ffn": {"ffn_mult": 2.625, "no_op": False}},
        {"attention": {"n_heads_in_group": None, "no_op": True, "replace_with_linear": False}, "ffn": {"ffn_mult": None, "no_op": True}}],
        rope_scaling={"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 64})
    t |= {n: (128256, H) for n, s in t.items() if s == (VOCAB, H)}
    t |= weights("model.layers.0.", self_attn__q_proj=(H, H), self_attn__k_proj=(2 * D, H), self_attn__v_proj=(2 * D, H), self_attn__o_proj=(H, H), input_layernorm=(H,)) | weights("model.layers.1.", self_attn__linear_attn=(H, H), input_layernorm=(H,))
    for i, wide in enumerate((256, 256, 256)):
        t |= weights(f"model.layers.{i}.", mlp__gate_proj=(wide, H), mlp__up_proj=(wide, H), mlp__down_proj=(H, wide), post_attention_layernorm=(H,))
    return c, t, *vocabulary


def characters(folder, _):
    """Llama 2's vocabulary as tokenizer.json alone."""
    import transformers as tf
    models.sentencepiece(folder, None)
    tf.LlamaTokenizerFast.from_pretrained(folder).save_pretrained(folder)
    (folder / "tokenizer.model").unlink()


def openelm():
    heads, groups, wide = [4, 8], [2, 2], [0.5, 1.75]
    c = dict(model_type="openelm", architectures=["OpenELMForCausalLM"], model_dim=H, head_dim=D, num_transformer_layers=2, num_query_heads=heads, num_kv_heads=groups, ffn_multipliers=wide, ffn_dim_divisor=32, ffn_with_glu=True, max_context_length=256,
             rope_freq_constant=10000, vocab_size=VOCAB, share_input_output_layers=True, bos_token_id=1, eos_token_id=2)
    t = {"transformer.token_embeddings.weight": (VOCAB, H), "transformer.norm.weight": (H,)}
    for i, f in enumerate((32, 128)):
        t |= weights(f"transformer.layers.{i}.", attn_norm=(H,), attn__qkv_proj=((heads[i] + 2 * groups[i]) * D, H), attn__q_norm=(D,), attn__k_norm=(D,), attn__out_proj=(H, heads[i] * D), ffn_norm=(H,), ffn__proj_1=(2 * f, H), ffn__proj_2=(H, f))
    return c, t, models.sentencepiece, None


def step37():
    import published
    c, t, vocabulary, pre = published.step35(0)
    text = {k: v for k, v in c.items() if k not in ("model_type",)} | {"architectures": ["Step3p5ForCausalLM"]}
    return {"architectures": ["Step3p7ForConditionalGeneration"], "model_type": "of_several", "text_config": text, "vision_config": {"hidden_size": 8}}, t | {"vision_model.a.weight": (2, 3), "vit_large_projector.weight": (2, 3)}, vocabulary, pre


def mimo25(joined):
    import published
    c, t, vocabulary, pre = published.mimo2(True)
    c |= dict(architectures=["MiMoV2ForCausalLM"], model_type="of_one")
    if joined:
        for n in [n for n in t if n.endswith("self_attn.q_proj.weight")]:
            at = n.removesuffix("q_proj.weight")
            t[at + "qkv_proj.weight"] = (sum(t.pop(at + f"{p}_proj.weight")[0] for p in "qkv"), H)
    return c, t | {"visual.a.weight": (2, 3), "audio_encoder.b.weight": (2, 3), "speech_embeddings.0.weight": (2, 3)}, vocabulary, pre


def minimax3(name):
    c, t = plain(name, "of_one", layered(3, LLAMA, NORMS | ATTENTION | HEADNORMS), num_hidden_layers=3, head_dim=D, rotary_dim=D // 2, dense_intermediate_size=80, num_local_experts=4, num_experts_per_tok=2, n_shared_experts=1, routed_scaling_factor=2.0,
                 scoring_func="sigmoid", moe_layer_freq=[0, 1, 1], sparse_attention_config=dict(sparse_num_index_heads=2, sparse_index_dim=16, sparse_topk_blocks=4, sparse_block_size=8, sparse_local_block=1))
    t |= weights("model.layers.0.", mlp__gate_proj=(80, H), mlp__up_proj=(80, H), mlp__down_proj=(H, 80))
    for i in (1, 2):
        at = f"model.layers.{i}."
        t |= {at + "block_sparse_moe.gate.weight": (4, H), at + "block_sparse_moe.e_score_correction_bias": (4,)} | {k.replace("gate_proj", "w1").replace("up_proj", "w3").replace("down_proj", "w2"): s for k, s in experts(at + "block_sparse_moe.experts.", 4, F).items()}
        t |= weights(at, block_sparse_moe__shared_experts__gate_proj=(F, H), block_sparse_moe__shared_experts__up_proj=(F, H), block_sparse_moe__shared_experts__down_proj=(H, F), self_attn__index_q_proj=(32, H), self_attn__index_k_proj=(16, H), self_attn__index_q_norm=(16,), self_attn__index_k_norm=(16,))
    if name.endswith("Generation"):
        c = {"architectures": [name], "model_type": "of_several", "vision_config": {"hidden_size": 8}, "text_config": {k: v for k, v in c.items() if k != "architectures"}}
        t = {"language_model." + n: s for n, s in t.items()} | {"vision_tower.a.weight": (2, 3), "multi_modal_projector.b.weight": (2, 3), "patch_merge_mlp.c.weight": (2, 3)}
    return c, t, models.byte_level, "gpt-2"


GROK = dict(num_local_experts=4, num_experts_per_tok=2, embedding_multiplier_scale=78.38367176906169, output_multiplier_scale=0.5773502691896257)


def grok():
    at = "transformer.decoder_layer.#."
    t = weights(at, rms_norm=(H,), rms_norm_1=(H,), rms_norm_2=(H,), rms_norm_3=(H,), router=(4, H), multi_head_attention__query=(H, H), multi_head_attention__key=(GROUPS * D, H), multi_head_attention__value=(GROUPS * D, H), multi_head_attention__linear=(H, H))
    t |= {f"{at}moe.{e}.{n}.weight": s for e in range(4) for n, s in (("linear", (F, H)), ("linear_1", (H, F)), ("linear_v", (F, H)))}
    c, _ = plain("GrokForCausalLM", "grok", {}, **GROK)
    return c, layered(2, {"transformer.in_out_embed.weight": (VOCAB, H), "transformer.rms_norm.weight": (H,), "lm_head.weight": (VOCAB, H)}, t), models.sentencepiece, None


def grok2():
    yarn = dict(rope_type="original", scaling_factor=16.0, original_max_position_embeddings=64, extrapolation_factor=1.0, attn_factor=1.0, beta_fast=8, beta_slow=1, attn_temperature_len=1024, final_logit_softcapping=50, attn_output_multiplier=0.25, moe_intermediate_size=48)
    c, _ = plain("Grok1ForCausalLM", "of_one", {}, **GROK, **yarn)
    inner = weights(LAYER, pre_attn_norm=(H,), post_attn_norm=(H,), pre_moe_norm=(H,), post_moe_norm=(H,), block_sparse_moe__gate=(4, H)) | ATTENTION | MLP
    inner |= {k.replace("gate_proj", "w1").replace("up_proj", "w3").replace("down_proj", "w2"): s for k, s in experts(LAYER + "block_sparse_moe.experts.", 4, 48).items()}
    return c, layered(2, LLAMA, inner), chatted, "gpt-2"


def chatted(folder, pre):
    models.byte_level(folder, pre)
    (folder / "chat_template.jinja").write_text("{{ messages }}")


def grove(name):
    c, _ = plain(name, "grove_moe", {}, head_dim=D, num_experts=4, num_experts_per_tok=2, moe_intermediate_size=48, norm_topk_prob=True)
    inner = NORMS | ATTENTION | HEADNORMS | {LAYER + "mlp.gate.weight": (4, H), LAYER + "mlp.expert_bias": (4,)} | experts(LAYER + "mlp.experts.", 4, 48) | experts(LAYER + "mlp.chunk_experts.", 2, D)
    return c, layered(2, LLAMA, inner), models.byte_level, "qwen2"


def kimilinear(name):
    """Layers of linear attention, and one of latent attention, which are counted from one."""
    c, t = plain(name, "of_one", dict(LLAMA), num_hidden_layers=4, num_key_value_heads=HEADS, head_dim=24, kv_lora_rank=32, q_lora_rank=None, qk_nope_head_dim=16, qk_rope_head_dim=8, v_head_dim=16, num_experts=4, num_experts_per_token=2, num_shared_experts=1,
                 moe_intermediate_size=48, first_k_dense_replace=1, moe_router_activation_func="sigmoid", moe_renormalize=True, routed_scaling_factor=2.446, mla_use_nope=True, linear_attn_config=dict(full_attn_layers=[4], kda_layers=[1, 2, 3], head_dim=D, num_heads=HEADS, short_conv_kernel_size=4))
    for i in range(4):
        at = f"model.layers.{i}."
        t |= {k.replace(LAYER, at): s for k, s in NORMS.items()}
        if i == 3:
            t |= weights(at + "self_attn.", q_proj=(HEADS * 24, H), kv_a_proj_with_mqa=(40, H), kv_a_layernorm=(32,), kv_b_proj=(HEADS * 32, 32), o_proj=(H, HEADS * 16))
        else:
            t |= weights(at + "self_attn.", q_proj=(H, H), k_proj=(H, H), v_proj=(H, H), q_conv1d=(H, 1, 4), k_conv1d=(H, 1, 4), v_conv1d=(H, 1, 4), f_a_proj=(D, H), f_b_proj=(H, D), b_proj=(HEADS, H), g_a_proj=(D, H), g_b_proj=(H, D), o_norm=(D,), o_proj=(H, H))
            t |= {at + "self_attn.A_log": (1, 1, HEADS, 1), at + "self_attn.dt_bias": (H,)}
        if i == 0:
            t |= {k.replace(LAYER, at): s for k, s in MLP.items()}
            continue
        at += "block_sparse_moe."
        t |= {at + "gate.weight": (4, H), at + "gate.e_score_correction_bias": (4,)} | {k.replace("gate_proj", "w1").replace("up_proj", "w3").replace("down_proj", "w2"): s for k, s in experts(at + "experts.", 4, 48).items()}
        t |= weights(at + "shared_experts.", gate_proj=(48, H), up_proj=(48, H), down_proj=(H, 48))
    return c, t, models.byte_level, "llama-bpe"


def cogvlm():
    c, _ = plain("CogVLMForCausalLM", "cogvlm", {}, vision_config={"hidden_size": 8})
    c["num_key_value_heads"] = HEADS
    inner = NORMS | weights(LAYER, self_attn__language_expert_query_key_value=(3 * H, H), self_attn__language_expert_dense=(H, H), self_attn__vision_expert_query_key_value=(3 * H, H), self_attn__vision_expert_dense=(H, H),
                            **{f"mlp__{k}_mlp__{p}": s for k in ("language", "vision") for p, s in (("gate_proj", (F, H)), ("up_proj", (F, H)), ("down_proj", (H, F)))})
    return c, layered(2, LLAMA | {"model.vision.boi": (2,), "model.vision.a.weight": (2, 3)}, inner), models.byte_level, "llama-bpe"


def neobert(name):
    c = {k: v for k, v in BASE.items() if k not in ("num_key_value_heads", "rms_norm_eps", "rope_theta", "max_position_embeddings")} | dict(model_type="neobert", architectures=[name], max_length=256, norm_eps=1e-6, pad_token_id=0)
    inner = weights("transformer_encoder.#.", attention_norm=(H,), ffn_norm=(H,), qkv=(3 * H, H), wo=(H, H), ffn__w12=(128, H), ffn__w3=(H, 64))
    t = layered(2, weights(encoder=(VOCAB, H), layer_norm=(H,)), inner)
    if name != "NeoBERT":
        t = {"model." + n: s for n, s in t.items()}
    if name.endswith("LMHead"):
        t |= {"decoder.weight": (VOCAB, H), "decoder.bias": (VOCAB,)}
    if name.endswith("Classification"):
        c |= dict(num_labels=1, id2label={"0": "LABEL_0"})
        t |= {"dense.weight": (H, H), "dense.bias": (H,), "classifier.weight": (1, H), "classifier.bias": (1,)}
    return c, t, models.word_pieces, "jina-v2-en"


def named(make, *names):
    return {n: (lambda n=n: make(n)) for n in names}


FAMILIES = named(ocr, "DeepseekOCRForCausalLM") | {"deci": lambda: deci(True), "deci-7b": lambda: deci(False), "openelm": openelm, "step3.7": step37, "mimo2.5": lambda: mimo25(False), "mimo2.5-joined": lambda: mimo25(True)}
FAMILIES |= named(minimax3, "MiniMaxM3SparseForCausalLM", "MiniMaxM3SparseForConditionalGeneration") | {"grok": grok, "grok2": grok2} | named(grove, "GroveMoeForCausalLM", "modeling_grove_moe.GroveMoeForCausalLM") | named(kimilinear, "KimiLinearForCausalLM", "KimiLinearModel")
FAMILIES |= {"cogvlm": cogvlm} | named(neobert, "NeoBERT", "NeoBERTLMHead", "NeoBERTForSequenceClassification")


TARGET = dict(BASE, architectures=["LlamaForCausalLM"], model_type="llama", num_hidden_layers=8, head_dim=D)


def target(folder, pre):
    """Beside the draft's files, those of the model that it drafts for: a vocabulary and sizes."""
    models.byte_level(folder, pre)
    beside = folder / "target"
    beside.mkdir()
    for f in [f for f in folder.iterdir() if f.is_file()]:
        f.rename(beside / f.name)
    (beside / "config.json").write_text(json.dumps(TARGET))


def distances(n):
    """A table of every second token, as the distances that are stored."""
    return {"d2t": ("i64", list(range(n)))}


def eagle3(name):
    few = VOCAB // 2
    c = {k: v for k, v in BASE.items() if k != "num_hidden_layers"} | dict(num_hidden_layers=1, head_dim=D, model_type="llama", architectures=[name], draft_vocab_size=few)
    at = {"LlamaForCausalLMEagle3": "midlayer.", "Eagle3LlamaForCausalLM": "midlayer."}.get(name, "layers.0.")
    t = weights(at, hidden_norm=(H,), input_layernorm=(H,), post_attention_layernorm=(H,), self_attn__q_proj=(H, 2 * H), self_attn__k_proj=(GROUPS * D, 2 * H), self_attn__v_proj=(GROUPS * D, 2 * H), self_attn__o_proj=(H, H), mlp__gate_proj=(F, H), mlp__up_proj=(F, H), mlp__down_proj=(H, F))
    t |= weights(fc=(H, 3 * H), norm=(H,), lm_head=(few, H)) | {"d2t": ("i64", list(range(few))), "t2d": ("bool", [i % 2 == 0 for i in range(VOCAB)])}
    if name == "Eagle3Speculator":
        c = {"architectures": [name], "model_type": "of_one", "draft_vocab_size": few, "norm_before_residual": True, "norm_before_fc": True, "eagle_aux_hidden_state_layer_ids": [1, 3, 6], "transformer_layer_config": {k: v for k, v in c.items() if k != "architectures"}}
        t |= {"input_norm.weight": (3 * H,), "embed_tokens.weight": (VOCAB, H)}
    return c, t, target, "llama-bpe"


def dflash(name):
    second = name.startswith("DFlash2")
    c = BASE | dict(model_type="of_one", architectures=[name], head_dim=D, block_size=8, layer_types=["sliding_attention", "full_attention"], use_sliding_window=True, sliding_window=16, dflash_config=dict(target_layer_ids=[1, 3, 5], mask_token_id=7, causal=False))
    inner = NORMS | ATTENTION | HEADNORMS | MLP
    outer = weights(norm=(H,), hidden_norm=(H,), fc=(H, 3 * H))
    if second:
        c["dflash_config"] |= dict(conv_kernel_size=3, conv_group_size=8, selector_rank=6, selector_top_k=4, block_size=8, output_multiplier=0.5, final_logit_softcapping=30.0, input_embedding_scale=2.0, attention_value_scale=0.7)
        inner |= weights(LAYER, attention_conv__kernel_projection=(48, H), mlp_conv__kernel_projection=(48, H)) | {LAYER + "attention_conv.base_kernel": (2, 3, H), LAYER + "mlp_conv.base_kernel": (2, 3, H), LAYER + "self_attn.sinks": (HEADS,)}
        outer |= {"candidate_selector.predecessor_codebook": (VOCAB, 6), "candidate_selector.successor_codebook": (VOCAB, 6), "candidate_selector.hidden_projection.weight": (6, H), "embed_tokens.weight": (VOCAB, H), "lm_head.weight": (VOCAB, H)}
    return c, layered(2, outer, {n.removeprefix("model."): s for n, s in inner.items()}), target, "llama-bpe"


def dspark(name):
    few = VOCAB // 2 if name == "DSparkSpeculator" else VOCAB
    c = BASE | dict(model_type="of_one", architectures=[name], head_dim=D, block_size=8, draft_vocab_size=few, markov_rank=6, target_layer_ids=[1, 3, 5], mask_token_id=7)
    t = layered(2, weights(norm=(H,), hidden_norm=(H,), fc=(H, 3 * H), lm_head=(few, H), embed_tokens=(VOCAB, H), markov_head__markov_w1=(VOCAB, 6), markov_head__markov_w2=(few, 6)), {n.removeprefix("model."): s for n, s in (NORMS | ATTENTION | HEADNORMS | MLP).items()})
    if few < VOCAB:
        layer = {k: v for k, v in c.items() if k in BASE or k == "head_dim"}
        c = {"architectures": [name], "model_type": "of_one", "draft_vocab_size": few, "markov_rank": 6, "block_size": 8, "aux_hidden_state_layer_ids": [2, 4, 6], "mask_token_id": 7, "transformer_layer_config": layer}
        t |= {"d2t": ("i64", list(range(few))), "t2d": ("bool", [i % 2 == 0 for i in range(VOCAB)])}
    if name != "LingDSparkModel":
        t |= {"confidence_head.proj.weight": (1, H + 6), "confidence_head.proj.bias": (1,)}
    return c, t, target, "llama-bpe"


DRAFTS = named(eagle3, "LlamaForCausalLMEagle3", "Eagle3LlamaForCausalLM", "Eagle3Speculator", "Eagle3DraftModel") | named(dflash, "DFlashDraftModel", "DFlash2DraftModel") | named(dspark, "DSparkSpeculator")
FAMILIES |= DRAFTS
