"""Lists the members that libraries read in the texts of their folders, for internal/sidecar/members.txt.

    (python3 crosscheck/kinds/members.py; python3 crosscheck/kinds/members.py more) > internal/sidecar/members.txt

runs in an environment that has the libraries below; those of the second list are read from their wheels, unpacked without what they need. transformers' configurations are made
(every model type), the rest is read from the sources of what is installed, without running
it: arguments of constructors, fields of dataclasses and typed dictionaries, members that a
method takes from a dictionary or puts into one.

A line is a group of texts, a member, and what the library's annotation or default makes of
its value: number, boolean, text, tree (lists and objects), or the words of a closed set.
"""
import ast
import importlib.metadata
import importlib.util
import os
import pathlib
import re
import sys
import warnings

warnings.filterwarnings("ignore")
os.environ["TRANSFORMERS_VERBOSITY"] = "error"

members = {}  # group -> member -> set of grammars


def add(group, name, *grammars):
    if re.fullmatch(r"[\w.:$-]{1,80}", name) and not name.startswith("__"):
        members.setdefault(group, {}).setdefault(name, set()).update(grammars)


def of_value(value):
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, (int, float)):
        return "number"
    if isinstance(value, (dict, list, tuple, set)):
        return "tree"
    return "text" if isinstance(value, str) else ""


def of_annotation(node):
    """The grammars of an annotation as it stands in the source."""
    if node is None:
        return set()
    text = ast.unparse(node)
    out = set()
    for literal in re.findall(r"Literal\[([^\]]*)\]", text):
        words = re.findall(r"'([\w.-]+)'", literal)
        if words:
            out.add("=" + ",".join(words))
    text = re.sub(r"Literal\[[^\]]*\]", "", text)
    for word, grammar in (("bool", "boolean"), ("int", "number"), ("float", "number"), ("str", "text"), ("dict|Dict|list|List|tuple|Tuple|Sequence|Mapping|set\\b", "tree")):
        if re.search(r"\b(%s)\b" % word, text):
            out.add(grammar)
    return out


def of_default(node):
    try:
        return {of_value(ast.literal_eval(node))} - {""}
    except (ValueError, TypeError, SyntaxError):
        return set()


def root(package):
    return pathlib.Path(importlib.util.find_spec(package).submodule_search_locations[0])


def sources(package, pattern="**/*.py"):
    for path in sorted(root(package).glob(pattern)):
        if "test" not in path.parts:
            yield path, ast.parse(path.read_text())


def arguments(group, function):
    a = function.args
    every = a.posonlyargs + a.args
    defaults = [None] * (len(every) - len(a.defaults)) + list(a.defaults)
    for arg, default in list(zip(every, defaults)) + list(zip(a.kwonlyargs, a.kw_defaults)):
        if arg.arg not in ("self", "cls"):
            add(group, arg.arg, *(of_annotation(arg.annotation) | (of_default(default) if default else set())))


def fields(group, node):
    for line in node.body:
        if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name):
            add(group, line.target.id, *(of_annotation(line.annotation) | (of_default(line.value) if line.value else set())))


def taken(group, tree):
    """Members that code takes from or puts into dictionaries by their names."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
            add(group, node.slice.value)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("get", "pop", "setdefault") and node.args and isinstance(node.args[0], ast.Constant) and isinstance(node.args[0].value, str):
            add(group, node.args[0].value, *(of_default(node.args[1]) if len(node.args) > 1 else set()))
        if isinstance(node, ast.Dict):
            for key in node.keys:
                if isinstance(key, ast.Constant) and isinstance(key.value, str):
                    add(group, key.value)


def classes(tree):
    return [n for n in ast.walk(tree) if isinstance(n, ast.ClassDef)]


def init(node):
    return [n for n in node.body if isinstance(n, ast.FunctionDef) and n.name == "__init__"]


def flat(group, tree):
    for name, value in tree.items():
        if not isinstance(name, str):
            continue
        add(group, name, *({of_value(value)} - {""}))
        if isinstance(value, dict):
            flat(group, value)


def transformers():
    from transformers import GenerationConfig
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING
    for kind in list(CONFIG_MAPPING.keys()):
        try:
            flat("transformers.config", CONFIG_MAPPING[kind]().to_dict())
        except Exception as e:  # two have no default
            print(kind, repr(e)[:80], file=sys.stderr)
    flat("transformers.generation", GenerationConfig().to_dict())
    for path, tree in sources("transformers"):
        for node in classes(tree):
            stem = node.name
            if stem.endswith("Config"):
                group = "transformers.generation" if "generation" in path.parts or path.stem.startswith("watermark") else "transformers.quantization" if "quantization" in path.name else "transformers.config"
            elif re.search(r"(Processor|FeatureExtractor|Kwargs)(Fast|Base|Mixin|Pil)?$", stem) or stem == "BaseImageProcessor":
                group = "transformers.processor"
            elif re.search(r"Tokenizer(Fast|Base|Mixin)?$", stem) or stem in ("PreTrainedTokenizerBase", "TokenizersBackend", "PythonBackend", "SpecialTokensMixin", "MistralCommonBackend"):
                group = "transformers.tokenizer"
            else:
                continue
            fields(group, node)
            for f in init(node):
                arguments(group, f)
                if group in ("transformers.processor", "transformers.tokenizer", "transformers.quantization", "transformers.generation"):
                    taken(group, f)
            for line in node.body:  # a default of the class, such as do_resize = True
                if isinstance(line, ast.Assign) and isinstance(line.targets[0], ast.Name) and group == "transformers.processor":
                    add(group, line.targets[0].id, *of_default(line.value))
        if path.name in ("trainer_callback.py", "trainer_utils.py", "training_args.py"):
            for node in classes(tree):
                fields("transformers.trainer", node)
            taken("transformers.trainer", tree)


def diffusers():
    for _, tree in sources("diffusers"):
        for node in classes(tree):
            for f in init(node):
                if any("register_to_config" in ast.unparse(d) for d in f.decorator_list):
                    arguments("diffusers.config", f)
    for name in ("configuration_utils.py", "pipelines/pipeline_utils.py", "pipelines/pipeline_loading_utils.py"):
        for _, tree in sources("diffusers", name):
            taken("diffusers.config", tree)
    for _, tree in sources("diffusers", "quantizers/quantization_config.py"):
        for node in classes(tree):
            for f in init(node):
                arguments("transformers.quantization", f)
    for _, tree in sources("diffusers", "pipelines/**/*.py"):  # the components of each pipeline
        for node in classes(tree):
            if node.name.endswith("Pipeline") or "Pipeline" in node.name:
                for f in init(node):
                    arguments("diffusers.index", f)


def peft():
    for _, tree in sources("peft"):
        for node in classes(tree):
            if node.name.endswith("Config"):
                fields("peft.config", node)


def sentence_transformers():
    for _, tree in sources("sentence_transformers"):
        for node in classes(tree):
            keys = [ast.literal_eval(n.value) for n in node.body if isinstance(n, (ast.Assign, ast.AnnAssign)) and ast.unparse(n.targets[0] if isinstance(n, ast.Assign) else n.target) == "config_keys" and n.value is not None and isinstance(n.value, (ast.List, ast.Tuple))]
            for list_ in keys:
                for name in list_:
                    add("sentence-transformers.config", name)
            for f in node.body:
                if isinstance(f, ast.FunctionDef) and f.name in ("get_config_dict", "save", "load", "from_pretrained", "_get_model_config", "get_model_kwargs", "_save_config", "_load_config", "save_config", "load_config", "_parse_model_config"):
                    taken("sentence-transformers.config", f)
            if keys:
                for f in init(node):
                    for arg in f.args.args + f.args.kwonlyargs:
                        if any(arg.arg in k for k in keys):
                            add("sentence-transformers.config", arg.arg, *of_annotation(arg.annotation))


def mlx():
    for _, tree in sources("mlx_lm", "models/*.py"):
        for node in classes(tree):
            if node.name.endswith(("Args", "Config")):
                fields("mlx.config", node)
    for name in ("utils.py", "tuner/*.py"):
        for _, tree in sources("mlx_lm", name):
            taken("mlx.config", tree)


def keras():
    for _, tree in sources("keras", "src/**/*.py"):
        for node in classes(tree):
            for f in node.body:
                if isinstance(f, ast.FunctionDef) and f.name in ("get_config", "get_build_config", "get_compile_config", "from_config"):
                    taken("keras.config", f)
            for f in init(node):
                arguments("keras.config", f)
    for name in ("src/saving/*.py", "src/legacy/saving/*.py"):
        for _, tree in sources("keras", name):
            taken("keras.config", tree)


def timm():
    for name in ("models/_pretrained.py", "models/_hub.py", "models/_helpers.py"):
        for _, tree in sources("timm", name):
            for node in classes(tree):
                fields("timm.config", node)
            taken("timm.config", tree)


def open_clip():
    for path, tree in sources("open_clip", "*.py"):
        for node in classes(tree):
            if node.name.endswith("Cfg"):
                fields("open_clip.config", node)
        if path.name in ("factory.py", "push_to_hf_hub.py", "transform.py", "tokenizer.py"):
            taken("open_clip.config", tree)
    import json
    for path in root("open_clip").glob("model_configs/*.json"):
        flat("open_clip.config", json.loads(path.read_text()))


def stable_baselines3():
    for _, tree in sources("stable_baselines3"):
        for node in classes(tree):
            for part in ast.walk(node):
                if isinstance(part, (ast.Assign, ast.AnnAssign)):
                    for target in part.targets if isinstance(part, ast.Assign) else [part.target]:
                        if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) and target.value.id == "self":
                            add("stable-baselines3.data", target.attr, *(of_annotation(part.annotation) if isinstance(part, ast.AnnAssign) else of_default(part.value)))
    for _, tree in sources("stable_baselines3", "common/save_util.py"):
        taken("stable-baselines3.data", tree)


def mlflow():
    for name in ("models/model.py", "models/resources.py", "*/__init__.py", "*/model.py", "models/utils.py", "utils/model_utils.py", "transformers/flavor_config.py"):
        for _, tree in sources("mlflow", name):
            taken("mlflow.MLmodel", tree)
            for node in ast.walk(tree):
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("add_flavor", "add_to_model"):
                    for word in node.keywords:
                        if word.arg:
                            add("mlflow.MLmodel", word.arg)
                if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and re.search(r"_(KEY|SUBPATH|CONFIG|FLAVOR\w*|FILE_NAME|NAME|VERSION|CODE|DATA|ENV|MODULE|PATH)$", node.targets[0].id) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
                    add("mlflow.MLmodel", node.value.value)
        for _, tree in sources("mlflow", name):
            for node in classes(tree):
                if node.name == "Model":
                    for f in init(node):
                        arguments("mlflow.MLmodel", f)


def onnxruntime_genai():
    for _, tree in sources("onnxruntime_genai", "models/**/*.py"):
        taken("onnxruntime-genai.config", tree)


def ollama():
    for name in ("_types.py",):
        for _, tree in sources("ollama", name):
            for node in classes(tree):
                if node.name == "Options":
                    fields("ollama.params", node)


def openvino():
    for _, tree in sources("optimum", "intel/openvino/configuration.py"):
        for node in classes(tree):
            fields("openvino.config", node)
            for f in init(node):
                arguments("openvino.config", f)
                taken("openvino.config", f)


def nemo():
    for path, tree in sources("nemo", "**/*.py"):
        for node in classes(tree):
            if node.name.endswith(("Config", "Params")):
                fields("nemo.config", node)
            if path.parts[-2] in ("modules", "models", "losses", "preprocessing", "parts", "submodules", "core"):
                for f in init(node):
                    arguments("nemo.config", f)
        if "models" in path.parts or "mixins" in path.parts:
            taken("nemo.config", tree)
            for node in ast.walk(tree):  # cfg.train_ds
                if isinstance(node, ast.Attribute) and isinstance(node.value, (ast.Name, ast.Attribute)) and (getattr(node.value, "id", "") in ("cfg", "_cfg", "config") or getattr(node.value, "attr", "") in ("cfg", "_cfg")):
                    add("nemo.config", node.attr)


def spacy():
    for _, tree in sources("spacy", "language.py"):
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef) and node.name == "meta":
                taken("spacy.meta", node)
    for _, tree in sources("spacy", "util.py"):
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef) and "meta" in node.name:
                taken("spacy.meta", node)
    for _, tree in sources("spacy", "schemas.py"):
        for node in classes(tree):
            if node.name == "ModelMetaSchema":
                fields("spacy.meta", node)


def funasr():
    for name in ("models/**/*.py", "frontends/*.py", "tokenizer/*.py", "datasets/**/*.py", "optimizers/*.py", "schedulers/*.py"):
        for _, tree in sources("funasr", name):
            for node in classes(tree):
                for f in init(node):
                    arguments("funasr.config", f)
                    taken("funasr.config", f)
    for name in ("auto/auto_model.py", "download/download_model_from_hub.py", "bin/train_ds.py", "train_utils/*.py"):
        for _, tree in sources("funasr", name):
            taken("funasr.config", tree)
    for _, tree in sources("funasr", "download/download_model_from_hub.py"):
        taken("funasr.configuration", tree)


def setfit():
    for name in ("modeling.py", "span/modeling.py"):
        for _, tree in sources("setfit", name):
            for node in classes(tree):
                fields("setfit.config", node)
            for node in ast.walk(tree):
                if isinstance(node, (ast.Assign, ast.AnnAssign)) and "attributes_to_save" in ast.unparse(node.targets[0] if isinstance(node, ast.Assign) else node.target):
                    for word in ast.walk(node.value):
                        if isinstance(word, ast.Constant) and isinstance(word.value, str):
                            add("setfit.config", word.value)


def gliner():
    for name in ("config.py", "training/trainer.py", "utils.py"):
        for _, tree in sources("gliner", name):
            for node in classes(tree):
                fields("gliner.config", node)
                for f in init(node):
                    arguments("gliner.config", f)


def torchserve():
    for name in ("handler_utils/**/*.py", "torch_handler/*.py"):
        for _, tree in sources("ts", name):
            taken("torchserve.config", tree)


def ultralytics():
    for _, tree in sources("ultralytics", "engine/exporter.py"):
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], (ast.Attribute, ast.Subscript)) and "metadata" in ast.unparse(node.targets[0]):
                taken("ultralytics.metadata", node)
    for _, tree in sources("ultralytics", "nn/backends/base.py"):
        taken("ultralytics.metadata", tree)
    for line in (root("ultralytics") / "cfg/default.yaml").read_text().splitlines():
        match = re.match(r"(\w+):\s*([^#]*)", line)
        if match:
            add("ultralytics.args", match[1], *({of_value(ast.literal_eval(match[2].strip()))} - {""} if re.fullmatch(r"[0-9.]+", match[2].strip()) else {"boolean"} if match[2].strip() in ("True", "False") else {"text"}))
            add("ultralytics.metadata", match[1])


# Read with the wheels unpacked, since they are not installed: PYTHONPATH=FOLDER members.py more
MORE = {"optimum-intel": openvino, "nemo_toolkit": nemo, "spacy": spacy, "funasr": funasr, "setfit": setfit, "gliner": gliner, "torchserve": torchserve, "ultralytics": ultralytics}

LIBRARIES = {"transformers": transformers, "diffusers": diffusers, "peft": peft, "sentence-transformers": sentence_transformers, "mlx-lm": mlx, "keras": keras,
             "timm": timm, "open_clip_torch": open_clip, "stable_baselines3": stable_baselines3, "mlflow-skinny": mlflow, "onnxruntime-genai": onnxruntime_genai, "ollama": ollama}


def main():
    libraries = MORE if sys.argv[1:] == ["more"] else LIBRARIES
    print("# What libraries read in the texts of their folders, by crosscheck/kinds/members.py%s, of" % "".join(" " + a for a in sys.argv[1:]))
    print("# " + ", ".join("%s %s" % (name, importlib.metadata.version(name)) for name in libraries) + ".")
    for read in libraries.values():
        read()
    for group in sorted(members):
        for name in sorted(members[group]):
            grammars = members[group][name]
            sets = sorted(g for g in grammars if g.startswith("="))
            plain = sorted(g for g in grammars if g and not g.startswith("="))
            if "text" in plain:
                sets = []
            print(group, name, *(plain + sets))


main()
