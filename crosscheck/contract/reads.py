"""Which methods of quantization each loader has, read from its sources as syntax trees.

    reads.py vllm FOLDER

A row is a method, a bar, and what else of it is known:

    vllm, sglang          its registry; of compressed-tensors the classes between which it chooses, of ModelOpt the algorithms
                          that it spells: a format without one raises there. SGLang adds some methods for one kind of device
                          alone; those are not listed
    transformers          its registry of quantizers
    diffusers             the same
    peft                  layers of libraries that LoRA stands beside
    mlx-lm                methods of config.json that it turns into its own, with the formats of compressed-tensors
    compressed-tensors    its formats
    torchao               the classes of tensors that its reader of safetensors makes
    gptqmodel             its methods
    modelopt              the formats that it exports
"""
import ast
import pathlib
import re
import sys

ALGORITHM = re.compile(r"(W\d+A\d+_)?(FP8|MXFP8|NVFP4)(_[A-Z]+)*")
WHERE = {"vllm": ("vllm/model_executor/layers/quantization", "QuantizationMethods"), "sglang": ("sglang/srt/layers/quantization", "BASE_QUANTIZATION_METHODS")}


def methods(tree, name):
    for node in tree.body:
        target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
        if getattr(target, "id", "") == name:
            items = node.value.keys if isinstance(node.value, ast.Dict) else ast.walk(node.value)
            return sorted({v.value for v in items if isinstance(v, ast.Constant) and isinstance(v.value, str)})
    raise SystemExit(f"{name} is assigned nowhere")


def schemes(tree):
    """The classes of which _get_scheme_from_parts makes one."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == "_get_scheme_from_parts":
            found |= {n.func.id.removeprefix("CompressedTensors") for n in ast.walk(node) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id.startswith("CompressedTensors")}
            found |= {"WNA16" for n in ast.walk(node) if isinstance(n, ast.Name) and n.id == "CompressedTensorsWNA16"}
    return sorted(found)


def algorithms(folder):
    """The algorithms of ModelOpt that its reader spells."""
    file, = [f for f in folder.glob("modelopt*.py") if f.name in ("modelopt.py", "modelopt_quant.py")]
    return sorted({n.value for n in ast.walk(ast.parse(file.read_text())) if isinstance(n, ast.Constant) and isinstance(n.value, str) and ALGORITHM.fullmatch(n.value)})


def keys(path, name):
    """The keys of a dictionary, or the texts of a list."""
    def read(root):
        yield from ((m, "") for m in methods(ast.parse((root / path).read_text()), name))
    return read


def members(path, name):
    """The values of a class of texts."""
    def read(root):
        for node in ast.walk(ast.parse((root / path).read_text())):
            if isinstance(node, ast.ClassDef) and node.name == name:
                yield from ((b.value.value, "") for b in node.body if isinstance(b, ast.Assign) and isinstance(b.value, ast.Constant) and isinstance(b.value.value, str))
    return read


def peft(root):
    for node in ast.walk(ast.parse((root / "peft/tuners/lora/model.py").read_text())):
        if isinstance(node, ast.alias) and node.name.startswith("dispatch_") and node.name not in ("dispatch_default", "dispatch_megatron", "dispatch_transformer_engine"):
            yield {"bnb_8bit": "bitsandbytes_8bit", "bnb_4bit": "bitsandbytes_4bit"}.get(m := node.name.removeprefix("dispatch_"), m), ""


def mlx(root):
    """What load_model compares quant_method with, and the formats of which _compressed_tensors_quantization returns something."""
    for node in ast.walk(ast.parse((root / "mlx_lm/utils.py").read_text())):
        if isinstance(node, ast.FunctionDef) and node.name == "_compressed_tensors_quantization":
            formats = sorted(n.comparators[0].value for n in ast.walk(node) if isinstance(n, ast.Compare) and isinstance(n.comparators[0], ast.Constant) and isinstance(n.comparators[0].value, str))
            yield "compressed-tensors", " ".join(formats)
        if isinstance(node, ast.FunctionDef) and node.name == "load_model":
            for c in ast.walk(node):
                if isinstance(c, ast.Compare) and getattr(c.left, "id", "") == "quant_method":
                    yield from ((n.value, "") for n in ast.walk(c.comparators[0]) if isinstance(n, ast.Constant) and n.value != "compressed-tensors")


def modelopt(root):
    for node in ast.parse((root / "modelopt/torch/export/model_config.py").read_text()).body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "").startswith("QUANTIZATION_") and isinstance(node.value, ast.Constant) and node.value.value:
            yield node.value.value, ""


OTHERS = {
    "transformers": keys("transformers/quantizers/auto.py", "AUTO_QUANTIZER_MAPPING"),
    "diffusers": keys("diffusers/quantizers/auto.py", "AUTO_QUANTIZER_MAPPING"),
    "torchao": keys("torchao/prototype/safetensors/safetensors_utils.py", "ALLOWED_TENSORS_SUBCLASSES"),
    "compressed-tensors": members("compressed_tensors/config/base.py", "CompressionFormat"),
    "gptqmodel": members("gptqmodel/quantization/config.py", "METHOD"),
    "peft": peft, "mlx-lm": mlx, "modelopt": modelopt,
}


def rows(library, root):
    if library in OTHERS:
        yield from sorted(set(OTHERS[library](root)))
        return
    folder, name = WHERE[library]
    for m in methods(ast.parse((root / folder / "__init__.py").read_text()), name):
        more = schemes(ast.parse((root / folder / "compressed_tensors/compressed_tensors.py").read_text())) if m == "compressed-tensors" else []
        if m == "modelopt":
            more = algorithms(root / folder)
        yield m, " ".join(more)


if __name__ == "__main__":
    for m, more in rows(sys.argv[1], pathlib.Path(sys.argv[2])):
        print(f"{m}|{more}")
