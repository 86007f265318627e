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
    """base makes the text model, wrap its configuration, rename the names of its tensors; more are
    tensors of other parts. sees: its tokens see those after them. alike: it computes
    what the class does, so that the logits are compared, and not only that llama.cpp runs it. ahead: a layer follows
    that predicts further tokens, which transformers does not save. beside: tensors that published models
    have and transformers does not save."""

    def __init__(self, base, wrap=flat(), rename=lambda n: n, more=(), sees=False, alike=True, ahead=False, beside=None):
        self.base, self.wrap, self.rename, self.more, self.sees, self.alike, self.ahead, self.beside = base, wrap, rename, more, sees, alike, ahead, beside


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


def begun(folder, pre):
    """A vocabulary whose texts begin with a token, as the converter asks of DeepSeek V3.2."""
    byte_level(folder, pre)
    path = folder / "tokenizer_config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"add_bos_token": True}))


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


def whole(text):
    return text


DSA = MLA | dict(q_lora_rank=24, n_shared_experts=1, n_group=1, topk_group=1, index_n_heads=2, index_head_dim=128, index_topk=64, norm_topk_prob=True, scoring_func="sigmoid")
MIX = dict(num_hidden_layers=3, head_dim=16, num_experts=4, num_experts_per_tok=2, moe_intermediate_size=48)
BOTH = {"full_attention": {"rope_type": "default", "rope_theta": 10000.0}, "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0}}
KINDS = ["sliding_attention", "full_attention", "sliding_attention"]

# Models of transformers as they are, of which no folder is made again.
FAMILIES |= {
    "YoutuForCausalLM": Part(lambda: (tf.YoutuConfig(**sizes(num_key_value_heads=4, kv_lora_rank=32, q_lora_rank=24, qk_nope_head_dim=16, qk_rope_head_dim=8, v_head_dim=24, tie_word_embeddings=True)), tf.YoutuForCausalLM, byte_level, "llama-bpe"), whole),
    "YoutuVLForConditionalGeneration": Part(lambda: (tf.YoutuConfig(**sizes(num_key_value_heads=4, kv_lora_rank=32, q_lora_rank=24, qk_nope_head_dim=16, qk_rope_head_dim=8, v_head_dim=24, tie_word_embeddings=True)), tf.YoutuForCausalLM, byte_level, "llama-bpe"), flat(**VISION), more=("siglip2.a.weight", "merger.b.weight")),
    "DeepseekV32ForCausalLM": Part(lambda: (tf.DeepseekV32Config(**sizes(**DSA)), tf.DeepseekV32ForCausalLM, begun, "llama-bpe"), whole),
    "GlmMoeDsaForCausalLM": Part(lambda: (tf.GlmMoeDsaConfig(**sizes(**DSA)), tf.GlmMoeDsaForCausalLM, glm, "glm4"), whole),
    "ExaoneMoeForCausalLM": Part(lambda: (tf.ExaoneMoeConfig(**sizes(**MIX, num_shared_experts=1, first_k_dense_replace=1, mlp_layer_types=["dense", "sparse", "sparse"], sliding_window=16, layer_types=KINDS, n_group=1, topk_group=1, scoring_func="sigmoid")), tf.ExaoneMoeForCausalLM, byte_level, "exaone4"), whole),
    "Exaone4_5_ForConditionalGeneration": Part(lambda: models.FAMILIES["exaone4"](), apart(**VISION), inside, ("model.visual.a.weight",)),
    "HYV3ForCausalLM": Part(lambda: (tf.HYV3Config(**sizes(**{k: v for k, v in MIX.items() if k != "num_experts"}, num_local_experts=4, num_shared_experts=1, mlp_layer_types=["dense", "sparse", "sparse"], first_k_dense_replace=1)), tf.HYV3ForCausalLM, byte_level, "llama-bpe"), whole),
    "Cohere2MoeForCausalLM": Part(lambda: (tf.Cohere2MoeConfig(**sizes(**MIX, logit_scale=0.25, sliding_window=16, layer_types=KINDS, first_k_dense_replace=1, prefix_dense_intermediate_size=80, mlp_layer_types=["dense", "sparse", "sparse"], num_shared_experts=1)), tf.Cohere2MoeForCausalLM, byte_level, "command-r"), whole),
    "MellumForCausalLM": Part(lambda: (tf.MellumConfig(**sizes(**MIX, norm_topk_prob=True, rope_parameters=BOTH, sliding_window=16, layer_types=KINDS)), tf.MellumForCausalLM, byte_level, "qwen2"), whole),
    "GraniteSWAForCausalLM": Part(lambda: (tf.GraniteSWAConfig(**sizes(num_hidden_layers=3, sliding_window=16, layer_types=KINDS, embedding_multiplier=2.0, attention_multiplier=0.25, residual_multiplier=0.5, logits_scaling=3.0)), tf.GraniteSWAForCausalLM, byte_level, "refact"), whole),
    "GraniteMoeSWAForCausalLM": Part(lambda: (tf.GraniteMoeSWAConfig(**sizes(num_hidden_layers=3, num_local_experts=4, num_experts_per_tok=2, shared_intermediate_size=80, sliding_window=16, layer_types=KINDS, embedding_multiplier=2.0, attention_multiplier=0.25, residual_multiplier=0.5, logits_scaling=3.0)),
                                               tf.GraniteMoeSWAForCausalLM, byte_level, "refact"), whole),
    "DbrxForCausalLM": Part(lambda: (tf.DbrxConfig(d_model=64, n_heads=4, n_layers=2, max_seq_len=256, vocab_size=models.VOCAB, bos_token_id=1, eos_token_id=2, attn_config={"kv_n_heads": 2, "clip_qkv": 8.0, "rope_theta": 10000.0},
                                                   ffn_config={"ffn_hidden_size": 96, "moe_num_experts": 4, "moe_top_k": 2}), tf.DbrxForCausalLM, byte_level, "dbrx"), whole),
    "Lfm2Model": Part(lambda: (tf.Lfm2Config(**sizes(num_hidden_layers=3, layer_types=["conv", "full_attention", "conv"], block_auto_adjust_ff_dim=False)), tf.Lfm2Model, lambda f, p: further.pooled(f, "lasttoken", byte_level(f, p)), "llama-bpe"), whole),
}
LLADA = (("model.embed_tokens", "model.transformer.wte"), ("lm_head", "model.transformer.ff_out"), ("model.norm", "model.transformer.ln_f"), ("model.layers.", "model.transformer.blocks."), ("input_layernorm", "attn_norm"), ("post_attention_layernorm", "ff_norm"),
         ("self_attn.o_proj", "attn_out"), ("self_attn.", ""), ("mlp.gate_proj", "ff_proj"), ("mlp.up_proj", "up_proj"), ("mlp.down_proj", "ff_out"))


def members(pairs, **more):
    """Members of the configuration under other names, and further ones."""
    def wrap(text):
        return {pairs.get(k, k): v for k, v in text.items() if pairs.get(k, k)} | {"model_type": "of_one"} | more
    return wrap


def qwen3moe(**more):
    return tf.Qwen3MoeConfig(**sizes(num_experts=4, num_experts_per_tok=2, moe_intermediate_size=48, head_dim=32, norm_topk_prob=True, **more)), tf.Qwen3MoeForCausalLM, byte_level, "qwen2"


# Classes that are published as code, and compute what a class of transformers does.
FAMILIES |= {
    "PanguEmbeddedForCausalLM": Part(lambda: (tf.LlamaConfig(**sizes(attention_bias=True)), tf.LlamaForCausalLM, sentencepiece, None), members({"head_dim": None})),
    "NanbeigeForCausalLM": Part(llama, flat(num_loops=1)),
    "DreamModel": Part(qwen2, flat(mask_token_id=5), sees=True),
    "RND1": Part(qwen3moe, flat(mask_token_id=5), sees=True),
    "LLaDAModelLM": Part(llama, members({"hidden_size": "d_model", "intermediate_size": "mlp_hidden_size", "num_attention_heads": "n_heads", "num_key_value_heads": "n_kv_heads", "num_hidden_layers": "n_layers", "max_position_embeddings": "max_sequence_length", "head_dim": None},
                                        include_bias=False), renamed(*LLADA), sees=True),
    "Phi4ForCausalLMV": Part(lambda: models.FAMILIES["phi3"](), flat(**VISION), more=("model.vision_tower.a.weight", "model.mm_projector.b.weight")),
    "LlavaStableLMEpochForCausalLM": Part(lambda: models.FAMILIES["stablelm"](), members({"layer_norm_eps": "norm_eps"}, **VISION), more=("model.vision_tower.a.weight", "model.mm_projector.b.weight")),
    "Lfm2BidirectionalModel": Part(lambda: FAMILIES["Lfm2Model"].base(), flat(), alike=False),
    "LlamaBidirectionalModel": Part(lambda: (tf.LlamaConfig(**sizes()), tf.LlamaModel, byte_level, "llama-bpe"), flat(is_causal=False), sees=True),
    "JinaEmbeddingsV5Model": Part(lambda: wider.FAMILIES["eurobert"]()),
}
FAMILIES |= {
    "ExaoneMoEForCausalLM": Part(lambda: FAMILIES["ExaoneMoeForCausalLM"].base(), flat()),
    "LagunaForCausalLM": Part(lambda: (tf.LagunaConfig(**sizes(**MIX, shared_expert_intermediate_size=80, sliding_window=16, layer_types=["full_attention", "sliding_attention", "sliding_attention"], num_attention_heads_per_layer=[4, 2, 4], mlp_layer_types=["dense", "sparse", "sparse"], gating="per-head", moe_routed_scaling_factor=2.5)),
                                        tf.LagunaForCausalLM, byte_level, "qwen2"), whole),
    "Gemma4UnifiedForConditionalGeneration": Part(lambda: models.FAMILIES["gemma4"](), apart(**VISION), inside, ("model.vision_embedder.a.weight", "model.embed_vision.b.weight")),
    "HunYuanVLForConditionalGeneration": Part(lambda: models.FAMILIES["hunyuan"](), members({"rope_parameters": None}, rope_scaling={"rope_type": "xdrope", "type": "xdrope", "alpha": 1000.0, "rope_theta": 10000.0, "xdrope_section": [2, 2, 2, 2]}, **VISION), more=("vit.a.weight",), alike=False),
}
def bamba():
    return (tf.BambaConfig(**sizes(num_hidden_layers=3, attn_layer_indices=[1], mamba_n_heads=8, mamba_d_state=16, mamba_n_groups=2, attn_rotary_emb=8)), tf.BambaForCausalLM, byte_level, "llama-bpe")


FAMILIES |= {
    "BambaForCausalLM": Part(bamba, whole, alike=False),  # its logits differ by 0.66 of their deviation, those of the converter's own file by as much
}
# What the logits may differ by, of their deviation, where it is more than 1e-3. DBRX: 1.4e-3. Gemma 4: GELU from a table of F16.
MOST = {"Gemma4UnifiedForConditionalGeneration": 2e-2, "DbrxForCausalLM": 1e-2, "JinaEmbeddingsV5Model": 1e-2}


# The same with a layer that predicts further tokens.
FAMILIES |= {name + ", ahead": Part(FAMILIES[name].base, FAMILIES[name].wrap, FAMILIES[name].rename, FAMILIES[name].more, ahead=True) for name in ("GlmOcrForConditionalGeneration", "HYV3ForCausalLM", "DeepseekV32ForCausalLM", "GlmMoeDsaForCausalLM")}


def further_layer(stored, n):
    """The tensors of a further layer, like those of the last one."""
    at, last = f"model.layers.{n}.", f"model.layers.{n - 1}."
    out = {at + k.removeprefix(last): torch.randn_like(v) * 0.1 for k, v in stored.items() if k.startswith(last) and v.is_floating_point()}
    table = stored["model.embed_tokens.weight"]
    for k, shape in (("eh_proj", (table.shape[1], 2 * table.shape[1])), ("enorm", table.shape[1:]), ("hnorm", table.shape[1:]), ("shared_head.norm", table.shape[1:])):
        out[f"{at}{k}.weight"] = torch.randn(shape).to(table.dtype)
    return out


def make(name, folder, dtype):
    part = FAMILIES[name]
    torch.manual_seed(0)
    config, cls, vocabulary, pre = part.base()
    config._attn_implementation = "eager"
    model = cls(config).eval()
    with torch.no_grad():
        for n, p in model.named_parameters():
            p.copy_(torch.randn_like(p) * 0.1 + (1 if "norm" in n and n.endswith("weight") else 0))
        for n, p in model.named_buffers():
            if "bias" in n and p.is_floating_point():  # of the scores of experts
                p.copy_(torch.randn_like(p) * 0.1)
        model.tie_weights()
    model = model.to(dtype)
    model.save_pretrained(folder)
    path = folder / "model.safetensors"
    stored = load_file(path)
    stored |= {n: (torch.randn(s) * 0.1).to(dtype) for n, s in (part.beside or {}).items()}
    if part.ahead:
        stored |= further_layer(stored, config.num_hidden_layers)
    tensors = {part.rename(n): t for n, t in stored.items()} | {n: torch.ones(2, 3, dtype=dtype) for n in part.more}
    save_file(tensors, path, metadata={"format": "pt"})
    text = json.loads((folder / "config.json").read_text())
    if part.ahead:
        text["num_nextn_predict_layers"] = 1
    whole = part.wrap(text)
    if "architectures" not in whole or whole["architectures"] == text["architectures"]:
        whole["architectures"] = [name.split(",")[0]]
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
            tf.PreTrainedTokenizerFast.add_bos_token = True  # which the converter asks of DeepSeek V3.2
            tf.PreTrainedConfig.max_position_embeddings = 0  # and transformers of configurations that it has no class for
            converter.write(folder, theirs, kind, pre)
        except Exception as e:  # the others are compared all the same
            return counted, bad + wrong(name, f"the converter: {type(e).__name__}: {e}")
        finally:
            del tf.PreTrainedTokenizerFast.add_bos_token, tf.PreTrainedConfig.max_position_embeddings
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
        if not part.alike:
            continue
        with torch.no_grad():
            sees = {"attention_mask": torch.zeros(1, 1, len(tokens), len(tokens))} if part.sees else {}
            out = model(torch.tensor([tokens]), **sees)
            if hasattr(out, "logits"):
                out = out.logits
            elif numbers.shape[1] == out.last_hidden_state.shape[-1]:  # of an encoder
                out = out.last_hidden_state
            else:  # of which llama.cpp makes logits by the table of tokens
                out = out.last_hidden_state @ model.embed_tokens.weight.T
        want = out[0].float().numpy()
        if (never := want[0] < -1e30).any():  # tokens that the model never predicts
            numbers, want = numbers[:, ~never], want[:, ~never]
        off = float(np.abs(numbers - want).max() / want.std())
        print(f"{name}: logits differ by {off:.2g} of their deviation", flush=True, file=__import__("sys").stderr)
        if off > MOST.get(name, 1e-3):
            bad += wrong(name, f"logits differ by {off:.3g}")
    return counted, bad
