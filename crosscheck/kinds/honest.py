"""Writes folders with the libraries of internal/sidecar/kinds.go, and counts what amn refuses of them.

    python3 crosscheck/kinds/honest.py AMN [FOLDER]

Each library writes what it can without weights from a hub: configurations of every model type of
transformers, of every model and scheduler of diffusers, adapters of PEFT, modules of
sentence-transformers, configurations of open_clip and timm, an MLmodel of MLflow, a model of Keras,
pipelines of spaCy. A library that is not installed is left out and said so. Every folder
is judged by the default policy and by upload; a line for each library, the reasons below it. The exit
code is 1 if more than one folder of two hundred is refused by a finding about its texts.
"""
import collections
import inspect
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import traceback
import warnings

warnings.filterwarnings("ignore")
os.environ.update(TRANSFORMERS_VERBOSITY="error", HF_HUB_OFFLINE="1", KERAS_BACKEND="torch", MLFLOW_TRACKING_URI="file:/nowhere")

HEADER = b'{"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}}'
WEIGHTS = struct.pack("<Q", len(HEADER)) + HEADER + b"\1\2\3\4"
AT_MOST = 0.005


def weights(folder, name="model.safetensors"):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(WEIGHTS)
    return folder


def transformers(root):
    from transformers import GenerationConfig
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING
    for kind in list(CONFIG_MAPPING.keys()):
        try:
            config = CONFIG_MAPPING[kind]()
        except Exception:
            continue  # it has no default
        folder = weights(root / kind.replace("/", "_"))
        config.save_pretrained(folder)
        GenerationConfig().save_pretrained(folder)


def diffusers(root):
    import diffusers
    for name in dir(diffusers):
        try:
            made = getattr(diffusers, name)
            if not inspect.isclass(made) or not issubclass(made, diffusers.ConfigMixin) or issubclass(made, diffusers.DiffusionPipeline):
                continue
            # The configuration is what register_to_config keeps of the constructor's arguments.
            defaults = {p.name: p.default for p in inspect.signature(made.__init__).parameters.values() if p.default is not p.empty}
            config = {"_class_name": name, "_diffusers_version": diffusers.__version__, **{k: list(v) if isinstance(v, tuple) else v for k, v in defaults.items()}}
            text = json.dumps(config, indent=2)
        except Exception:
            continue
        (weights(root / name) / ("scheduler_config.json" if "Scheduler" in name else "config.json")).write_text(text)


def peft(root):
    import peft
    from peft.mapping import PEFT_TYPE_TO_CONFIG_MAPPING
    for kind, made in PEFT_TYPE_TO_CONFIG_MAPPING.items():
        try:
            config = made(base_model_name_or_path="owner/base-model", task_type="CAUSAL_LM")
        except Exception:
            try:
                config = made()
            except Exception:
                continue
        config.save_pretrained(weights(root / str(kind).split(".")[-1], "adapter_model.safetensors"))


def sentence_transformers(root):
    from sentence_transformers import models
    for name in dir(models):
        made = getattr(models, name)
        for args in ((), (8,), (8, 8), (["a", "b"],)):
            try:
                module = made(*args)
                folder = weights(root / name / ("1_" + name))
                module.save(str(folder))
            except Exception:
                continue
            break
        if (root / name).exists():
            (root / name / "modules.json").write_text(json.dumps([{"idx": 0, "name": "0", "path": "1_" + name, "type": type(module).__module__ + "." + name}]))


def open_clip(root):
    import open_clip
    for path in pathlib.Path(open_clip.__file__).parent.glob("model_configs/*.json"):
        config = {"model_cfg": json.loads(path.read_text()), "preprocess_cfg": {"mean": [0.48145466, 0.4578275, 0.40821073], "std": [0.26862954, 0.26130258, 0.27577711]}}
        (weights(root / path.stem) / "open_clip_config.json").write_text(json.dumps(config, indent=2))


def timm(root):
    import timm
    from timm.models import _hub
    for name in timm.list_models(pretrained=True)[::9]:
        cfg = timm.get_pretrained_cfg(name)
        config = {"architecture": name.split(".")[0], "num_classes": cfg.num_classes or 0, "num_features": 8, "pretrained_cfg": {**_filtered(cfg.to_dict()), "tag": cfg.tag or ""}}
        (weights(root / name) / "config.json").write_text(json.dumps(config, indent=2))


def _filtered(cfg):
    from timm.models._pretrained import filter_pretrained_cfg
    return filter_pretrained_cfg(cfg, remove_source=True, remove_null=True)


def mlflow(root):
    from mlflow.models import Model
    flavors = {"sklearn": {"pickled_model": "model.pkl", "sklearn_version": "1.5.0", "serialization_format": "cloudpickle", "code": None},
               "pytorch": {"model_data": "data", "pytorch_version": "2.4.0", "code": None},
               "onnx": {"onnx_version": "1.16.0", "data": "model.onnx", "providers": ["CUDAExecutionProvider", "CPUExecutionProvider"], "code": None},
               "transformers": {"transformers_version": "4.44.0", "code": None, "task": "text-generation", "instance_type": "TextGenerationPipeline", "pipeline_model_type": "LlamaForCausalLM",
                                "source_model_name": "owner/a-model", "model_binary": "model", "framework": "pt", "torch_dtype": "torch.bfloat16", "components": ["tokenizer"], "tokenizer_type": "LlamaTokenizerFast"}}
    for name, flavor in flavors.items():
        model = Model(artifact_path="model", run_id="0123456789abcdef0123456789abcdef")
        model.add_flavor("python_function", loader_module="mlflow." + name, python_version="3.11.7", data="model.pkl", env={"conda": "conda.yaml", "virtualenv": "python_env.yaml"})
        model.add_flavor(name, **flavor)
        folder = weights(root / name)
        model.save(str(folder / "MLmodel"))


def keras(root):
    import keras
    for name in ("dense", "convolution"):
        layers = [keras.layers.Input((8,)), keras.layers.Dense(4, activation="relu"), keras.layers.Dropout(0.1)] if name == "dense" else [keras.layers.Input((8, 8, 3)), keras.layers.Conv2D(4, 3), keras.layers.BatchNormalization(), keras.layers.Flatten(), keras.layers.Dense(2, kernel_regularizer="l2")]
        model = keras.Sequential(layers)
        model.compile("adam", "mse")
        folder = root / name
        folder.mkdir(parents=True)
        model.save(folder / "model.keras")
        (folder / "config.json").write_text(model.to_json())


def spacy(root):
    """Pipelines without data from anywhere, of languages whose tokenizer needs no other package."""
    import spacy as library
    for lang in "en de fr es zh xx pt it nl ru pl ar hi tr sv da fi el".split():
        for name, pipes in (("blank", []), ("rules", ["sentencizer", "entity_ruler"]), ("ner", ["ner"]), ("tagger", ["tok2vec", "tagger", "parser", "attribute_ruler"]), ("cat", ["textcat"]), ("span", ["spancat", "morphologizer"])):
            nlp = library.blank(lang)
            for pipe in pipes:
                made = nlp.add_pipe(pipe)
                if pipe in ("ner", "tagger", "parser", "textcat", "spancat", "morphologizer"):
                    for label in ("A", "B"):
                        made.add_label("POS=NOUN" if pipe == "morphologizer" else label)
                if pipe == "entity_ruler":
                    made.add_patterns([{"label": "ORG", "pattern": "Apple"}, {"label": "CITY", "pattern": [{"LOWER": "san"}, {"TEXT": {"REGEX": "^a"}}]}])
            if {"ner", "tagger", "textcat", "spancat"} & set(pipes):
                nlp.initialize()
            root.mkdir(parents=True, exist_ok=True)
            nlp.to_disk(root / (lang + "_" + name))


def main():
    amn = sys.argv[1]
    top = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else tempfile.mkdtemp())
    reasons, folders, refused = collections.Counter(), 0, {"server": 0, "upload": 0}
    for write in (transformers, diffusers, peft, sentence_transformers, open_clip, timm, mlflow, keras, spacy):
        root = top / write.__name__
        try:
            if not root.exists():
                write(root)
        except Exception as e:
            print("%-24s left out: %s" % (write.__name__, (traceback.format_exception_only(e)[-1].strip())[:120]), flush=True)
            continue
        made = {p.relative_to(root).parts[0] for p in root.rglob("*") if p.is_file()}
        folders += len(made)
        line = "%-24s %5d folders" % (write.__name__, len(made))
        for policy in refused:
            out = subprocess.run([amn, "scan", "--limits", policy, "--json", str(root)], capture_output=True, text=True).stdout
            bad = set()
            for text in out.splitlines():
                one = json.loads(text)
                if one.get("class") not in (None, "ok"):
                    bad.add(pathlib.Path(one["path"]).relative_to(root).parts[0])
                    reasons[(policy, write.__name__, str(one.get("error", {}).get("message"))[:230])] += 1
            refused[policy] += len(bad)
            line += ", %s refuses %d" % (policy, len(bad))
        print(line, flush=True)
    for (policy, name, text), n in reasons.most_common(60):
        print("  %s %s %d: %s" % (policy, name, n, text))
    for policy, n in refused.items():
        print("%s: %d of %d folders, %.2f %%" % (policy, n, folders, 100 * n / max(folders, 1)))
    sys.exit(folders == 0 or max(refused.values()) > AT_MOST * folders)


main()
