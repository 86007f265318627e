"""Lays published configurations out as folders of their libraries, and counts what amn refuses.

    python3 crosscheck/kinds/published.py AMN CHECKOUTS [FOLDER]

CHECKOUTS has checkouts of public repositories, by name: speechbrain, FunASR, NeMo, GLiNER, serve (of TorchServe) and
server (of Triton). What is not there is left out and said so. A text is given the name under which its library looks for
it, beside weights of four bytes. Every folder is judged by the default policy and by upload; a line for each
repository, the reasons below it. Examples that train a model, and backends that are code, are among them.
"""
import collections
import json
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile

import yaml

HEADER = b'{"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}}'
WEIGHTS = struct.pack("<Q", len(HEADER)) + HEADER + b"\1\2\3\4"


class Loose(yaml.SafeLoader):
    """Reads YAML of any tags, to tell what it is."""


Loose.add_multi_constructor("!", lambda loader, tag, node: None)


def lay(folder, files):
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())


def read(path):
    try:
        return yaml.load(path.read_text(), Loose)
    except (yaml.YAMLError, ValueError, UnicodeDecodeError):
        return None


def named(top, path):
    return "_".join(path.relative_to(top).with_suffix("").parts)


def speechbrain(top, root):
    """A published model has a hyperparams.yaml without what trains it; a recipe with a Checkpointer is for training."""
    for path in sorted(top.rglob("*.yaml")):
        if "hparams" in path.parts and isinstance(read(path), dict) and "Checkpointer" not in path.read_text():
            yield lay(root / named(top, path), {"hyperparams.yaml": path.read_text(), "model.safetensors": WEIGHTS})


def funasr(top, root):
    for path in sorted(top.rglob("*.yaml")):
        if path.parent.name == "conf" and isinstance(read(path), dict):
            yield lay(root / named(top, path), {"config.yaml": path.read_text(), "am.mvn": "<Nnet>\n", "tokens.json": '["a", "b"]', "model.safetensors": WEIGHTS})


def nemo(top, root):
    for path in sorted(top.rglob("*.yaml")):
        text = read(path)
        if isinstance(text, dict) and isinstance(text.get("model"), dict):
            yield lay(root / named(top, path), {"model_config.yaml": yaml.safe_dump(text["model"], sort_keys=False), "model.safetensors": WEIGHTS})


def gliner(top, root):
    for path in sorted((top / "configs").glob("*.yaml")):
        text = read(path)
        if isinstance(text, dict):
            yield lay(root / named(top, path), {"gliner_config.json": json.dumps({k: v for part in text.values() if isinstance(part, dict) for k, v in part.items()}, indent=2), "model.safetensors": WEIGHTS})


def triton(top, root):
    for path in sorted(top.rglob("config.pbtxt")):
        yield lay(root / named(top, path), {"config.pbtxt": path.read_text(), "1/model.safetensors": WEIGHTS})


def torchserve(top, root):
    for path in sorted(top.rglob("model-config.yaml")):
        yield lay(root / named(top, path), {"model-config.yaml": path.read_text(), "MAR-INF/MANIFEST.json": json.dumps({
            "createdOn": "01/01/2026 00:00:00", "runtime": "python", "archiverVersion": "0.12.0", "model": {"modelName": "m", "modelVersion": "1.0", "serializedFile": "model.safetensors", "handler": "image_classifier", "configFile": "model-config.yaml"}}),
            "model.safetensors": WEIGHTS})


def main():
    amn, checkouts = sys.argv[1], pathlib.Path(sys.argv[2])
    out = pathlib.Path(sys.argv[3] if len(sys.argv) > 3 else tempfile.mkdtemp())
    total, refused = 0, collections.Counter()
    for name, write in (("speechbrain", speechbrain), ("FunASR", funasr), ("NeMo", nemo), ("GLiNER", gliner), ("server", triton), ("serve", torchserve)):
        top, root = checkouts / name, out / name
        if not top.exists():
            print("%-12s left out" % name)
            continue
        shutil.rmtree(root, ignore_errors=True)
        n = len(list(write(top, root)))
        total += n
        line, reasons = "%-12s %4d folders" % (name, n), collections.Counter()
        for policy in ("server", "upload"):
            bad = set()
            text = subprocess.run([amn, "scan", "--limits", policy, "--json", str(root)], capture_output=True, text=True).stdout
            for one in map(json.loads, text.splitlines()):
                where = pathlib.Path(one["path"]).relative_to(root).parts
                if one.get("class") not in (None, "ok") and where:
                    bad.add(where[0])
                    reasons[policy, re.sub(r"at 0x[0-9a-f]+: forbidden: finding|is of severity danger: ", "", str(one.get("error", {}).get("message")))[:200]] += 1
            refused[policy] += len(bad)
            line += ", %s refuses %d" % (policy, len(bad))
        print(line)
        for (policy, reason), n in reasons.most_common():
            print("   %s %d: %s" % (policy, n, reason))
    for policy in ("server", "upload"):
        print("%s: %d of %d folders, %.2f %%" % (policy, refused[policy], total, 100 * refused[policy] / max(total, 1)))


main()
