"""llama.cpp's converter and llama.cpp itself, out of its sources."""
import importlib
import json
import logging
import pathlib
import subprocess
import sys

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent

# What describes a model to people, and is parsed from the folder's name, its card and
# its size: amn writes the folder's name alone.
APART = ("general.name", "general.basename", "general.finetune", "general.version", "general.size_label", "general.organization",
         "general.license", "general.tags", "general.languages", "general.base_model", "general.sampling", "GGUF.")


# What transformers calls architectures that are published, and that the converter knows, under other names.
NAMES = {"MptForCausalLM": "MPTForCausalLM", "PhimoeForCausalLM": "PhiMoEForCausalLM"}


def load(conversion):
    """Imports every module of the converter. Its own load_all_models only warns of a module that
    fails, and an architecture of that module is then said to be unknown."""
    for module in {*conversion.TEXT_MODEL_MAP.values(), *conversion.MMPROJ_MODEL_MAP.values()}:
        importlib.import_module("conversion." + module)


class Converter:
    def __init__(self, tree):
        sys.path[:0] = [str(tree), str(tree / "gguf-py")]
        for name in [m for m in sys.modules if m.split(".")[0] == "gguf"]:
            del sys.modules[name]  # of PyPI, which knows fewer architectures than these sources
        logging.disable(logging.WARNING)
        import conversion
        from conversion.base import ModelBase, ModelType, TextModel

        load(conversion)
        self.base, self.text, self.kinds = ModelBase, TextModel, ModelType
        self.known = TextModel.get_vocab_base_pre
        from conversion.baichuan import BaichuanModel

        apart = BaichuanModel.modify_tensors

        def mended(own, data, name, layer):  # which calls itself without an end for all tensors but those that it takes apart
            return apart(own, data, name, layer) if "W_pack" in name else super(BaichuanModel, own).modify_tensors(data, name, layer)

        BaichuanModel.modify_tensors = mended
        import gguf

        self.gguf = gguf
        self.names = dict(gguf.TensorNameMap.block_mappings_cfg)
        self.types = {"f32": gguf.LlamaFileType.ALL_F32, "f16": gguf.LlamaFileType.MOSTLY_F16, "bf16": gguf.LlamaFileType.MOSTLY_BF16}

    def write(self, folder, out, kind, pre=None, mmproj=False, target=None):
        """As convert_hf_to_gguf.py does; pre stands for the table of digests, which no
        vocabulary that was trained here is in."""
        self.text.get_vocab_base_pre = (lambda *_: pre) if pre else self.known
        self.gguf.TensorNameMap.block_mappings_cfg.update(self.names)  # which the map of an architecture with names of its own changes for all that follow
        hparams = self.base.load_hparams(folder, False)
        more = {}
        if hparams.get("model_type") == "gpt_neox":  # a member that transformers 5 keeps elsewhere
            more["hparams"] = hparams | {"rotary_pct": hparams["rope_parameters"]["partial_rotary_factor"]}
        if hparams.get("model_type") == "granitemoehybrid":  # whose kinds of layers transformers 5 renames
            more["hparams"] = hparams | {"layer_types": [{"full_attention": "attention", "linear_attention": "mamba"}.get(t, t) for t in hparams["layer_types"]]}
        if hparams.get("model_type") == "nemotron_h":  # the configuration of published folders, as it is
            more["hparams"] = json.loads((folder / "config.json").read_text())
        if hparams.get("model_type") == "falcon" and not hparams.get("new_decoder_architecture"):  # where transformers states a number that it does not go by
            more["hparams"] = hparams | {"num_kv_heads": 1 if hparams["multi_query"] else hparams["num_attention_heads"]}
        self.base.no_mtp = hparams.get("architectures") == ["MiniCPMV4_6ForConditionalGeneration"]  # as with --no-mtp: else it counts layers that it leaves out, and llama.cpp does not load its file
        which = self.kinds.MMPROJ if mmproj else self.kinds.TEXT
        from conversion.base import get_model_architecture

        name = get_model_architecture(hparams, which)
        cls = self.base.from_model_architecture(NAMES.get(name, name), which)
        cls(folder, self.types[kind], out, eager=True, **more, **({"target_model_dir": target} if target else {})).write()

    def read(self, path):
        """Keys without those of APART, and tensors: type, shape, bytes."""
        r = self.gguf.GGUFReader(path)
        keys = {k: (f.types, f.contents()) for k, f in r.fields.items() if not k.startswith(APART)}
        return keys, {t.name: (t.tensor_type.name, tuple(map(int, t.shape)), t.data.tobytes()) for t in r.tensors}


def logits(exe, path, tokens):
    try:
        done = subprocess.run([str(exe), str(path), *map(str, tokens)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120)
    except subprocess.TimeoutExpired:
        return None, "it does not end"
    if done.returncode:
        return None, done.stderr.decode(errors="replace")[-300:]
    return np.frombuffer(done.stdout, np.float32).reshape(len(tokens), -1) if tokens else np.zeros((0, 1)), ""
