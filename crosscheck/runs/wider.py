"""Tiny random models of still further families, as further.FAMILIES."""
import pathlib

import further
import transformers as tf
from vocabularies import LLAMA3, VOCAB, byte_level, glm, sentencepiece, sizes


def without(*names, **more):
    return {k: v for k, v in sizes(**more).items() if k not in names}


def falcon(**more):
    return tf.FalconConfig(**without("intermediate_size", "num_key_value_heads", **more))


def mamba(**more):
    return without("intermediate_size", "num_key_value_heads", "num_attention_heads", "max_position_embeddings", state_size=16, **more)


def bare(folder, pre):
    """Names of tensors without "model.", as Qwen3-Embedding is published."""
    from safetensors.torch import load_file, save_file

    path = pathlib.Path(folder) / "model.safetensors"
    save_file({n.removeprefix("model."): t for n, t in load_file(path).items()}, path, metadata={"format": "pt"})
    further.pooled(folder, "lasttoken", byte_level(folder, pre))


JAMBA = dict(num_hidden_layers=4, attn_layer_period=2, attn_layer_offset=1, expert_layer_period=2, expert_layer_offset=1, num_experts=4, num_experts_per_tok=2, mamba_d_state=16, use_mamba_kernels=False, pad_token_id=0)
CODE = dict(vocab_size=VOCAB, n_positions=256, n_embd=64, n_layer=2, n_head=4, bos_token_id=1, eos_token_id=2)
MPT = dict(d_model=64, n_heads=4, n_layers=2, max_seq_len=256, vocab_size=VOCAB, bos_token_id=1, eos_token_id=2)

AFMOE = dict(num_hidden_layers=4, head_dim=32, num_experts=4, num_experts_per_tok=2, num_shared_experts=1, moe_intermediate_size=48, num_dense_layers=1, sliding_window=16, mup_enabled=True, route_norm=True, route_scale=2.5, score_func="sigmoid")

FAMILIES = {
    "phimoe": lambda: (tf.PhimoeConfig(**sizes(num_local_experts=4, num_experts_per_tok=2, attention_bias=True, lm_head_bias=True, original_max_position_embeddings=256)), tf.PhimoeForCausalLM, sentencepiece, None),
    "falcon": lambda: (falcon(), tf.FalconForCausalLM, byte_level, "gpt-2"),
    "falcon-40b": lambda: (falcon(num_kv_heads=2, new_decoder_architecture=True), tf.FalconForCausalLM, byte_level, "gpt-2"),
    "falcon-11b": lambda: (falcon(num_kv_heads=2, new_decoder_architecture=True, num_ln_in_parallel_attn=1, tie_word_embeddings=False), tf.FalconForCausalLM, byte_level, "gpt-2"),
    "starcoder": lambda: (tf.GPTBigCodeConfig(**CODE), tf.GPTBigCodeForCausalLM, byte_level, "starcoder"),
    "mpt": lambda: (tf.MptConfig(**MPT), tf.MptForCausalLM, byte_level, "gpt-2"),
    "mpt-clipped": lambda: (tf.MptConfig(**MPT, attn_config={"clip_qkv": 0.5}), tf.MptForCausalLM, byte_level, "gpt-2"),
    "mamba": lambda: (tf.MambaConfig(**mamba()), tf.MambaForCausalLM, byte_level, "gpt-2"),
    "falcon-mamba": lambda: (tf.FalconMambaConfig(**mamba(tie_word_embeddings=False, mixer_rms_eps=1e-5)), tf.FalconMambaForCausalLM, byte_level, "gpt-2"),
    "mamba2": lambda: (tf.Mamba2Config(**mamba(num_heads=8, head_dim=16, n_groups=2)), tf.Mamba2ForCausalLM, byte_level, "gpt-2"),
    "jamba": lambda: (tf.JambaConfig(**sizes(**JAMBA)), tf.JambaForCausalLM, sentencepiece, None),
    "glm": lambda: (tf.GlmConfig(**sizes(head_dim=16, pad_token_id=0, rms_norm_eps=1e-5)), tf.GlmForCausalLM, glm, "glm4"),
    "apertus": lambda: (tf.ApertusConfig(**sizes(pad_token_id=0, rope_parameters=LLAMA3)), tf.ApertusForCausalLM, byte_level, "llama-bpe"),
    "afmoe": lambda: (tf.AfmoeConfig(**sizes(**AFMOE)), tf.AfmoeForCausalLM, byte_level, "llama-bpe"),
    "eurobert": lambda: (tf.EuroBertConfig(**sizes(pad_token_id=0, mask_token_id=3, classifier_pooling="mean")), tf.EuroBertModel, lambda f, p: further.pooled(f, "mean_tokens", byte_level(f, p)), "llama-bpe"),
    "jais2": lambda: (tf.Jais2Config(**sizes()), tf.Jais2ForCausalLM, byte_level, "llama-bpe"),
    "qwen2-model": lambda: (tf.Qwen2Config(**sizes()), tf.Qwen2Model, lambda f, p: further.pooled(f, "lasttoken", byte_level(f, p)), "qwen2"),
    "qwen3-model": lambda: (tf.Qwen3Config(**sizes(head_dim=32, tie_word_embeddings=True)), tf.Qwen3Model, lambda f, p: further.pooled(f, "lasttoken", byte_level(f, p)), "qwen2"),
    "llama-model": lambda: (tf.LlamaConfig(**sizes()), tf.LlamaModel, sentencepiece, None),
    "qwen3-bare": lambda: (tf.Qwen3Config(**sizes(head_dim=32, tie_word_embeddings=True)), tf.Qwen3ForCausalLM, bare, "qwen2"),
    "minicpm3": lambda: (tf.MiniCPM3Config(**sizes(num_key_value_heads=4, kv_lora_rank=32, q_lora_rank=24, qk_nope_head_dim=16, qk_rope_head_dim=8, rms_norm_eps=1e-6)), tf.MiniCPM3ForCausalLM, sentencepiece, None),
}
GELU = {n: 1e-2 for n in ("falcon", "falcon-40b", "falcon-11b", "starcoder", "mpt", "mpt-clipped")}
ONE_WAY = {"mamba", "falcon-mamba", "mamba2", "jamba", "apertus"}
# llama.cpp norms Phi 3.5's mixture by the root of the mean square where the model has LayerNorm, and weighs experts otherwise.
OTHERWISE = {"phimoe"}
# Whose names have no beginning.
BARE = {"eurobert", "llama-model", "qwen2-model", "qwen3-model", "qwen3-bare"}
