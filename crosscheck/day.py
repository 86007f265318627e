"""Folders and jobs of an ordinary day, one case for each thing that was wrong once: which
of several weights a folder means, flags that had no effect, keys without a type. The
library that a folder is of loads what amn writes, and the numbers are compared.

    day.py DUMP WORK          as crosscheck/run.py calls it

CROSSCHECK_DAY=hub,cast runs some.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import traceback
import warnings

# Modules of this folder must not stand before the libraries.
sys.path = [p for p in sys.path if pathlib.Path(p or ".").resolve() != pathlib.Path(__file__).resolve().parent]
warnings.simplefilter("ignore")

import gguf  # noqa: E402
import numpy  # noqa: E402
import torch  # noqa: E402
import transformers as T  # noqa: E402
from safetensors.torch import load_file, save_file  # noqa: E402

torch.set_num_threads(1)
T.logging.set_verbosity_error()
T.utils.logging.disable_progress_bar()
AMN = os.environ["CROSSCHECK_AMN"]
TORCH, TRANSFORMERS = f"torch {torch.__version__}", f"transformers {T.__version__}"
CASES, ROWS = {}, []


def amn(*args, exits=0):
    done = subprocess.run([AMN, *map(str, args)], capture_output=True, text=True)
    if done.returncode != exits:
        raise RuntimeError(f"amn {' '.join(map(str, args))}: exit {done.returncode}, want {exits}: {done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def says(text, *words):
    for w in words:
        if w not in text:
            raise RuntimeError(f"{w!r} is not said: {text}")


def equal(want, got):
    """Return (elements, differences) of two state dicts."""
    n, bad = 0, len(set(want) ^ set(got))
    for k in set(want) & set(got):
        a, b = want[k].detach().contiguous(), got[k].detach().contiguous()
        n += a.numel()
        same = a.dtype == b.dtype and a.shape == b.shape and torch.equal(a.reshape(-1).view(torch.uint8), b.reshape(-1).view(torch.uint8))
        bad += not same
        if not same:
            print(f"{k}: {a.dtype} {tuple(a.shape)}, {b.dtype} {tuple(b.shape)}", file=sys.stderr)
    return n, bad


def row(name, oracle, result):
    ROWS.append([name, oracle, *result])
    print(ROWS[-1], file=sys.stderr, flush=True)


def case(f):
    CASES[f.__name__] = f
    return f


def llama(seed=1, dtype=torch.float32):
    torch.manual_seed(seed)
    return T.LlamaForCausalLM(T.LlamaConfig(vocab_size=128, hidden_size=128, intermediate_size=256, num_hidden_layers=2, num_attention_heads=4,
                                            num_key_value_heads=4, tie_word_embeddings=False)).to(dtype)


def load(folder, **more):
    model, info = T.AutoModelForCausalLM.from_pretrained(folder, output_loading_info=True, **more)
    wrong = {k: v for k, v in info.items() if v}
    if wrong:
        raise RuntimeError(f"transformers: {wrong}")
    return model.state_dict()


@case
def formats(root):
    """model.safetensors beside pytorch_model.bin."""
    llama(1).save_pretrained(root / "a")
    torch.save(llama(2).state_dict(), root / "a" / "pytorch_model.bin")
    text = amn("dequantize", "--copy", "-o", root / "b", root / "a")
    says(text, "pytorch_model.bin")  # what was left
    row("safetensors beside bin: dequantize --copy", TRANSFORMERS, equal(load(root / "a"), load(root / "b")))
    amn("dequantize", "-q", "--copy", "--weights", "pytorch_model.bin", "-o", root / "c", root / "a")
    row("safetensors beside bin: --weights pytorch_model.bin", TRANSFORMERS, equal(load(root / "a", use_safetensors=False), load(root / "c")))


@case
def trainer(root):
    """A checkpoint of transformers' Trainer: optimizer, scheduler and generators beside weights."""
    rows = [{"input_ids": torch.arange(3, 11), "labels": torch.arange(3, 11)}] * 2
    args = T.TrainingArguments(output_dir=str(root / "a"), max_steps=1, save_steps=1, report_to=[], use_cpu=True, disable_tqdm=True)
    T.Trainer(llama(), args, train_dataset=rows).train()
    folder = root / "a" / "checkpoint-1"
    if not (folder / "optimizer.pt").exists():
        raise RuntimeError("the trainer wrote no optimizer.pt")
    says(amn("dequantize", "--copy", "-o", root / "b", folder), "optimizer.pt")
    row("Trainer's checkpoint: dequantize --copy", TRANSFORMERS, equal(load(folder), load(root / "b")))
    amn("quantize", "-q", "--to", "fp8", "-o", root / "c", folder)
    got = load(root / "c", dtype=torch.float32, quantization_config=T.FineGrainedFP8Config(dequantize=True))
    amn("dequantize", "-q", "--to", "f32", "-o", root / "d", root / "c")
    row("Trainer's checkpoint: quantize --to fp8", TRANSFORMERS, equal(got, load(root / "d", dtype=torch.float32)))


@case
def adapter(root):
    """A base and an adapter in one folder."""
    import peft
    model = llama()
    model.save_pretrained(root / "a")
    torch.manual_seed(3)
    tuned = peft.get_peft_model(llama(), peft.LoraConfig(r=4, target_modules=["q_proj"], init_lora_weights=False))
    tuned.save_pretrained(root / "a")
    want = {"base": load_file(root / "a" / "model.safetensors"), "adapter": load_file(root / "a" / "adapter_model.safetensors")}
    text = amn("inspect", root / "a")
    says(text, "model.safetensors", "adapter_model.safetensors", "that transformers reads from the folder", "--weights")
    for name, weights in (("base", "model.safetensors"), ("adapter", "adapter_model.safetensors")):
        amn("dequantize", "-q", "--copy", "--weights", weights, "-o", root / name, root / "a")
        got = {k: v for f in (root / name).glob("*.safetensors") for k, v in load_file(f).items()}
        row(f"base beside adapter: --weights {weights}", f"peft {peft.__version__}", equal(want[name], got))


@case
def variants(root):
    """Two variants of one component of diffusers."""
    import diffusers as D
    torch.manual_seed(4)
    model = D.AutoencoderKL(block_out_channels=(32,), norm_num_groups=8)
    model.save_pretrained(root / "a")
    model.half().save_pretrained(root / "a", variant="fp16")
    oracle = f"diffusers {D.__version__}"
    amn("dequantize", "-q", "--copy", "-o", root / "b", root / "a")
    read = lambda f, **more: D.AutoencoderKL.from_pretrained(f, **more).state_dict()  # noqa: E731
    row("variants: dequantize --copy", oracle, equal(read(root / "a"), read(root / "b")))
    name = "diffusion_pytorch_model.fp16.safetensors"
    amn("dequantize", "-q", "--copy", "--weights", name, "-o", root / "c", root / "a")
    half = dict(torch_dtype=torch.float16)  # what is written has the plain name
    row(f"variants: --weights {name}", oracle, equal(read(root / "a", variant="fp16", **half), read(root / "c", **half)))


@case
def distributed(root):
    """A folder of torch.distributed.checkpoint is named, and not read."""
    import torch.distributed.checkpoint as dcp
    state = llama().state_dict()
    dcp.save({"model": state}, checkpoint_id=str(root / "a"))
    for command in ("inspect", "dequantize"):
        done = subprocess.run([AMN, command, root / "a"], capture_output=True, text=True)
        says(done.stdout + done.stderr, "torch.distributed")
        if done.returncode == 0:
            raise RuntimeError(f"{command} of a DCP folder: exit 0")
    row("DCP: named", TORCH, (sum(v.numel() for v in state.values()), 0))


@case
def link(root):
    """A link to a folder is that folder."""
    llama().save_pretrained(root / "a")
    (root / "link").symlink_to("a")
    amn("dequantize", "-q", "--copy", "-o", root / "b", root / "link")
    row("a link to a folder: dequantize --copy", TRANSFORMERS, equal(load(root / "link"), load(root / "b")))


@case
def hub(root):
    """The hub's cache: models--OWNER--NAME with blobs, snapshots and refs."""
    import hashlib

    import huggingface_hub
    llama().save_pretrained(root / "a")
    repo, revision = root / "cache" / "models--some--llama", "0123456789abcdef0123456789abcdef01234567"
    snapshot = repo / "snapshots" / revision
    for folder in (repo / "blobs", repo / "refs", snapshot):
        folder.mkdir(parents=True)
    (repo / "refs" / "main").write_text(revision)
    for f in (root / "a").iterdir():
        digest = hashlib.sha256(f.read_bytes()).hexdigest()
        f.rename(repo / "blobs" / digest)
        (snapshot / f.name).symlink_to(f"../../blobs/{digest}")
    says(amn("inspect", repo), "safetensors")
    amn("dequantize", "-q", "--copy", "-o", root / "b", repo)
    want = load(huggingface_hub.snapshot_download("some/llama", cache_dir=root / "cache", local_files_only=True))
    row("the hub's cache: dequantize --copy", f"huggingface_hub {huggingface_hub.__version__}", equal(want, load(root / "b")))


@case
def cast(root):
    """--cast rounds as torch does; flags without an effect are errors."""
    state = {k: v * 300 for k, v in llama().state_dict().items()}
    state["model.layers.0.mlp.up_proj.weight"][0, :4] = torch.tensor([1e6, -1e6, 70000.0, 1e-30])
    save_file(state, root / "a.safetensors")
    kinds = {"bf16": torch.bfloat16, "f16": torch.float16, "f32": torch.float32}
    for name, kind in kinds.items():
        text = amn("convert", "-f", "--cast", name, "--cast-all", "-o", root / "b.safetensors", root / "a.safetensors")
        if name == "f16":
            says(text, "overflow")
        row(f"convert --cast {name} --cast-all", TORCH, equal({k: v.to(kind) for k, v in state.items()}, load_file(root / "b.safetensors")))
    amn("convert", "-q", "-f", "--cast", "bf16", "-o", root / "b.safetensors", root / "a.safetensors")
    row("convert --cast bf16, norms kept", TORCH, equal({k: v if "norm" in k else v.bfloat16() for k, v in state.items()}, load_file(root / "b.safetensors")))
    amn("convert", "-q", "-f", "--cast", "f8", "--cast-all", "-o", root / "b.safetensors", root / "a.safetensors")
    most = torch.finfo(torch.float8_e4m3fn).max
    row("convert --cast f8 --cast-all, saturated", TORCH, equal({k: v.clamp(-most, most).to(torch.float8_e4m3fn) for k, v in state.items()}, load_file(root / "b.safetensors")))
    import ml_dtypes
    says(amn("convert", "-f", "--to", "npz", "--cast", "bf16", "--cast-all", "-o", root / "b.npz", root / "a.safetensors"), "V2")
    with numpy.load(root / "b.npz") as z:
        got = {k: torch.from_numpy(z[k].view(ml_dtypes.bfloat16).astype(numpy.float32)).bfloat16() for k in z.files}
    row("convert --to npz --cast bf16: V2, viewed by ml_dtypes", f"numpy {numpy.__version__}", equal({k: v.bfloat16() for k, v in state.items()}, got))
    amn("convert", "--to", "safetensors", "--out-dtype", "f16", "-o", root / "c.safetensors", root / "a.safetensors", exits=2)
    amn("dequantize", "--to", "f16", "--copy", "-o", root / "c.safetensors", root / "a.safetensors", exits=2)
    if (root / "c.safetensors").exists():
        raise RuntimeError("a flag without an effect wrote a file")


@case
def keys(root):
    """--gguf-kv gives a key the type that llama.cpp asks of it, or the one that is said."""
    save_file({"w": torch.ones(4, 32)}, root / "a.safetensors")
    pairs = {"general.architecture=llama": "llama", "llama.context_length=512": 512, "llama.rope.freq_base=10000": 10000.0, "my.count:u32=7": 7, "my.share:f32=0.5": 0.5,
             "my.text=9": "9", "my.yes:bool=true": True, "tokenizer.ggml.bos_token_id=1": 1}
    amn("convert", "-q", "--to", "gguf", "--raw-names", *(f"--gguf-kv={p}" for p in pairs), "-o", root / "a.gguf", root / "a.safetensors")
    reader, V = gguf.GGUFReader(root / "a.gguf"), gguf.GGUFValueType
    kinds = {"llama": V.STRING, "512": V.UINT32, "10000": V.FLOAT32, "7": V.UINT32, "0.5": V.FLOAT32, "9": V.STRING, "true": V.BOOL, "1": V.UINT32}
    bad = 0
    for pair, want in pairs.items():
        key, value = pair.split("=")
        f = reader.fields.get(key.split(":")[0])
        if f is None or f.types != [kinds[value]] or f.contents() != want:
            print(pair, f and (f.types, f.contents()), file=sys.stderr)
            bad += 1
    row("convert --gguf-kv: typed keys", "gguf-py", (len(pairs), bad))


@case
def difference(root):
    """diff says how far: by tensor and in all, and --tolerance stands for itself."""
    torch.manual_seed(5)
    a = {"a": torch.randn(64, 96), "b": torch.randn(128)}
    b = {k: v + 1e-3 * torch.randn(v.shape) for k, v in a.items()}
    save_file(a, root / "a.safetensors")
    save_file(b, root / "b.safetensors")
    text = subprocess.run([AMN, "diff", "--json", "--values", root / "a.safetensors", root / "b.safetensors"], capture_output=True, text=True).stdout
    found = {t["name"]: t["distance"] for t in json.loads(text)["differences"]}
    bad = 0
    for k, x in a.items():
        x, y = x.double(), b[k].double()
        d = (x - y).abs()
        want = {"max": float(d.max()), "mean": float(d.mean()), "relative_rmse": float(((x - y) ** 2).mean().sqrt() / (x ** 2).mean().sqrt()),
                "cosine": float((x * y).sum() / x.norm() / y.norm())}
        got = found.get(k, {})
        for key, value in want.items():
            if key not in got or abs(got[key] - value) > 1e-9 * max(1, abs(value)):
                print(k, key, value, got, file=sys.stderr)
                bad += 1
    row("diff --values: max, mean, relative RMSE, cosine", TORCH, (sum(v.numel() for v in a.values()), bad))
    amn("diff", "--tolerance", "0.1", root / "a.safetensors", root / "b.safetensors")
    done = subprocess.run([AMN, "diff", "--tolerance", "1e-6", root / "a.safetensors", root / "b.safetensors"], capture_output=True, text=True)
    if done.returncode == 0:
        raise RuntimeError("diff --tolerance 1e-6 finds nothing")


@case
def values(root):
    """What a pickle holds beside tensors is listed."""
    state = llama().state_dict()
    torch.save({**state, "epoch": 3, "note": "x", "rates": {"lr": 0.1}}, root / "a.pt")
    text = amn("convert", "--to", "safetensors", "-o", root / "a.safetensors", root / "a.pt")
    says(text, "epoch", "note", "rates")
    row("values of a pickle that are no tensors: listed", TORCH, equal(state, load_file(root / "a.safetensors")))


@case
def named(root):
    """-o x.safetensors of a folder is a file."""
    model = llama()
    model.save_pretrained(root / "a", max_shard_size="200KB")
    amn("dequantize", "-q", "--copy", "-o", root / "b.safetensors", root / "a")
    if not (root / "b.safetensors").is_file():
        raise RuntimeError("b.safetensors is no file")
    row("-o x.safetensors of a folder", "safetensors", equal(model.state_dict(), load_file(root / "b.safetensors")))


@case
def refusals(root):
    """A plan that transformers cannot load, and quantizing twice, are refused."""
    llama().save_pretrained(root / "a")
    for what in ("model.embed_tokens.weight", "model.*", "model.norm.weight", "misspelt*"):
        done = subprocess.run([AMN, "quantize", "--to", "nf4", "--include", what, "-o", root / "b", root / "a"], capture_output=True, text=True)
        if done.returncode == 0 or (root / "b").exists():
            raise RuntimeError(f"--include {what}: exit {done.returncode}: {done.stdout}{done.stderr}")
    amn("quantize", "-q", "--to", "fp8", "-o", root / "c", root / "a")
    amn("quantize", "-q", "--to", "nf4", "-o", root / "d", root / "c", exits=5)
    amn("quantize", "-q", "--to", "nf4", "--allow-requantize", "-o", root / "d", root / "c")
    w = gguf.GGUFWriter(root / "q.gguf", "llama")
    block = gguf.quantize(torch.randn(64, 128).numpy(), gguf.GGMLQuantizationType.Q8_0)
    w.add_tensor("blk.0.attn_q.weight", block, raw_dtype=gguf.GGMLQuantizationType.Q8_0)
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()
    amn("convert", "-q", "--to", "bnb-nf4", "-o", root / "e.safetensors", root / "q.gguf", exits=5)
    amn("convert", "-q", "--to", "bnb-nf4", "--allow-requantize", "-o", root / "e.safetensors", root / "q.gguf")
    import bitsandbytes
    q, state = bitsandbytes.functional.quantize_4bit(torch.from_numpy(gguf.dequantize(block, gguf.GGMLQuantizationType.Q8_0)), quant_type="nf4", blocksize=64)
    got = load_file(root / "e.safetensors")
    name = "blk.0.attn_q.weight"
    row("convert --to bnb-nf4 of a GGUF file, asked for twice", f"bitsandbytes {bitsandbytes.__version__}",
        equal({name: q, name + ".absmax": state.absmax}, {k: got[k] for k in (name, name + ".absmax")}))
    row("--include that cannot load, and quantizing again: refused", TRANSFORMERS, equal(llama().state_dict(), load(root / "a")))


def main():
    given = os.environ.get("CROSSCHECK_DAY")
    for name in given.split(",") if given else CASES:
        with tempfile.TemporaryDirectory(dir=sys.argv[2]) as tmp:
            try:
                CASES[name](pathlib.Path(tmp))
            except Exception:
                traceback.print_exc()
                row(name, "it ended early", (0, 1))
    print(json.dumps(ROWS))


if __name__ == "__main__":
    main()
