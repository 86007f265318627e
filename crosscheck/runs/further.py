"""Tiny random models of further families: name -> (configuration, class, vocabulary, the
name of the pre-tokenizer or None), as models.FAMILIES."""
import json
import pathlib

import transformers as tf
from vocabularies import MLA, VOCAB, byte_level, encoder, glm, sentencepiece, sizes, unigram, word_pieces

HALF = {"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.5}

MOE = dict(num_experts_per_tok=2, moe_intermediate_size=48)
CONV = ["conv", "full_attention", "conv", "full_attention"]
QUARTER = {"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.25}
LINEAR = dict(num_hidden_layers=4, head_dim=32, linear_conv_kernel_dim=4, linear_key_head_dim=16, linear_value_head_dim=16, linear_num_key_heads=2, linear_num_value_heads=6, full_attention_interval=4, rope_parameters=QUARTER)
SHARED = dict(num_experts=4, shared_expert_intermediate_size=80, **MOE)
MUP = dict(attention_in_multiplier=0.5, attention_out_multiplier=0.9375, ssm_in_multiplier=1.25, ssm_out_multiplier=0.23570226, mlp_multipliers=[0.8838834764831844, 0.5859375],
           ssm_multipliers=[0.3535533905932738, 0.25, 0.16666666, 0.5, 0.3125], key_multiplier=0.390625, lm_head_multiplier=0.0390625, embedding_multiplier=5.656854249492381)
GRANITE = dict(num_local_experts=4, num_experts_per_tok=2, embedding_multiplier=2.0, attention_multiplier=0.25, residual_multiplier=0.5, logits_scaling=3.0)
DENSE = GRANITE | dict(num_local_experts=0, num_experts_per_tok=0)
WINDOWS = ["sliding_attention", "full_attention"] * 3
GEMMA4 = dict(num_hidden_layers=6, head_dim=16, global_head_dim=32, layer_types=WINDOWS, sliding_window=16, final_logit_softcapping=30.0)
STATES = dict(num_hidden_layers=4, head_dim=16, ssm_state_size=16, mamba_num_heads=8, mamba_head_dim=16, n_groups=2, conv_kernel=4, rms_norm_eps=1e-5)

FAMILIES = {
    "stablelm": lambda: (tf.StableLmConfig(**sizes(use_qkv_bias=True, rope_parameters=HALF)), tf.StableLmForCausalLM, byte_level, "gpt-2"),
    "stablelm-parallel": lambda: (tf.StableLmConfig(**sizes(use_parallel_residual=True, rope_parameters=HALF)), tf.StableLmForCausalLM, byte_level, "gpt-2"),
    "phi2": lambda: (tf.PhiConfig(**sizes(num_key_value_heads=4, intermediate_size=256, rope_parameters=HALF)), tf.PhiForCausalLM, byte_level, "gpt-2"),
    "gptneox": lambda: (tf.GPTNeoXConfig(**{k: v for k, v in sizes(rotary_pct=0.5).items() if k != "num_key_value_heads"}), tf.GPTNeoXForCausalLM, byte_level, "gpt-2"),
    "bloom": lambda: (tf.BloomConfig(vocab_size=VOCAB, hidden_size=64, n_layer=2, n_head=4, seq_length=256, bos_token_id=1, eos_token_id=2), tf.BloomForCausalLM, byte_level, "gpt-2"),
    "olmo": lambda: (tf.OlmoConfig(**sizes(pad_token_id=0, clip_qkv=8.0)), tf.OlmoForCausalLM, byte_level, "dbrx"),
    "nemotron": lambda: (tf.NemotronConfig(**sizes(rope_parameters=HALF)), tf.NemotronForCausalLM, sentencepiece, None),
    "arcee": lambda: (tf.ArceeConfig(**sizes()), tf.ArceeForCausalLM, byte_level, "llama-bpe"),
    "lfm2": lambda: (tf.Lfm2Config(**sizes(num_hidden_layers=4, layer_types=CONV, block_ff_dim=96, block_auto_adjust_ff_dim=False, block_ffn_dim_multiplier=1.0, block_multiple_of=32)), tf.Lfm2ForCausalLM, byte_level, "llama-bpe"),
    "lfm2moe": lambda: (tf.Lfm2MoeConfig(**sizes(num_hidden_layers=4, layer_types=CONV, num_dense_layers=1, num_experts=4, **MOE)), tf.Lfm2MoeForCausalLM, byte_level, "llama-bpe"),
    "ernie4.5moe": lambda: (tf.Ernie4_5_MoeConfig(**sizes(num_hidden_layers=3, intermediate_size=192, moe_num_experts=4, moe_k=2, moe_intermediate_size=48, moe_num_shared_experts=2, moe_layer_start_index=1, moe_layer_interval=1)),
                            tf.Ernie4_5_MoeForCausalLM, sentencepiece, None),
    "hunyuan": lambda: (tf.HunYuanDenseV1Config(**sizes(head_dim=16, eod_token_id=2)), tf.HunYuanDenseV1ForCausalLM, byte_level, "gpt-2"),
    "granitemoe": lambda: (tf.GraniteMoeConfig(**sizes(**GRANITE)), tf.GraniteMoeForCausalLM, byte_level, "refact"),
    "granitemoeshared": lambda: (tf.GraniteMoeSharedConfig(**sizes(shared_intermediate_size=80, **GRANITE)), tf.GraniteMoeSharedForCausalLM, byte_level, "refact"),
    "minimax-m2": lambda: (tf.MiniMaxM2Config(**sizes(scoring_func="sigmoid", num_local_experts=4, num_experts_per_tok=2, head_dim=32, rotary_dim=16)), tf.MiniMaxM2ForCausalLM, byte_level, "gpt-2"),
    "qwen3next": lambda: (tf.Qwen3NextConfig(**sizes(**LINEAR, **SHARED)), tf.Qwen3NextForCausalLM, byte_level, "qwen2"),
    "qwen3.5": lambda: (tf.Qwen3_5TextConfig(**sizes(**LINEAR)), tf.Qwen3_5ForCausalLM, byte_level, "qwen2"),
    "qwen3.5moe": lambda: (tf.Qwen3_5MoeTextConfig(**sizes(**LINEAR, **SHARED)), tf.Qwen3_5MoeForCausalLM, byte_level, "qwen2"),
    "falcon-h1": lambda: (tf.FalconH1Config(**sizes(head_dim=16, mamba_d_ssm=128, mamba_n_heads=8, mamba_d_head=16, mamba_n_groups=2, mamba_d_state=16, mamba_d_conv=4, mamba_rms_norm=True, mamba_norm_before_gate=False, **MUP)),
                          tf.FalconH1ForCausalLM, byte_level, "gpt-2"),
    "granite4": lambda: (tf.GraniteMoeHybridConfig(**sizes(**GRANITE, shared_intermediate_size=80, layer_types=["mamba", "attention", "mamba"], num_hidden_layers=3, mamba_n_heads=8, mamba_d_state=16, mamba_n_groups=2)), tf.GraniteMoeHybridForCausalLM, byte_level, "refact"),
    "granite4-dense": lambda: (tf.GraniteMoeHybridConfig(**sizes(**DENSE, intermediate_size=80, shared_intermediate_size=80, layer_types=["mamba", "attention", "mamba"], num_hidden_layers=3, mamba_n_heads=8, mamba_d_state=16)), tf.GraniteMoeHybridForCausalLM, byte_level, "refact"),
    "granite4-attention": lambda: (tf.GraniteMoeHybridConfig(**sizes(**DENSE, intermediate_size=80, shared_intermediate_size=80, layer_types=["attention", "attention"], position_embedding_type="rope", mamba_n_heads=8, mamba_d_state=16)), tf.GraniteMoeHybridForCausalLM, byte_level, "refact"),
    "gemma4": lambda: (tf.Gemma4TextConfig(**sizes(**GEMMA4, hidden_size_per_layer_input=8, vocab_size_per_layer_input=VOCAB, num_kv_shared_layers=2, use_double_wide_mlp=True)), tf.Gemma4ForCausalLM, characters, None),
    "gemma4-moe": lambda: (tf.Gemma4TextConfig(**sizes(**GEMMA4, hidden_size_per_layer_input=0, attention_k_eq_v=True, num_global_key_value_heads=1, enable_moe_block=True, num_experts=4, top_k_experts=2, moe_intermediate_size=48)),
                           tf.Gemma4ForCausalLM, characters, None),
    "nemotron-h": lambda: (tf.NemotronHConfig(**sizes(**STATES, layers_block_type=["linear_attention", "mlp", "full_attention", "linear_attention"])), tf.NemotronHForCausalLM, byte_level, "gpt-2"),
    "nemotron-h-moe": lambda: (tf.NemotronHConfig(**sizes(**STATES, layers_block_type=["linear_attention", "moe", "full_attention", "moe"], n_routed_experts=4, n_shared_experts=1, moe_shared_expert_intermediate_size=80, **MOE)), tf.NemotronHForCausalLM, byte_level, "gpt-2"),
    "glm4-lite-ahead": lambda: (tf.Glm4MoeLiteConfig(**sizes(**MLA, q_lora_rank=24, n_shared_experts=1, num_nextn_predict_layers=1, scoring_func="sigmoid")), tf.Glm4MoeLiteForCausalLM, glm, "glm4"),
    "glm4-lite": lambda: (tf.Glm4MoeLiteConfig(**sizes(**MLA, q_lora_rank=24, n_shared_experts=1, num_nextn_predict_layers=0, scoring_func="sigmoid")), tf.Glm4MoeLiteForCausalLM, glm, "glm4"),
    "bert-classes": lambda: (tf.BertConfig(**encoder(num_labels=3)), tf.BertForSequenceClassification, word_pieces, "jina-v2-en"),
    "distilbert-classes": lambda: (tf.DistilBertConfig(vocab_size=VOCAB, dim=64, n_layers=2, n_heads=4, hidden_dim=96, max_position_embeddings=256, id2label={0: "NEGATIVE", 1: "POSITIVE"}), tf.DistilBertForSequenceClassification, word_pieces, "jina-v2-en"),
    "xlm-roberta-classes": lambda: (tf.XLMRobertaConfig(**encoder(pad_token_id=1, type_vocab_size=1, num_labels=1)), tf.XLMRobertaForSequenceClassification, unigram, None),
    "roberta-classes": lambda: (tf.RobertaConfig(**encoder(pad_token_id=1, type_vocab_size=1, num_labels=3)), tf.RobertaForSequenceClassification, byte_level, "gpt-2"),
    "modern-bert-classes": lambda: (tf.ModernBertConfig(vocab_size=VOCAB, hidden_size=64, intermediate_size=96, num_hidden_layers=4, num_attention_heads=4, pad_token_id=0, max_position_embeddings=256, local_attention=16, num_labels=1,
                                                        classifier_pooling="mean", bos_token_id=None, eos_token_id=None, cls_token_id=1, sep_token_id=2, layer_norm_eps=1e-5, global_attn_every_n_layers=3), tf.ModernBertForSequenceClassification, byte_level, "gpt-2"),
    "bert-labelled": lambda: (tf.BertConfig(**encoder(id2label={0: "LABEL_0"})), tf.BertModel, word_pieces, "jina-v2-en"),
    "embedding-gemma": lambda: (tf.Gemma3TextConfig(**sizes(head_dim=32, num_hidden_layers=7, query_pre_attn_scalar=32, sliding_window=16, use_bidirectional_attention=True)), tf.Gemma3TextModel, lambda f, p: pooled(f, "mean_tokens", sentencepiece(f, p, False)), None),
    "qwen3-embedding": lambda: (tf.Qwen3Config(**sizes(head_dim=32, tie_word_embeddings=True)), tf.Qwen3ForCausalLM, lambda f, p: pooled(f, "lasttoken", byte_level(f, p)), "qwen2"),
    "qwen3-reranker": lambda: (tf.Qwen3Config(**sizes(head_dim=32, tie_word_embeddings=True)), tf.Qwen3ForCausalLM, answering, "qwen2"),
    "qwen3-reranker-head": lambda: (tf.Qwen3Config(**sizes(head_dim=32)), tf.Qwen3ForCausalLM, answering, "qwen2"),
    "dots1": lambda: (tf.Dots1Config(**sizes(scoring_func="sigmoid", num_hidden_layers=3, head_dim=16, num_key_value_heads=4, n_routed_experts=4, n_shared_experts=1, first_k_dense_replace=1, n_group=1, topk_group=1, norm_topk_prob=True, **MOE)), tf.Dots1ForCausalLM, byte_level, "qwen2"),
}


def characters(folder, _):
    """A BPE of characters with bytes to fall back on, as Gemma 4 has it."""
    from vocabularies import text
    from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, processors, trainers

    marks = ["<pad>", "<eos>", "<bos>", "<unk>", "<mask>", *(f"<0x{i:02X}>" for i in range(256))]
    t = Tokenizer(models.BPE(byte_fallback=True, fuse_unk=True, unk_token="<unk>"))
    t.normalizer = normalizers.Replace(" ", "\u2581")
    t.decoder = decoders.Sequence([decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse()])
    t.train_from_iterator(text(200), trainers.BpeTrainer(vocab_size=VOCAB - 8, special_tokens=marks, show_progress=False))
    t = json.loads(t.to_str())
    t["added_tokens"] = [a for a in t["added_tokens"] if not a["content"].startswith("<0x")]
    t = Tokenizer.from_str(json.dumps(t))
    t.add_special_tokens([AddedToken("<|channel>", special=True), AddedToken("<|turn>", special=True)])
    t.add_tokens(["<think>", *(f"<x{i}>" for i in range(VOCAB - t.get_vocab_size() - 1))])
    t.post_processor = processors.TemplateProcessing(single="<bos> $A", pair="<bos> $A <bos> $B", special_tokens=[("<bos>", 2)])
    tf.PreTrainedTokenizerFast(tokenizer_object=t, bos_token="<bos>", eos_token="<eos>", pad_token="<pad>", unk_token="<unk>", mask_token="<mask>").save_pretrained(folder)


def answering(folder, pre):
    """The vocabulary of a reranker, and the card by which the converter knows it."""
    byte_level(folder, pre, more=["yes", "no"])
    (pathlib.Path(folder) / "README.md").write_text("---\nlicense: x\n---\n# Qwen3-Reranker-0.6B\n")


def pooled(folder, mode, _):
    """How sentence-transformers makes one vector of those of the tokens."""
    folder = pathlib.Path(folder)
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text(json.dumps({"word_embedding_dimension": 64, "pooling_mode_" + mode: True}))
    (folder / "modules.json").write_text(json.dumps([{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"}, {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"}]))


def hybrid(folder):
    """What published folders of Nemotron-H have: other names, and a letter for each layer."""
    from safetensors.torch import load_file, save_file

    path = folder / "model.safetensors"
    save_file({n.replace("model.", "backbone.", 1) if n.startswith("model.") else n: t for n, t in load_file(path).items()}, path, metadata={"format": "pt"})
    c = json.loads((folder / "config.json").read_text())
    kinds = c.pop("layers_block_type", None) or c.pop("layer_types")
    c["hybrid_override_pattern"] = "".join({"linear_attention": "M", "mamba": "M", "mlp": "-", "full_attention": "*", "attention": "*", "moe": "E"}[k] for k in kinds)
    c["num_hidden_layers"] = len(kinds)
    if "moe" not in kinds:
        c = {k: v for k, v in c.items() if "expert" not in k and "moe" not in k and k not in ("n_group", "topk_group", "norm_topk_prob", "routed_scaling_factor")}
    (folder / "config.json").write_text(json.dumps(c))


def ahead(folder):
    """Tensors of a layer that predicts further tokens, beside those of the model, which
    has none of it: as published folders have them."""
    import torch
    from safetensors.torch import load_file, save_file

    tensors = load_file(folder / "model.safetensors")
    last = "model.layers.3."
    more = {"mtp.layers.0." + n.removeprefix(last): torch.randn_like(t) for n, t in tensors.items() if n.startswith(last)}
    norm = tensors["model.norm.weight"]
    more |= {f"mtp.{n}.weight": torch.randn_like(norm) for n in ("norm", "pre_fc_norm_embedding", "pre_fc_norm_hidden")}
    more["mtp.fc.weight"] = torch.randn(len(norm), 2 * len(norm)).to(norm.dtype)
    save_file(tensors | more, folder / "model.safetensors", metadata={"format": "pt"})
