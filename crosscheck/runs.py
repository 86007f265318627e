"""Models of transformers as llama.cpp runs them: for each family a tiny random one is
made, amn and llama.cpp's own converter write it, tensors and keys are compared byte
for byte, llama.cpp runs amn's file, and its logits are compared with transformers'. Then
amn makes a folder of its file again, which must be the first one: see runs/back.py.

    python3 crosscheck/run.py runs          CROSSCHECK_FAMILIES=llama2,qwen2 for some of them

The keys that describe a model to people are not compared: see runs/reference.py.
"""
import json
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path = [p for p in sys.path if pathlib.Path(p).resolve() != HERE]  # of gguf.py and others
sys.path[:0] = [str(HERE / "ggml"), str(HERE / "runs")]
os.environ |= {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}

import back  # noqa: E402
import bad  # noqa: E402
import coded  # noqa: E402
import jina  # noqa: E402
import llamacpp  # noqa: E402
import mlxlm  # noqa: E402
import models  # noqa: E402
import nested  # noqa: E402
import numpy as np  # noqa: E402
import odd  # noqa: E402
import parts  # noqa: E402
import recent  # noqa: E402
import reference  # noqa: E402
import torch  # noqa: E402
import unclassed  # noqa: E402
import views  # noqa: E402
import vision  # noqa: E402
import wider  # noqa: E402

WORK = pathlib.Path(sys.argv[2])
AMN = os.environ["CROSSCHECK_AMN"]
MOST = 1e-3  # of the standard deviation of the logits
GELU = {"gemma": 1e-2, "gemma4": 1e-2, "gemma4-moe": 1e-2, "phi2": 1e-2, "gptneox": 1e-2, "bloom": 1e-2, "gemma3-vision": 1e-2, "gemma2": 1e-2, "gemma3": 1e-2, "starcoder2": 1e-2, "gpt2": 1e-2,  # llama.cpp has GELU as a table of F16,
        "bert-classes": 1e-2, "distilbert-classes": 1e-2, "roberta-classes": 1e-2, "xlm-roberta-classes": 1e-2, "modern-bert-classes": 1e-2, "bert-labelled": 1e-2, "embedding-gemma": 1e-2,
        "bert": 1e-2, "distilbert": 1e-2, "roberta": 1e-2, "xlm-roberta": 1e-2, "xlm-roberta-json": 1e-2, "modern-bert": 1e-2,
        "t5-gated": 1e-2, "mt5": 1e-2, "umt5": 1e-2, "t5-encoder": 1e-2, "gpt-oss-mxfp4": 1e-1}  # and rounds what it multiplies blocks with to eight bits
GELU |= wider.GELU
nested.FAMILIES |= recent.FAMILIES
nested.MOST |= recent.MOST
parts.FAMILIES |= views.FAMILIES
TYPES = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}
rows = []


def amn(*args):
    done = subprocess.run([AMN, *map(str, args)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return "" if done.returncode == 0 else done.stdout.strip() or f"exit {done.returncode}"


def wrong(what, why):
    print(f"{what}: {why}", file=sys.stderr)
    return 1


def rounded(name, a, b):
    """Exponentials: amn rounds them once, and torch's are the float beside for one in a
    hundred, as it asks Intel's library."""
    if not name.endswith("ssm_a") or a is None or b is None or a[:2] != b[:2]:
        return False
    x, y = (np.frombuffer(t[2], np.int32).astype(np.int64) for t in (a, b))
    return int(np.abs(x - y).max()) <= 1


def same(what, got, want):
    bad = 0
    for kind, a, b in zip(("key", "tensor"), got, want):
        for name in sorted(set(a) | set(b)):
            if a.get(name) != b.get(name) and not (kind == "tensor" and rounded(name, a.get(name), b.get(name))):
                show = lambda x: "nothing" if x is None else str(x[:2] if kind == "tensor" else x)[:160]  # noqa: E731
                bad += wrong(what, f"{kind} {name}: {show(a.get(name))}, want {show(b.get(name))}")
    return bad


def family(name, converter, run):
    counted = bad = 0
    again = wrongs = 0
    for kind, dtype in TYPES.items():
        folder = WORK / f"tiny{list(models.FAMILIES).index(name)}-{kind}"  # llama.cpp goes by names: "phi3"
        folder.mkdir()
        model, pre = models.make(name, folder, dtype)
        ours, theirs = WORK / f"{name}-{kind}.gguf", WORK / f"{name}-{kind}-reference.gguf"
        extra = ["--gguf-kv", f"tokenizer.ggml.pre={pre}"] if pre else []
        if why := amn("convert", folder, "--to", "gguf", "-o", ours, *extra):
            bad += wrong(name, why)
            continue
        converter.write(folder, theirs, kind, pre)
        got, want = converter.read(ours), converter.read(theirs)
        counted += sum(int(np.prod(t[1])) for t in want[1].values())
        bad += same(f"{name} {kind}", got, want)
        if why := amn("diff", folder, ours):
            bad += wrong(f"{name} {kind}", f"amn diff: {why}")
        if kind == "f32" and name != "qwen3-reranker-head":  # which has no head for texts in llama.cpp
            bad += runs(name, model, run, ours)
        off, numbers = back.check(name, kind, model, folder, ours, amn, WORK, wrong)
        again, wrongs = again + numbers, wrongs + off
    rows.append([f"runs: {name}, and back", "transformers: the folder, its logits and tokens", again, wrongs])
    rows.append([f"runs: {name}", f"llama.cpp's converter, and its logits in F32", counted, bad])


def encoders():
    """The encoder by which a pre-tokenizer is known: BPE of each kind that is trained
    here, and WordPiece with each of the options that BERT's normalizer has."""
    for pre in ("gpt-2", "llama-bpe", "qwen2", "starcoder", "command-r"):
        folder = WORK / f"encoder-{pre}"
        folder.mkdir()
        models.byte_level(folder, pre)
        rows.append([f"runs: encoder, {pre}", "tokenizers", *back.encodes(os.environ["CROSSCHECK_TOKENS"], pre, folder / "tokenizer.json", wrong)])
    for i, options in enumerate(({}, {"lowercase": False}, {"strip_accents": False}, {"lowercase": False, "strip_accents": True}, {"clean_text": False}, {"handle_chinese_chars": False})):
        path = WORK / f"pieces-{i}.json"
        models.pieces(options, 1200, map(chr, range(33, 0x400))).save(str(path))
        rows.append([f"runs: encoder, WordPiece {options or ''}".strip(), "tokenizers", *back.encodes(os.environ["CROSSCHECK_TOKENS"], f"WordPiece {options}", path, wrong)])


def ofmlx(converter):
    """Folders of mlx-lm, both ways."""
    for name in models.FAMILIES:
        if name in mlxlm.WITHOUT or name == "q4" or name in wider.FAMILIES:
            continue
        folder = WORK / f"mlx-{name}"
        folder.mkdir()
        models.make(name, folder, torch.bfloat16)
        mlxlm.published(folder)
        rows.append([f"runs: {name} of MLX, both ways", "mlx-lm: its converter", *mlxlm.check(name, folder, amn, WORK, wrong)])


def decodes(converter):
    """Quantized folders: the tensors that llama.cpp's converter decodes them to."""
    for name in ("llama3", "qwen3", "mixtral"):
        for scheme in coded.SCHEMES:
            folder = WORK / f"{name}-{scheme}"
            folder.mkdir()
            _, pre = models.make(name, folder, torch.bfloat16)
            coded.make(folder, scheme)
            extra = ["--gguf-kv", f"tokenizer.ggml.pre={pre}"] if pre else []
            counted = bad = 0
            for to in TYPES:
                ours, theirs = (WORK / f"{name}-{scheme}-{to}-{n}.gguf" for n in ("ours", "theirs"))
                if why := amn("convert", folder, "--to", "gguf", "--out-dtype", to, "-o", ours, *extra):
                    bad += wrong(f"{name} {scheme}", why)
                    continue
                converter.write(folder, theirs, to, pre)
                got, want = converter.read(ours), converter.read(theirs)
                counted += sum(int(np.prod(t[1])) for t in want[1].values())
                bad += same(f"{name} {scheme} {to}", got, want)
            rows.append([f"runs: {name} in {scheme}", "llama.cpp's converter", counted, bad])
    folder = WORK / "mlx-eight"
    folder.mkdir()
    models.make("llama3", folder, torch.float32)  # mlx-lm decodes BF16 in BF16, amn in F32
    mlxlm.published(folder)
    rows.append(["runs: llama3 in MLX's 8 bits", "mlx-lm decodes it", *mlxlm.quantized("llama3", folder, amn, WORK, wrong, converter, same)])


def retyped(converter):
    """All matrices of one type, whatever the folder has: --outtype."""
    counted = bad = 0
    for name in ("llama2", "gemma2", "mixtral", "deepseek3", "gpt2"):
        for kind, dtype in TYPES.items():
            folder = WORK / f"typed-{name}-{kind}"
            folder.mkdir()
            _, pre = models.make(name, folder, dtype)
            extra = ["--gguf-kv", f"tokenizer.ggml.pre={pre}"] if pre else []
            for to in TYPES:
                ours, theirs = (WORK / f"typed-{name}-{kind}-{to}-{n}.gguf" for n in ("ours", "theirs"))
                if why := amn("convert", folder, "--to", "gguf", "--out-dtype", to, "-o", ours, *extra):
                    bad += wrong(f"{name} {kind} to {to}", why)
                    continue
                converter.write(folder, theirs, to, pre)
                got, want = converter.read(ours), converter.read(theirs)
                counted += sum(int(np.prod(t[1])) for t in want[1].values())
                bad += same(f"{name} {kind} to {to}", got, want)
    rows.append(["runs: --out-dtype", "llama.cpp's converter with --outtype", counted, bad])


def runs(name, model, run, path):
    tokens = [2 if "bert" in name else 1, *np.random.default_rng(1).integers(3, models.VOCAB - 8, 23)]
    with torch.no_grad():
        want = back.answers(name, model, torch.tensor([tokens]))[0].float().numpy()
    got, why = reference.logits(run, path, tokens)
    if got is None:
        return wrong(name, f"llama.cpp does not run it: {why}")
    if name in wider.OTHERWISE:
        return 0 if np.isfinite(got).all() else wrong(name, "logits that are no numbers")
    off = float(np.abs(got - want).max() / want.std())
    print(f"{name}: logits differ by {off:.2g} of their deviation", file=sys.stderr)
    return 0 if off <= GELU.get(name, MOST) else wrong(name, f"logits differ by {off:.3g}")


def quantizes(run, converter):
    """A folder becomes Q4_K_M in one command: the bytes of two, and llama.cpp runs it."""
    folder = WORK / "q4"
    folder.mkdir()
    models.FAMILIES["q4"] = lambda: (models.tf.LlamaConfig(**models.sizes(hidden_size=512, intermediate_size=768)), models.tf.LlamaForCausalLM, models.sentencepiece, None)
    models.make("q4", folder, torch.bfloat16)
    one, two, plain = (WORK / f"q4-{n}.gguf" for n in ("one", "two", "plain"))
    bad = 0
    for args in (["forget", folder, "--to", "q4_k_m", "-o", one], ["convert", folder, "--to", "gguf", "-o", plain], ["forget", plain, "--to", "q4_k_m", "-o", two], ["diff", folder, plain]):
        if why := amn(*args):
            bad += wrong("q4", why)
    if not bad:
        bad += 0 if one.read_bytes() == two.read_bytes() else wrong("q4", "one command and two write other bytes")
        bad += 0 if reference.logits(run, one, [1, 5, 9])[0] is not None else wrong("q4", "llama.cpp does not run it")
    again = WORK / "q4-back"
    if why := amn("convert", one, "--to", "hf", "--out-dtype", "f32", "-o", again):
        rows.append(["runs: Q4_K_M, and back", "gguf-py", 0, wrong("q4", why)])
    else:
        rows.append(["runs: Q4_K_M, and back", "gguf-py", *back.decoded(converter.gguf, one, again, {"attn_q": 4, "attn_k": 2}, wrong)])
    rows.append(["runs: folder to Q4_K_M", "amn in two steps, llama.cpp", one.stat().st_size if one.exists() else 0, bad])


def main():
    tree = llamacpp.sources()
    converter = reference.Converter(tree)
    run = llamacpp.program(tree, llamacpp.library(tree), HERE / "runs" / "logits.cpp")
    chosen = os.environ.get("CROSSCHECK_FAMILIES")
    for name in chosen.split(";" if ";" in chosen else ",") if chosen else [*models.FAMILIES, *vision.FAMILIES, *nested.FAMILIES, *parts.FAMILIES, *unclassed.FAMILIES, "jina-bert-v2", "odd", "bad"]:
        if name == "bad":
            rows.append(["runs: folders that contradict themselves", "refused, nothing written", *bad.check(WORK, amn, wrong)])
            continue
        if name == "odd":
            rows.extend(odd.check(WORK, amn, converter, same, wrong))
            continue
        if name == "jina-bert-v2":
            rows.append(["runs: jina-bert-v2, and back", "llama.cpp's converter; the folder; llama.cpp runs it", *jina.check(WORK, amn, converter, same, wrong, lambda path, t: reference.logits(run, path, t))])
            continue
        if name in unclassed.FAMILIES:
            rows.append([f"runs: {name}, and back", "llama.cpp's converter; the folder; llama.cpp runs it", *unclassed.check(name, WORK, amn, converter, same, wrong, lambda path, t: reference.logits(run, path, t))])
            continue
        if name in nested.FAMILIES:
            rows.append([f"runs: {name}", "llama.cpp's converter, and the text model's logits in F32", *nested.check(name, WORK, amn, converter, same, wrong, lambda path, t: reference.logits(run, path, t))])
            continue
        if name in parts.FAMILIES:
            rows.append([f"runs: {name}", "llama.cpp's converter with --mmproj" + ("; mtmd loads it" if os.environ.get("CROSSCHECK_CLIP") else ""), *parts.check(name, WORK, amn, converter, same, wrong)])
            continue
        if name in vision.FAMILIES:
            rows.extend(vision.check(name, WORK, amn, converter, same, wrong, lambda n, model, path: runs(n, model, run, path)))
            continue
        family(name, converter, run)
    if not chosen:
        retyped(converter)
        decodes(converter)
        ofmlx(converter)
        quantizes(run, converter)
        back.vocabularies(converter.gguf, tree, amn, WORK, wrong, rows)
        encoders()
    print(json.dumps(rows))


main()
