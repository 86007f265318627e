"""Which methods of quantization vLLM and SGLang have, read from their sources as syntax trees, and of compressed-tensors
the classes between which they choose, of ModelOpt the algorithms that they spell: a format without one raises there.

    reads.py vllm FOLDER

SGLang adds some methods for one kind of device alone; those are not listed.
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


def rows(library, root):
    folder, name = WHERE[library]
    for m in methods(ast.parse((root / folder / "__init__.py").read_text()), name):
        more = schemes(ast.parse((root / folder / "compressed_tensors/compressed_tensors.py").read_text())) if m == "compressed-tensors" else []
        if m == "modelopt":
            more = algorithms(root / folder)
        yield m, " ".join(more)


if __name__ == "__main__":
    for m, more in rows(sys.argv[1], pathlib.Path(sys.argv[2])):
        print(f"{m}|{more}")
