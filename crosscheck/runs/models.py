"""Makes tiny random models of every family with transformers."""
import json
import pathlib

import further
import pairs
import torch
import transformers as tf
import wider
from vocabularies import LLAMA3, MLA, OSS, VOCAB, byte_level, encoder, glm, pieces, sentencepiece, sizes, unigram, unigram_json, word_pieces  # noqa: F401  some for those that import this

# name -> (configuration, class, vocabulary, the name of the pre-tokenizer or None)
FAMILIES = {
    "llama2": lambda: (tf.LlamaConfig(**sizes()), tf.LlamaForCausalLM, sentencepiece, None),
    "llama3": lambda: (tf.LlamaConfig(**sizes(rope_parameters=LLAMA3, tie_word_embeddings=True)), tf.LlamaForCausalLM, lambda f, p: byte_level(f, p, True), "llama-bpe"),
    "llama-bias": lambda: (tf.LlamaConfig(**sizes(attention_bias=True, num_key_value_heads=4, head_dim=32)), tf.LlamaForCausalLM, byte_level, "llama-bpe"),
    "mistral": lambda: (tf.MistralConfig(**sizes(sliding_window=None)), tf.MistralForCausalLM, sentencepiece, None),
    "smollm3": lambda: (tf.SmolLM3Config(**sizes(num_hidden_layers=4, no_rope_layer_interval=4, pad_token_id=0)), tf.SmolLM3ForCausalLM, byte_level, "smaug-bpe"),
    "granite": lambda: (tf.GraniteConfig(**sizes(embedding_multiplier=2.0, attention_multiplier=0.25, residual_multiplier=0.5, logits_scaling=3.0)), tf.GraniteForCausalLM, byte_level, "refact"),
    "mixtral": lambda: (tf.MixtralConfig(**sizes(num_local_experts=4, num_experts_per_tok=2, sliding_window=None)), tf.MixtralForCausalLM, sentencepiece, None),
    "qwen2": lambda: (tf.Qwen2Config(**sizes(use_sliding_window=False)), tf.Qwen2ForCausalLM, byte_level, "qwen2"),
    "qwen3": lambda: (tf.Qwen3Config(**sizes(head_dim=32)), tf.Qwen3ForCausalLM, byte_level, "qwen2"),
    "qwen2moe": lambda: (tf.Qwen2MoeConfig(**sizes(num_experts=4, num_experts_per_tok=2, moe_intermediate_size=48, shared_expert_intermediate_size=80)), tf.Qwen2MoeForCausalLM, byte_level, "qwen2"),
    "qwen3moe": lambda: (tf.Qwen3MoeConfig(**sizes(num_experts=4, num_experts_per_tok=2, moe_intermediate_size=48, head_dim=32, norm_topk_prob=True)), tf.Qwen3MoeForCausalLM, byte_level, "qwen2"),
    "gemma": lambda: (tf.GemmaConfig(**sizes(head_dim=32)), tf.GemmaForCausalLM, lambda f, p: sentencepiece(f, p, False), None),
    "gemma2": lambda: (tf.Gemma2Config(**sizes(head_dim=32, query_pre_attn_scalar=32)), tf.Gemma2ForCausalLM, lambda f, p: sentencepiece(f, p, False), None),
    "gemma3": lambda: (tf.Gemma3TextConfig(**sizes(head_dim=32, num_hidden_layers=7, query_pre_attn_scalar=32)), tf.Gemma3ForCausalLM, lambda f, p: sentencepiece(f, p, False), None),
    "phi3": lambda: (tf.Phi3Config(**sizes(pad_token_id=0, original_max_position_embeddings=256)), tf.Phi3ForCausalLM, sentencepiece, None),
    "olmo2": lambda: (tf.Olmo2Config(**sizes(pad_token_id=0)), tf.Olmo2ForCausalLM, byte_level, "dbrx"),
    "starcoder2": lambda: (tf.Starcoder2Config(**sizes()), tf.Starcoder2ForCausalLM, byte_level, "starcoder"),
    "phi3-long": lambda: (tf.Phi3Config(**sizes(pad_token_id=0, max_position_embeddings=512, original_max_position_embeddings=256, rope_parameters={
        "rope_type": "longrope", "rope_theta": 10000.0, "original_max_position_embeddings": 256, "long_factor": [1.0 + i / 3 for i in range(8)], "short_factor": [1.0 + i / 50 for i in range(8)]})),
        tf.Phi3ForCausalLM, sentencepiece, None),
    "cohere": lambda: (tf.CohereConfig(**sizes(logit_scale=0.25)), tf.CohereForCausalLM, byte_level, "command-r"),
    "cohere2": lambda: (tf.Cohere2Config(**sizes(logit_scale=0.25, rotary_pct=1.0, sliding_window=16, num_hidden_layers=4, head_dim=16)), tf.Cohere2ForCausalLM, byte_level, "command-r"),
    "olmoe": lambda: (tf.OlmoeConfig(**sizes(num_key_value_heads=4, num_experts=4, num_experts_per_tok=2, pad_token_id=0)), tf.OlmoeForCausalLM, byte_level, "dbrx"),
    "olmo3": lambda: (tf.Olmo3Config(**sizes(num_hidden_layers=4, sliding_window=16, pad_token_id=0)), tf.Olmo3ForCausalLM, byte_level, "dbrx"),
    "exaone4": lambda: (tf.Exaone4Config(**sizes(num_hidden_layers=4, sliding_window=None, layer_types=["full_attention"] * 4)), tf.Exaone4ForCausalLM, byte_level, "exaone4"),
    "seed-oss": lambda: (tf.SeedOssConfig(**sizes(head_dim=32, residual_dropout=0.0, pad_token_id=0)), tf.SeedOssForCausalLM, byte_level, "llama-bpe"),
    "ernie4.5": lambda: (tf.Ernie4_5Config(**sizes(head_dim=32)), tf.Ernie4_5ForCausalLM, sentencepiece, None),
    "ministral3": lambda: (tf.Ministral3Config(**sizes(head_dim=32, rope_parameters={
        "rope_type": "yarn", "rope_theta": 1000000.0, "factor": 4.0, "original_max_position_embeddings": 64, "beta_fast": 32.0, "beta_slow": 1.0, "mscale_all_dim": 1.0, "mscale": 1.0, "llama_4_scaling_beta": 0.1})),
        tf.Ministral3ForCausalLM, byte_level, "llama-bpe"),
    "deepseek2": lambda: (tf.DeepseekV2Config(**sizes(**MLA | {"num_hidden_layers": 27}, q_lora_rank=None, n_shared_experts=2)), tf.DeepseekV2ForCausalLM, byte_level, "llama-bpe"),
    "deepseek3": lambda: (tf.DeepseekV3Config(**sizes(**MLA, q_lora_rank=24, n_shared_experts=1, n_group=2, topk_group=1, scoring_func="sigmoid", num_nextn_predict_layers=0)), tf.DeepseekV3ForCausalLM, byte_level, "llama-bpe"),
    "glm4": lambda: (tf.Glm4Config(**sizes(head_dim=16, pad_token_id=0)), tf.Glm4ForCausalLM, glm, "glm4"),
    "glm4moe": lambda: (tf.Glm4MoeConfig(**sizes(num_hidden_layers=3, head_dim=16, n_routed_experts=4, num_experts_per_tok=2, n_shared_experts=1, moe_intermediate_size=48, first_k_dense_replace=1,
                                                 use_qk_norm=True, num_nextn_predict_layers=0)), tf.Glm4MoeForCausalLM, glm, "glm4"),
    "glm4moe-ahead": lambda: (tf.Glm4MoeConfig(**sizes(num_hidden_layers=3, head_dim=16, n_routed_experts=4, num_experts_per_tok=2, n_shared_experts=1, moe_intermediate_size=48, first_k_dense_replace=1,
                                                       num_nextn_predict_layers=1)), tf.Glm4MoeForCausalLM, glm, "glm4"),  # saved without the layer of further tokens
    "gpt-oss": lambda: (tf.GptOssConfig(**sizes(head_dim=16, num_local_experts=4, num_experts_per_tok=2, sliding_window=16, rope_parameters=OSS)), tf.GptOssForCausalLM, byte_level, "llama-bpe"),
    "gpt-oss-mxfp4": lambda: (tf.GptOssConfig(**sizes(head_dim=16, num_local_experts=4, num_experts_per_tok=4, sliding_window=16, rope_parameters=OSS)), tf.GptOssForCausalLM, byte_level, "llama-bpe"),
    "llama4": lambda: (tf.Llama4TextConfig(**sizes(num_hidden_layers=4, head_dim=16, num_local_experts=4, num_experts_per_tok=1, intermediate_size_mlp=80, interleave_moe_layer_step=2,
                                                   attention_chunk_size=8192, pad_token_id=0)), tf.Llama4ForCausalLM, byte_level, "llama-bpe"),
    "bert": lambda: (tf.BertConfig(**encoder()), tf.BertModel, word_pieces, "jina-v2-en"),
    "distilbert": lambda: (tf.DistilBertConfig(vocab_size=VOCAB, dim=64, n_layers=2, n_heads=4, hidden_dim=96, max_position_embeddings=256), tf.DistilBertModel, word_pieces, "jina-v2-en"),
    "roberta": lambda: (tf.RobertaConfig(**encoder(pad_token_id=1, type_vocab_size=1)), tf.RobertaModel, byte_level, "gpt-2"),
    "xlm-roberta": lambda: (tf.XLMRobertaConfig(**encoder(pad_token_id=1, type_vocab_size=1)), tf.XLMRobertaModel, unigram, None),
    "xlm-roberta-json": lambda: (tf.XLMRobertaConfig(**encoder(pad_token_id=1, type_vocab_size=1)), tf.XLMRobertaModel, unigram_json, None),
    "modern-bert": lambda: (tf.ModernBertConfig(vocab_size=VOCAB, hidden_size=64, intermediate_size=96, num_hidden_layers=4, num_attention_heads=4, pad_token_id=0, max_position_embeddings=256, local_attention=16,
                                                bos_token_id=None, eos_token_id=None, cls_token_id=1, sep_token_id=2, layer_norm_eps=1e-5, global_attn_every_n_layers=3), tf.ModernBertModel, byte_level, "gpt-2"),
    "nomic-bert": lambda: (tf.NomicBertConfig(vocab_size=VOCAB, hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4, head_dim=16), tf.NomicBertModel, word_pieces, "jina-v2-en"),
    "gpt2": lambda: (tf.GPT2Config(vocab_size=VOCAB, n_positions=256, n_ctx=256, n_embd=64, n_layer=2, n_head=4, bos_token_id=1, eos_token_id=2), tf.GPT2LMHeadModel, byte_level, "gpt-2"),
}

FAMILIES |= further.FAMILIES | pairs.FAMILIES | wider.FAMILIES

FP4 = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])


def mxfp4(folder, model):
    """Experts as OpenAI stores them, of random codes; the model gets their numbers."""
    from safetensors.torch import load_file, save_file

    tensors = load_file(folder / "model.safetensors")
    parameters = dict(model.named_parameters())
    for n in [n for n in tensors if n.endswith(("experts.gate_up_proj", "experts.down_proj"))]:
        experts, cols, rows = tensors.pop(n).shape
        codes = torch.randint(0, 256, (experts, rows, cols // 32, 16), dtype=torch.uint8)
        scales = torch.randint(121, 125, (experts, rows, cols // 32), dtype=torch.uint8)
        tensors[n + "_blocks"], tensors[n + "_scales"] = codes, scales
        numbers = torch.stack((FP4[(codes & 15).long()], FP4[(codes >> 4).long()]), -1).reshape(experts, rows, cols // 32, 32) * torch.exp2(scales.float() - 127)[..., None]
        with torch.no_grad():
            parameters[n].copy_(numbers.reshape(experts, rows, cols).transpose(1, 2))
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    config = json.loads((folder / "config.json").read_text())
    config["quantization_config"] = {"quant_method": "mxfp4", "modules_to_not_convert": ["model.layers.*.self_attn", "model.layers.*.mlp.router", "model.embed_tokens", "lm_head"]}
    (folder / "config.json").write_text(json.dumps(config))


def make(name, folder, dtype=torch.float32, seed=0):
    """Writes a model's folder and returns the model."""
    torch.manual_seed(seed)
    config, cls, vocabulary, pre = FAMILIES[name]()
    config._attn_implementation = "eager"
    model = cls(config).eval()
    with torch.no_grad():
        for n, p in model.named_parameters():
            # Norms near one, the rest wide enough that a wrong row shows in the logits.
            p.copy_(torch.randn_like(p) * 0.1 + (1 if "norm" in n and n.endswith("weight") else 0))
        model.tie_weights()
    model = model.to(dtype)
    model.save_pretrained(folder)
    if name == "nomic-bert":  # whose published configuration has other names
        (pathlib.Path(folder) / "config.json").write_text(json.dumps({
            "architectures": ["NomicBertModel"], "activation_function": "swiglu", "causal": False, "layer_norm_epsilon": 1e-12, "max_trained_positions": 2048,
            "mlp_fc1_bias": False, "mlp_fc2_bias": False, "n_embd": 64, "n_head": 4, "n_inner": 96, "n_layer": 2, "n_positions": 8192, "prenorm": False, "qkv_proj_bias": False, "rotary_emb_base": 1000,
            "rotary_emb_fraction": 1.0, "rotary_emb_interleaved": False, "rotary_emb_scale_base": None, "type_vocab_size": 2, "vocab_size": VOCAB, "pad_token_id": 0}))
    if name.endswith("mxfp4"):
        mxfp4(pathlib.Path(folder), model)
    if name.startswith(("qwen3next", "qwen3.5")):
        further.ahead(pathlib.Path(folder))
    if name.startswith("nemotron-h"):
        further.hybrid(pathlib.Path(folder))
    if name in ("t5", "t5-encoder"):
        pairs.doubled(pathlib.Path(folder))
    vocabulary(folder, pre)
    return model, pre
