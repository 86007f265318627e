"""Tiny random models of every family, made with transformers, and vocabularies that
are trained on the spot."""
import json
import pathlib
import random

import torch
import transformers as tf
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

VOCAB = 384
WORDS = "the a model of weights and names is read by its own rules I've told you're we'll 3 33 2026 x=1; // naïve Füße мир 世界 🚀 \n\n\t".split(" ")


def text(n, seed=7):
    r = random.Random(seed)
    return [" ".join(r.choices(WORDS, k=r.randrange(1, 30))) for _ in range(n)]


def sizes(**more):
    return dict(vocab_size=VOCAB, hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
                max_position_embeddings=256, bos_token_id=1, eos_token_id=2) | more


GPT4 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"


def pre_tokenizer(name):
    """What the tokenizers of the models with that name of llama.cpp's cut texts by."""
    level = lambda own: pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=own)  # noqa: E731
    if name in ("llama-bpe", "smaug-bpe", "dbrx", "qwen2", "exaone4", "glm4", "deepseek-v3", "gpt-4o", "llama4"):
        expr = GPT4.replace("{1,3}", "") if name == "qwen2" else GPT4
        return pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(expr), "isolated"), level(False)])
    if name in ("refact", "starcoder", "command-r"):
        return pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), level(True)])
    assert name == "gpt-2", name
    return level(True)


def byte_level(folder, pre, template=None, more=()):
    """A BPE of bytes, as GPT-2, Llama 3 and Qwen have it."""
    t = Tokenizer(models.BPE(ignore_merges=pre == "llama-bpe"))
    t.pre_tokenizer = pre_tokenizer(pre)
    if pre in ("qwen2", "command-r"):
        t.normalizer = normalizers.NFC()
    t.decoder = decoders.ByteLevel()
    t.train_from_iterator(text(200), trainers.BpeTrainer(
        vocab_size=VOCAB - 8 - len(more), special_tokens=["<|pad|>", "<|begin|>", "<|end|>", "<|endoftext|>"], initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
    t.add_tokens(["<think>", "  "])
    t.add_special_tokens(list(more))
    if template:
        t.post_processor = processors.TemplateProcessing(single="<|begin|> $A", pair="<|begin|> $A <|begin|> $B", special_tokens=[("<|begin|>", 1)])
    else:
        t.post_processor = processors.ByteLevel(trim_offsets=False)
    fast = tf.PreTrainedTokenizerFast(tokenizer_object=t, bos_token="<|begin|>", eos_token="<|end|>", pad_token="<|pad|>")
    fast.chat_template = "{% for m in messages %}<|begin|>{{ m['content'] }}<|end|>{% endfor %}"
    fast.save_pretrained(folder)


def glm(folder, pre):
    """The vocabulary of GLM-4, some of whose tokens the converter knows by their texts."""
    byte_level(folder, pre, more=["[gMASK]", "<|user|>", "<|observation|>"])


def sentencepiece(folder, _, prefix=True):
    """A sentencepiece BPE with bytes, as Llama 2 and Mistral have it."""
    import sentencepiece as sp

    words = pathlib.Path(folder) / "words.txt"
    words.write_text("\n".join(text(300)))
    sp.SentencePieceTrainer.train(input=str(words), model_prefix=str(words.parent / "tokenizer"), vocab_size=VOCAB - 4, model_type="bpe",
                                  byte_fallback=True, character_coverage=0.999, hard_vocab_limit=False, normalization_rule_name="identity",
                                  remove_extra_whitespaces=False, add_dummy_prefix=prefix, minloglevel=2)
    words.unlink()
    n = len((words.parent / "tokenizer.vocab").read_text().splitlines())
    (words.parent / "tokenizer.vocab").unlink()
    (words.parent / "tokenizer_config.json").write_text(json.dumps({
        "tokenizer_class": "LlamaTokenizer", "add_bos_token": True, "add_eos_token": False, "legacy": False,
        "bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>",
        "added_tokens_decoder": {str(i): {"content": c, "special": s} for i, c, s in ((0, "<unk>", True), (1, "<s>", True), (2, "</s>", True), (n, "<|extra|>", False), (n + 1, "▁added", False))},
        "chat_template": "{% for m in messages %}{{ m['content'] }}{% endfor %}",
    }))


def pieces(options, size=VOCAB - 20, letters=()):
    """A WordPiece of BERT's kind."""
    from tokenizers import BertWordPieceTokenizer

    t = BertWordPieceTokenizer(**options)
    t.train_from_iterator([*text(200), *letters], vocab_size=size, min_frequency=1, show_progress=False)
    t._tokenizer.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    return t._tokenizer


def word_pieces(folder, _):
    """BERT's vocabulary."""
    fast = tf.PreTrainedTokenizerFast(tokenizer_object=pieces({}), cls_token="[CLS]", sep_token="[SEP]", pad_token="[PAD]", mask_token="[MASK]", unk_token="[UNK]")
    fast.save_pretrained(folder)
    (pathlib.Path(folder) / "1_Pooling").mkdir()
    (pathlib.Path(folder) / "1_Pooling" / "config.json").write_text(json.dumps({"word_embedding_dimension": 64, "pooling_mode_cls_token": False, "pooling_mode_mean_tokens": True}))
    (pathlib.Path(folder) / "modules.json").write_text(json.dumps([
        {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"}, {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"}]))


def unigram(folder, _):
    """XLM-R's vocabulary: a unigram model of sentencepiece's."""
    import sentencepiece as sp

    words = pathlib.Path(folder) / "words.txt"
    words.write_text("\n".join(text(300)))
    sp.SentencePieceTrainer.train(input=str(words), model_prefix=str(words.parent / "sentencepiece.bpe"), vocab_size=150, model_type="unigram", hard_vocab_limit=False, minloglevel=2)
    words.unlink()
    (words.parent / "sentencepiece.bpe.vocab").unlink()
    (words.parent / "tokenizer_config.json").write_text(json.dumps({
        "tokenizer_class": "XLMRobertaTokenizer", "bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "cls_token": "<s>", "sep_token": "</s>", "pad_token": "<pad>", "mask_token": "<mask>"}))


def unigram_json(folder, _):
    """The same in tokenizer.json alone, as transformers numbers it."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    import sentencepiece as sp
    from sentencepiece import sentencepiece_model_pb2 as pb

    words = pathlib.Path(folder) / "words.txt"
    words.write_text("\n".join(text(300)))
    sp.SentencePieceTrainer.train(input=str(words), model_prefix=str(words.parent / "m"), vocab_size=150, model_type="unigram", hard_vocab_limit=False, minloglevel=2)
    m = pb.ModelProto.FromString((words.parent / "m.model").read_bytes())
    for n in ("words.txt", "m.model", "m.vocab"):
        (words.parent / n).unlink()
    names = ["<s>", "<pad>", "</s>", "<unk>"]
    t = Tokenizer(models.Unigram([(n, 0.0) for n in names] + [(p.piece, p.score) for p in m.pieces[3:]] + [("<mask>", 0.0)], unk_id=3))
    t.normalizer = normalizers.Precompiled(m.normalizer_spec.precompiled_charsmap)
    t.pre_tokenizer = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="always")
    t.post_processor = processors.TemplateProcessing(single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 2)])
    t.add_special_tokens([*names, "<mask>"])
    t.add_tokens(["the"])
    t.save(str(words.parent / "tokenizer.json"))
    (words.parent / "tokenizer_config.json").write_text(json.dumps({
        "tokenizer_class": "XLMRobertaTokenizer", "add_prefix_space": True, "clean_up_tokenization_spaces": True,
        "bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "cls_token": "<s>", "sep_token": "</s>", "pad_token": "<pad>", "mask_token": "<mask>"}))


def encoder(**more):
    return {k: v for k, v in sizes(bos_token_id=None, eos_token_id=None, **more).items() if k != "num_key_value_heads"}


LLAMA3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 64, "rope_theta": 500000.0}

MLA = dict(num_hidden_layers=3, num_key_value_heads=4, kv_lora_rank=32, qk_nope_head_dim=16, qk_rope_head_dim=8, v_head_dim=24, n_routed_experts=4, num_experts_per_tok=2,
           moe_intermediate_size=48, first_k_dense_replace=1)
OSS = {"rope_type": "yarn", "rope_theta": 150000.0, "factor": 4.0, "original_max_position_embeddings": 64, "beta_fast": 32.0, "beta_slow": 1.0, "truncate": True}

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


import further  # noqa: E402  of these sizes and vocabularies
import pairs  # noqa: E402
import wider  # noqa: E402

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
