#!/usr/bin/env python3
"""Time and memory of the jobs that README names, on one model, as whole processes, interleaved: each job once, then each again.

    CROSSCHECK_AMN=./amn python3 crosscheck/benchjobs/run.py [--folder DIR] [--runs 3] [--layers 10] [JOB ...]

The model is a random Llama in BF16, above 1 GB with ten layers, as a folder and as a GGUF file; it needs no library. Jobs read what earlier jobs wrote (inspect and scan, dequantize). Each runs with --no-sync, as no library syncs;
files are in the page cache from the second round on. Printed: the median of the seconds, of the processors' seconds, and
the most memory of all runs, beside a copy of the file by the system, and how often the seconds of that copy. The machine's load is
printed too: beside other work, the seconds of processors and the memory say most.

    --page docs/performance.md      writes the table there, below its mark
"""
import argparse
import datetime
import json
import os
import pathlib
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile
import time

MARK = "<!-- made by crosscheck/benchjobs/run.py -->"
AMN = os.environ.get("CROSSCHECK_AMN", "./amn")
COPY = "copy by the system"
HIDDEN, INNER, VOCAB = 2048, 8192, 32000
SIGN = bytes(0x3C if i % 2 else 0xBC for i in range(256))  # of numbers near 0.01
ONCE = """import json,os,resource,subprocess,sys
r = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode
u = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps([r, u.ru_utime + u.ru_stime, u.ru_maxrss // 1024]))"""


def numbers(count):
    body = bytearray(os.urandom(2 * count))
    body[1::2] = body[1::2].translate(SIGN)
    return body


def make(folder, layers):
    """The model, tensor by tensor."""
    folder.mkdir(parents=True)
    shapes = {"model.embed_tokens.weight": (VOCAB, HIDDEN), "model.norm.weight": (HIDDEN,), "lm_head.weight": (VOCAB, HIDDEN)}
    for i in range(layers):
        at = f"model.layers.{i}."
        shapes |= {at + f"self_attn.{m}_proj.weight": (HIDDEN, HIDDEN) for m in "qkvo"}
        shapes |= {at + "mlp.gate_proj.weight": (INNER, HIDDEN), at + "mlp.up_proj.weight": (INNER, HIDDEN), at + "mlp.down_proj.weight": (HIDDEN, INNER)}
        shapes |= {at + n + ".weight": (HIDDEN,) for n in ("input_layernorm", "post_attention_layernorm")}
    header, end, sizes = {"__metadata__": {"format": "pt"}}, 0, []
    for name, shape in shapes.items():
        count = shape[0] * (shape[1] if len(shape) > 1 else 1)
        sizes.append(count)
        header[name] = {"dtype": "BF16", "shape": list(shape), "data_offsets": [end, end + 2 * count]}
        end += 2 * count
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(folder / "model.safetensors", "wb") as f:
        f.write(len(text).to_bytes(8, "little") + text)
        for count in sizes:
            f.write(numbers(count))
    config = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": HIDDEN, "intermediate_size": INNER, "num_hidden_layers": layers, "num_attention_heads": 16, "num_key_value_heads": 16,
              "vocab_size": VOCAB, "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "max_position_embeddings": 4096, "tie_word_embeddings": False, "torch_dtype": "bfloat16", "hidden_act": "silu"}
    (folder / "config.json").write_text(json.dumps(config))


# The names of llama.cpp: those of a layer, and the others.
GGML = {"self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down",
        "input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm", "model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output"}


def as_gguf(folder, file):
    """The model as a GGUF file, without a vocabulary: its matrices in BF16, its norms in F32."""
    text = lambda s: struct.pack("<Q", len(s)) + s.encode()  # noqa: E731
    keys = {"block_count": 0, "context_length": 4096, "embedding_length": HIDDEN, "feed_forward_length": INNER, "attention.head_count": 16, "attention.head_count_kv": 16}
    with open(folder / "model.safetensors", "rb") as f:
        size, = struct.unpack("<Q", f.read(8))
        header = json.loads(f.read(size))
        header.pop("__metadata__")
        keys["block_count"] = sum(k.endswith("q_proj.weight") for k in header)
        infos, end = b"", 0
        for name, t in header.items():
            plain = name.removesuffix(".weight")
            at = f"blk.{plain.split('.')[2]}." if plain.startswith("model.layers.") else ""
            norm = len(t["shape"]) == 1
            infos += text(at + GGML[plain.split(".", 3)[3] if at else plain] + ".weight") + struct.pack(f"<I{len(t['shape'])}QIQ", len(t["shape"]), *t["shape"][::-1], 0 if norm else 30, end)
            end += (t["data_offsets"][1] - t["data_offsets"][0]) * (2 if norm else 1)
        head = b"GGUF" + struct.pack("<IQQ", 3, len(header), 2 + len(keys)) + text("general.architecture") + struct.pack("<I", 8) + text("llama")
        head += text("llama.attention.layer_norm_rms_epsilon") + struct.pack("<If", 6, 1e-5) + b"".join(text("llama." + k) + struct.pack("<II", 4, v) for k, v in keys.items()) + infos
        with open(file, "wb") as out:
            out.write(head + bytes(-len(head) % 32))
            for t in header.values():
                f.seek(8 + size + t["data_offsets"][0])
                body = f.read(t["data_offsets"][1] - t["data_offsets"][0])
                if len(t["shape"]) == 1:
                    body = b"".join(b"\0\0" + body[i:i + 2] for i in range(0, len(body), 2))
                out.write(body)


def jobs(made, other, out):
    """What each job runs, and what it writes; in an order in which one reads what an earlier one wrote."""
    recipe = made.parent / "recipe.json"
    recipe.write_text(json.dumps({"merge_method": "linear", "dtype": "bfloat16", "models": [{"model": m.name, "parameters": {"weight": 0.5}} for m in (made, other)]}))
    amn = lambda *a: [AMN, *map(str, a)]  # noqa: E731
    model, at = made / "model.safetensors", lambda name: out / name  # noqa: E731
    write = lambda command, name, *a: (amn(command, "-q", "-f", "--no-sync", "-o", at(name), *a), at(name))  # noqa: E731
    return {
        COPY: (["cp", str(model), str(at("copy"))], at("copy")),
        "inspect": (amn("inspect", "--verify", model), None),
        "scan": (amn("scan", model), None),
        "quantize --to nf4": write("quantize", "nf4", "--to", "nf4", made),
        "quantize --to fp8": write("quantize", "fp8", "--to", "fp8", made),
        "quantize --to w4a16": write("quantize", "w4a16", "--to", "w4a16", made),
        "quantize --to q4_k_m, GGUF": write("quantize", "q4_k_m.gguf", "--to", "q4_k_m", made.parent / "made.gguf"),
        "quantize --compare nf4,w4a16": (amn("quantize", "-q", "--compare", "nf4,w4a16", made), None),
        "quantize --budget 4.5bpw, GGUF": write("quantize", "budget.gguf", "--budget", "4.5bpw", made.parent / "made.gguf"),
        "dequantize of fp8": write("dequantize", "back", at("fp8")),
        "convert --to npz": write("convert", "out.npz", "--to", "npz", "--cast", "f16", model),
        "split": write("split", "split", "--max-size", "300MB", made),
        "merge of two": write("merge", "merged", recipe),
        "quantize --to fp8 --resume": write("quantize", "again", "--resume", "--to", "fp8", made),
    }


def run(command, wrote):
    if wrote and wrote.is_dir():
        shutil.rmtree(wrote)
    elif wrote:
        wrote.unlink(missing_ok=True)
    began = time.monotonic()
    done = subprocess.run([sys.executable, "-c", ONCE, *command], capture_output=True, text=True)
    took = time.monotonic() - began
    status, cpu, memory = json.loads(done.stdout.splitlines()[-1])
    if status:
        sys.exit(f"{' '.join(command)} ended with {status}: {done.stderr[-500:]}")
    return took, cpu, memory


def main():
    flags = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("--folder", help="where models and results go: 15 GB with ten layers")
    flags.add_argument("--runs", type=int, default=3)
    flags.add_argument("--layers", type=int, default=10)
    flags.add_argument("--page", type=pathlib.Path)
    flags.add_argument("jobs", nargs="*", metavar="JOB")
    a = flags.parse_args()
    with tempfile.TemporaryDirectory(dir=a.folder) as tmp:
        root = pathlib.Path(tmp)
        made, other, out = root / "made", root / "other", root / "out"
        make(made, a.layers)
        make(other, a.layers)
        as_gguf(made, root / "made.gguf")
        out.mkdir()
        os.environ["AMN_STATE"] = str(root / "state")
        all_ = jobs(made, other, out)
        if unknown := set(a.jobs) - set(all_):
            flags.error(f"no job {', '.join(sorted(unknown))}: {', '.join(all_)}")
        took = {name: [] for name in all_ if not a.jobs or name in a.jobs}
        load = [os.getloadavg()[0]]
        for _ in range(a.runs):
            for name in took:
                took[name].append(run(*all_[name]))
        size = (made / "model.safetensors").stat().st_size
        load.append(os.getloadavg()[0])
        lines = [f"{size / 1e9:.2f} GB in BF16, {a.runs} runs by turns, {os.cpu_count()} processors, {datetime.date.today().isoformat()}; the machine's load was {load[0]:.0f} before and {load[1]:.0f} after.", "",
                 "| job | seconds | by a copy | seconds of processors | memory |", "|---|---:|---:|---:|---:|"]
        median = lambda name, i: statistics.median(r[i] for r in took[name])  # noqa: E731
        for name, runs in took.items():
            by = f"{median(name, 0) / median(COPY, 0):.1f}" if COPY in took else ""
            lines.append(f"| {name} | {median(name, 0):.2f} | {by} | {median(name, 1):.2f} | {max(r[2] for r in runs)} MiB |")
        print("\n".join(lines))
        if a.page:
            text = a.page.read_text()
            begin = text.index(MARK) + len(MARK)
            a.page.write_text(text[:begin] + "\n" + "\n".join(lines) + "\n" + text[text.index("\n## ", begin):])


if __name__ == "__main__":
    main()
