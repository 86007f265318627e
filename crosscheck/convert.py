"""Conversions: whatever amn writes is read by the library that the format is of,
and compared with what was converted; files are the bytes of the reference writers
where those are a function of the tensors. Folders are loaded by transformers, if
it is there."""
import json
import math
import os
import pathlib
import subprocess
import sys

sys.path = [p for p in sys.path if pathlib.Path(p).resolve() != pathlib.Path(__file__).resolve().parent]  # of gguf.py and others

import gguf  # noqa: E402
import ml_dtypes  # noqa: E402
import numpy as np  # noqa: E402
import safetensors.torch as st  # noqa: E402
import torch  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent
WORK = pathlib.Path(sys.argv[2])
AMN = str(WORK / "amn")
files = tensors = elements = differences = 0
versions = f"torch {torch.__version__}, numpy {np.__version__}, gguf, safetensors"


def amn(*args):
    run = subprocess.run([AMN, *map(str, args)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if run.returncode != 0:
        wrong(f"amn {' '.join(map(str, args))}: exit {run.returncode}: {run.stderr}")
    return run.returncode == 0


def wrong(text):
    global differences
    differences += 1
    print(text, file=sys.stderr)


def raw(t):
    """The bytes of a tensor of torch's, row-major."""
    t = t.detach().contiguous()
    return t.reshape(-1).view(torch.uint8).numpy().tobytes() if t.numel() else b""


def compare(what, got, want):
    """Both are name -> (shape, bytes)."""
    global tensors, elements
    if set(got) != set(want):
        wrong(f"{what}: names {sorted(set(got) ^ set(want))}")
    for name in set(got) & set(want):
        tensors += 1
        elements += math.prod(want[name][0])
        if got[name] != want[name]:
            wrong(f"{what}: {name} differs, shapes {got[name][0]} {want[name][0]}")


def read_safetensors(path):
    return {k: (tuple(v.shape), raw(v)) for k, v in st.load_file(path).items()}


def read_npz(path):
    with np.load(path) as z:
        return {k: (z[k].shape, z[k].tobytes()) for k in z.files}


def read_gguf(path):
    """gguf-py gives BF16 as bytes, and the shapes of ggml."""
    return {t.name: (tuple(int(n) for n in reversed(t.shape)), t.data.tobytes()) for t in gguf.GGUFReader(path).tensors}


TARGETS = {"safetensors": (".safetensors", read_safetensors), "npz": (".npz", read_npz), "gguf": (".gguf", read_gguf)}


def everywhere(source, want, *flags):
    """Converts a file to each target and reads it there."""
    global files
    for target, (ext, read) in TARGETS.items():
        extra = ["--raw-names"] if target == "gguf" else []
        out = WORK / f"{pathlib.Path(source).name}-to{ext}"
        if amn("convert", "-q", "--force", "--to", target, *extra, *flags, "-o", out, source):
            files += 1
            compare(f"{pathlib.Path(source).name} to {target}", read(out), want)
    return WORK / f"{pathlib.Path(source).name}-to.safetensors"


def floats():
    torch.manual_seed(5)
    kinds = [torch.float32, torch.float16, torch.bfloat16, torch.float64]
    state = {f"t{i}.weight": torch.randn(3 + i, 70, dtype=torch.float64).to(d) for i, d in enumerate(kinds)}
    for i, d in enumerate([torch.int8, torch.int16, torch.int32, torch.int64]):
        state[f"n{i}"] = torch.arange(-9, 8 * i, dtype=d)
    state["big"] = torch.randn(700, 900)
    return state


def plain():
    state = floats()
    want = {k: (tuple(v.shape), raw(v)) for k, v in state.items()}
    source = WORK / "plain.safetensors"
    st.save_file(state, source, metadata={"format": "pt"})
    out = everywhere(source, want)
    if out.read_bytes() != source.read_bytes():
        wrong("safetensors to safetensors: other bytes than save_file writes")
    for protocol in (True, False):
        source = WORK / f"plain-{protocol}.pth"
        torch.save(state, source, _use_new_zipfile_serialization=protocol)
        out = everywhere(source, want)
        if out.read_bytes() != (WORK / "plain.safetensors").read_bytes():
            wrong(f"{source.name}: other bytes than save_file writes")


def views():
    a = torch.arange(60000, dtype=torch.float32).reshape(200, 300)
    state = {"t": a.t(), "columns": a[:, 5:9], "every": a[::3, ::7], "expanded": a[:1].expand(4, 300), "flipped": a.permute(1, 0)[10:20], "b": a.t().to(torch.bfloat16)}
    source = WORK / "views.pth"
    torch.save(state, source)
    everywhere(source, {k: (tuple(v.shape), raw(v)) for k, v in state.items()})


def archives():
    rng = np.random.default_rng(6)
    arrays = {
        "c": rng.standard_normal((30, 40)), "f": np.asfortranarray(rng.standard_normal((300, 50)).astype("f4")),
        "be": rng.standard_normal(77).astype(">f4"), "both": np.asfortranarray(rng.standard_normal((9, 8, 7)).astype(">f2")),
        "i": rng.integers(-9, 9, (5, 5)), "h": rng.standard_normal((64, 3)).astype("f2"),
    }
    want = {k: (v.shape, np.ascontiguousarray(v.astype(v.dtype.newbyteorder("<"))).tobytes()) for k, v in arrays.items()}
    for save in (np.savez, np.savez_compressed):
        source = WORK / f"{save.__name__}.npz"
        save(source, **arrays)
        everywhere(source, want)
    native = {k: np.ascontiguousarray(v.astype(v.dtype.newbyteorder("<"))) for k, v in arrays.items()}
    np.savez(WORK / "native.npz", **native)
    if (WORK / "savez.npz-to.npz").read_bytes() != (WORK / "native.npz").read_bytes():
        wrong("npz to npz: other bytes than savez writes")


def blocks():
    rng = np.random.default_rng(7)
    kinds = [gguf.GGMLQuantizationType[k] for k in ("Q8_0", "Q4_0", "Q5_1", "BF16", "MXFP4")]
    source = WORK / "blocks.gguf"
    w = gguf.GGUFWriter(source, "llama")
    w.add_block_count(1)
    want = {}
    for kind in kinds:
        data = gguf.quants.quantize(rng.standard_normal((96, 256), dtype="f4"), kind)
        w.add_tensor(f"{kind.name}.weight", data, raw_dtype=kind)
        full = gguf.quants.dequantize(data, kind)
        want[f"{kind.name}.weight"] = (full.shape, (data if kind.name == "BF16" else full).tobytes())
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()
    everywhere(source, want, "--out-dtype", "f32")
    half = {k: (s, b if k == "BF16.weight" else np.frombuffer(b, "f4").astype(ml_dtypes.bfloat16).tobytes()) for k, (s, b) in want.items()}
    everywhere(source, half)
    out = WORK / "again.gguf"
    if amn("convert", "-q", "--to", "gguf", "--as-is", "--gguf-kv", "general.name=again", "-o", out, source):
        compare("blocks as they are", read_gguf(out), read_gguf(source))
        field = gguf.GGUFReader(out).get_field("general.name")
        if field is None or field.contents() != "again":
            wrong("--gguf-kv: gguf-py does not read it")


def folders():
    """What transformers loads of a remembered folder is what torch decodes."""
    global files, tensors, elements, versions
    try:
        import transformers
        from transformers import AutoModelForCausalLM
    except ImportError:
        return
    versions += f", transformers {transformers.__version__}"
    want = st.load_file(ROOT / "testdata/convert/llama-bf16.safetensors")
    for size in ("5GB", "10KB"):
        out = WORK / f"llama-{size}"
        if not amn("remember", "-q", "--max-shard-size", size, "-o", out, ROOT / "testdata/demo/llama-fp8"):
            continue
        files += 1
        model, info = AutoModelForCausalLM.from_pretrained(out, output_loading_info=True)
        if any(info.values()):
            wrong(f"transformers, shards of {size}: {info}")
        for name, value in model.state_dict().items():
            tensors += 1
            elements += value.numel()
            if value.dtype != torch.bfloat16 or not torch.equal(value, want[name]):
                wrong(f"transformers, shards of {size}: {name} differs")
        saved = WORK / f"saved-{size}"
        model.save_pretrained(saved, max_shard_size=size)
        index = "model.safetensors.index.json"
        if (saved / index).exists() != (out / index).exists():
            wrong(f"shards of {size}: only one has an index")
        elif (saved / index).exists():
            a, b = (json.loads((d / index).read_text()) for d in (saved, out))
            if a["metadata"] != b["metadata"] or set(a["weight_map"]) != set(b["weight_map"]):
                wrong(f"shards of {size}: the index differs")
        elif (saved / "model.safetensors").read_bytes() != (out / "model.safetensors").read_bytes():
            wrong("one file: other bytes than save_pretrained writes")


subprocess.run(["go", "build", "-o", AMN, "./cli/amn"], cwd=ROOT, check=True)
for check in (plain, views, archives, blocks, folders):
    check()
print(json.dumps({"files": files, "tensors": tensors, "elements": elements, "differences": differences, "versions": versions}))
sys.exit(1 if differences else 0)
