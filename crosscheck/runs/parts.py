"""Vision and audio parts alone: random tensors under the names and in the shapes of the published
models, which llama.cpp's converter writes with --mmproj too. mtmd loads the file."""
import json
import os
import subprocess

import numpy as np
import torch
from safetensors.torch import save_file

H, F, T, HEADS, N = 64, 96, 80, 4, 4  # widths of the part, of its layers and of the text model; heads and layers
PATCH, SIDE = 14, 56
LANGUAGE = {"hidden_size": T, "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 32}
IMAGES = {"image_mean": [0.48, 0.45, 0.40], "image_std": [0.26, 0.26, 0.27], "min_pixels": 3136, "max_pixels": 12845056, "size": {"longest_edge": 112}}


def layered(n, at, **shapes):
    return {f"{at.replace('#', str(i))}{name.replace('__', '.')}{end}": s if end == ".weight" else s[:1] for i in range(n) for name, s in shapes.items() for end in (".weight", ".bias")}


def plain(n, at, **shapes):
    return {name: s for name, s in layered(n, at, **shapes).items() if name.endswith(".weight")}


def biased(**shapes):
    return layered(1, "", **shapes)


def siglip(at):
    return layered(N, at, layer_norm1=(H,), layer_norm2=(H,), self_attn__q_proj=(H, H), self_attn__k_proj=(H, H), self_attn__v_proj=(H, H), self_attn__out_proj=(H, H), mlp__fc1=(F, H), mlp__fc2=(H, F))


VISION = dict(hidden_size=H, intermediate_size=F, num_hidden_layers=N, num_attention_heads=HEADS, image_size=SIDE, patch_size=PATCH, num_channels=3, layer_norm_eps=1e-6, hidden_act="gelu")
SOUND = dict(d_model=H, encoder_layers=N, encoder_attention_heads=HEADS, encoder_ffn_dim=F, num_mel_bins=32, max_source_positions=50)


def whisper(at="audio_tower."):
    k = {f"{at}conv1.weight": (H, 32, 3), f"{at}conv1.bias": (H,), f"{at}conv2.weight": (H, H, 3), f"{at}conv2.bias": (H,), f"{at}embed_positions.weight": (50, H), f"{at}layer_norm.weight": (H,), f"{at}layer_norm.bias": (H,)}
    layers = layered(N, at + "layers.#.", self_attn_layer_norm=(H,), self_attn__q_proj=(H, H), self_attn__k_proj=(H, H), self_attn__v_proj=(H, H), self_attn__out_proj=(H, H), final_layer_norm=(H,), fc1=(F, H), fc2=(H, F))
    return k | {n: s for n, s in layers.items() if not n.endswith("k_proj.bias")}


def heard(name, more, **config):
    return {"architectures": [name], "model_type": "of_several", "audio_config": SOUND, "text_config": LANGUAGE} | config, whisper() | more


def seen(name, vision, **config):
    return {"architectures": [name], "model_type": "of_several", "vision_config": vision, "text_config": LANGUAGE} | config


def internvl(norms):
    t = {"vision_model.embeddings.class_embedding": (1, 1, H), "vision_model.embeddings.position_embedding": (1, 17, H)} | biased(vision_model__embeddings__patch_embedding=(H, 3, PATCH, PATCH), mlp1__0=(4 * H,), mlp1__1=(T, 4 * H), mlp1__3=(T, T))
    at = "vision_model.encoder.layers.#."
    t |= layered(N, at, norm1=(H,), norm2=(H,), attn__qkv=(3 * H, H), attn__proj=(H, H), mlp__fc1=(F, H), mlp__fc2=(H, F)) | {f"vision_model.encoder.layers.{i}.ls{j}": (H,) for i in range(N) for j in (1, 2)}
    if norms:
        t |= plain(N, at, attn__q_norm=(H,), attn__k_norm=(H,))
    return {"architectures": ["InternVLChatModel"], "model_type": "internvl_chat", "vision_config": VISION | {"architectures": ["InternVisionModel"], "qk_normalization": norms}, "llm_config": LANGUAGE,
            "hidden_size": T, "downsample_ratio": 0.5, "min_dynamic_patch": 1, "max_dynamic_patch": 12}, t


def smolvlm():
    at = "model.vision_model."
    t = biased(**{f"{at}embeddings__patch_embedding".replace(".", "__"): (H, 3, PATCH, PATCH), "model__vision_model__post_layernorm": (H,)}) | {at + "embeddings.position_embedding.weight": (16, H), "model.connector.modality_projection.proj.weight": (T, 4 * H)}
    return seen("SmolVLMForConditionalGeneration", VISION | {"model_type": "smolvlm_vision"}, scale_factor=2), t | siglip(at + "encoder.layers.#.")


def llama4():
    v = VISION | dict(vision_output_dim=T, projector_input_dim=48, projector_output_dim=T, pixel_shuffle_ratio=0.5, norm_eps=1e-5)
    t = {"vision_model.class_embedding": (H,), "vision_model.positional_embedding_vlm": (17, H), "vision_model.patch_embedding.linear.weight": (H, 3 * PATCH * PATCH), "vision_model.vision_adapter.mlp.fc1.weight": (48, F), "vision_model.vision_adapter.mlp.fc2.weight": (T, 48), "multi_modal_projector.linear_1.weight": (T, T)}
    t |= biased(vision_model__layernorm_pre=(H,), vision_model__layernorm_post=(H,))
    return seen("Llama4ForConditionalGeneration", v), t | layered(N, "vision_model.model.layers.#.", input_layernorm=(H,), post_attention_layernorm=(H,), self_attn__q_proj=(H, H), self_attn__k_proj=(H, H), self_attn__v_proj=(H, H), self_attn__o_proj=(H, H), mlp__fc1=(F, H), mlp__fc2=(H, F))


def glm4v(name):
    ocr = name.startswith("GlmOcr")
    v = dict(depth=N, hidden_size=H, intermediate_size=F, num_heads=HEADS, image_size=SIDE, patch_size=PATCH, in_channels=3, out_hidden_size=T, spatial_merge_size=2, hidden_act="silu", rms_norm_eps=1e-5)
    wide = F if ocr else T
    at = "model.visual."
    t = {at + "patch_embed.proj.weight": (H, 3, 2, PATCH, PATCH), at + "patch_embed.proj.bias": (H,), at + "post_layernorm.weight": (H,), at + "downsample.weight": (T, H, 2, 2), at + "downsample.bias": (T,),
         at + "merger.proj.weight": (T, T), at + "merger.post_projection_norm.weight": (T,), at + "merger.post_projection_norm.bias": (T,), at + "merger.gate_proj.weight": (F, T), at + "merger.up_proj.weight": (F, T), at + "merger.down_proj.weight": (T, F)}
    if not ocr:
        t |= {at + "embeddings.position_embedding.weight": (16, H), at + "post_conv_layernorm.weight": (H,)}
    t |= plain(N, at + "blocks.#.", attn__qkv=(3 * H, H), attn__proj=(H, H), norm1=(H,), norm2=(H,), mlp__gate_proj=(wide, H), mlp__up_proj=(wide, H), mlp__down_proj=(H, wide))
    if ocr:
        t |= plain(N, at + "blocks.#.", attn__q_norm=(H // HEADS,), attn__k_norm=(H // HEADS,))
    return seen(name, v), t


def qwen35(name):
    v = dict(depth=N, hidden_size=H, intermediate_size=F, num_heads=HEADS, patch_size=16, in_channels=3, out_hidden_size=T, num_position_embeddings=16, spatial_merge_size=2, deepstack_visual_indexes=[])
    at = "model.visual."
    t = {at + "patch_embed.proj.weight": (H, 3, 2, 16, 16), at + "patch_embed.proj.bias": (H,), at + "pos_embed.weight": (16, H)} | layered(1, at + "merger.", norm=(H,), linear_fc1=(4 * H, 4 * H), linear_fc2=(T, 4 * H))
    return seen(name, v), t | layered(N, at + "blocks.#.", attn__qkv=(3 * H, H), attn__proj=(H, H), norm1=(H,), norm2=(H,), mlp__linear_fc1=(F, H), mlp__linear_fc2=(H, F))


def kimivl():
    v = {k: VISION[k] for k in ("hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads", "patch_size")} | dict(init_pos_emb_height=4, init_pos_emb_width=4, merge_kernel_size=[2, 2])
    t = biased(vision_tower__patch_embed__proj=(H, 3, PATCH, PATCH), vision_tower__encoder__final_layernorm=(H,), multi_modal_projector__pre_norm=(H,), multi_modal_projector__linear_1=(4 * H, 4 * H), multi_modal_projector__linear_2=(T, 4 * H)) | {"vision_tower.patch_embed.pos_emb.weight": (4, 4, H)}
    return seen("KimiVLForConditionalGeneration", v), t | layered(N, "vision_tower.encoder.blocks.#.", norm0=(H,), norm1=(H,), wqkv=(3 * H, H), wo=(H, H), mlp__fc0=(F, H), mlp__fc1=(H, F))


def dotsocr():
    v = dict(embed_dim=H, hidden_size=H, intermediate_size=F, num_hidden_layers=N, num_attention_heads=HEADS, patch_size=PATCH, num_channels=3, rms_norm_eps=1e-5, spatial_merge_size=2)
    t = {"vision_tower.patch_embed.patchifier.proj.weight": (H, 3, PATCH, PATCH), "vision_tower.patch_embed.patchifier.proj.bias": (H,), "vision_tower.patch_embed.patchifier.norm.weight": (H,), "vision_tower.post_trunk_norm.weight": (H,)}
    t |= biased(vision_tower__merger__ln_q=(H,), vision_tower__merger__mlp__0=(4 * H, 4 * H), vision_tower__merger__mlp__2=(T, 4 * H))
    c = seen("DotsOCRForCausalLM", v) | LANGUAGE
    c.pop("text_config")
    return c, t | plain(N, "vision_tower.blocks.#.", attn__qkv=(3 * H, H), attn__proj=(H, H), norm1=(H,), norm2=(H,), mlp__fc1=(F, H), mlp__fc2=(H, F), mlp__fc3=(F, H))


def paddleocr():
    v = VISION | dict(architectures=["PaddleOCRVisionModel"], spatial_merge_size=2)
    at = "visual.vision_model."
    t = {at + "embeddings.position_embedding.weight": (16, H)} | biased(**{at.replace(".", "__") + "embeddings__patch_embedding": (H, 3, PATCH, PATCH), at.replace(".", "__") + "post_layernorm": (H,)})
    t |= {at + "embeddings.packing_position_embedding.weight": (32, H), at + "head.probe": (1, 1, H)}
    c = seen("PaddleOCRVLForConditionalGeneration", v) | LANGUAGE
    c.pop("text_config")
    return c, t | siglip(at + "encoder.layers.#.") | biased(mlp_AR__pre_norm=(H,), mlp_AR__linear_1=(4 * H, 4 * H), mlp_AR__linear_2=(T, 4 * H))


def qwen2vl(name, at="visual."):
    v = dict(depth=N, embed_dim=H, hidden_size=T, num_heads=HEADS, mlp_ratio=4, patch_size=PATCH, in_channels=3, spatial_merge_size=2)
    t = {at + "patch_embed.proj.weight": (H, 3, 2, PATCH, PATCH)} | layered(1, at + "merger.", ln_q=(H,), mlp__0=(4 * H, 4 * H), mlp__2=(T, 4 * H))
    return seen(name, v) | {"model_type": "qwen2_vl"}, t | layered(N, at + "blocks.#.", attn__qkv=(3 * H, H), attn__proj=(H, H), norm1=(H,), norm2=(H,), mlp__fc1=(4 * H, H), mlp__fc2=(H, 4 * H))


def exaone():
    v = dict(depth=N, hidden_size=H, intermediate_size=F, num_heads=HEADS, num_key_value_heads=2, patch_size=PATCH, in_channels=3, out_hidden_size=T, spatial_merge_size=2, window_size=112, fullatt_block_indexes=[1, 3], rms_norm_eps=1e-5)
    at = "model.visual."
    t = {at + "patch_embed.proj.weight": (H, 3, 2, PATCH, PATCH), at + "merger.ln_q.weight": (H,)} | layered(1, at + "merger.", mlp__0=(4 * H, 4 * H), mlp__2=(T, 4 * H))
    return seen("Exaone4_5_ForConditionalGeneration", v), t | layered(N, at + "blocks.#.", attn__qkv=(2 * H, H), attn__proj=(H, H), mlp__gate_proj=(F, H), mlp__up_proj=(F, H), mlp__down_proj=(H, F)) | plain(N, at + "blocks.#.", norm1=(H,), norm2=(H,))


def lfm2vl():
    v = {k: VISION[k] for k in ("hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads", "layer_norm_eps", "num_channels")} | dict(patch_size=16, num_patches=16)
    at = "model.vision_tower.vision_model."
    t = {at + "embeddings.patch_embedding.weight": (H, 768), at + "embeddings.patch_embedding.bias": (H,), at + "embeddings.position_embedding.weight": (16, H), at + "post_layernorm.weight": (H,), at + "post_layernorm.bias": (H,)}
    t |= layered(1, "model.multi_modal_projector.", layer_norm=(4 * H,), linear_1=(72, 4 * H), linear_2=(T, 72))
    return seen("Lfm2VlForConditionalGeneration", v, downsample_factor=2, projector_hidden_size=72, vision_feature_layer=-1), t | siglip(at + "encoder.layers.#.")


def janus():
    v = {k: n for k, n in VISION.items() if k != "intermediate_size"} | dict(mlp_ratio=4.0)
    at = "model.vision_model."
    t = {at + "embeddings.patch_embedding.weight": (H, 3, PATCH, PATCH), at + "embeddings.patch_embedding.bias": (H,), at + "embeddings.position_embedding.weight": (16, H), at + "post_layernorm.weight": (H,), at + "post_layernorm.bias": (H,)}
    t |= layered(1, "model.aligner.", fc1=(T, H), hidden_layers__0=(T, T)) | {"model.vqmodel.a.weight": (2, 2)}
    layers = layered(N, at + "encoder.layers.#.", layer_norm1=(H,), layer_norm2=(H,), self_attn__q_proj=(H, H), self_attn__k_proj=(H, H), self_attn__v_proj=(H, H), self_attn__projection_layer=(H, H), mlp__fc1=(4 * H, H), mlp__fc2=(H, 4 * H))
    return seen("JanusForConditionalGeneration", v), t | layers


TWO = {"multi_modal_projector.linear_2.weight": (T, T)}

FAMILIES = {
    "Qwen2AudioForConditionalGeneration, part": lambda: heard("Qwen2AudioForConditionalGeneration", biased(multi_modal_projector__linear=(T, H))),
    "VoxtralForConditionalGeneration, part": lambda: heard("VoxtralForConditionalGeneration", {"multi_modal_projector.linear_1.weight": (T, 4 * H)} | TWO),
    "AudioFlamingo3ForConditionalGeneration, part": lambda: heard("AudioFlamingo3ForConditionalGeneration", biased(multi_modal_projector__linear_1=(T, H), multi_modal_projector__linear_2=(T, T))),
    "UltravoxModel, part": lambda: heard("UltravoxModel", {"multi_modal_projector.ln_pre.weight": (8 * H,), "multi_modal_projector.linear_1.weight": (T, 8 * H), "multi_modal_projector.linear_2.weight": (T, T // 2), "multi_modal_projector.ln_mid.weight": (T // 2,)},
                                         hidden_size=T, stack_factor=8, projector_ln_mid=True),
    "InternVisionModel, part": lambda: internvl(False),
    "InternVisionModel with norms, part": lambda: internvl(True),
    "SmolVLMForConditionalGeneration, part": smolvlm,
    "Llama4ForConditionalGeneration, part": llama4,
    "Glm4vForConditionalGeneration, part": lambda: glm4v("Glm4vForConditionalGeneration"),
    "Glm4vMoeForConditionalGeneration, part": lambda: glm4v("Glm4vMoeForConditionalGeneration"),
    "GlmOcrForConditionalGeneration, part": lambda: glm4v("GlmOcrForConditionalGeneration"),
    "Qwen3_5ForConditionalGeneration, part": lambda: qwen35("Qwen3_5ForConditionalGeneration"),
    "Qwen3_5MoeForConditionalGeneration, part": lambda: qwen35("Qwen3_5MoeForConditionalGeneration"),
    "KimiVLForConditionalGeneration, part": kimivl,
    "DotsOCRForCausalLM, part": dotsocr,
    "PaddleOCRVisionModel, part": paddleocr,
    "Qwen2VLModel, part": lambda: qwen2vl("Qwen2VLModel"),
    "Sarashina2VisionForCausalLM, part": lambda: qwen2vl("Sarashina2VisionForCausalLM"),
    "Exaone4_5_ForConditionalGeneration, part": exaone,
    "Lfm2VlForConditionalGeneration, part": lfm2vl,
    "JanusForConditionalGeneration, part": janus,
    "Idefics3ForConditionalGeneration, part": lambda: (lambda c, t: (c | {"architectures": ["Idefics3ForConditionalGeneration"], "vision_config": VISION | {"model_type": "idefics3_vision"}}, t))(*smolvlm()),
}


def lighton():
    v = {k: VISION[k] for k in ("hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads", "image_size", "patch_size", "num_channels")} | dict(model_type="pixtral", hidden_act="silu", layer_norm_eps=1e-5, rope_theta=10000.0)
    at, to = "model.vision_encoder.", "model.vision_projection."
    t = {at + "patch_conv.weight": (H, 3, PATCH, PATCH), at + "ln_pre.weight": (H,), to + "norm.weight": (H,), to + "patch_merger.merging_layer.weight": (H, 4 * H), to + "linear_1.weight": (T, H), to + "linear_2.weight": (T, T)}
    t |= plain(N, at + "transformer.layers.#.", attention__q_proj=(H, H), attention__k_proj=(H, H), attention__v_proj=(H, H), attention__o_proj=(H, H), attention_norm=(H,), ffn_norm=(H,), feed_forward__gate_proj=(F, H), feed_forward__up_proj=(F, H), feed_forward__down_proj=(H, F))
    return seen("LightOnOCRForConditionalGeneration", v, spatial_merge_size=2), t


def meralion():
    t = {n.replace("audio_tower.", "speech_encoder."): s for n, s in whisper().items()} | biased(ln_speech=(H,)) | layered(1, "speech_audio_adapter.", mlp_adapter__0=(H, 15 * H), gate_proj=(4 * H, H), pool_proj=(4 * H, H), out_proj=(T, 4 * H))
    return {"architectures": ["MERaLiON2ForConditionalGeneration"], "model_type": "of_several", "speech_config": SOUND, "text_config": LANGUAGE, "speech_mlp_scale_factor": 15}, t


def youtuvl():
    v = VISION | dict(patch_size=16, hidden_act="gelu_pytorch_tanh", spatial_merge_size=2, window_size=256, fullatt_block_indexes=[1, 3])
    at = "siglip2.vision_model."
    t = {at + "embeddings.patch_embedding.weight": (H, 768), at + "embeddings.patch_embedding.bias": (H,), at + "post_layernorm.weight": (H,), at + "post_layernorm.bias": (H,), "merger.ln_q.weight": (H,)} | layered(1, "merger.", mlp__0=(4 * H, 4 * H), mlp__2=(T, 4 * H))
    c = seen("YoutuVLForConditionalGeneration", v) | LANGUAGE
    c.pop("text_config")
    return c, t | siglip(at + "encoder.layers.#.")


def minimax3(name):
    wide = 160
    v = VISION | dict(hidden_size=wide, num_attention_heads=2, img_token_compression_config={"spatial_merge_size": 2, "image_token_compression_method": "patch_merge"})
    at = "vision_tower.vision_model."
    t = {at + "embeddings.patch_embedding.weight": (wide, 3, 2, PATCH, PATCH)} | layered(1, "", **{f"{at}pre_layrnorm".replace(".", "__"): (wide,)}, multi_modal_projector__linear_1=(72, wide), multi_modal_projector__linear_2=(T, 72), patch_merge_mlp__linear_1=(72, 4 * T), patch_merge_mlp__linear_2=(T, 72))
    t |= layered(N, at + "encoder.layers.#.", layer_norm1=(wide,), layer_norm2=(wide,), self_attn__q_proj=(wide, wide), self_attn__k_proj=(wide, wide), self_attn__v_proj=(wide, wide), self_attn__out_proj=(wide, wide), mlp__fc1=(F, wide), mlp__fc2=(wide, F))
    return seen(name, v, projector_hidden_size=72), t


FAMILIES |= {
    "Qwen4ExpForConditionalGeneration, part": lambda: qwen35("Qwen4ExpForConditionalGeneration"),
    "LightOnOCRForConditionalGeneration, part": lighton, "MERaLiON2ForConditionalGeneration, part": meralion, "YoutuVLForConditionalGeneration, part": youtuvl,
    "MiniMaxM3SparseForConditionalGeneration, part": lambda: minimax3("MiniMaxM3SparseForConditionalGeneration"), "MiniMaxM3VLForConditionalGeneration, part": lambda: minimax3("MiniMaxM3VLForConditionalGeneration"),
}

# Names that the converter writes and llama.cpp's graph does not read: of Llama 4's second norm, since
# Gemma 4 has a tensor of the same name in transformers. amn writes what the graph reads.
NAMED = {"Llama4ForConditionalGeneration, part": ("attn_post_norm", "ln2")}


def make(name, folder, dtype):
    torch.manual_seed(0)
    config, shapes = FAMILIES[name]()
    tensors = {n: (torch.randn(s) * 0.1 + (1 if "norm" in n or "ln_" in n else 0)).to(dtype) for n, s in shapes.items()}
    tensors["language_model.model.embed_tokens.weight"] = torch.ones(4, T, dtype=dtype)  # which is not of this part
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "preprocessor_config.json").write_text(json.dumps(IMAGES))


def loaded(path):
    """What mtmd says of the file; CROSSCHECK_CLIP names the program of clip.cpp."""
    exe = os.environ.get("CROSSCHECK_CLIP")
    if not exe:
        return ""
    done = subprocess.run([exe, str(path)], capture_output=True, text=True)
    return "" if done.returncode == 0 else (done.stderr.strip() or f"exit {done.returncode}")[-300:]


def check(name, work, amn, converter, same, wrong):
    counted = bad = 0
    at = list(FAMILIES).index(name)
    for kind, dtype in {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}.items():
        folder = work / f"part{at}-{kind}"
        folder.mkdir()
        make(name, folder, dtype)
        ours, theirs = (work / f"part{at}-{kind}-{n}.gguf" for n in ("ours", "theirs"))
        if why := amn("convert", folder, "--to", "gguf", "--mmproj", "-o", ours):
            return counted, bad + wrong(name, why)
        try:
            converter.write(folder, theirs, kind, mmproj=True)
        except Exception as e:  # the others are compared all the same
            return counted, bad + wrong(name, f"the converter: {type(e).__name__}: {e}")
        got, want = converter.read(ours), converter.read(theirs)
        counted += sum(int(np.prod(t[1])) for t in want[1].values())
        bad += same(f"{name} {kind}", got, (want[0], {n.replace(*NAMED.get(name, ("", ""))): t for n, t in want[1].items()}))
        if why := loaded(ours):
            bad += wrong(name, f"mtmd does not load it: {why}")
    return counted, bad
