"""Folders that contradict themselves: amn refuses each by its class, and writes nothing."""
import json

import nested
import parts
import torch
from safetensors.torch import load_file, save_file


def without(part):
    """Without the tensors whose names have a part."""
    def edit(_, tensors):
        for n in [n for n in tensors if part in n]:
            del tensors[n]
    return edit


def states(*path):
    """With another value of a member of config.json."""
    *outer, name, value = path

    def edit(config, _):
        for n in outer:
            config = config[n]
        config[name] = value
    return edit


# what: the model, what is changed, what the refusal says
CASES = {
    "a layer is missing in the middle": ("VoxtralForConditionalGeneration", without(".layers.1."), "a part is missing"),
    "an expert is missing": ("KimiK25ForConditionalGeneration", without(".layers.2.mlp.experts.3."), "a part is missing"),
    "there is an expert more": ("KimiK25ForConditionalGeneration", states("text_config", "n_routed_experts", 3), "states only 3 experts"),
    "config.json says another family": ("Glm4vForConditionalGeneration", states("architectures", ["KimiVLForConditionalGeneration"]), "contradict each other"),
    "a size overflows": ("GlmMoeDsaForCausalLM", states("index_n_heads", 2**62), "number out of range"),
    "a number of experts below nothing": ("DbrxForCausalLM", states("ffn_config", "moe_num_experts", -4), "contradict each other"),
    "a layer of too many heads": ("LagunaForCausalLM", states("num_attention_heads_per_layer", [4, 2**40, 4]), "contradict each other"),
    "a projector of another model": ("InternVisionModel, part", states("llm_config", "hidden_size", 4096), "contradict each other"),
    "a projector of another family": ("KimiVLForConditionalGeneration, part", states("architectures", ["DotsOCRForCausalLM"]), "has no such tensor"),
    "a factor overflows": ("UltravoxModel, part", states("stack_factor", 2**61), "contradict each other"),
    "a ratio of next to nothing": ("InternVisionModel, part", states("downsample_ratio", 1e-300), "contradict each other"),
}


def check(work, amn, wrong):
    """Rows: how many are refused as they should be."""
    bad = 0
    for i, (what, (name, edit, says)) in enumerate(CASES.items()):
        folder, out = work / f"bad{i}", work / f"bad{i}.gguf"
        folder.mkdir()
        pre = None
        if name in parts.FAMILIES:
            parts.make(name, folder, torch.float32)
        else:
            _, pre = nested.make(name, folder, torch.float32)
        config, tensors = json.loads((folder / "config.json").read_text()), load_file(folder / "model.safetensors")
        edit(config, tensors)
        (folder / "config.json").write_text(json.dumps(config))
        save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
        why = amn("convert", folder, "--to", "gguf", "-o", out, *(["--mmproj"] if name in parts.FAMILIES else []), *(["--gguf-kv", f"tokenizer.ggml.pre={pre}"] if pre else []))
        if says not in why or out.exists():
            bad += wrong(what, why or "it is written")
    return len(CASES), bad
