"""Writes which tensors transformers quantizes with bitsandbytes, by architecture.

Run: pip install transformers==5.23.0 bitsandbytes==0.50.2 accelerate torch==2.15.0 && python testdata/forget/generate.py

Names as arguments write those alone. Each file holds what decides of config.json, the names and shapes of a tiny random model as
save_pretrained writes it, and the names that are quantized once it was loaded in
four bits and saved again.
"""
import json
import pathlib
import sys
import tempfile
import warnings

import torch
import transformers as T
from safetensors import safe_open

warnings.filterwarnings("ignore")
T.logging.set_verbosity_error()
T.utils.logging.disable_progress_bar()
HERE = pathlib.Path(__file__).parent
SMALL = dict(vocab_size=64, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
             max_position_embeddings=32, head_dim=8, pad_token_id=0, bos_token_id=1, eos_token_id=2)
BERT = dict(vocab_size=64, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4, max_position_embeddings=32)
VISION = dict(hidden_size=32, intermediate_size=48, num_hidden_layers=1, num_attention_heads=4, image_size=16, patch_size=8)
BLT = dict(hidden_size=32, intermediate_size=48, num_hidden_layers=1, num_attention_heads=4, num_key_value_heads=4, max_position_embeddings=32)

MODELS = {
    "llama": ("LlamaForCausalLM", T.LlamaConfig(**SMALL)),
    "llama-tied": ("LlamaForCausalLM", T.LlamaConfig(**SMALL, tie_word_embeddings=True)),
    "llama-bias": ("LlamaForCausalLM", T.LlamaConfig(**SMALL, attention_bias=True, mlp_bias=True)),
    "llama-classifier": ("LlamaForSequenceClassification", T.LlamaConfig(**SMALL, num_labels=3)),
    "llama-tokens": ("LlamaForTokenClassification", T.LlamaConfig(**SMALL, num_labels=3)),
    "llama-base": ("LlamaModel", T.LlamaConfig(**SMALL)),
    "mistral": ("MistralForCausalLM", T.MistralConfig(**SMALL)),
    "qwen2": ("Qwen2ForCausalLM", T.Qwen2Config(**SMALL)),
    "qwen3": ("Qwen3ForCausalLM", T.Qwen3Config(**SMALL, tie_word_embeddings=True)),
    "qwen2-moe": ("Qwen2MoeForCausalLM", T.Qwen2MoeConfig(**SMALL, num_experts=4, num_experts_per_tok=2, moe_intermediate_size=16, shared_expert_intermediate_size=24)),
    "qwen3-moe": ("Qwen3MoeForCausalLM", T.Qwen3MoeConfig(**SMALL, num_experts=4, num_experts_per_tok=2, moe_intermediate_size=16)),
    "mixtral": ("MixtralForCausalLM", T.MixtralConfig(**SMALL, num_local_experts=4)),
    "olmoe": ("OlmoeForCausalLM", T.OlmoeConfig(**{k: v for k, v in SMALL.items() if k != "head_dim"}, num_experts=4, num_experts_per_tok=2)),
    "deepseek-v3": ("DeepseekV3ForCausalLM", T.DeepseekV3Config(**{k: v for k, v in SMALL.items() if k != "head_dim"}, n_routed_experts=4, num_experts_per_tok=2, n_group=1, topk_group=1, moe_intermediate_size=16, q_lora_rank=16, kv_lora_rank=16, qk_rope_head_dim=8, qk_nope_head_dim=8, v_head_dim=8, first_k_dense_replace=1, n_shared_experts=1)),
    "gpt-oss": ("GptOssForCausalLM", T.GptOssConfig(**SMALL, num_local_experts=4)),
    "gemma": ("GemmaForCausalLM", T.GemmaConfig(**SMALL)),
    "gemma2": ("Gemma2ForCausalLM", T.Gemma2Config(**SMALL)),
    "gemma3": ("Gemma3ForCausalLM", T.Gemma3TextConfig(**SMALL)),
    "phi": ("PhiForCausalLM", T.PhiConfig(**{k: v for k, v in SMALL.items() if k != "head_dim"})),
    "phi3": ("Phi3ForCausalLM", T.Phi3Config(**{k: v for k, v in SMALL.items() if k != "head_dim"})),
    "cohere": ("CohereForCausalLM", T.CohereConfig(**{k: v for k, v in SMALL.items() if k != "head_dim"})),
    "starcoder2": ("Starcoder2ForCausalLM", T.Starcoder2Config(**{k: v for k, v in SMALL.items() if k != "head_dim"})),
    "gpt2": ("GPT2LMHeadModel", T.GPT2Config(vocab_size=64, n_embd=32, n_layer=2, n_head=4, n_positions=32)),
    "gpt2-classifier": ("GPT2ForSequenceClassification", T.GPT2Config(vocab_size=64, n_embd=32, n_layer=1, n_head=4, n_positions=32, pad_token_id=0)),
    "openai-gpt": ("OpenAIGPTLMHeadModel", T.OpenAIGPTConfig(vocab_size=64, n_embd=32, n_layer=1, n_head=4, n_positions=32)),
    "gpt-neo": ("GPTNeoForCausalLM", T.GPTNeoConfig(vocab_size=64, hidden_size=32, num_layers=2, num_heads=4, attention_types=[[["global", "local"], 1]], intermediate_size=48, max_position_embeddings=32)),
    "gptj": ("GPTJForCausalLM", T.GPTJConfig(vocab_size=64, n_embd=32, n_layer=1, n_head=4, n_positions=32, rotary_dim=4)),
    "gpt-neox": ("GPTNeoXForCausalLM", T.GPTNeoXConfig(vocab_size=64, hidden_size=32, intermediate_size=48, num_hidden_layers=1, num_attention_heads=4)),
    "gpt-bigcode": ("GPTBigCodeForCausalLM", T.GPTBigCodeConfig(vocab_size=64, n_embd=32, n_layer=1, n_head=4, n_positions=32)),
    "falcon": ("FalconForCausalLM", T.FalconConfig(vocab_size=64, hidden_size=32, num_hidden_layers=1, num_attention_heads=4)),
    "bloom": ("BloomForCausalLM", T.BloomConfig(vocab_size=64, hidden_size=32, n_layer=1, n_head=4)),
    "mpt": ("MptForCausalLM", T.MptConfig(vocab_size=64, d_model=32, n_layers=1, n_heads=4)),
    "opt": ("OPTForCausalLM", T.OPTConfig(vocab_size=64, hidden_size=32, ffn_dim=48, num_hidden_layers=2, num_attention_heads=4, max_position_embeddings=32, word_embed_proj_dim=32)),
    "opt-350m": ("OPTForCausalLM", T.OPTConfig(vocab_size=64, hidden_size=32, ffn_dim=48, num_hidden_layers=1, num_attention_heads=4, max_position_embeddings=32, word_embed_proj_dim=16, do_layer_norm_before=False)),
    "mamba": ("MambaForCausalLM", T.MambaConfig(vocab_size=64, hidden_size=32, num_hidden_layers=1, state_size=4)),
    "bert": ("BertForMaskedLM", T.BertConfig(**BERT)),
    "bert-base": ("BertModel", T.BertConfig(**BERT)),
    "bert-classifier": ("BertForSequenceClassification", T.BertConfig(**BERT, num_labels=3)),
    "bert-pretraining": ("BertForPreTraining", T.BertConfig(**BERT)),
    "roberta": ("RobertaForMaskedLM", T.RobertaConfig(**BERT)),
    "distilbert": ("DistilBertForMaskedLM", T.DistilBertConfig(vocab_size=64, dim=32, hidden_dim=48, n_layers=1, n_heads=4, max_position_embeddings=32)),
    "t5": ("T5ForConditionalGeneration", T.T5Config(vocab_size=64, d_model=32, d_kv=8, d_ff=48, num_layers=1, num_heads=4, decoder_start_token_id=0)),
    "t5-gated": ("T5ForConditionalGeneration", T.T5Config(vocab_size=64, d_model=32, d_kv=8, d_ff=48, num_layers=1, num_heads=4, feed_forward_proj="gated-gelu", tie_word_embeddings=False, decoder_start_token_id=0)),
    "bart": ("BartForConditionalGeneration", T.BartConfig(vocab_size=64, d_model=32, encoder_layers=1, decoder_layers=1, encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=48, decoder_ffn_dim=48, max_position_embeddings=32)),
    "whisper": ("WhisperForConditionalGeneration", T.WhisperConfig(vocab_size=64, d_model=32, encoder_layers=1, decoder_layers=1, encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=48, decoder_ffn_dim=48, num_mel_bins=8, max_source_positions=16, max_target_positions=16, pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=1)),
    "vit": ("ViTForImageClassification", T.ViTConfig(**VISION, num_labels=3)),
    "clip": ("CLIPModel", T.CLIPConfig(text_config=dict(BERT), vision_config=dict(VISION), projection_dim=16)),
    "siglip": ("SiglipModel", T.SiglipConfig(text_config=dict(BERT), vision_config=dict(VISION))),
    "llava": ("LlavaForConditionalGeneration", T.LlavaConfig(text_config=T.LlamaConfig(**SMALL), vision_config=T.CLIPVisionConfig(**VISION), image_token_index=5)),
    "qwen2-vl": ("Qwen2VLForConditionalGeneration", T.Qwen2VLConfig(text_config=dict(**{k: v for k, v in SMALL.items() if k != "head_dim"}, rope_parameters={"rope_type": "default", "rope_theta": 1e4, "mrope_section": [1, 1, 2]}), vision_config=dict(depth=1, embed_dim=32, hidden_size=32, num_heads=4, patch_size=8))),
    "albert": ("AlbertForMaskedLM", T.AlbertConfig(**BERT, embedding_size=16)),
    "electra": ("ElectraForMaskedLM", T.ElectraConfig(**BERT, embedding_size=16)),
    "deberta-v2": ("DebertaV2ForMaskedLM", T.DebertaV2Config(**BERT)),
    "xlm-roberta": ("XLMRobertaForSequenceClassification", T.XLMRobertaConfig(**BERT, num_labels=3)),
    "phimoe": ("PhimoeForCausalLM", T.PhimoeConfig(**{k: v for k, v in SMALL.items() if k != "head_dim"}, num_local_experts=4)),
    "llama4": ("Llama4ForCausalLM", T.Llama4TextConfig(**SMALL, intermediate_size_mlp=48, num_local_experts=2, moe_layers=[1])),
    "imagegpt": ("ImageGPTForCausalImageModeling", T.ImageGPTConfig(vocab_size=64, n_embd=32, n_layer=1, n_head=4, n_positions=32)),
    "glm4": ("Glm4ForCausalLM", T.Glm4Config(**SMALL)),
    "olmo2": ("Olmo2ForCausalLM", T.Olmo2Config(**{k: v for k, v in SMALL.items() if k != "head_dim"})),
    "granite": ("GraniteForCausalLM", T.GraniteConfig(**{k: v for k, v in SMALL.items() if k != "head_dim"})),
    "stablelm": ("StableLmForCausalLM", T.StableLmConfig(**{k: v for k, v in SMALL.items() if k != "head_dim"})),
    "jamba": ("JambaForCausalLM", T.JambaConfig(**{k: v for k, v in SMALL.items() if k != "head_dim"}, num_experts=2, attn_layer_period=2, attn_layer_offset=1, expert_layer_period=2, expert_layer_offset=1, mamba_d_state=4, use_mamba_kernels=False)),
    "mt5": ("MT5ForConditionalGeneration", T.MT5Config(vocab_size=64, d_model=32, d_kv=8, d_ff=48, num_layers=1, num_heads=4, decoder_start_token_id=0)),
    "blt": ("BltForCausalLM", T.BltConfig(vocab_size=64, max_position_embeddings=32, encoder_hash_byte_group_vocab=16, encoder_hash_byte_group_size=[3], cross_attn_k=2,
                                          patcher_config=dict(BLT, vocab_size=64), encoder_config=dict(BLT, vocab_size=64), decoder_config=dict(BLT, vocab_size=64, cross_attn_k=2), global_config=dict(BLT))),
    "deepseek-v2-plain": ("DeepseekV2ForCausalLM", T.DeepseekV2Config(**{k: v for k, v in SMALL.items() if k != "head_dim"}, n_routed_experts=4, num_experts_per_tok=2, moe_intermediate_size=16, q_lora_rank=None, kv_lora_rank=16, qk_rope_head_dim=8, qk_nope_head_dim=8, v_head_dim=8, first_k_dense_replace=1, n_shared_experts=1)),
    "deberta-v2-relative": ("DebertaV2Model", T.DebertaV2Config(**BERT, relative_attention=True, pos_att_type=["c2p", "p2c"], share_att_key=False)),
    "llava-dinov2-glm4": ("LlavaForConditionalGeneration", T.LlavaConfig(text_config=T.Glm4Config(**SMALL), vision_config=T.Dinov2Config(**{k: v for k, v in VISION.items() if k != "intermediate_size"}), image_token_index=5)),
    "vision-encoder-decoder": ("VisionEncoderDecoderModel", T.VisionEncoderDecoderConfig(encoder=dict(VISION, model_type="deit"), decoder=dict(model_type="gpt2", vocab_size=64, n_embd=32, n_layer=1, n_head=4, n_positions=32, add_cross_attention=True))),
    "vitpose-experts": ("VitPoseBackbone", T.VitPoseBackboneConfig(hidden_size=32, num_hidden_layers=1, num_attention_heads=4, image_size=[16, 16], patch_size=[8, 8], num_experts=2, part_features=8)),
    "encoder-decoder": ("EncoderDecoderModel", T.EncoderDecoderConfig(encoder=dict(BERT, model_type="bert"), decoder=dict(BERT, model_type="roberta", is_decoder=True, add_cross_attention=True))),
}
FIELDS = ("model_type", "architectures", "tie_word_embeddings")


def names(folder):
    out = {}
    for f in sorted(pathlib.Path(folder).glob("*.safetensors")):
        with safe_open(f, "pt") as s:
            out |= {k: s.get_slice(k).get_shape() for k in s.keys()}
    return out


def texts(folder):
    """The quant_state of each weight."""
    out = {}
    for f in pathlib.Path(folder).glob("*.safetensors"):
        with safe_open(f, "pt") as s:
            out |= {k: bytes(s.get_tensor(k).tolist()) for k in s.keys() if ".quant_state." in k}
    return out


def few(config):
    """What decides, of the configuration and of those inside it."""
    return {k: v for k, v in config.items() if k in FIELDS} | {k: few(v) for k, v in config.items() if (k.endswith("_config") or k in ("encoder", "decoder")) and isinstance(v, dict)}


def one(name, cls, config):
    torch.manual_seed(1)
    cls = getattr(T, cls)
    with tempfile.TemporaryDirectory() as plain, tempfile.TemporaryDirectory() as packed:
        cls(config).save_pretrained(plain)
        q = T.BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type="nf4")
        cls.from_pretrained(plain, quantization_config=q, device_map="cpu").save_pretrained(packed)
        saved = json.loads((pathlib.Path(plain) / "config.json").read_text())
        tensors, after = names(plain), names(packed)
        states = texts(packed)
    mark = ".quant_state.bitsandbytes__nf4"
    quantized = sorted(k.removesuffix(mark) for k in after if k.endswith(mark))
    turned = sorted(k for k in quantized if json.loads(states[k + mark])["shape"] != tensors[k])  # which a square weight does not show
    out = {"config": few(saved), "tensors": tensors, "quantized": quantized, "transposed": turned}
    (HERE / f"{name}.json").write_text(json.dumps(out, indent=1).replace("\n   ", " ").replace("\n  ]", " ]") + "\n")
    print(f"{name}: {len(quantized)} of {len(tensors)}", [q for q in quantized if q not in tensors])


for name, (cls, config) in MODELS.items():
    if sys.argv[1:] and name not in sys.argv[1:]:
        continue
    try:
        one(name, cls, config)
    except Exception as e:
        print(name, "FAILED", repr(e)[:300])
