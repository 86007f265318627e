#!/usr/bin/env python3
"""Compares what this module knows with what the libraries know that write or load
quantized models.

    python3 crosscheck/watch/watch.py [--update]

The registries are read from the sources of the libraries, which crosscheck's
environment has or which are downloaded (environment.py, vLLM and diffusers below);
nothing of them is run. known.txt says of every name that stands in one whether it
is decoded, and by which scheme; refused, and under which name; or met at run time
only, in no file. It ends with 1 if a registry has a name that known.txt has not,
if known.txt has one that no registry has any more, if the classes of models that llama.cpp's
converter takes are not those of internal/family, if `amn formats` does not list
a scheme or a refused name, or if `amn` does not say of a model with the name in
its configuration what known.txt says.

--update writes new names to known.txt as unknown, to be decided.
"""
import argparse
import ast
import json
import pathlib
import struct
import subprocess
import sys
import tempfile
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path = [str(HERE.parent), str(HERE.parent / "ggml"), str(HERE.parent / "families"), *sys.path]

import derive  # noqa: E402
import llamacpp  # noqa: E402
import sources as families  # noqa: E402

KNOWN = HERE / "known.txt"

# Not in crosscheck's environment: their wheels are large, and a few sources of them are read.
WHEELS = {"vllm": "0.33.0", "diffusers": "0.42.1"}


def main():
    flags = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("--update", action="store_true")
    update = flags.parse_args().update
    from environment import Libraries
    libraries = Libraries()
    sources = libraries.root
    fetch(libraries)
    found = {(registry, name) for registry, read in REGISTRIES.items() for name in read(sources)}
    known = table()
    if update:
        for registry, name in sorted(found - set(known)):
            with KNOWN.open("a") as f:
                f.write(f"{registry}\t{name}\tunknown\t\n")
        return
    wrong = [f"{r}: {n!r} is in no line of known.txt" for r, n in sorted(found - set(known))]
    wrong += [f"{r}: {n!r} is in known.txt and in the library no more" for r, n in sorted(set(known) - found)]
    wrong += ours(known) + aged()
    counts = {}
    for verdict, _ in known.values():
        counts[verdict] = counts.get(verdict, 0) + 1
    print(f"{len(found)} names of {len(REGISTRIES)} registries: " + ", ".join(f"{n} {v}" for v, n in sorted(counts.items())))
    for line in wrong:
        print("WRONG", line)
    sys.exit(1 if wrong else 0)


def aged():
    """Whether the classes that amn knows of llama.cpp's converter are those that it has."""
    tree = llamacpp.sources()
    _, text, parts = families.converter(tree)
    path = ROOT / "internal" / "family" / "converter_table.go"
    return [] if path.read_text() == derive.go(text, parts, derive.roots(tree)) else [f"{path.relative_to(ROOT)} is not that of {llamacpp.VERSION}: run crosscheck/families/derive.py --table"]


def table():
    known = {}
    for line in KNOWN.read_text().splitlines():
        if line and not line.startswith("#"):
            registry, name, verdict, what = (line + "\t").split("\t")[:4]
            known[registry, name] = (verdict, what)
    return known


def fetch(libraries):
    """The sources of wheels that are not installed."""
    for package, version in WHEELS.items():
        folder = libraries.root / "watch" / f"{package}-{version}"
        if (folder / package / "__init__.py").exists():
            continue
        with tempfile.TemporaryDirectory() as tmp:
            libraries.pip("download", "-q", "--no-deps", "--only-binary", ":all:", "-d", tmp, f"{package}=={version}")
            wheel, = pathlib.Path(tmp).glob("*.whl")
            with zipfile.ZipFile(wheel) as z:
                names = [n for n in z.namelist() if n.endswith(".py") and ("quantiz" in n or n == f"{package}/__init__.py")]
                z.extractall(folder, names)


def parsed(sources, path):
    return ast.parse((sources / path).read_text())


def enum(path, name):
    """The values of a class of texts."""
    def read(sources):
        for node in ast.walk(parsed(sources, path)):
            if isinstance(node, ast.ClassDef) and node.name == name:
                yield from (a.value.value for a in node.body if isinstance(a, ast.Assign) and isinstance(a.value, ast.Constant) and isinstance(a.value.value, str))
    return read


def members(path, name):
    """The names in a class of numbers."""
    def read(sources):
        for node in ast.walk(parsed(sources, path)):
            if isinstance(node, ast.ClassDef) and node.name == name:
                yield from (a.targets[0].id for a in node.body if isinstance(a, ast.Assign))
    return read


def assigned(path, name):
    """The texts of a list, a dictionary or a Literal, where a name is assigned."""
    def read(sources):
        for node in ast.walk(parsed(sources, path)):
            if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == name for t in node.targets):
                value = node.value
                items = value.keys if isinstance(value, ast.Dict) else ast.walk(value)
                yield from (v.value for v in items if isinstance(v, ast.Constant) and isinstance(v.value, str))
    return read


def keyed(path, function, key):
    """The texts that a key has in the dictionaries of a function."""
    def read(sources):
        for node in ast.walk(parsed(sources, path)):
            if not isinstance(node, ast.FunctionDef) or node.name != function:
                continue
            for d in ast.walk(node):
                if isinstance(d, ast.Dict):
                    yield from (v.value for k, v in zip(d.keys, d.values) if isinstance(k, ast.Constant) and k.value == key and
                                isinstance(v, ast.Constant) and isinstance(v.value, str))
    return read


def called(path, function):
    """The first arguments of the calls of a function, which are texts."""
    def read(sources):
        for node in ast.walk(parsed(sources, path)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == function and isinstance(node.args[0], ast.Constant):
                yield node.args[0].value
    return read


def installed(path, read, *more):
    """The same of a package that stands in the site-packages of the Python."""
    def from_site(sources):
        file, = (sources / "lib").glob("python3*/site-packages/" + path)
        yield from read(str(file.relative_to(sources)), *more)(sources)
    return from_site


def converter(kind):
    """The classes that llama.cpp's converter takes: kind 0 as text models, 1 with a vision or audio part."""
    def read(_):
        return families.converter(llamacpp.sources())[1 + kind]
    return read


def modules(folder):
    """The files of a folder that have a class Model: a type of models each."""
    def read(sources):
        for path in sorted((sources / folder).glob("*.py")):
            if any(isinstance(n, ast.ClassDef) and n.name == "Model" for n in ast.parse(path.read_text()).body):
                yield path.stem
    return read


def structure(path, key):
    """The classes in the list of a package's lazy imports under a key: those that it always has, and those with torch."""
    def read(sources):
        for node in ast.walk(parsed(sources, path)):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == f"_import_structure['{key}'].extend":
                yield from (e.value for e in node.args[0].elts)
    return read


def mapped(path, name):
    """The classes in a list of pairs of a model type and its class, or several."""
    def read(sources):
        for node in ast.walk(parsed(sources, path)):
            if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == name for t in node.targets):
                for pair in node.value.args[0].elts:
                    yield from (c.value for c in ast.walk(pair.elts[1]) if isinstance(c, ast.Constant))
    return read


VLLM = f"watch/vllm-{WHEELS['vllm']}/vllm/model_executor/layers/quantization/__init__.py"
DIFFUSERS = f"watch/diffusers-{WHEELS['diffusers']}/diffusers/quantizers/auto.py"
GPTQMODEL = "gptqmodel/gptqmodel/quantization/config.py"

REGISTRIES = {
    "transformers quant_method": enum("quant/transformers/utils/quantization_config.py", "QuantizationMethod"),
    "vllm quant_method": assigned(VLLM, "QuantizationMethods"),
    "diffusers quant_method": assigned(DIFFUSERS, "AUTO_QUANTIZATION_CONFIG_MAPPING"),
    "GPTQModel quant_method": enum(GPTQMODEL, "METHOD"),
    "GPTQModel checkpoint_format": enum(GPTQMODEL, "FORMAT"),
    "compressed-tensors format": enum("quant/compressed_tensors/config/base.py", "CompressionFormat"),
    "ModelOpt quant_algo": keyed("quant/modelopt/torch/export/quant_utils.py", "process_layer_quant_config", "quant_algo"),
    "TorchAO tensor": assigned("quant/torchao/prototype/safetensors/safetensors_utils.py", "ALLOWED_TENSORS_SUBCLASSES"),
    "comfy-kitchen layout": called("quant/comfy_kitchen/tensor/__init__.py", "register_layout_class"),
    "mlx mode": installed("mlx/nn/layers/quantized.py", assigned, "mode_defaults"),
    "llama.cpp text model": converter(0),
    "llama.cpp vision or audio part": converter(1),
    "transformers causal model": mapped("quant/transformers/models/auto/modeling_auto.py", "MODEL_FOR_CAUSAL_LM_MAPPING_NAMES"),
    "gguf-py type": installed("gguf/constants.py", members, "GGMLQuantizationType"),
}


def ours(known):
    """Where known.txt says what amn does not do."""
    wrong = []
    with tempfile.TemporaryDirectory() as tmp:
        amn = pathlib.Path(tmp) / "amn"
        subprocess.run(["go", "build", "-o", str(amn), "./cli/amn"], cwd=ROOT, check=True)
        lists = json.loads(subprocess.run([amn, "formats", "--json"], stdout=subprocess.PIPE, check=True).stdout)
        schemes, refused = {s["name"] for s in lists["schemes"]}, set(lists["schemes_refused"])
        for (registry, name), (verdict, what) in known.items():
            if registry in ARCHITECTURES:
                wrong += unlike(amn, pathlib.Path(tmp), registry, name, verdict)
                continue
            if registry in OTHERS:
                does = OTHERS[registry](amn, pathlib.Path(tmp), name, what)
                wrong += [] if does == verdict else [f"{registry}: {name!r} should be {verdict}, and is {does}"]
                continue
            if verdict not in ("decoded", "refused", "runtime"):
                wrong.append(f"{registry}: {name!r} is {verdict}")
            elif verdict == "decoded" and what not in schemes:
                wrong.append(f"{registry}: {name!r} should be decoded as {what!r}, which amn formats does not list")
            elif verdict == "refused" and what not in refused and registry.endswith(("quant_method", "format")):
                wrong.append(f"{registry}: {name!r} should be refused as {what!r}, which amn formats does not list")
            key = registry.split()[-1]
            if key in ("quant_method", "checkpoint_format"):
                says = asked(amn, pathlib.Path(tmp), key, name)
                good = {"decoded": "which nothing here knows" not in says and "the scheme" not in says and "checkpoint format" not in says,
                        "refused": f"the scheme {what} " in says, "runtime": True}.get(verdict)
                if not good:
                    wrong.append(f"{registry}: {name!r} should be {verdict} ({what}), and amn says {says!r}")
    return wrong


# Registries of classes of models, and whether amn is asked for their vision part.
ARCHITECTURES = {"llama.cpp text model": False, "llama.cpp vision or audio part": True, "transformers causal model": False}
# What a refusal says, by what becomes of a class.
REFUSALS = {"none yet": "there is no row for it yet", "none": "has none of that name"}


def becomes(amn, folder, registry, name):
    """What amn does with a model of a class: taken, if it is not refused by name."""
    (folder / "config.json").write_text(json.dumps({"architectures": [name], "vision_config": {"hidden_size": 8}} if ARCHITECTURES[registry] else {"architectures": [name]}))
    save(folder / "model.safetensors", {"m.weight": ("F32", (1, 1))})
    done = subprocess.run([amn, "convert", folder, "--to", "gguf", *(["--mmproj"] if ARCHITECTURES[registry] else []), "-o", folder / "out.gguf"], capture_output=True, text=True)
    return next((verdict for verdict, text in REFUSALS.items() if text in done.stderr), "taken")


def mlx(amn, folder, name, cls):
    """What amn does with a folder of a class whose type mlx-lm has: taken, if it writes one for mlx-lm."""
    (folder / "config.json").write_text(json.dumps({"architectures": [cls or name], "model_type": name}))
    save(folder / "model.safetensors", {"m.weight": ("F32", (1, 1))})
    done = subprocess.run([amn, "convert", folder, "--to", "mlx", "-o", folder / "out"], capture_output=True, text=True)
    return "none yet" if repr_of(cls or name) in done.stderr and "mlx" in done.stderr or "is not supported" in done.stderr else "taken"


def repr_of(name):
    return json.dumps(name)


def diffusion(amn, folder, name, _):
    """What amn does with a component of diffusers for llama.cpp's relatives: refused by its class."""
    (folder / "config.json").write_text(json.dumps({"_class_name": name, "_diffusers_version": WHEELS["diffusers"]}))
    save(folder / "model.safetensors", {"m.weight": ("F32", (1, 1))})
    done = subprocess.run([amn, "convert", folder, "--to", "gguf", "-o", folder / "out.gguf"], capture_output=True, text=True)
    return "none yet" if repr_of(name) in done.stderr and "diffusers" in done.stderr else "taken"


# Registries of other classes, and what becomes of a model of one.
OTHERS = {"mlx-lm model": mlx, "diffusers model": diffusion}


def unlike(amn, folder, registry, name, verdict):
    does = becomes(amn, folder, registry, name)
    return [] if does == verdict else [f"{registry}: {name!r} should be {verdict}, and is {does}"]


# The quant_method that a checkpoint_format stands under, where that is not gptq.
METHOD_OF = {"gemm": "awq", "gemv": "awq", "gemv_fast": "awq", "llm-awq": "awq", "fp8": "fp8", "bitsandbytes": "bitsandbytes"}


def asked(amn, folder, key, name):
    """What amn says of a model that such a configuration describes."""
    config = {"quant_method": METHOD_OF.get(name, "gptq"), "bits": 4, "group_size": 32, key: name}
    (folder / "config.json").write_text(json.dumps({"quantization_config": config}))
    path = folder / "model.safetensors"
    if name in ("fp8", "bitsandbytes"):
        save(path, {"m.weight": ("F8_E4M3", (8, 32)), "m.weight_scale_inv": ("F32", (1, 1))})
    else:
        save(path, {"m.qweight": ("I32", (8, 32)), "m.qzeros": ("I32", (2, 4)), "m.scales": ("F16", (2, 32))})
    done = subprocess.run([amn, "remember", "--dry-run", path], capture_output=True, text=True)
    return done.stderr.strip()


def save(path, tensors):
    """A file of safetensors, of zeros."""
    header, at = {}, 0
    for name, (dtype, shape) in tensors.items():
        size = {"I32": 4, "F32": 4, "F16": 2, "F8_E4M3": 1}[dtype] * shape[0] * shape[1]
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + bytes(at))


if __name__ == "__main__":
    main()
