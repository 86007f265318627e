"""Writes folders with the libraries of internal/sidecar/kinds.go, and counts what amn refuses of them.

    python3 crosscheck/kinds/honest.py AMN [FOLDER [LIBRARY ...]]

Each library writes what it can without weights from a hub: configurations of every model type of
transformers, its processors, tokenizers and quantizers, models, schedulers and pipelines of diffusers, adapters of PEFT,
models of sentence-transformers, SetFit, GLiNER, mlx-lm and ONNX Runtime GenAI, configurations of open_clip and timm,
models of MLflow, Keras, TensorFlow and skops, pipelines of spaCy, and what repositories carry beside models (repositories.py,
counted apart). A library that is not installed is left out and said so;
HONEST_TF names another Python for TensorFlow, whose protobuf others do not take. Every folder is judged by the
default policy and by upload; a line for each library, the reasons below it. honest.txt beside this file has the lines and
the figures of the last run. The exit code is 1 if more than one folder of two hundred is refused for a reason that is
none of refused.txt, which has those that are meant: a library, a part of the message, why.
"""
import collections
import inspect
import json
import os
import pathlib
import shutil
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


def processors(root):
    """What prepares images, sounds and texts, and what quantizes: by the classes of transformers."""
    import transformers as T
    from tokenizers import Tokenizer, models, pre_tokenizers
    for name in dir(T):
        if not name.endswith(("ImageProcessor", "ImageProcessorFast", "ImageProcessorPil", "FeatureExtractor", "VideoProcessor")):
            continue
        try:
            made = getattr(T, name)()
            made.save_pretrained(weights(root / name))
        except Exception:
            shutil.rmtree(root / name, ignore_errors=True)  # it is abstract, or needs a package
    words = {w: i for i, w in enumerate(["<unk>", "<s>", "</s>", "<pad>", "[UNK]", "[CLS]", "[SEP]", "[PAD]", "[MASK]", "a", "b"])}
    for name in dir(T):
        if not name.endswith(("Tokenizer", "TokenizerFast")):
            continue
        try:
            plain = Tokenizer(models.WordLevel(words, unk_token="<unk>"))
            plain.pre_tokenizer = pre_tokenizers.Whitespace()
            getattr(T, name)(tokenizer_object=plain).save_pretrained(weights(root / name))
        except Exception:
            shutil.rmtree(root / name, ignore_errors=True)
    for name in dir(T):
        if not name.endswith("Config") or "Quant" not in name and not name.startswith(("Bits", "GPTQ", "Awq", "Aqlm", "Hqq", "Eetq", "Higgs", "Spqr", "Vptq", "TorchAo", "FineGrained", "Mxfp4", "AutoRound", "BitNet", "Fbgemm", "Compressed", "Metal", "Sinq", "FPQuant", "FourOverSix")):
            continue
        for args in ({}, {"bits": 4}, {"quant_type": "int4_weight_only"}, {"load_in_4bit": True}, {"load_in_8bit": True}):
            try:
                folder = weights(root / (name + "".join("_" + k for k in args)))
                T.LlamaConfig(num_hidden_layers=1, quantization_config=getattr(T, name)(**args).to_dict()).save_pretrained(folder)
            except Exception:
                shutil.rmtree(folder, ignore_errors=True)


def pipelines(root):
    """Indices and schedulers of every pipeline of diffusers: the classes are those of its constructor."""
    import diffusers as D
    import typing
    for name in dir(D):
        try:
            made = getattr(D, name)
            if not inspect.isclass(made):
                continue
            if issubclass(made, D.SchedulerMixin):
                made().save_pretrained(root / name / "scheduler")
                weights(root / name / "scheduler", "diffusion_pytorch_model.safetensors")
                continue
            if not issubclass(made, D.DiffusionPipeline) or made is D.DiffusionPipeline:
                continue
            hints = typing.get_type_hints(made.__init__)
            index = {"_class_name": name, "_diffusers_version": D.__version__}
            for part, p in inspect.signature(made.__init__).parameters.items():
                if part == "self" or p.kind == p.VAR_KEYWORD:
                    continue
                kinds = [k for k in (typing.get_args(hints.get(part)) or (hints.get(part),)) if inspect.isclass(k) and k is not type(None)]
                if kinds and kinds[0].__module__.split(".")[0] in ("diffusers", "transformers"):
                    module, kind = kinds[0].__module__.split("."), kinds[0].__name__
                    index[part] = [module[-2] if len(module) > 2 and hasattr(D.pipelines, module[-2]) else module[0], kind]  # as register_modules has it
                elif p.default is not p.empty:
                    index[part] = p.default if isinstance(p.default, (bool, int, float, str)) else [None, None]
            (weights(root / name / "unet", "diffusion_pytorch_model.safetensors").parent / "model_index.json").write_text(json.dumps(index, indent=2))
        except Exception:
            shutil.rmtree(root / name, ignore_errors=True)


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


class Named:
    """A folder named as on a hub, in the folder of the process: what libraries write of where a model came from is that name."""

    def __init__(self, name="owner/base-model"):
        self.name = name

    def __enter__(self):
        self.before, self.top = os.getcwd(), tempfile.mkdtemp()
        os.chdir(self.top)
        os.makedirs(self.name)
        return self.name

    def __exit__(self, *_):
        os.chdir(self.before)
        shutil.rmtree(self.top, ignore_errors=True)


def tiny(folder, kind="bert"):
    """A small model of transformers and its tokenizer."""
    import transformers as T
    from tokenizers import Tokenizer, models, pre_tokenizers
    plain = Tokenizer(models.WordLevel({w: i for i, w in enumerate(["[UNK]", "[CLS]", "[SEP]", "[PAD]", "a", "b"])}, unk_token="[UNK]"))
    plain.pre_tokenizer = pre_tokenizers.Whitespace()
    T.PreTrainedTokenizerFast(tokenizer_object=plain, unk_token="[UNK]", pad_token="[PAD]", eos_token="[SEP]", bos_token="[CLS]").save_pretrained(folder)
    if kind == "bert":
        made = T.BertModel(T.BertConfig(vocab_size=8, hidden_size=8, num_hidden_layers=1, num_attention_heads=1, intermediate_size=8))
    elif kind == "gpt2":
        made = T.GPT2LMHeadModel(T.GPT2Config(vocab_size=8, n_embd=8, n_layer=1, n_head=1, n_positions=8))
    else:
        made = getattr(T, kind + "ForCausalLM")(getattr(T, kind + "Config")(vocab_size=32, hidden_size=64, num_hidden_layers=1, num_attention_heads=2, num_key_value_heads=2, head_dim=32, intermediate_size=64, max_position_embeddings=64))
    made.save_pretrained(folder)
    return made


def adapters(root):
    """Adapters as PEFT saves them, with the card that it writes."""
    import peft
    from peft.mapping import PEFT_TYPE_TO_CONFIG_MAPPING
    with Named() as base:
        tiny(base, "gpt2")
        import transformers as T
        for kind, made in PEFT_TYPE_TO_CONFIG_MAPPING.items():
            for args in ({"target_modules": ["c_attn"]}, {"target_modules": "all-linear"}, {"num_virtual_tokens": 2}, {}):
                folder = root / (str(kind).split(".")[-1] + "_" + "".join(args))
                try:
                    peft.get_peft_model(T.GPT2LMHeadModel.from_pretrained(base), made(task_type="CAUSAL_LM", **args)).save_pretrained(folder)
                except Exception:
                    shutil.rmtree(folder, ignore_errors=True)


def embedders(root):
    """Models as sentence-transformers saves them."""
    import sentence_transformers as S
    from sentence_transformers import models as M
    with Named() as base:
        tiny(base)
        made = {"pooling": lambda: S.SentenceTransformer(modules=[M.Transformer(base), M.Pooling(8)]),
                "dense": lambda: S.SentenceTransformer(modules=[M.Transformer(base), M.Pooling(8, "cls"), M.Dense(8, 4), M.Normalize()], prompts={"query": "query: ", "document": "passage: "}, default_prompt_name="query"),
                "router": lambda: S.SentenceTransformer(modules=[M.Router.for_query_document([M.Transformer(base), M.Pooling(8)], [M.Transformer(base), M.Pooling(8)])]),
                "cross": lambda: S.CrossEncoder(base, num_labels=1),
                "sparse": lambda: S.SparseEncoder(modules=[M.Transformer(base), M.Pooling(8), __import__("sentence_transformers.sparse_encoder.models", fromlist=["x"]).SparseAutoEncoder(8, 16, 4)]),
                "static": lambda: S.SentenceTransformer(modules=[M.StaticEmbedding(__import__("transformers").AutoTokenizer.from_pretrained(base)._tokenizer, embedding_dim=8)])}
        for name, make in made.items():
            try:
                make().save_pretrained(str(root / name))
            except Exception as e:
                print("   ", name, repr(e)[:100])


def setfit(root):
    import setfit
    import sentence_transformers as S
    from sentence_transformers import models as M
    with Named() as base:
        tiny(base)
        for name, head in (("pooling", setfit.SetFitHead(in_features=8, out_features=2)),):
            body = S.SentenceTransformer(modules=[M.Transformer(base), M.Pooling(8)])
            setfit.SetFitModel(model_body=body, model_head=head, labels=["negative", "positive"]).save_pretrained(str(root / name))


def gliner(root):
    from gliner import config
    for name in dir(config):
        made = getattr(config, name)
        if inspect.isclass(made) and name.endswith("Config") and "GLiNER" in name:
            try:
                (weights(root / name) / "gliner_config.json").write_text(made(model_name="microsoft/deberta-v3-small").to_json_string(use_diff=False))
            except Exception:
                shutil.rmtree(root / name, ignore_errors=True)


def mlx(root):
    """Models and adapters of mlx-lm, plain and quantized."""
    import mlx_lm
    import types
    with tempfile.TemporaryDirectory() as base:
        for kind in ("Llama", "Qwen3", "Gemma2", "Mistral"):
            tiny(base, kind)
            for bits in (0, 4, 8):
                try:
                    mlx_lm.convert(base, str(root / (kind.lower() + str(bits or ""))), quantize=bits > 0, q_bits=bits or None, q_group_size=32)
                except Exception as e:
                    print("   ", kind, bits, repr(e)[:100])
        from mlx_lm import lora
        args = {**lora.CONFIG_DEFAULTS, "model": "owner/model", "train": True, "data": "data", "adapter_path": "adapters"}
        folder = weights(root / "lora", "adapters.safetensors")
        (folder / "adapter_config.json").write_text(json.dumps(vars(types.SimpleNamespace(**args)), indent=4, default=str))


def genai(root):
    """Models that ONNX Runtime GenAI's builder makes."""
    from onnxruntime_genai.models import builder
    with tempfile.TemporaryDirectory() as base:
        for kind in ("Llama", "Qwen2", "Mistral", "Gemma"):
            tiny(base, kind)
            for precision in ("fp32", "int4"):
                try:
                    args = ("", base, str(root / (kind.lower() + "-" + precision)), precision, "cpu", tempfile.mkdtemp())
                    builder.create_model(*args, **builder.parse_extra_options(*args, []))
                except Exception as e:
                    print("   ", kind, precision, repr(e)[:100])
                    shutil.rmtree(root / (kind.lower() + "-" + precision), ignore_errors=True)


def skops(root):
    import numpy as np
    import skops.io
    from sklearn import ensemble, linear_model, pipeline, preprocessing, svm
    x, y = np.random.default_rng(1).normal(size=(20, 3)), np.arange(20) % 2
    for made in (linear_model.LogisticRegression(), svm.SVC(), ensemble.RandomForestClassifier(4), pipeline.make_pipeline(preprocessing.StandardScaler(), linear_model.Ridge()), preprocessing.OneHotEncoder()):
        folder = root / type(made).__name__
        folder.mkdir(parents=True)
        skops.io.dump(made.fit(x, y), folder / "model.skops")


def tensorflow(root):
    """SavedModels and files of Keras 2, by TensorFlow in a Python of its own."""
    python = os.environ.get("HONEST_TF")
    if not python:
        raise ImportError("HONEST_TF is not set")
    root.mkdir(parents=True, exist_ok=True)
    subprocess.run([python, "-c", TENSORFLOW, str(root)], check=True, capture_output=True, env=os.environ | {"KERAS_BACKEND": "tensorflow"})


TENSORFLOW = """
import os, pathlib, sys
os.environ.update(TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="")
import tensorflow as tf
root = pathlib.Path(sys.argv[1])
class Net(tf.Module):
    def __init__(self):
        self.w = tf.Variable(tf.ones((3, 2)), name="w")
    @tf.function(input_signature=[tf.TensorSpec((None, 3), tf.float32)])
    def __call__(self, x):
        return tf.nn.relu(x @ self.w)
tf.saved_model.save(Net(), str(root / "module"))
import keras
model = keras.Sequential([keras.layers.Input((3,)), keras.layers.Dense(2, activation="relu"), keras.layers.Dropout(0.1)])
model.compile("adam", "mse")
model.export(str(root / "exported"))
(root / "h5").mkdir(); model.save(str(root / "h5" / "model.h5"))
import tf_keras
old = tf_keras.Sequential([tf_keras.layers.Input((3,)), tf_keras.layers.Dense(2)])
old.compile("adam", "mse")
(root / "old").mkdir(); old.save(str(root / "old" / "model.h5")); old.save(str(root / "saved"))
(root / "old-keras").mkdir(); old.save(str(root / "old-keras" / "model.keras"))
"""


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


def repositories(root):
    """What repositories carry beside a model: repositories.py."""
    sys.path.insert(0, str(pathlib.Path(__file__).parent))
    import repositories as carried
    carried.write(root, weights, tiny)


def main():
    amn = sys.argv[1]
    top = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else tempfile.mkdtemp()).resolve()
    reasons, folders, refused, meant, carried = collections.Counter(), 0, {"server": 0, "upload": 0}, {"server": 0, "upload": 0}, {}
    excused = [line.rstrip("\n").split("\t") for line in (pathlib.Path(__file__).parent / "refused.txt").read_text().splitlines() if line and line[0] != "#"]
    writers = (transformers, processors, diffusers, pipelines, peft, adapters, sentence_transformers, embedders, setfit, gliner, mlx, genai, open_clip, timm, mlflow, keras, tensorflow, skops, spacy, repositories)
    for write in writers:
        if sys.argv[3:] and write.__name__ not in sys.argv[3:]:
            continue
        root = top / write.__name__
        try:
            if not root.exists():
                write(root)
        except Exception as e:
            print("%-24s left out: %s" % (write.__name__, (traceback.format_exception_only(e)[-1].strip())[:120]), flush=True)
            continue
        made = {p.relative_to(root).parts[0] for p in root.rglob("*") if p.is_file()}
        apart = write is repositories  # what people add, of which upload takes little
        folders += 0 if apart else len(made)
        line = "%-24s %5d folders" % (write.__name__, len(made))
        for policy in refused:
            out = subprocess.run([amn, "scan", "--limits", policy, "--json", str(root)], capture_output=True, text=True).stdout
            bad, by_design = set(), set()
            for text in out.splitlines():
                one = json.loads(text)
                if one.get("class") not in (None, "ok"):
                    folder, message = pathlib.Path(one["path"]).relative_to(root).parts[0], str(one.get("error", {}).get("message"))
                    if any(write.__name__ == row[0] and row[1] in message for row in excused):
                        by_design.add(folder)
                        continue
                    bad.add(folder)
                    reasons[(policy, write.__name__, message[:230])] += 1
            by_design -= bad
            if apart:
                carried[policy] = "%d of %d" % (len(bad), len(made))
            else:
                refused[policy] += len(bad)
                meant[policy] += len(by_design)
            line += ", %s refuses %d" % (policy, len(bad)) + (" and %d as is meant" % len(by_design) if by_design else "")
        print(line, flush=True)
    for (policy, name, text), n in reasons.most_common(60):
        print("  %s %s %d: %s" % (policy, name, n, text))
    for policy, n in refused.items():
        print("%s: %d of %d folders, %.2f %%, and %d as is meant" % (policy, n, folders, 100 * n / max(folders, 1), meant[policy]))
    for policy, text in carried.items():
        print("%s: %s of what repositories carry beside models" % (policy, text))
    sys.exit(not folders and not carried or max(refused.values()) > AT_MOST * folders)


main()
