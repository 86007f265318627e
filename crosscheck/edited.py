"""Files that `amn edit` has changed, read again by the library that the format is of:
metadata set, typed and deleted, names of tensors, in another file and in place, and every
byte of every tensor and every key that nobody asked to change.

    edited.py DUMP WORK          as crosscheck/run.py calls it
"""
import json
import os
import pathlib
import subprocess
import sys

sys.path = [p for p in sys.path if pathlib.Path(p).resolve() != pathlib.Path(__file__).resolve().parent]  # of gguf.py and others

import gguf  # noqa: E402
import numpy as np  # noqa: E402
import safetensors  # noqa: E402
import torch  # noqa: E402
from safetensors.torch import save_file  # noqa: E402

WORK = pathlib.Path(sys.argv[2])
AMN = os.environ["CROSSCHECK_AMN"]
files = tensors = elements = differences = 0


def wrong(text):
    global differences
    differences += 1
    print(text, file=sys.stderr)


def edit(source, out, *args, exits=0):
    """Edits a file, once into another one and once in place; both must be one."""
    global files
    before = source.read_bytes()
    run = subprocess.run([AMN, "edit", "-q", "-f", "-o", str(out), *args, str(source)], capture_output=True, text=True)
    if run.returncode != exits:
        wrong(f"{args}: exit {run.returncode}: {run.stderr}")
    if source.read_bytes() != before:
        wrong(f"{args}: the source has changed")
    if exits:
        if out.exists():
            wrong(f"{args}: something was written")
        return False
    files += 1
    place = WORK / ("place" + out.suffix)
    place.write_bytes(before)
    subprocess.run([AMN, "edit", "-q", "--in-place", *args, str(place)], check=True)
    if place.read_bytes() != out.read_bytes():
        wrong(f"{args}: in place it is another file")
    return True


def compare(what, got, want):
    global tensors, elements
    if list(got[0]) != list(want[0]) and set(got[0]) != set(want[0]):
        wrong(f"{what}: names {sorted(set(got[0]) ^ set(want[0]))}")
    for name in set(got[0]) & set(want[0]):
        tensors += 1
        elements += len(want[0][name][-1])
        if got[0][name] != want[0][name]:
            wrong(f"{what}: {name} differs")
    if got[1] != want[1]:
        wrong(f"{what}: metadata {got[1]} instead of {want[1]}")


def read_safetensors(path):
    with safetensors.safe_open(path, "pt") as f:
        held = {}
        for name in f.keys():
            t = f.get_tensor(name)
            held[name] = (str(t.dtype), tuple(t.shape), t.contiguous().reshape(-1).view(torch.uint8).numpy().tobytes() if t.numel() else b"")
        return held, f.metadata() or {}


def read_gguf(path):
    r = gguf.GGUFReader(path)
    keys = {}
    for name, f in r.fields.items():
        if not name.startswith("GGUF."):
            keys[name] = ([t.name for t in f.types], f.contents())
    return {t.name: (t.tensor_type.name, tuple(map(int, t.shape)), t.data.tobytes()) for t in r.tensors}, keys


def in_safetensors():
    torch.manual_seed(int.from_bytes(os.urandom(4)))
    state = {f"model.layers.{i}.w": torch.randn(17, 33).to(d) for i, d in enumerate((torch.float32, torch.bfloat16, torch.float16, torch.float8_e4m3fn))}
    state |= {"model.empty": torch.zeros(0, 3), "head": torch.arange(7), "flag": torch.tensor([True, False])}
    source, out = WORK / "s.safetensors", WORK / "o.safetensors"
    save_file(state, source, metadata={"format": "pt", "a": "1", "long": "x" * 5000, "\u00fc": "\u65e5\n\"\\"})
    was, meta = read_safetensors(source)
    for args, names, keys in (
        (["--set", "a=2"], {}, meta | {"a": "2"}),
        (["--set", "new=", "--set", "eq=a=b", "--set", "\u00e9=\u65e5"], {}, meta | {"new": "", "eq": "a=b", "\u00e9": "\u65e5"}),
        (["--delete", "a", "--delete", "long"], {}, {k: v for k, v in meta.items() if k not in ("a", "long")}),
        (["--rename", "model.*=net.*", "--rename", "head=lm_head.weight"], {n: "net." + n[6:] for n in was if n.startswith("model.")} | {"head": "lm_head.weight"}, meta),
        (["--rename", "model.layers.*.w=h.*.weight", "--set", "a=3", "--delete", "long"], {n: f"h.{n.split('.')[2]}.weight" for n in was if ".layers." in n},
         {k: v for k, v in (meta | {"a": "3"}).items() if k != "long"}),
    ):
        if edit(source, out, *args):
            compare(args, read_safetensors(out), ({names.get(n, n): t for n, t in was.items()}, keys))
    out.unlink()
    for args, code in ((["--rename", "model.layers.*.w=same"], 3), (["--rename", "nothing=x"], 2), (["--delete", "nothing"], 2)):
        edit(source, out, *args, exits=code)


def in_gguf():
    rng = np.random.default_rng()
    source, out = WORK / "s.gguf", WORK / "o.gguf"
    w = gguf.GGUFWriter(source, "llama")
    w.add_name("was")
    w.add_block_count(2)
    w.add_float32("llama.rope.freq_base", 1e4)
    w.add_array("tokenizer.ggml.tokens", ["a", "b", "\u65e5"])
    w.add_array("mine.numbers", [1, 2, 3])
    w.add_bool("mine.flag", True)
    for i in range(2):
        w.add_tensor(f"blk.{i}.attn_q.weight", rng.standard_normal((32, 64), np.float32))
        w.add_tensor(f"blk.{i}.ffn_up.weight", gguf.quantize(rng.standard_normal((16, 256), np.float32), gguf.GGMLQuantizationType.Q4_0), raw_dtype=gguf.GGMLQuantizationType.Q4_0)
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()
    was, keys = read_gguf(source)

    def but(*gone, **new):
        return {k: v for k, v in keys.items() if k not in gone} | {k.replace("__", "."): v for k, v in new.items()}

    for args, names, want in (
        (["--set", "general.name=mine"], {}, but(general__name=(["STRING"], "mine"))),
        (["--set", "llama.block_count=3", "--set", "llama.context_length=4096"], {}, but(llama__block_count=(["UINT32"], 3), llama__context_length=(["UINT32"], 4096))),
        (["--set", "mine.n:u64=18446744073709551615", "--set", "mine.i:i8=-128", "--set", "mine.f:f32=0.5", "--set", "mine.b:bool=true", "--set", "mine.s:str=7"], {},
         but(mine__n=(["UINT64"], 2**64 - 1), mine__i=(["INT8"], -128), mine__f=(["FLOAT32"], 0.5), mine__b=(["BOOL"], True), mine__s=(["STRING"], "7"))),
        (["--delete", "mine.numbers", "--delete", "mine.flag"], {}, but("mine.numbers", "mine.flag")),
        (["--rename", "blk.*.ffn_up.weight=blk.*.up.weight"], {n: n.replace("ffn_up", "up") for n in was}, but()),
    ):
        if edit(source, out, *args):
            compare(args, read_gguf(out), ({names.get(n, n): t for n, t in was.items()}, want))
    out.unlink()
    for args, code in ((["--set", "mine.n:u8=256"], 2), (["--set", "llama.block_count=many"], 2), (["--rename", "blk.*.ffn_up.weight=one"], 3), (["--delete", "nothing"], 2)):
        edit(source, out, *args, exits=code)


for check in (in_safetensors, in_gguf):
    check()
print(json.dumps({"files": files, "tensors": tensors, "elements": elements, "differences": differences, "versions": f"safetensors {safetensors.__version__}, gguf-py, torch {torch.__version__}"}))
sys.exit(1 if differences else 0)
