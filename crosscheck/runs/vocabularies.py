"""Vocabularies that are trained on the spot, and the sizes of tiny models."""
import json
import pathlib
import random

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
