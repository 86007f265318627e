"""Tiny random models of T5's kind: an encoder and a decoder, or the encoder alone. As
models.FAMILIES."""
import json
import pathlib

import transformers as tf
from vocabularies import VOCAB, text


def vocabulary(folder, _):
    """T5's: a unigram model of sentencepiece's, and words for what is left out."""
    import sentencepiece as sp

    folder = pathlib.Path(folder)
    words = folder / "words.txt"
    words.write_text("\n".join(text(300)))
    sp.SentencePieceTrainer.train(input=str(words), model_prefix=str(folder / "spiece"), vocab_size=150, model_type="unigram", hard_vocab_limit=False, minloglevel=2, pad_id=0, eos_id=1, unk_id=2, bos_id=-1)
    for n in ("words.txt", "spiece.vocab"):
        (folder / n).unlink()
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "T5Tokenizer", "eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>", "extra_ids": 2, "additional_special_tokens": ["<extra_id_0>", "<extra_id_1>"]}))
    (folder / "special_tokens_map.json").write_text(json.dumps({"eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>"}))


def sizes(**more):
    return dict(vocab_size=VOCAB, d_model=64, d_kv=32, d_ff=96, num_layers=3, num_heads=4, decoder_start_token_id=0) | more


FAMILIES = {
    "t5": lambda: (tf.T5Config(**sizes(n_positions=512, tie_word_embeddings=False)), tf.T5ForConditionalGeneration, vocabulary, None),
    "t5-gated": lambda: (tf.T5Config(**sizes(num_decoder_layers=2, feed_forward_proj="gated-gelu", tie_word_embeddings=False)), tf.T5ForConditionalGeneration, vocabulary, None),
    "mt5": lambda: (tf.MT5Config(**sizes()), tf.MT5ForConditionalGeneration, vocabulary, None),
    "umt5": lambda: (tf.UMT5Config(**sizes(num_decoder_layers=2)), tf.UMT5ForConditionalGeneration, vocabulary, None),
    "t5-encoder": lambda: (tf.T5Config(**sizes(feed_forward_proj="gated-gelu")), tf.T5EncoderModel, vocabulary, None),
}


def doubled(folder):
    """What old checkpoints have: the table of tokens under a second name, and positions
    that nothing reads."""
    from safetensors.torch import load_file, save_file

    tensors = load_file(folder / "model.safetensors")
    tensors["encoder.embed_tokens.weight"] = tensors["shared.weight"].clone()
    first = "decoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight"
    if first in tensors:
        tensors[first.replace("layer.0.SelfAttention", "layer.1.EncDecAttention")] = tensors[first].clone()
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
