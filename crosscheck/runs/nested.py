"""Text models that are one part of a model of several: a tiny random one of transformers, its tensors
under the names and its configuration in the place that the published model has, beside tensors of the
other parts, which are left out. llama.cpp runs the file, and its logits are those of the text model."""
import json

import back
import further
import models
import numpy as np
import torch
import transformers as tf
import wider
from safetensors.torch import load_file, save_file
from vocabularies import MLA, byte_level, glm, sentencepiece, sizes


def under(prefix):
    """Names below a prefix, the head's too."""
    return lambda n: prefix + n


def inside(n):
    """Names of models whose head is beside the text model: model.language_model.layers."""
    return n.replace("model.", "model.language_model.", 1) if n.startswith("model.") else n


def renamed(*pairs):
    def rename(n):
        for a, b in pairs:
            n = n.replace(a, b)
        return n
    return rename


def apart(key="text_config", **more):
    """The configuration of the text model as a member of the model's."""
    def wrap(text):
        text = {k: v for k, v in text.items() if k != "architectures"}
        return {"model_type": "of_several", **more, key: text}
    return wrap


def thinking(text):
    return {"model_type": "of_several", "thinker_config": {"text_config": {k: v for k, v in text.items() if k != "architectures"}, "audio_config": {"d_model": 8}}}


def stated(cls, **more):
    """The text model's configuration says its class."""
    return lambda text: {"model_type": "of_several", "architectures": ["SeveralForConditionalGeneration"], **more, "text_config": text | {"architectures": [cls]}}


def flat(**more):
    return lambda text: text | {"model_type": "of_one"} | more


class Part:
    def __init__(self, base, wrap=flat(), rename=lambda n: n, more=(), top=(), ending=False, hidden=False):
        self.base, self.wrap, self.rename, self.more, self.ending, self.hidden = base, wrap, rename, more, ending, hidden


def llama(**more):
    return tf.LlamaConfig(**sizes(**more)), tf.LlamaForCausalLM, byte_level, "llama-bpe"


def qwen2(**more):
    return tf.Qwen2Config(**sizes(**more)), tf.Qwen2ForCausalLM, byte_level, "qwen2"


SECTIONS = {"rope_type": "default", "rope_theta": 1e6, "mrope_section": [2, 3, 3]}
VISION = {"vision_config": {"hidden_size": 8}}
AUDIO = {"audio_config": {"d_model": 8}}
TOWERS = ("vision_tower.a.weight", "multi_modal_projector.b.weight")
EARS = ("audio_tower.a.weight", "multi_modal_projector.b.weight")
OMNI = ("thinker.audio_tower.a.weight", "thinker.visual.b.weight", "talker.c.weight")


def solar(folder, pre):
    byte_level(folder, pre, more=["<unk>", "<|startoftext|>"])


def ending(folder, pre):
    """A vocabulary with <|im_end|>, of which tokenizer_config.json says the number."""
    byte_level(folder, pre, more=["<|im_end|>"])
    path = folder / "tokenizer_config.json"
    config = json.loads(path.read_text())
    added = {str(t["id"]): {"content": t["content"], "special": t["special"]} for t in json.loads((folder / "tokenizer.json").read_text())["added_tokens"]}
    path.write_text(json.dumps(config | {"added_tokens_decoder": added}))


GLM4V = dict(head_dim=16, pad_token_id=0, rope_parameters={"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.5, "mrope_section": [1, 1, 2]})

# class -> how the model is made
FAMILIES = {
    "VoxtralForConditionalGeneration": Part(llama, apart(**AUDIO), under("language_model."), EARS),
    "VLlama3ForCausalLM": Part(llama, stated("VLlama3ForCausalLM", **VISION), renamed(("model.", "model.text_model.")), ("model.vision_model.a.weight", "model.connector.b.weight")),
    "JanusForConditionalGeneration": Part(llama, apart(**VISION), inside, ("model.vision_model.a.weight", "model.aligner.b.weight", "model.generation_head.c.weight")),
    "Sarashina2VisionForCausalLM": Part(llama, apart(**VISION), under("llm."), ("visual.a.weight", "norm.weight")),
    "IQuestCoderForCausalLM": Part(llama),
    "KORMoForCausalLM": Part(qwen2, flat(), renamed(("input_layernorm", "pre_attention_layernorm"), ("post_attention_layernorm", "pre_mlp_layernorm"))),
    "Qwen2AudioForConditionalGeneration": Part(qwen2, apart(**AUDIO), under("language_model."), EARS),
    "AudioFlamingo3ForConditionalGeneration": Part(qwen2, apart(**AUDIO), under("language_model."), EARS),
    "DotsOCRForCausalLM": Part(qwen2, flat(**VISION), more=("vision_tower.a.weight",)),
    "Qwen2VLModel": Part(lambda: qwen2(rope_parameters=SECTIONS), apart(**VISION), inside, ("model.visual.a.weight",)),
    "Qwen2_5OmniModel": Part(lambda: qwen2(rope_parameters=SECTIONS), thinking, under("thinker."), OMNI),
    "Qwen3OmniMoeForConditionalGeneration": Part(lambda: (tf.Qwen3MoeConfig(**sizes(num_experts=4, num_experts_per_tok=2, moe_intermediate_size=48, head_dim=32, norm_topk_prob=True, rope_parameters=SECTIONS | {"mrope_section": [6, 5, 5]})),
                                                          tf.Qwen3MoeForCausalLM, ending, "qwen2"), thinking, under("thinker."), OMNI),
    "Qwen3ASRForConditionalGeneration": Part(lambda: (tf.Qwen3Config(**sizes(head_dim=32, rope_parameters=SECTIONS | {"mrope_section": [6, 5, 5]})), tf.Qwen3ForCausalLM, ending, "qwen2"), thinking, under("thinker."), OMNI[:1]),
    "StepVLForConditionalGeneration": Part(lambda: (tf.Qwen3Config(**sizes(head_dim=32)), tf.Qwen3ForCausalLM, byte_level, "qwen2"), apart(**VISION), inside, ("model.vision_model.a.weight", "vit_large_projector.weight")),
    "KimiVLForConditionalGeneration": Part(lambda: models.FAMILIES["deepseek3"](), apart(**VISION), under("language_model."), TOWERS),
    "KimiK25ForConditionalGeneration": Part(lambda: models.FAMILIES["deepseek3"](), apart(**VISION), under("language_model."), ("vision_tower.a.weight", "mm_projector.b.weight")),
    "Glm4vForConditionalGeneration": Part(lambda: (tf.Glm4Config(**sizes(**GLM4V)), tf.Glm4ForCausalLM, glm, "glm4"), apart(**VISION), inside, ("model.visual.a.weight",)),
    "GlmOcrForConditionalGeneration": Part(lambda: (tf.Glm4Config(**sizes(**GLM4V)), tf.Glm4ForCausalLM, glm, "glm4"), apart(**VISION), inside, ("model.visual.a.weight",)),
    "Glm4vMoeForConditionalGeneration": Part(lambda: models.FAMILIES["glm4moe"](), apart(**VISION), inside, ("model.visual.a.weight",)),
    "SolarOpenForCausalLM": Part(lambda: (models.FAMILIES["glm4moe"]()[0], tf.Glm4MoeForCausalLM, solar, "llama-bpe")),
    "PaddleOCRVLForConditionalGeneration": Part(lambda: (tf.MistralConfig(**sizes(head_dim=32, sliding_window=None, rope_parameters=SECTIONS | {"mrope_section": [6, 5, 5]})), tf.MistralForCausalLM, sentencepiece, None), flat(**VISION), more=("visual.a.weight", "mlp_AR.b.weight")),
}
# What llama.cpp computes otherwise than transformers does, and why.
OTHERWISE = {}


def make(name, folder, dtype):
    part = FAMILIES[name]
    torch.manual_seed(0)
    config, cls, vocabulary, pre = part.base()
    config._attn_implementation = "eager"
    model = cls(config).eval()
    with torch.no_grad():
        for n, p in model.named_parameters():
            p.copy_(torch.randn_like(p) * 0.1 + (1 if "norm" in n and n.endswith("weight") else 0))
        model.tie_weights()
    model = model.to(dtype)
    model.save_pretrained(folder)
    path = folder / "model.safetensors"
    tensors = {part.rename(n): t for n, t in load_file(path).items()} | {n: torch.ones(2, 3, dtype=dtype) for n in part.more}
    save_file(tensors, path, metadata={"format": "pt"})
    text = json.loads((folder / "config.json").read_text())
    whole = part.wrap(text)
    if "architectures" not in whole or whole["architectures"] == text["architectures"]:
        whole["architectures"] = [name]
    (folder / "config.json").write_text(json.dumps(whole))
    vocabulary(folder, pre)
    return model, pre


def check(name, work, amn, converter, same, wrong, logits):
    counted = bad = 0
    part = FAMILIES[name]
    for kind, dtype in {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}.items():
        folder = work / f"nested{list(FAMILIES).index(name)}-{kind}"
        folder.mkdir()
        model, pre = make(name, folder, dtype)
        ours, theirs = (work / f"{name}-{kind}-{n}.gguf" for n in ("ours", "theirs"))
        extra = ["--gguf-kv", f"tokenizer.ggml.pre={pre}"] if pre else []
        if why := amn("convert", folder, "--to", "gguf", *extra, "-o", ours):
            return counted, bad + wrong(name, why)
        try:
            converter.write(folder, theirs, kind, pre)
        except Exception as e:  # the others are compared all the same
            return counted, bad + wrong(name, f"the converter: {type(e).__name__}: {e}")
        got, want = converter.read(ours), converter.read(theirs)
        counted += sum(int(np.prod(t[1])) for t in want[1].values())
        bad += same(f"{name} {kind}", got, want)
        if why := amn("diff", folder, ours):
            bad += wrong(f"{name} {kind}", f"amn diff: {why}")
        if kind != "f32":
            continue
        tokens = [1, *np.random.default_rng(1).integers(3, 300, 23)]
        numbers, why = logits(ours, tokens)
        if numbers is None or not np.isfinite(numbers).all():
            bad += wrong(name, f"llama.cpp does not run it: {why}")
            continue
        with torch.no_grad():
            out = part.answers(model, torch.tensor([tokens])) if hasattr(part, "answers") else model(torch.tensor([tokens])).logits
        want = out[0].float().numpy()
        off = float(np.abs(numbers - want).max() / want.std())
        print(f"{name}: logits differ by {off:.2g} of their deviation", flush=True, file=__import__("sys").stderr)
        if name not in OTHERWISE and off > 1e-3:
            bad += wrong(name, f"logits differ by {off:.3g}")
    return counted, bad
