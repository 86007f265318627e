"""Models with a vision part: tiny random ones, whose text model and whose projector
are two GGUF files, as llama.cpp's converter writes them without and with --mmproj."""
import json
import pathlib

import back
import models
import numpy as np
import torch
import transformers as tf
from safetensors.torch import load_file, save_file

TOWER = dict(hidden_size=64, intermediate_size=96, num_hidden_layers=3, num_attention_heads=4, image_size=56, patch_size=14)
PIXTRAL = TOWER | {"hidden_act": "silu", "head_dim": 16}
# llama.cpp does not read Qwen2-VL's epsilon: it is next to nothing here.
QWEN = dict(rms_norm_eps=1e-12, rope_parameters={"rope_type": "default", "rope_theta": 1e6, "mrope_section": [2, 3, 3]})

ROTATIONS = dict(rope_parameters={"rope_type": "default", "rope_theta": 5e6, "mrope_section": [6, 5, 5]})
DEEP = dict(depth=4, hidden_size=64, intermediate_size=96, num_heads=4, patch_size=14, out_hidden_size=64, num_position_embeddings=16, deepstack_visual_indexes=[1, 3])


def mistral():
    return tf.MistralConfig(**models.sizes(sliding_window=None))


def breaks(folder, pre):
    """A vocabulary with a token that the converter asks Pixtral's folders for."""
    models.byte_level(folder, pre, more=["[IMG_BREAK]"])


# name -> (configuration, class, vocabulary, the name of the pre-tokenizer or None)
FAMILIES = {
    "llava": lambda: (tf.LlavaConfig(text_config=mistral(), vision_config=tf.PixtralVisionConfig(**PIXTRAL), image_token_index=10, vision_feature_layer=-1, vision_feature_select_strategy="full"),
                      tf.LlavaForConditionalGeneration, breaks, "llama-bpe"),
    "llava-1.5": lambda: (tf.LlavaConfig(text_config=tf.LlamaConfig(**models.sizes(), architectures=["LlamaForCausalLM"]), vision_config=tf.CLIPVisionConfig(**TOWER), image_token_index=10),
                          tf.LlavaForConditionalGeneration, models.byte_level, "llama-bpe"),
    "mistral3": lambda: (tf.Mistral3Config(text_config=mistral(), vision_config=tf.PixtralVisionConfig(**PIXTRAL), spatial_merge_size=2, image_token_index=10, vision_feature_layer=-1),
                         tf.Mistral3ForConditionalGeneration, breaks, "llama-bpe"),
    "gemma3-vision": lambda: (tf.Gemma3Config(text_config=tf.Gemma3TextConfig(**models.sizes(head_dim=32, num_hidden_layers=7, query_pre_attn_scalar=32)),
                                              vision_config=tf.SiglipVisionConfig(**TOWER, vision_use_head=False), mm_tokens_per_image=4),
                              tf.Gemma3ForConditionalGeneration, lambda f, p: models.sentencepiece(f, p, False), None),
    "qwen2-vl": lambda: (tf.Qwen2VLConfig(text_config=models.sizes(**QWEN), vision_config=dict(depth=4, embed_dim=64, hidden_size=64, num_heads=4, mlp_ratio=4, patch_size=14)),
                         tf.Qwen2VLForConditionalGeneration, models.byte_level, "qwen2"),
    "qwen3-vl": lambda: (tf.Qwen3VLConfig(text_config=models.sizes(head_dim=32, **ROTATIONS), vision_config=DEEP), tf.Qwen3VLForConditionalGeneration, models.byte_level, "qwen2"),
    "qwen3-vl-moe": lambda: (tf.Qwen3VLMoeConfig(text_config=models.sizes(head_dim=32, num_experts=4, num_experts_per_tok=2, moe_intermediate_size=48, **ROTATIONS), vision_config=DEEP),
                             tf.Qwen3VLMoeForConditionalGeneration, models.byte_level, "qwen2"),
    "qwen2.5-vl": lambda: (tf.Qwen2_5_VLConfig(text_config=models.sizes(**QWEN), vision_config=dict(
        depth=4, hidden_size=64, out_hidden_size=64, intermediate_size=96, num_heads=4, patch_size=14, fullatt_block_indexes=[1, 3])),
        tf.Qwen2_5_VLForConditionalGeneration, models.byte_level, "qwen2"),
}


def make(name, folder, dtype):
    """Writes a model's folder, its tensors under the names that published ones have."""
    torch.manual_seed(0)
    config, cls, vocabulary, pre = FAMILIES[name]()
    config._attn_implementation = "eager"
    model = cls(config).eval()
    with torch.no_grad():
        for n, p in model.named_parameters():
            p.copy_(torch.randn_like(p) * 0.1 + (1 if "norm" in n and n.endswith("weight") else 0))
        model.tie_weights()
    model = model.to(dtype)
    model.save_pretrained(folder)
    folder = pathlib.Path(folder)
    if name == "gemma3-vision":
        path = folder / "model.safetensors"
        tensors = load_file(path)
        save_file({n.replace("vision_tower.", "vision_tower.vision_model.") if ".vision_model." not in n else n: t for n, t in tensors.items()}, path, metadata={"format": "pt"})
    if name == "qwen3-vl-moe":  # whose published folders have what transformers 5 turns
        path = folder / "model.safetensors"
        save_file({n: t.transpose(1, 2).contiguous() if ".experts." in n else t for n, t in load_file(path).items()}, path, metadata={"format": "pt"})
    vocabulary(folder, pre)
    (folder / "preprocessor_config.json").write_text(json.dumps({"image_mean": [0.48, 0.45, 0.40], "image_std": [0.26, 0.26, 0.27], "image_seq_length": 4}))
    return model, pre


def check(name, work, amn, converter, same, wrong, logits):
    """Rows of the text model and of the projector."""
    counts, bads = [0, 0, 0], [0, 0, 0]
    for kind, dtype in {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}.items():
        folder = work / f"vision{list(FAMILIES).index(name)}-{kind}"
        folder.mkdir()
        model, pre = make(name, folder, dtype)
        for part, flags in enumerate(([], ["--mmproj"])):
            if part and name == "llava-1.5":  # CLIP, of which the converter has nothing
                continue
            for to in (kind,) if part == 0 else ("f32", "bf16", "f16"):
                ours, theirs = (work / f"{name}-{kind}-{to}-{part}-{n}.gguf" for n in ("ours", "theirs"))
                extra = ["--gguf-kv", f"tokenizer.ggml.pre={pre}"] if pre and not part else []
                extra += ["--out-dtype", to] if to != kind else []
                if why := amn("convert", folder, "--to", "gguf", *flags, "-o", ours, *extra):
                    bads[part] += wrong(f"{name} {kind} to {to}", why)
                    continue
                converter.write(folder, theirs, to, pre, mmproj=part == 1)
                got, want = converter.read(ours), converter.read(theirs)
                counts[part] += sum(int(np.prod(t[1])) for t in want[1].values())
                bads[part] += same(f"{name} {kind} to {to}", got, want)
                if kind == "f32" and part == 0:
                    bads[0] += logits(name, model, ours)
                if part == 0:
                    off, n = back.text(name, kind, model, folder, ours, amn, work, wrong)
                    bads[2], counts[2] = bads[2] + off, counts[2] + n
    return [[f"runs: {name}, text model", "llama.cpp's converter, and its logits in F32", counts[0], bads[0]],
            [f"runs: {name}, text model, and back", "transformers: the folder, and its logits", counts[2], bads[2]],
            [f"runs: {name}, vision part", "llama.cpp's converter with --mmproj", counts[1], bads[1]]][:2 if name == "llava-1.5" else 3]
