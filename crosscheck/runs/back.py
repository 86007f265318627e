"""The way back: a GGUF file that amn wrote of a folder becomes a folder again, whose
tensors, logits and tokens are those of the first one."""
import json
import os
import random

import numpy as np
import torch
import transformers as tf
import wider
from safetensors.torch import load_file

STRINGS = int(os.environ.get("CROSSCHECK_STRINGS", "100000"))
VOCABULARIES = "llama-bpe qwen2 gpt-2 starcoder refact deepseek-coder deepseek-llm command-r mpt llama-spm phi-3".split()
SHIFTED = ("gemma", "gemma2", "gemma3", "nemotron", "qwen3next", "qwen3.5", "qwen3.5moe", "embedding-gemma")  # norms lose what 1 + x - 1 loses in their type; BF16 is added in F32


def strings(n, seed=5):
    """Words, spaces, digits, scripts, marks, emojis, controls, and what looks like added tokens."""
    r = random.Random(seed)
    words = ["the", "I've", "WE'LL", "don'T", " a", "  ", "\n", "\r\n", "\t", "   x", "3", "333", "2026", "naïve", "Füße", "é", "\u0301", "мир", "世界", "ﾊﾛｰ", "🚀", "👩‍👩‍👧",
             "<think>", "<|end|>", "<s>", "</s>", "<unk>", "<|extra|>", "<0x0A>", "▁", "_", "...", "!!!", "=>", "{}", "x=1;", "\u200b", "\xa0", "\u3000", "\x00", "\x7f", "ſ", "ǅ", "١٢٣", "Ⅷ", "ก็", "हिन्दी"]

    def one():
        kind = r.random()
        if kind < 0.7:
            return "".join(r.choice(words) + r.choice(["", " ", " "]) for _ in range(r.randrange(1, 12)))
        if kind < 0.9:
            return "".join(chr(r.choice([r.randrange(32, 127), r.randrange(128, 0x3000), r.randrange(0x4E00, 0x9FFF), r.randrange(0x1F300, 0x1FAFF)])) for _ in range(r.randrange(1, 20)))
        return "".join(r.choice("ab'sSt1 \n\t.") for _ in range(r.randrange(0, 40)))

    return ["", " ", "\n", "  "] + [one() for _ in range(n - 4)]


def tokens(folder, back):
    """How many of the strings the two folders' tokenizers encode otherwise, and one of
    them. For sentencepiece's models it is that library that is asked, without texts
    that look like added tokens."""
    texts, bad = strings(STRINGS), []
    if (folder / "spiece.model").exists():  # T5's, which comes back as that file alone
        import sentencepiece as sp

        want, got = (sp.SentencePieceProcessor(model_file=str(p / "spiece.model")).encode(texts) for p in (folder, back))
        bad = [(s, p, q) for s, p, q in zip(texts, want, got) if p != q]
        return len(bad), bad[:1]
    a, b = (tf.AutoTokenizer.from_pretrained(p) for p in (folder, back))
    if (folder / "tokenizer.model").exists():
        import sentencepiece as sp

        texts = [t for t in texts if "<" not in t and "added" not in t and "\x00" not in t]
        models = [sp.SentencePieceProcessor(model_file=str(p / "tokenizer.model")) for p in (folder, back)]
        # A model of sentencepiece's takes U+2581 for a space.
        want = models[0].encode(texts)
        for got in (models[1].encode(texts), [e.ids for e in b.backend_tokenizer.encode_batch(texts, add_special_tokens=False)]):
            bad += [(s, p, q) for s, p, q in zip(texts, want, got) if p != q]
    else:
        want, got = ([e.ids for e in t.backend_tokenizer.encode_batch(texts)] for t in (a, b))
        bad += [(s, p, q) for s, p, q in zip(texts, want, got) if p != q]
    if a.chat_template != b.chat_template:
        bad.append(("chat_template", a.chat_template, b.chat_template))
    return len(bad), bad[:1]


def bits(t):
    return t.contiguous().view(torch.uint8).numpy().tobytes() if t.dim() else bytes(t.tobytes())


# Families whose GGUF is not led back.
ONE_WAY = {"roberta", "xlm-roberta", "xlm-roberta-json",
           "bert-classes", "roberta-classes", "xlm-roberta-classes", "qwen3-reranker-head"}
ENCODERS = ("bert", "bert-labelled", "distilbert", "modern-bert", "nomic-bert", "t5-encoder")  # which come back without the pooling that llama.cpp has not, and without a tokenizer

WITHOUT = (*ENCODERS, "exaone4", "distilbert-classes", "modern-bert-classes")  # a tokenizer that is made again


def answers(name, model, ids):
    """What a model makes of tokens: logits, or what an encoder has in their place. T5's
    decoder reads the same tokens; llama.cpp does not divide what is before the head by
    the root of its width, which transformers does of the tied ones."""
    if "t5" in name and name != "t5-encoder":
        out = model(input_ids=ids, decoder_input_ids=ids).logits
        scaled = name == "umt5" or getattr(model.config, "scale_decoder_outputs", False)
        return out * model.config.d_model ** 0.5 if scaled else out
    if name.endswith("-classes"):  # which the head makes of what the encoder gives
        model = model.base_model
    out = model(ids)
    if name in ("llama-model", "qwen2-model", "qwen3-model"):  # of which llama.cpp makes logits by the table of tokens
        return out.last_hidden_state @ model.embed_tokens.weight.T
    return out.last_hidden_state if "bert" in name or name in ("t5-encoder", "embedding-gemma") else out.logits


def decays(a, b, kind):
    """Logarithms of which llama.cpp has the exponential: those of F32 and F16 lose what it
    rounds off, so the exponentials are compared, in the type that the converter has them in."""
    x, y = (np.exp(t.double().numpy()).astype(np.float16 if kind == "f16" else np.float32) for t in (a, b))
    return a.shape == b.shape and (x == y).all()


def check(name, kind, model, folder, path, amn, work, wrong):
    """The folder that amn makes of path against the one that path was made of."""
    back = work / f"{name}-{kind}-back"
    why = amn("convert", path, "--to", "hf", "-o", back)
    if name in ONE_WAY or name in wider.ONE_WAY:
        return (0 if "not supported" in why else wrong(name, f"it is led back: {why}")), 1
    if why:
        return wrong(name, why), 0
    bad = 0
    want, got = load_file(folder / "model.safetensors"), load_file(back / "model.safetensors")
    counted = sum(t.numel() for t in want.values())
    if name in wider.BARE:
        want = {"model." + n: t for n, t in want.items()}
    if name in ("t5", "t5-encoder"):
        want.pop("encoder.embed_tokens.weight")  # which is the table of tokens once more
        want, got = ({n.replace("encoder.embed_tokens", "shared"): t for n, t in x.items()} for x in (want, got))
    for n in sorted(set(want) | set(got)):
        if name in ENCODERS and n.startswith("pooler.") and n not in got:
            continue
        a, b = want.get(n), got.get(n)
        if a is None or b is None:
            bad += wrong(name, f"back {kind}: tensor {n}: {'new' if a is None else 'missing'}")
        elif a.shape != b.shape or bits(a) != bits(b):
            if name == "falcon-h1":  # whose weights llama.cpp has multiplied; what they give is compared
                continue
            if name in SHIFTED and "norm" in n and n.endswith(".weight") and kind != "bf16" and bits((a + 1) - 1) == bits(b):
                continue
            if n.endswith("A_log") and kind != "bf16" and decays(a, b, kind):
                continue
            bad += wrong(name, f"back {kind}: tensor {n}: {a.dtype} {tuple(a.shape)}, {b.dtype} {tuple(b.shape)}")
    if kind != "f32" or name == "nomic-bert":  # whose published configuration transformers does not read
        return bad, counted
    more = {"quantization_config": tf.Mxfp4Config(dequantize=True), "dtype": torch.float32} if name.endswith("mxfp4") else {}
    loaded, info = type(model).from_pretrained(back, attn_implementation="eager", output_loading_info=True, **more)
    for what in ("missing_keys", "unexpected_keys", "mismatched_keys"):
        left = [n for n in info[what] if not (name in ENCODERS and n.startswith("pooler."))]
        if left:
            bad += wrong(name, f"back: {what}: {sorted(left)[:3]}")
    ids = torch.tensor([[1, *np.random.default_rng(1).integers(3, 300, 23)]])
    with torch.no_grad():
        x, y = (m(ids).logits if name.endswith("-classes") else answers(name, m, ids) for m in (model, loaded.eval()))
    off = float((x - y).abs().max() / (x.std() if x.numel() > 1 else x.abs().max()))
    if not off <= (1e-6 if name.endswith("-classes") else 1e-5 if name in SHIFTED or any(n.endswith("A_log") for n in want) else 0):
        bad += wrong(name, f"back: logits differ by {off:.2g}")
    n, example = tokens(folder, back) if any((back / f).exists() for f in ("tokenizer.json", "spiece.model")) or name not in WITHOUT else (0, "")
    if n:
        bad += wrong(name, f"back: {n} of {STRINGS} strings have other tokens: {example}"[:600])
    return bad, counted + STRINGS


def spoken(folder):
    """The tensors of a text model that is published with a vision part, under the names that
    it has without one, its experts one by one."""
    out = {}
    for n, t in load_file(folder / "model.safetensors").items():
        if any(part in n for part in ("vision_tower.", "multi_modal_projector.", "visual.")):
            continue
        n = n.replace("language_model.", "")
        if n.endswith(".experts.gate_up_proj"):  # columns of the gate before those of what it lets pass
            for e, both in enumerate(t):
                for part, half in zip(("gate_proj", "up_proj"), both.chunk(2, 1)):
                    out[n.replace("gate_up_proj", f"{e}.{part}.weight")] = half.T
        elif n.endswith(".experts.down_proj"):
            out |= {n.replace("down_proj", f"{e}.down_proj.weight"): one.T for e, one in enumerate(t)}
        else:
            out[n] = t
    return out


def text(name, kind, model, folder, path, amn, work, wrong):
    """The folder of a text model that was published with a vision part: a model of another
    class, whose tensors are the same."""
    back = work / f"{name}-{kind}-back"
    if why := amn("convert", path, "--to", "hf", "-o", back):
        return wrong(name, why), 0
    want, got, bad = spoken(folder), load_file(back / "model.safetensors"), 0
    if json.loads((back / "config.json").read_text())["tie_word_embeddings"]:
        want.pop("lm_head.weight", None)
    for n in sorted(set(want) | set(got)):
        a, b = want.get(n), got.get(n)
        if a is None or b is None or a.shape != b.shape or bits(a) != bits(b):
            if a is None or b is None or not (name.startswith("gemma3") and "norm" in n and kind != "bf16" and bits((a + 1) - 1) == bits(b)):
                bad += wrong(name, f"back {kind}: tensor {n}: {a is not None and (a.dtype, tuple(a.shape))}, {b is not None and (b.dtype, tuple(b.shape))}")
    counted = sum(t.numel() for t in want.values())
    if kind != "f32":
        return bad, counted
    loaded, info = tf.AutoModelForCausalLM.from_pretrained(back, attn_implementation="eager", output_loading_info=True)
    for what in ("missing_keys", "unexpected_keys", "mismatched_keys"):
        if info[what]:
            bad += wrong(name, f"back: {what}: {sorted(info[what])[:3]}")
    ids = torch.tensor([[1, *np.random.default_rng(1).integers(3, 300, 23)]])
    with torch.no_grad():
        x, y = model(ids).logits, loaded.eval()(ids).logits
    off = float((x - y).abs().max() / x.std())
    return bad + (0 if off <= 1e-5 else wrong(name, f"back: logits differ by {off:.2g}")), counted


def vocabulary(gguf, path, out):
    """A model of llama.cpp's test vocabulary: its keys, over tensors of its size."""
    r = gguf.GGUFReader(path)
    n = len(r.fields["tokenizer.ggml.tokens"].data)
    w = gguf.GGUFWriter(out, "llama")
    for key, value in (("block_count", 1), ("context_length", 64), ("embedding_length", 8), ("feed_forward_length", 8)):
        w.add_uint32("llama." + key, value)
    w.add_uint32("llama.attention.head_count", 2)
    w.add_float32("llama.attention.layer_norm_rms_epsilon", 1e-5)
    for key, f in r.fields.items():
        if key.startswith("tokenizer."):
            v = f.contents()
            main, sub = f.types[0], f.types[-1] if f.types[0] == gguf.GGUFValueType.ARRAY else None
            w.add_key_value(key, v, main, sub)
    zero = lambda *s: np.zeros(s, np.float32)  # noqa: E731
    for name, t in {"token_embd": zero(n, 8), "output": zero(n, 8), "output_norm": zero(8), "blk.0.attn_norm": zero(8), "blk.0.ffn_norm": zero(8)}.items():
        w.add_tensor(name + ".weight", t)
    for part in ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down"):
        w.add_tensor(f"blk.0.{part}.weight", zero(8, 8))
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


def decoded(gguf, path, back, heads, wrong):
    """A quantized file: what gguf-py decodes, rows of queries and keys in halves again."""
    names = {"attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj", "ffn_down": "mlp.down_proj", "ffn_up": "mlp.up_proj", "attn_v": "self_attn.v_proj"}
    got, bad, counted = load_file(back / "model.safetensors"), 0, 0
    for t in gguf.GGUFReader(path).tensors:
        parts = t.name.split(".")
        if parts[0] != "blk" or parts[2] not in names:
            continue
        want = gguf.dequantize(t.data, t.tensor_type)
        if n := heads.get(parts[2]):
            want = want.reshape(n, want.shape[0] // n // 2, 2, -1).swapaxes(1, 2).reshape(want.shape)
        have = got[f"model.layers.{parts[1]}.{names[parts[2]]}.weight"].numpy()
        counted += want.size
        if want.astype(np.float32).tobytes() != have.tobytes():
            bad += wrong("decoded", t.name)
    return counted, bad


def vocabularies(gguf, tree, amn, work, wrong, rows):
    """Real vocabularies: what the models' own tokenizers make of llama.cpp's test texts."""
    from tokenizers import Tokenizer

    for name in VOCABULARIES:
        path = tree / "models" / f"ggml-vocab-{name}.gguf"
        model, back = work / f"vocab-{name}.gguf", work / f"vocab-{name}"
        vocabulary(gguf, path, model)
        if why := amn("convert", model, "--to", "hf", "-o", back):
            rows.append([f"runs: tokenizer {name}", "the models' own tokenizers", 0, wrong(name, why)])
            continue
        if not (back / "tokenizer.json").exists():
            rows.append([f"runs: tokenizer {name}", "the models' own tokenizers", 0, wrong(name, "no tokenizer.json")])
            continue
        t = Tokenizer.from_file(str(back / "tokenizer.json"))
        texts = path.with_name(path.name + ".inp").read_text(encoding="utf-8").split("\n__ggml_vocab_test__\n")
        answers = path.with_name(path.name + ".out").read_text().strip("\n").split("\n")
        bad = 0
        for text, answer in zip(texts, answers):
            want, got = [int(n) for n in answer.split()], t.encode(text, add_special_tokens=False).ids
            if want != got:
                bad += wrong(name, f"{text!r}: {got[:20]}, want {want[:20]}"[:400])
        rows.append([f"runs: tokenizer {name}", "the models' own tokenizers", len(answers), bad])


def encoded(exe, path, texts):
    """What the encoder of the converter makes of texts, by the program of
    crosscheck/tokens."""
    import subprocess

    lines = "".join(json.dumps(t) + "\n" for t in texts)
    done = subprocess.run([exe, path], input=lines, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    return [json.loads(line.replace(" ", ", ")) for line in done.stdout.splitlines()[1:]], done.stderr.strip()


def encodes(exe, name, path, wrong):
    """Strings that the converter's encoder and the tokenizers package encode otherwise.
    The encoder takes text in form C where the vocabulary's normalizer makes it so."""
    import unicodedata

    from tokenizers import Tokenizer

    texts = strings(STRINGS, seed=11)
    if '"NFC"' in path.read_text()[:100_000]:
        texts = [unicodedata.normalize("NFC", t) for t in texts]
    got, why = encoded(exe, path, texts)
    if len(got) != len(texts):
        return 0, wrong(name, f"{len(got)} of {len(texts)} strings: {why}"[:300])
    want = [e.ids for e in Tokenizer.from_file(str(path)).encode_batch(texts)]
    bad = [(t, a, b) for t, a, b in zip(texts, got, want) if a != b]
    if bad:
        wrong(name, f"{len(bad)} of {len(texts)} strings have other tokens: {bad[0]}"[:400])
    return len(texts), len(bad)
