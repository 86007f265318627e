"""The model types of transformers, their classes, and a configuration that each can be built with.

A type's classes are those of transformers' auto mappings and all others that it exports and
that have the type's configuration: the text model of CLIP is in no mapping, and in many folders.
A package that is not installed is asked for by name where a class needs it to run; to build
one, some are not needed.
"""
import functools
import importlib
import json
import pathlib
import sys
import tempfile
import warnings

import torch
import transformers as T
from transformers.models.auto import configuration_auto, modeling_auto

warnings.filterwarnings("ignore")
T.logging.set_verbosity_error()
SECONDS = 240


def exported():
    """(type, class) of all models that transformers' modules export."""
    for path in sorted((pathlib.Path(T.__file__).parent / "models").glob("*/modeling_*.py")):
        try:
            module = importlib.import_module(f"transformers.models.{path.parent.name}.{path.stem}")
        except ImportError as e:
            print(path.stem, e, file=sys.stderr)
            continue
        for name in getattr(module, "__all__", ()):
            cls = getattr(module, name, None)
            if isinstance(cls, type) and issubclass(cls, T.PreTrainedModel) and cls.config_class is not None and cls.forward is not torch.nn.Module.forward:
                yield cls.config_class.model_type, name


@functools.cache
def classes():
    """The classes of each type, in the order of their names. To ask all modules takes long, so the answer is kept."""
    kept = pathlib.Path(tempfile.gettempdir()) / f"classes-of-transformers-{T.__version__}.json"
    if kept.exists():
        return json.loads(kept.read_text())
    found = {}
    for name, mapping in vars(modeling_auto).items():
        if not name.endswith("_MAPPING_NAMES") or name == "CONFIG_MAPPING_NAMES":
            continue
        for kind, cls in mapping.items():
            for one in cls if isinstance(cls, (list, tuple)) else [cls]:
                if one:
                    found.setdefault(kind, set()).add(one)
    for kind, name in exported():
        found.setdefault(kind, set()).add(name)
    all = {kind: sorted(found.get(kind, ())) for kind in sorted(configuration_auto.CONFIG_MAPPING_NAMES)}
    kept.write_text(json.dumps(all))
    return all


def named(kind, name):
    """A class by its name: some are in no list of what transformers exports."""
    if hasattr(T, name):
        return getattr(T, name)
    folder = T.models.auto.configuration_auto.model_type_to_module_name(kind)
    module = importlib.import_module(f"transformers.models.{folder}.modeling_{folder}")
    return getattr(module, name)


ROPE = {"rope_type": "default", "rope_theta": 10000.0}
CONVS = {k: [[1, 1], [1, 1], [0, 0]] for k in ("reduce_channel", "vertical_long_to_small_conv_longratio", "vertical_long_to_small_conv_midratio",
         "vertical_long_to_small_conv_shortratio", "horizontal_small_to_long_conv_longratio", "horizontal_small_to_long_conv_midratio",
         "horizontal_small_to_long_conv_shortratio", "symmetric_conv_long_longratio", "symmetric_conv_long_midratio", "symmetric_conv_long_shortratio", "return_channel")}

# What configurations need beside their defaults, of which no model can be built.
GIVEN = {
    "autoformer": {"prediction_length": 8},
    "aya_vision": {"vision_config": {"model_type": "siglip_vision_model", "num_attention_heads": 16}},
    "chameleon": {"vocabulary_map": {"<image>": 3}},
    "cohere_compass": {"text_config": {"rope_parameters": {"full_attention": ROPE, "sliding_attention": ROPE}}},
    "cohere_compass_text": {"rope_parameters": {"full_attention": ROPE, "sliding_attention": ROPE}},
    "dbrx": {"attn_config": {"rope_theta": 10000.0}},
    "deepseek_ocr2": {"text_config": {"num_hidden_layers": 2, "mlp_layer_types": ["dense", "sparse"]}},
    "deepseek_ocr2_text": {"num_hidden_layers": 2, "mlp_layer_types": ["dense", "sparse"]},
    "diffusion_gemma": {"text_config": {"num_hidden_layers": 6, "num_experts": 8, "top_k_experts": 2, "moe_intermediate_size": 704}},
    "diffusion_gemma_text": {"num_hidden_layers": 6, "num_experts": 8, "top_k_experts": 2, "moe_intermediate_size": 704},
    "dots1": {"n_routed_experts": 8, "n_shared_experts": 1, "num_experts_per_tok": 2},
    "esm": {"vocab_size": 33, "pad_token_id": 1, "mask_token_id": 32},
    "emu3": {"vocabulary_map": {"<|extra_200|>": 4, "<image>": 3}},
    "gemma4_assistant": {"text_config": {"hidden_size_per_layer_input": 0, "vocab_size_per_layer_input": 0, "num_kv_shared_layers": 30}},
    "granite4_vision": {"deepstack_layer_map": [[0, 0]], "downsample_rate": "4/8"},
    "hunyuan_v1_dense": {"head_dim": 128},
    "hunyuan_v1_moe": {"head_dim": 128},
    "hunyuan_vl": {"text_config": {"head_dim": 128}},
    "hunyuan_vl_text": {"head_dim": 128},
    "informer": {"prediction_length": 8},
    "lfm2_moe": {"num_hidden_layers": 4, "layer_types": ["conv", "full_attention", "conv", "full_attention"]},
    "ministral": {"head_dim": 128},
    "moonshine_streaming": {"num_key_value_heads": 8},
    "nemotron_h_omni": {"vision_config": {"video_temporal_patch_size": 2}},
    "nemotron": {"num_key_value_heads": 48},
    "perception_lm": {"vision_config": {"architecture": "vit_pe_core_large_patch14_336", "model_args": {"embed_dim": 1024, "img_size": [448, 448], "depth": 2, "global_pool": ""}}},
    "pp_ocrv5_server_det": {"intraclass_block_config": CONVS},
    "pp_ocrv6_medium_det": {"intraclass_block_config": CONVS},
    "qwen3_omni_moe": {"talker_config": {"spatial_merge_size": 2, "text_config": {"shared_expert_intermediate_size": 768}}},
    "qwen3_omni_moe_talker_text": {"shared_expert_intermediate_size": 768},
    "qwen4_exp": {"text_config": {"indexer_n_heads": 4, "indexer_kv_heads": 1, "indexer_head_dim": 256, "indexer_budget": 2048, "indexer_compress_ratio": 4}},
    "qwen4_exp_text": {"indexer_n_heads": 4, "indexer_kv_heads": 1, "indexer_head_dim": 256, "indexer_budget": 2048, "indexer_compress_ratio": 4},
    "t5gemma2_encoder": {"text_config": {"dropout_rate": 0.0}},
    "time_series_transformer": {"prediction_length": 8},
    "timm_backbone": {"backbone": "resnet18"},
    "vitmatte": {"fusion_hidden_sizes": [256, 128, 64, 32]},
}


# What some classes of a type need, and others do not.
OF_CLASS = {
    "BeitForSemanticSegmentation": {"out_indices": [3, 5, 7, 11]},
    "BridgeTowerForContrastiveLearning": {"contrastive_hidden_size": 512},
    "HieraForPreTraining": {"decoder_hidden_size": 512, "decoder_depth": 2, "decoder_num_heads": 8},
    "ReformerModelWithLMHead": {"is_decoder": True},
    "T5GemmaEncoderModel": {"is_encoder_decoder": False},
    "ViltForImagesAndTextClassification": {"num_images": 2},
    "Wav2Vec2BertForCTC": {"vocab_size": 32},
    "Wav2Vec2ConformerForCTC": {"vocab_size": 32},
}


def default(kind, cls):
    """The configuration that a class of a type has where nothing more is said than it needs."""
    own = cls.config_class if cls.config_class.model_type == kind else configuration_auto.CONFIG_MAPPING[kind]
    return own(**GIVEN.get(kind, {}) | OF_CLASS.get(cls.__name__, {}))


def no_natten(obj, backends):
    """natten is asked for where a model runs, not where it is built."""
    if backends != ["natten"]:
        T.utils.requires_backends(obj, backends)


try:
    T.models.dinat.modeling_dinat.requires_backends = no_natten
except ImportError:
    pass
