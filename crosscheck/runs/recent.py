"""Text models of transformers of which no folder is made again, as nested.FAMILIES: those that were added last."""
import models
import torch
import transformers as tf
from nested import VISION, Part, apart, flat, renamed, whole
from vocabularies import byte_level, sentencepiece, sizes

# llama.cpp counts on twenty layers with keys of their own, and on ranks and streams of published models.
N = 22
BOTH = {"full_attention": {"rope_type": "default", "rope_theta": 1000000.0}, "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0}}
THREE_N = dict(num_hidden_layers=N, head_dim=16, vocab_size_per_layer_input=384, hidden_size_per_layer_input=256, num_kv_shared_layers=2, laurel_rank=64, sliding_window=16, rope_parameters=BOTH, altup_num_inputs=4,
               layer_types=["full_attention" if i % 5 == 4 else "sliding_attention" for i in range(N)], activation_sparsity_pattern=[0.95] * 10 + [0.0] * (N - 10))


def above(self, x):
    """Gemma3nTextMLP._gaussian_topk with the deviation as llama.cpp has it: of n numbers, it divides by n-1. Of the 16384 of
    published models that changes little, of 96 more than all else."""
    cut = x.mean(dim=-1, keepdim=True) + x.std(dim=-1, keepdim=True, unbiased=True) * torch.distributions.normal.Normal(0, 1).icdf(torch.tensor(self.activation_sparsity, dtype=torch.float32)).to(x.dtype)
    return torch.nn.functional.relu(x - cut)


def gemma3n():
    return tf.Gemma3nTextConfig(**sizes(**THREE_N)), AsLlama, sentencepiece, None


class Table(torch.nn.Module):
    """GELU by llama.cpp's table of F16. In the layers that drop small numbers, small differences grow."""

    def forward(self, x):
        h = x.half().float()
        g = (0.5 * h * (1 + torch.tanh(0.79788456080286535587989211986876 * h * (1 + 0.044715 * h * h)))).half().float()
        return torch.where(x <= -10, torch.zeros_like(x), torch.where(x >= 10, x, g)).to(x.dtype)


class AsLlama(tf.Gemma3nForCausalLM):
    """With both of these."""

    def __init__(self, config):
        tf.models.gemma3n.modeling_gemma3n.Gemma3nTextMLP._gaussian_topk = above
        super().__init__(config)
        for m in list(self.modules()):
            if hasattr(m, "act_fn"):
                m.act_fn = Table()


# Keys and values of layers that share those of others, which transformers leaves out.
SHARED = {f"model.layers.{i}.self_attn.{n}.weight": s for i in (N - 2, N - 1) for n, s in (("k_proj", (32, 64)), ("v_proj", (32, 64)), ("k_norm", (16,)))}


def inside3n(n):
    """Published folders have the text model below model.language_model."""
    return n.replace("model.", "model.language_model.", 1)


def hrm():
    own = {k: v for k, v in sizes(head_dim=16, H_cycles=2, L_cycles=2, prefix_lm=False).items() if k != "num_key_value_heads"}
    return tf.HrmTextConfig(**own), tf.HrmTextForCausalLM, byte_level, "llama-bpe"


# The tokens of images, which neither predicts: letters of their names are digits.
IMAGES = {"IMGIMG" + "".join("ABCDEFGHIJ"[int(d)] for d in str(i)) + "Z": 4 + i for i in range(8192)}


def chameleon():
    c = tf.ChameleonConfig(**sizes(vocab_size=8400, num_key_value_heads=4, vocabulary_map={"<image>": 8390} | IMAGES, vq_config=dict(embed_dim=8, num_embeddings=8, base_channels=32, channel_multiplier=[1], num_res_blocks=1, resolution=8, latent_channels=8)))
    return c, Alike, byte_level, "gpt-2"


class Alike(tf.ChameleonForConditionalGeneration):
    """A model whose heads have the same norm, as those of published ones: llama.cpp has the first one's."""

    def tie_weights(self, **more):
        super().tie_weights(**more)
        for layer in self.model.layers:
            for norm in (layer.self_attn.q_norm, layer.self_attn.k_norm):
                for p in norm.parameters():
                    p.data[:] = p.data[:1].clone()


MUSE = dict(num_hidden_layers=4, head_dim=16, sliding_window=16, layer_types=["sliding_attention"] * 3 + ["full_attention"], rope_parameters={"rope_type": "default", "rope_theta": 10000.0})


FAMILIES = {
    "Gemma3nForCausalLM": Part(gemma3n, lambda text: text | {"architectures": ["Gemma3nForCausalLM"]}, beside=SHARED),
    "Gemma3nForConditionalGeneration": Part(gemma3n, apart(**VISION, audio_config={"hidden_size": 8}), inside3n, ("model.vision_tower.a.weight", "model.audio_tower.b.weight", "model.embed_vision.c.weight", "model.embed_audio.d.weight"), beside=SHARED),
    "HrmTextForCausalLM": Part(hrm, whole),
    "ChameleonForConditionalGeneration": Part(chameleon, flat(model_type="chameleon", architectures=["ChameleonForConditionalGeneration"])),
    "ChameleonForCausalLM": Part(chameleon, flat(architectures=["ChameleonForCausalLM"])),
}
MOST = {"Gemma3nForCausalLM": 3e-2, "Gemma3nForConditionalGeneration": 3e-2}


def several():
    text = tf.MuseGlimmerTextConfig(**sizes(**MUSE))
    vision = tf.MuseGlimmerVisionConfig(hidden_size=32, intermediate_size=32, num_hidden_layers=1, num_attention_heads=2, pos_emb_height=4, pos_emb_width=4)
    return tf.MuseGlimmerConfig(text_config=text, vision_config=vision, projector_hidden_size=32), tf.MuseGlimmerForConditionalGeneration, lambda f, p: byte_level(f, p, more=["<|eot|>"]), "llama-bpe"


FAMILIES |= {
    "MuseGlimmerForConditionalGeneration": Part(several, whole),
}


def minicpm():
    """MiniCPM-V 4.6: Qwen 3.5, whose configuration counts a layer that predicts further tokens."""
    config, cls, vocabulary, pre = models.FAMILIES["qwen3.5"]()
    config.mtp_num_hidden_layers = 1
    return config, cls, vocabulary, pre


FAMILIES["MiniCPMV4_6ForConditionalGeneration"] = Part(minicpm, apart(**VISION), inside3n, ("model.vision_tower.a.weight", "model.merger.b.weight", "mtp.c.weight"))
