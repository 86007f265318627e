"""Vision parts alone, as parts.FAMILIES: those that were added last."""
from parts import F, H, HEADS, LANGUAGE, N, PATCH, SIDE, T, VISION, biased, layered, plain, seen, siglip


def cogvlm():
    wide = 112
    v = dict(hidden_size=H, intermediate_size=F, num_hidden_layers=N, num_heads=HEADS, image_size=SIDE, patch_size=PATCH, in_channels=3, num_positions=17, hidden_act="gelu", layer_norm_eps=1e-6)
    at = "model.vision."
    t = {at + "patch_embedding.cls_embedding": (1, H), at + "patch_embedding.position_embedding.weight": (17, H), at + "boi": (1, 1, T), at + "eoi": (1, 1, T)} | layered(1, at + "patch_embedding.", proj=(H, 3, PATCH, PATCH)) | layered(1, at + "linear_proj.", norm1=(T,))
    t |= plain(1, at + "linear_proj.", linear_proj=(T, H), dense_h_to_4h=(wide, T), gate_proj=(wide, T), dense_4h_to_h=(T, wide))
    c = seen("CogVLMForCausalLM", v) | LANGUAGE | {"intermediate_size": wide}
    c.pop("text_config")
    return c, t | layered(N, at + "transformer.layers.#.", input_layernorm=(H,), attention__query_key_value=(3 * H, H), attention__dense=(H, H), post_attention_layernorm=(H,), mlp__fc1=(F, H), mlp__fc2=(H, F))


def hunyuan():
    v = dict(hidden_size=H, intermediate_size=F, num_hidden_layers=N, num_attention_heads=HEADS, patch_size=PATCH, num_channels=3, max_image_size=SIDE, spatial_merge_size=2, rms_norm_eps=1e-5, hidden_act="gelu")
    at = "vit.perceive."
    t = {"vit.embeddings.position_embedding.weight": (17, H), at + "image_newline": (4 * H,), at + "image_begin": (T,), at + "image_end": (T,), at + "image_sep": (T,), at + "before_rms.weight": (H,), at + "after_rms.weight": (T,)}
    t |= layered(1, "vit.embeddings.", patch_embedding=(H, 3, PATCH, PATCH)) | layered(1, at, proj__0=(2 * H, H, 2, 2), proj__2=(4 * H, 2 * H, 1, 1), mlp=(T, 4 * H))
    c = seen("HunYuanVLForConditionalGeneration", v) | LANGUAGE
    c.pop("text_config")
    return c, t | layered(N, "vit.layers.#.", input_layernorm=(H,), self_attn__q_proj=(H, H), self_attn__k_proj=(H, H), self_attn__v_proj=(H, H), self_attn__o_proj=(H, H), post_attention_layernorm=(H,), mlp__dense_h_to_4h=(F, H), mlp__dense_4h_to_h=(H, F))


def kimi():
    """The sixteen heads of the published model, since the converter reads their number under another name."""
    wide = 128
    v = dict(vt_hidden_size=wide, vt_intermediate_size=F, vt_num_hidden_layers=N, vt_num_attention_heads=16, patch_size=PATCH, init_pos_emb_height=4, init_pos_emb_width=4, init_pos_emb_time=4, merge_kernel_size=[2, 2], projector_hidden_act="gelu", projector_ln_eps=1e-5)
    t = biased(vision_tower__patch_embed__proj=(wide, 3, PATCH, PATCH), vision_tower__encoder__final_layernorm=(wide,), mm_projector__pre_norm=(wide,), mm_projector__proj__0=(4 * wide, 4 * wide), mm_projector__proj__2=(T, 4 * wide)) | {"vision_tower.patch_embed.pos_emb.weight": (4, 4, wide)}
    return seen("KimiK25ForConditionalGeneration", v), t | layered(N, "vision_tower.encoder.blocks.#.", norm0=(wide,), norm1=(wide,), wqkv=(3 * wide, wide), wo=(wide, wide), mlp__fc0=(F, wide), mlp__fc1=(wide, F))


def minicpm():
    at = "model.vision_tower."
    t = layered(1, at, embeddings__patch_embedding=(H, 3, PATCH, PATCH), post_layernorm=(H,)) | {at + "embeddings.position_embedding.weight": (16, H)} | siglip(at + "encoder.layers.#.")
    t |= layered(1, at + "vit_merger.", layer_norm1=(H,), self_attn__q_proj=(H, H), self_attn__k_proj=(H, H), self_attn__v_proj=(H, H), self_attn__out_proj=(H, H), pre_norm=(4 * H,), linear_1=(4 * F, 4 * H), linear_2=(H, 4 * F))
    return seen("MiniCPMV4_6ForConditionalGeneration", VISION, insert_layer_id=2), t | layered(1, "model.merger.mlp.0.", pre_norm=(4 * H,), linear_1=(4 * H, 4 * H), linear_2=(T, 4 * H))


def glm5v():
    """Glm5vForConditionalGeneration: the same with other names of the projector."""
    c, t = kimi()
    return c | {"architectures": ["Glm5vForConditionalGeneration"]}, {n.replace("mm_projector.proj.0", "mm_projector.linear_1").replace("mm_projector.proj.2", "mm_projector.linear_2"): s for n, s in t.items()}


def glm5next():
    wide = 112
    v = dict(depth=N, hidden_size=H, intermediate_size=F, num_heads=HEADS, image_size=SIDE, patch_size=PATCH, in_channels=3, out_hidden_size=T, spatial_merge_size=2, hidden_act="silu", rms_norm_eps=1e-5, projection_intermediate_size=wide, swiglu_limit=10.0)
    at = "model.visual."
    t = {at + "patch_embed.proj.weight": (H, 3, 2, PATCH, PATCH), at + "patch_embed.proj.bias": (H,), at + "post_layernorm.weight": (H,)} | layered(1, at, downsample=(T, H, 2, 2)) | layered(1, at + "merger.", post_projection_norm=(T,))
    t |= plain(1, at + "merger.", proj=(T, T), gate_proj=(wide, T), up_proj=(wide, T), down_proj=(T, wide)) | layered(N, at + "blocks.#.", attn__qkv=(3 * H, H), attn__proj=(H, H), mlp__gate_proj=(F, H), mlp__up_proj=(F, H), mlp__down_proj=(H, F))
    return seen("Glm5NextForConditionalGeneration", v), t | plain(N, at + "blocks.#.", norm1=(H,), norm2=(H,), attn__q_norm=(H // HEADS,), attn__k_norm=(H // HEADS,))


FAMILIES = {"Glm5vForConditionalGeneration, part": glm5v, "Glm5NextForConditionalGeneration, part": glm5next, "CogVLMForCausalLM, part": cogvlm, "HunYuanVLForConditionalGeneration, part": hunyuan, "KimiK25ForConditionalGeneration, part": kimi, "MiniCPMV4_6ForConditionalGeneration, part": minicpm}
