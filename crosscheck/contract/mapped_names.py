"""Whether vLLM and SGLang find the modules of what amn writes: their own functions that map names and decide which layers are
not quantized, run alone on a CPU.

    mapped_names.py VLLM SGLANG FOLDER ...     folders that amn quantized to a format of compressed-tensors, or to fp8; VLLM and SGLANG
                                         are the unpacked wheels. Prints a line of JSON for each library and folder

Neither library can be imported without a GPU. The functions are taken out of their sources and run with what they use:

    vLLM       WeightsMapper, the hf_to_vllm_mapper and packed_modules_mapping of the architecture's class, should_ignore_layer; of
               fp8 is_layer_skipped
    SGLang     packed_modules_mapping of the class, should_ignore_layer; of fp8 is_layer_skipped, whose list its configuration gives
               with and without "model."

A layer must be ignored if and only if the file has no codes of it, and no shards of one may differ: there both raise. Verdicts:

    equal      the functions decide so for every linear module of the file
    read       the class, or its mapper, cannot be evaluated alone; why says what is missing
    WRONG      all else
"""
import ast
import dataclasses
import fnmatch
import functools
import json
import pathlib
import re
import struct
import sys
import types
import typing

CODES = re.compile(r"\.(weight_packed|weight_scale|weight_scale_inv)$")
HELPERS = ("find_matching_patterns", "is_equal_or_regex_match", "should_ignore_layer", "check_equal_or_regex_match", "_is_equal_or_regex_match", "is_layer_skipped", "_module_path_match")
CONSTANTS = ("_FALLBACK_FUSED_SHARDS",)


class Unread(Exception):
    pass


def functions(*files):
    """The functions of HELPERS with their CONSTANTS, run with the standard library alone."""
    space = {"re": re, "fnmatch": fnmatch.fnmatch, "MappingProxyType": types.MappingProxyType, "Mapping": typing.Mapping, "Iterable": typing.Iterable, "List": list, "Optional": typing.Optional, "Literal": typing.Literal, "Module": object}
    for file in files:
        for node in ast.parse(file.read_text()).body:
            given = getattr(node.target, "id", "") if isinstance(node, ast.AnnAssign) else ""
            if isinstance(node, ast.FunctionDef) and node.name in HELPERS or given in CONSTANTS:
                exec(compile(ast.Module([node], []), str(file), "exec"), space)
    return space


class Models:
    """The classes of a folder of models, of which members are evaluated."""

    def __init__(self, root, folder):
        self.classes, self.files, self.space = {}, {}, {"re": re, "dict": dict}
        for f in sorted((root / folder).rglob("*.py")):
            for node in ast.parse(f.read_text()).body:
                if isinstance(node, ast.ClassDef):
                    self.classes.setdefault(node.name, node)
                    self.files.setdefault(node.name, f)

    def never(self, cls):
        """The last names of the modules that the file of a class builds without a configuration of quantization, such as routers."""
        found = set()
        for node in ast.walk(ast.parse(self.files[cls].read_text())) if cls in self.files else ():
            given = {k.arg: k.value for k in node.keywords} if isinstance(node, ast.Call) else {}
            if getattr(given.get("quant_config"), "value", "") is None and isinstance(given.get("prefix"), ast.JoinedStr):
                found.add(ast.unparse(given["prefix"]).rstrip("'\"").rpartition(".")[2])
        return found

    def member(self, cls, name):
        node = self.classes.get(cls)
        if node is None:
            raise Unread(f"{cls} is not a class of its models")
        for b in reversed(node.body):
            target = b.targets[0] if isinstance(b, ast.Assign) else b.target if isinstance(b, ast.AnnAssign) else None
            if getattr(target, "id", "") == name and getattr(b, "value", None) is not None:
                return self.value(b.value)
        for base in node.bases:
            try:
                return self.member(ast.unparse(base).split(".")[-1].partition("[")[0], name)
            except Unread:
                pass
        raise Unread(f"{cls} has no {name} of its own")

    def optional(self, cls, name, other):
        """The member, or what both libraries take for a class without one."""
        try:
            return self.member(cls, name)
        except Unread as e:
            if "has no" in str(e):
                return other
            raise

    def value(self, node):
        models = self

        class Class:
            def __init__(self, name):
                self.name = name

            def __getattr__(self, attr):
                return models.member(self.name, attr)

        class Space(dict):
            def __missing__(self, name):
                if name in models.classes:
                    return Class(name)
                raise Unread(f"{name} cannot be evaluated alone")
        try:
            return eval(compile(ast.Expression(node), "", "eval"), {"__builtins__": {}}, Space(self.space))
        except Unread:
            raise
        except Exception as e:
            raise Unread(f"{ast.unparse(node)[:60]}: {type(e).__name__} {e}")


def weights_mapper(root):
    """vLLM's class WeightsMapper."""
    logger = types.SimpleNamespace(warning_once=lambda *a: None)
    space = {"re": re, "dataclass": dataclasses.dataclass, "field": dataclasses.field, "replace": dataclasses.replace, "Mapping": typing.Mapping, "Iterable": typing.Iterable, "Any": typing.Any,
             "ShardIds": object, "torch": types.SimpleNamespace(Tensor=object), "nn": types.SimpleNamespace(Module=object), "logger": logger}
    for node in ast.parse((root / "vllm/model_executor/models/utils.py").read_text()).body:
        if isinstance(node, ast.ClassDef) and node.name == "WeightsMapper":
            exec(compile(ast.Module([node], []), "", "exec"), space)
            return space["WeightsMapper"]
    raise SystemExit("vLLM has no WeightsMapper")


def tensors(folder):
    names = {}
    for f in folder.glob("*.safetensors"):
        with open(f, "rb") as r:
            n, = struct.unpack("<Q", r.read(8))
            names |= {k: v["shape"] for k, v in json.loads(r.read(n)).items() if k != "__metadata__"}
    return names


def linear(folder, ignore):
    """(module, whether it has codes) of the linear modules of a file: those with codes, and those that are ignored by name."""
    names = tensors(folder)
    coded = {CODES.sub("", n) for n in names if CODES.search(n)}
    yield from ((m, True) for m in sorted(coded))
    yield from ((m, False) for m in sorted({i for i in ignore if i + ".weight" in names}))


def decided(folder, rename, packed, ignored, never):
    """The number of modules, and the first of which a library decides other than the file has it, or "". Of those that it never
    quantizes it asks nothing."""
    config = json.loads((folder / "config.json").read_text())["quantization_config"]
    ignore = config["modules_to_not_convert" if config["quant_method"] == "fp8" else "ignore"]
    n = 0
    for module, coded in linear(folder, ignore):
        if ".experts." in module and ".shared_experts." not in module:
            continue  # one layer of experts, which both libraries build without this function
        name = rename(module)
        for whole, parts in packed.items():
            head, _, last = name.rpartition(".")
            if last in parts:
                name = f"{head}.{whole}" if head else whole
                break
        n += 1
        skipped = name.rpartition(".")[2] in never or ignored(name, rename, ignore, packed)
        if skipped == coded:
            return n, f"{module} has {'codes' if coded else 'no codes'}, and {name} is {'ignored' if coded else 'looked for as codes'}"
    return n, ""


@functools.cache
def libraries(vllm, sglang):
    """The mapper, and of each library its models and its functions for compressed-tensors and for fp8. Reading them takes seconds."""
    mapper = weights_mapper(vllm)
    models = Models(vllm, "vllm/model_executor/models"), Models(sglang, "sglang/srt/models")
    models[0].space["WeightsMapper"] = models[1].space["WeightsMapper"] = mapper
    quant = "layers/quantization"
    vfunc = functions(vllm / f"vllm/model_executor/{quant}/utils/config_utils.py", vllm / f"vllm/model_executor/{quant}/compressed_tensors/utils.py")["should_ignore_layer"]
    sfunc = functions(sglang / f"sglang/srt/{quant}/compressed_tensors/utils.py")["should_ignore_layer"]
    vskip = functions(vllm / f"vllm/model_executor/{quant}/utils/quant_utils.py")["is_layer_skipped"]
    sskip = functions(sglang / f"sglang/srt/{quant}/utils.py")["is_layer_skipped"]
    # As SGLang's Fp8Config.from_config has the list.
    both = lambda ignore: [n for i in ignore for n in (i.removeprefix("model."), "model." + i.removeprefix("model."))]  # noqa: E731
    return mapper, (("vllm", models[0], vfunc, vskip), ("sglang", models[1], sfunc, lambda name, ignore, packed: sskip(name, both(ignore), packed)))


def rows(vllm, sglang, folders):
    mapper, both = libraries(vllm, sglang)
    for folder in folders:
        config = json.loads((folder / "config.json").read_text())
        cls, fp8 = config["architectures"][0], config["quantization_config"]["quant_method"] == "fp8"
        for library, known, func, skip in both:
            func = skip if fp8 else func
            try:
                packed = known.optional(cls, "packed_modules_mapping", {})
                rename = known.optional(cls, "hf_to_vllm_mapper" if library == "vllm" else "hf_to_sglang_mapper", mapper()).get_rename_mapper()
                ignored = lambda name, r, ignore, packed: func(name, rename.apply_list(ignore), packed)
                n, why = decided(folder, lambda m: rename.map_name(m + ".weight").removesuffix(".weight"), packed, ignored, known.never(cls))
                verdict = "WRONG" if why else "equal"
            except Unread as e:
                n, verdict, why = 0, "read", str(e)
            except (ValueError, AssertionError) as e:
                n, verdict, why = 0, "WRONG", str(e)
            yield {"library": library, "class": cls, "folder": folder.name, "verdict": verdict, "modules": n, "why": why}


if __name__ == "__main__":
    for row in rows(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), list(map(pathlib.Path, sys.argv[3:]))):
        print(json.dumps(row))
