"""Tiny random models of further families: name -> (configuration, class, vocabulary, the
name of the pre-tokenizer or None), as models.FAMILIES."""
import transformers as tf
from models import VOCAB, byte_level, sentencepiece, sizes

HALF = {"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.5}


FAMILIES = {
    "stablelm": lambda: (tf.StableLmConfig(**sizes(use_qkv_bias=True, rope_parameters=HALF)), tf.StableLmForCausalLM, byte_level, "gpt-2"),
    "stablelm-parallel": lambda: (tf.StableLmConfig(**sizes(use_parallel_residual=True, rope_parameters=HALF)), tf.StableLmForCausalLM, byte_level, "gpt-2"),
    "phi2": lambda: (tf.PhiConfig(**sizes(num_key_value_heads=4, intermediate_size=256, rope_parameters=HALF)), tf.PhiForCausalLM, byte_level, "gpt-2"),
    "gptneox": lambda: (tf.GPTNeoXConfig(**{k: v for k, v in sizes(rotary_pct=0.5).items() if k != "num_key_value_heads"}), tf.GPTNeoXForCausalLM, byte_level, "gpt-2"),
    "bloom": lambda: (tf.BloomConfig(vocab_size=VOCAB, hidden_size=64, n_layer=2, n_head=4, seq_length=256, bos_token_id=1, eos_token_id=2), tf.BloomForCausalLM, byte_level, "gpt-2"),
    "olmo": lambda: (tf.OlmoConfig(**sizes(pad_token_id=0, clip_qkv=8.0)), tf.OlmoForCausalLM, byte_level, "dbrx"),
    "nemotron": lambda: (tf.NemotronConfig(**sizes(rope_parameters=HALF)), tf.NemotronForCausalLM, sentencepiece, None),
    "arcee": lambda: (tf.ArceeConfig(**sizes()), tf.ArceeForCausalLM, byte_level, "llama-bpe"),
}
