"""Still further models that are published as code, as published.FAMILIES."""
import json

import further
import models
from published import ATTENTION, BASE, D, F, GROUPS, H, HEADNORMS, HEADS, LLAMA, MLP, NORMS, VOCAB, biased, experts, layered, weights
from rare import LAYER, dspark, named, ocr, plain, target, TARGET


def talkie():
    """Talkie: its norms have no weights, and numbers scale what each part adds."""
    at = "model.blocks.#."
    inner = weights(at, attn__attn_query=(H, H), attn__attn_key=(GROUPS * D, H), attn__attn_value=(GROUPS * D, H), attn__attn_resid=(H, H), mlp__mlp_gate=(F, H), mlp__mlp_linear=(F, H), mlp__mlp_resid=(H, F))
    inner |= {at + "attn.head_gain.head_g": (HEADS,), at + "attn_gain.a_g": (1,), at + "mlp_gain.a_g": (1,), at + "embed_skip.a_g": (1,)}
    c, _ = plain("TalkieForCausalLM", "talkie", {}, head_dim=D)
    c.pop("rms_norm_eps")
    return c, layered(2, {"model.embed.weight": (VOCAB, H), "lm_head.weight": (VOCAB, H), "lm_head_gain.w_g": (1,)}, inner), models.byte_level, "gpt-2"


def plamo():
    """PLaMo 13B, in the only sizes that llama.cpp's converter has."""
    wide, at = 5120, "model.layers.layers.#."
    c = dict(model_type="plamo", architectures=["PlamoForCausalLM"], hidden_size=wide, intermediate_size=64, num_hidden_layers=1, num_attention_heads=40, num_key_value_heads=40, n_shared_head=8, vocab_size=VOCAB, rms_norm_eps=1e-6, bos_token_id=1, eos_token_id=2, max_position_embeddings=4096)
    inner = weights(at, norm=(wide,), self_attn__q_proj=(wide, wide), self_attn__k_proj=(640, wide), self_attn__v_proj=(640, wide), self_attn__o_proj=(wide, wide), mlp__gate_proj=(64, wide), mlp__up_proj=(64, wide), mlp__down_proj=(wide, 64)) | {at + "self_attn.rotary_emb.inv_freq": (64,)}
    return c, layered(1, weights(model__embed_tokens=(VOCAB, wide), model__norm=(wide,), lm_head=(VOCAB, wide)), inner), models.sentencepiece, None


def lines(folder, _):
    """A vocabulary of PLaMo: a token in each line, with its score and its type."""
    own = [["<|plamo:unk|>", 0.0, "UNKNOWN"], ["<|plamo:bos|>", 0.0, "CONTROL"], ["<|plamo:eos|>", 0.0, "CONTROL"], ["<|plamo:pad|>", 0.0, "CONTROL"], ["<|plamo:op|>", 0.0, "NORMAL"], ["<|plamo:reserved:0x01|>", 0.0, "NORMAL"]]
    rows = own + [[f"<0x{i:02X}>", 0.0, "BYTE"] for i in range(256)] + [[t, -1.5 * i - 0.1, "NORMAL"] for i, t in enumerate(["a", "the", " of", "い", "世界", "モデル"])]
    (folder / "tokenizer.jsonl").write_text("\n".join(json.dumps(r + [0, 0, 0, 0], ensure_ascii=False) for r in rows) + "\n\n")
    (folder / "tokenizer_config.json").write_text(json.dumps({"bos_token": "<|plamo:bos|>", "eos_token": "<|plamo:eos|>", "unk_token": "<|plamo:unk|>", "pad_token": "<|plamo:pad|>", "sep_token": None, "chat_template": "{{ messages }}"}))


PLAMO = "model.layers.layers.#."
MIXED = weights(PLAMO, pre_mixer_norm=(H,), post_mixer_norm=(H,), pre_mlp_norm=(H,), post_mlp_norm=(H,), mlp__gate_up_proj=(2 * F, H), mlp__down_proj=(H, F))
OUTER = {n: s for n, s in LLAMA.items() if "lm_head" not in n}


def plamo3(name, windows=True):
    c, _ = plain(name, "plamo3", {}, head_dim=D, tie_word_embeddings=True, rope_local_theta=10000, rope_theta=1000000, **(dict(window_size=16, sliding_window_pattern=2) if windows else {}))
    inner = MIXED | weights(PLAMO, mixer__qkv_proj=((HEADS + 2 * GROUPS) * D, H), mixer__o_proj=(H, H), mixer__q_norm=(D,), mixer__k_norm=(D,))
    return c, layered(2, OUTER, inner), lines, None


def redefined(folder, _):
    """Pieces of which tokenizer_config.json gives two another meaning."""
    models.sentencepiece(folder, None)
    path = folder / "tokenizer_config.json"
    config = json.loads(path.read_text())
    n = max(map(int, config["added_tokens_decoder"]))
    config["added_tokens_decoder"] |= {str(n - 1): {"content": "<|im_start|>", "special": True}, str(n): {"content": "<|im_end|>", "special": False}}
    path.write_text(json.dumps(config))


def arctic():
    c, _ = plain("ArcticForCausalLM", "arctic", {}, num_local_experts=4, num_experts_per_tok=2, moe_layer_frequency=1, parallel_attn_mlp_res=True)
    at = LAYER + "block_sparse_moe."
    inner = NORMS | ATTENTION | {LAYER + "residual_layernorm.weight": (H,), at + "gate.weight": (4, H)} | weights(LAYER, residual_mlp__w1=(H, H), residual_mlp__w2=(H, H), residual_mlp__w3=(H, H))
    inner |= {k.replace("gate_proj", "w1").replace("up_proj", "w3").replace("down_proj", "w2"): s for k, s in experts(at + "experts.", 4, F).items()}
    return c, layered(2, LLAMA, inner), redefined, None


def mamba():
    """As the authors' library saves them: sizes under other names, and no state."""
    c = dict(architectures=["MambaLMHeadModel"], d_model=H, n_layer=2, vocab_size=VOCAB, ssm_cfg={}, rms_norm=True, residual_in_fp32=True, fused_add_norm=True, pad_vocab_size_multiple=8, tie_embeddings=True)
    at, wide = "backbone.layers.#.", 2 * H
    inner = weights(at, norm=(H,)) | weights(at + "mixer.", in_proj=(2 * wide, H), conv1d=(wide, 1, 4), x_proj=(4 + 32, wide), dt_proj=(wide, 4), out_proj=(H, wide))
    inner |= {at + "mixer.conv1d.bias": (wide,), at + "mixer.dt_proj.bias": (wide,), at + "mixer.A_log": (wide, 16), at + "mixer.D": (wide,)}
    return c, layered(2, weights(backbone__embedding=(VOCAB, H), backbone__norm_f=(H,)), inner), models.byte_level, "gpt-2"


def assistant(name):
    """The small model beside Gemma 4. All its layers read the keys and values of the larger one."""
    kinds = ["sliding_attention", "sliding_attention", "full_attention"]
    text = {k: v for k, v in BASE.items() if k != "rope_theta"} | dict(model_type="gemma4_text", num_hidden_layers=3, head_dim=D, global_head_dim=2 * D, layer_types=kinds, sliding_window=16, hidden_size_per_layer_input=0, vocab_size_per_layer_input=0, num_kv_shared_layers=3,
                                                                       enable_moe_block=False, use_double_wide_mlp=False, attention_k_eq_v=False, final_logit_softcapping=None, tie_word_embeddings=True,
                                                                       rope_parameters={"full_attention": {"rope_type": "proportional", "partial_rotary_factor": 0.25, "rope_theta": 1000000.0}, "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0}})
    t = {n: s for n, s in LLAMA.items() if "lm_head" not in n} | weights(pre_projection=(H, 192), post_projection=(96, H), masked_embedding__centroids=(8, H))
    for i, kind in enumerate(kinds):
        at, wide = f"model.layers.{i}.", 2 * D if kind == "full_attention" else D
        t |= weights(at, input_layernorm=(H,), post_attention_layernorm=(H,), pre_feedforward_layernorm=(H,), post_feedforward_layernorm=(H,), self_attn__q_proj=(HEADS * wide, H), self_attn__q_norm=(wide,), self_attn__o_proj=(H, HEADS * wide), mlp__gate_proj=(F, H), mlp__up_proj=(F, H), mlp__down_proj=(H, F))
        t[at + "layer_scalar"] = (1,)
    return {"architectures": [name], "model_type": "gemma4_assistant", "backbone_hidden_size": 96, "use_ordered_embeddings": False, "tie_word_embeddings": True, "text_config": text}, t, further.characters, None


FAMILIES = {"talkie": talkie, "plamo": plamo, "plamo3": lambda: plamo3("Plamo3ForCausalLM"), "PLaMo3ForCausalLM": lambda: plamo3("PLaMo3ForCausalLM", False), 
            "arctic": arctic, "MambaLMHeadModel": mamba} | named(ocr, "UnlimitedOCRForCausalLM")
def muse():
    """What drafts for Muse Glimmer: DFlash under transformers' names."""
    c = BASE | dict(model_type="muse_glimmer_assistant", architectures=["MuseGlimmerAssistantModel"], head_dim=D, block_size=8, mask_token_id=7, target_layer_ids=[1, 3, 5], sliding_window=16, layer_types=["sliding_attention", "full_attention"])
    t = layered(2, weights(norm=(H,), encoder__output_norm_enc=(H,), encoder__fc=(H, 3 * H)), {n.removeprefix("model."): s for n, s in (NORMS | ATTENTION | HEADNORMS | MLP).items()})
    return c, t, glimmer, "llama-bpe"


def glimmer(folder, pre):
    target(folder, pre)
    (folder / "target" / "config.json").write_text(json.dumps({"architectures": ["MuseGlimmerForConditionalGeneration"], "model_type": "muse_glimmer", "text_config": {k: v for k, v in TARGET.items() if k not in ("architectures", "model_type")}}))


DRAFTS = {"MuseGlimmerAssistantModel": muse} | named(dspark, "DSparkDraftModel", "Qwen3DSparkModel", "Lfm2DSparkDraftModel", "LingDSparkModel")
FAMILIES |= DRAFTS
# Those that read the state of another model, and are only loaded.
LOADED = named(assistant, "Gemma4AssistantForCausalLM", "Gemma4UnifiedAssistantForCausalLM")
FAMILIES |= LOADED
