"""What libraries write of a quantization into config.json, as one JSON object by name:
quant/configs_test.go reads it: every key of a method that is decoded must be known, and
every value of the kind that is asked for.

    configs.py transformers > old.json      with transformers 4.57.6
    configs.py all old.json FOLDER/config.json ... > testdata/quant/configs.json

The folders are models that libraries wrote, and named for them: those of AutoRound 0.16.1 by
scheme and format.
"""
import inspect
import json
import os
import sys
import warnings

warnings.simplefilter("ignore")
os.environ["GPTQMODEL_DISABLE_LOGS"] = "1"
OUT, sys.stdout = sys.stdout, sys.stderr

import transformers  # noqa: E402
from transformers.utils import quantization_config as Q  # noqa: E402

BITS = dict(bits=4)
FUSED = dict(do_fuse=True, fuse_max_seq_len=512, modules_to_fuse=dict(attention=["q_proj"], layernorm=["norm"], mlp=["up_proj"], use_alibi=False,
                                                                     num_attention_heads=4, num_key_value_heads=2, hidden_size=128))
ARGUMENTS = {
    "GPTQConfig": [BITS, BITS | dict(use_exllama=True, exllama_config={"version": 1}), BITS | dict(exllama_config={"version": 2}, dataset="c4", group_size=-1, desc_act=True)],
    "AwqConfig": [BITS, BITS | dict(version="gemv"), BITS | FUSED, BITS | dict(version="exllama", exllama_config={"version": 2, "max_input_len": 2048, "max_batch_size": 8})],
    "HqqConfig": [{}, dict(dynamic_config={"self_attn.q_proj": {"nbits": 4, "group_size": 64}})],
    "VptqConfig": [dict(enable_proxy_error=False, config_for_layers={}, shared_layer_config={})],
    "BitsAndBytesConfig": [dict(load_in_8bit=True), dict(load_in_4bit=True, bnb_4bit_compute_dtype="bfloat16", bnb_4bit_quant_type="nf4")],
    "TorchAoConfig": [], "QuarkConfig": [], "VptqLayerConfig": [],
}
def classes():
    """The classes of transformers, those that can be made here."""
    for name, c in vars(Q).items():
        if inspect.isclass(c) and name.endswith("Config") and c.__module__ == Q.__name__:
            for i, more in enumerate(ARGUMENTS.get(name, [{}])):
                try:
                    yield f"transformers {transformers.__version__}, {name} {i}", c(**more).to_dict()
                except (ImportError, ModuleNotFoundError, ValueError) as e:
                    print(name, more, e)


def torchao():
    import torch
    import torchao.quantization as A
    group = A.PerGroup(32)
    for c in (A.Int8WeightOnlyConfig(), A.Int8DynamicActivationInt8WeightConfig(), A.Float8WeightOnlyConfig(), A.IntxWeightOnlyConfig(weight_dtype=torch.int4, granularity=group),
              A.Int8DynamicActivationIntxWeightConfig(weight_dtype=torch.int4, weight_granularity=group), A.Int4WeightOnlyConfig(group_size=32),
              A.FqnToConfig({"_default": A.Int8WeightOnlyConfig(), "model.layers.0.mlp.up_proj": None})):
        yield f"torchao, {type(c).__name__}", Q.TorchAoConfig(c).to_dict()


def compressed():
    from compressed_tensors.quantization import QuantizationConfig, quant_scheme
    for name in quant_scheme.PRESET_SCHEMES:
        c = QuantizationConfig(config_groups={"group_0": quant_scheme.preset_name_to_scheme(name, ["Linear"])}, ignore=["lm_head"], format="pack-quantized")
        yield f"compressed-tensors, {name}", json.loads(c.model_dump_json())


def gptq():
    from gptqmodel.quantization.config import GPTAQConfig, QuantizeConfig
    dynamic = {"-:.*k_proj": {}, r"+:.*\.1\.mlp.*": {"bits": 8, "group_size": 64, "sym": True}}
    for i, more in enumerate((dict(), dict(desc_act=True, act_group_aware=False), dict(group_size=-1, sym=False), dict(dynamic=dynamic), dict(lm_head=True, gptaq=GPTAQConfig(), mse=2.0))):
        d = QuantizeConfig(bits=4, **more).to_dict()
        d["meta"]["offload_to_disk_path"] = "disk"
        yield f"gptqmodel, {i}", d
    # As to_dict of GPTQModel 4.0.0 and of AutoGPTQ 0.7.1 wrote.
    yield "gptqmodel 4.0.0", {"bits": 4, "dynamic": None, "group_size": 128, "desc_act": True, "hyb_act": False, "sym": True, "lm_head": False, "quant_method": "gptq",
                              "checkpoint_format": "gptq", "pack_dtype": "int32", "meta": {"v2": False, "v2_alpha": 0.25}}
    yield "auto-gptq 0.7.1", {"bits": 4, "group_size": 128, "damp_percent": 0.01, "desc_act": False, "static_groups": False, "sym": True, "true_sequential": True,
                              "model_name_or_path": None, "model_file_base_name": None, "is_marlin_format": False, "quant_method": "gptq", "checkpoint_format": "gptq"}


found = dict(classes())
if sys.argv[1] == "all":
    for other in (torchao, compressed, gptq):
        found |= other()
for path in sys.argv[2:]:
    with open(path) as f:
        read = json.load(f)
    found |= {path.split(os.sep)[-2]: read["quantization_config"]} if path.endswith("config.json") else read
json.dump(found, OUT, indent=0, sort_keys=True, default=lambda v: getattr(v, "value", str(v)))
