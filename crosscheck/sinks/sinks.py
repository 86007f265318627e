"""Loads folders with a marker in each member that internal/sidecar lets name something, and says
what the marker reached.

    python3 crosscheck/sinks/sinks.py > crosscheck/sinks/sinks.jsonl

A marker is the name of a module, of a repository, of a path or of an expression. Python's audit
hooks report an import, exec, compile, a file opened, a process or an address that has it; there is no
network, and a hub's client is told so. A loader that is not installed, or that no package has, is a
line that says "not run".
"""
import json
import os
import pathlib
import struct
import sys
import tempfile
import warnings

os.environ.update(HF_HUB_OFFLINE="1", TRANSFORMERS_VERBOSITY="critical", HF_HOME=tempfile.mkdtemp(), TOKENIZERS_PARALLELISM="false")
warnings.filterwarnings("ignore")

MARKERS = {"module": "qxmodule.qxname", "repository": "qxowner/qxname", "path": "../qxname", "expression": "qxname(1)", "link": "https://qx.example.org/qxname"}
EVENTS = ("import", "exec", "compile", "open", "os.system", "os.exec", "os.posix_spawn", "subprocess.Popen", "socket.connect", "socket.getaddrinfo", "os.listdir", "os.scandir", "shutil.copyfile", "urllib.Request", "ctypes.dlopen")
reached, inside = set(), [""]


def hook(event, args):
    if inside[0] and event in EVENTS and "qx" in repr(args[:2]) and any(m in repr(args[:2]) for m in MARKERS.values()):
        reached.add(event)


sys.addaudithook(hook)


def hub():
    """Reports what the clients of a hub are asked for; there is no network."""
    import huggingface_hub.file_download as f
    watch(f.hf_hub_download, "hf_hub_download")
    try:
        import transformers.utils.hub as h
    except ImportError:
        return
    watch(h.cached_files, "cached_files")


def watch(old, name):
    if getattr(old, "watched", False):
        return

    def asked(*args, **options):
        if any(m in str(x) for m in MARKERS.values() for x in (*args, *options.values())):
            reached.add("hub")
        return old(*args, **options)
    asked.watched = True
    for module in list(sys.modules.values()):
        if getattr(module, name, None) is old:
            setattr(module, name, asked)


def write(folder, name, members):
    (folder / name).write_text(json.dumps(members))


def weights(folder, name="model.safetensors"):
    header = b'{"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}}'
    (folder / name).write_bytes(struct.pack("<Q", len(header)) + header + b"\1\2\3\4")


def tokenizer(folder, members):
    import transformers
    from tokenizers import Tokenizer, models
    Tokenizer(models.WordLevel({"a": 0, "b": 1, "<unk>": 2}, unk_token="<unk>")).save(str(folder / "tokenizer.json"))
    write(folder, "tokenizer_config.json", {"tokenizer_class": "PreTrainedTokenizerFast", **members})
    transformers.AutoTokenizer.from_pretrained(str(folder))("a b")


def config(folder, members):
    import transformers
    write(folder, "config.json", {"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "n_layer": 1, "n_embd": 8, "n_head": 1, "vocab_size": 8, "n_positions": 8})
    made = transformers.AutoModelForCausalLM.from_config(transformers.AutoConfig.from_pretrained(str(folder)))
    made.save_pretrained(folder)
    kept = json.loads((folder / "config.json").read_text())
    write(folder, "config.json", {**kept, **members})
    transformers.AutoModelForCausalLM.from_pretrained(str(folder))


def parsed(folder, members):
    import transformers
    write(folder, "config.json", {"model_type": "gpt2", **members})
    transformers.AutoConfig.from_pretrained(str(folder)).to_dict()


def generation(folder, members):
    import transformers
    write(folder, "generation_config.json", members)
    transformers.GenerationConfig.from_pretrained(str(folder)).to_dict()


def trainer(folder, members):
    from transformers.trainer_callback import TrainerState
    write(folder, "trainer_state.json", members)
    TrainerState.load_from_json(str(folder / "trainer_state.json"))


def timm(folder, members):
    import timm
    import torch
    from safetensors.torch import save_file
    model = timm.create_model("resnet10t", pretrained=False)
    save_file({k: v.contiguous() for k, v in model.state_dict().items()}, str(folder / "model.safetensors"))
    write(folder, "config.json", {"architecture": "resnet10t", "num_classes": 1000, **members})
    timm.create_model("local-dir:" + str(folder), pretrained=True)


def peft(folder, members):
    import peft
    write(folder, "adapter_config.json", {"peft_type": "LORA", "task_type": "CAUSAL_LM", "r": 1, "target_modules": ["c_attn"], **members})
    peft.PeftConfig.from_pretrained(str(folder))
    import transformers
    small = transformers.GPT2Config(n_layer=1, n_embd=8, n_head=1, vocab_size=8, n_positions=8)
    given = peft.get_peft_model(transformers.GPT2LMHeadModel(small), peft.LoraConfig(r=1, target_modules=["c_attn"], task_type="CAUSAL_LM"))
    kept = json.loads((folder / "adapter_config.json").read_text())
    given.save_pretrained(folder)
    write(folder, "adapter_config.json", {**json.loads((folder / "adapter_config.json").read_text()), **kept})
    peft.PeftModel.from_pretrained(transformers.GPT2LMHeadModel(small), str(folder))


def open_clip(folder, members):
    import open_clip
    write(folder, "open_clip_config.json", {"model_cfg": {"embed_dim": 8, "vision_cfg": {"image_size": 8, "layers": 1, "width": 8, "patch_size": 4}, "text_cfg": {"context_length": 8, "vocab_size": 8, "width": 8, "heads": 1, "layers": 1, **members}}, "preprocess_cfg": {}})
    tokenizer(folder, {"pad_token": "a"})
    open_clip.get_tokenizer("local-dir:" + str(folder))(["a b"])


def mlx(folder, members):
    raise ImportError("mlx has no build for this system's processor")


def nothing(folder, members):
    raise ImportError("its loader needs a GPU, or is not installed by crosscheck")


# The member, the text, the library, the loader, and the members around it for a marker.
ROWS = [
    ("content", "tokenizer_config.json", "transformers", tokenizer, lambda m: {"added_tokens_decoder": {"3": {"content": m, "special": True}}}),
    ("*_token", "tokenizer_config.json", "transformers", tokenizer, lambda m: {"eos_token": m}),
    ("additional_special_tokens", "tokenizer_config.json", "transformers", tokenizer, lambda m: {"additional_special_tokens": [m]}),
    ("extra_special_tokens", "tokenizer_config.json", "transformers", tokenizer, lambda m: {"extra_special_tokens": {"a_token": m}}),
    ("stop_strings", "generation_config.json", "transformers", generation, lambda m: {"stop_strings": [m]}),
    ("id2label", "config.json", "transformers", config, lambda m: {"id2label": {"0": m}}),
    ("_name_or_path", "config.json", "transformers", config, lambda m: {"_name_or_path": m}),
    ("best_model_checkpoint", "trainer_state.json", "transformers", trainer, lambda m: {"best_model_checkpoint": m}),
    ("dataset", "config.json", "transformers", parsed, lambda m: {"quantization_config": {"quant_method": "gptq", "bits": 4, "dataset": m}}),
    ("pretrained_cfg", "config.json", "timm", timm, lambda m: {"pretrained_cfg": {"url": m, "notes": [m]}}),
    ("hf_hub_id", "config.json", "timm", timm, lambda m: {"pretrained_cfg": {"hf_hub_id": m}}),
    ("base_model_name_or_path", "adapter_config.json", "peft", peft, lambda m: {"base_model_name_or_path": m}),
    ("tokenizer_name_or_path", "adapter_config.json", "peft", peft, lambda m: {"tokenizer_name_or_path": m}),
    ("hf_tokenizer_name", "open_clip_config.json", "open_clip_torch", open_clip, lambda m: {"hf_tokenizer_name": m}),
    ("mm_vision_tower", "config.json", "llava", nothing, None),
    ("backbone", "config.json", "transformers", parsed, lambda m: {"model_type": "detr", "backbone": m, "use_timm_backbone": False}),
    ("vlm_model_name", "config.json", "lerobot", nothing, None),
    ("name_or_path", "config.json", "vllm", nothing, None),
    ("repo", "modular_model_index.json", "diffusers", nothing, None),
    ("model", "adapter_config.json", "mlx-lm", mlx, None),
]


def main():
    import importlib.metadata
    for member, file, library, load, around in ROWS:
        try:
            version = importlib.metadata.version(library)
        except importlib.metadata.PackageNotFoundError:
            version = ""
        for grammar, marker in MARKERS.items() if around else [("", "")]:
            reached.clear()
            said = ""
            with tempfile.TemporaryDirectory() as folder:
                try:
                    hub()
                    inside[0] = "yes"
                    load(pathlib.Path(folder), around(marker) if around else {})
                except Exception as e:  # noqa: BLE001 - a loader may refuse its folder
                    if marker and marker in str(e) and "huggingface" in str(e):
                        reached.add("hub")
                    said = ("not run: " if isinstance(e, ImportError) else "ended: ") + (str(e).splitlines() or [type(e).__name__])[0].replace(folder, "FOLDER")[:90]
                finally:
                    inside[0] = ""
            row = {"member": member, "file": file, "library": library, "version": version, "grammar": grammar, "marker": marker, "reached": sorted(reached) or "nothing"}
            if said:
                row["said"] = said
            if said.startswith("not run"):
                row["reached"] = "not run"
            print(json.dumps(row), flush=True)


main()
