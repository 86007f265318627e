"""Odd vocabularies and chat templates over a tiny Llama: what llama.cpp's converter writes
of them, and what it refuses. Where it stops, amn has to; where it writes, the keys are
the same, or amn refuses for the reason that is listed."""
import json
import shutil

import models

LIST = [{"name": "default", "template": "A {{ messages }}"}, {"name": "tool_use", "template": "B"}, {"name": "rag-2 é", "template": "C"}]


def edited(name, change):
    def do(folder):
        path = folder / name
        value = json.loads(path.read_text()) if path.exists() else {}
        change(value)
        path.write_text(json.dumps(value))
    return do


def template(value):
    return edited("tokenizer_config.json", lambda c: c.__setitem__("chat_template", value))


def bare(folder):
    edited("tokenizer_config.json", lambda c: c.pop("chat_template", None))(folder)
    (folder / "chat_template.jinja").unlink(missing_ok=True)


def files(jinja=None, more=None, older=None, keep=False):
    def do(folder):
        if not keep:
            bare(folder)
        if jinja is not None:
            (folder / "chat_template.jinja").write_text(jinja)
        if older is not None:
            (folder / "chat_template.json").write_text(json.dumps({"chat_template": older}))
        if more is not None:
            (folder / "additional_chat_templates").mkdir()
            for n, t in more.items():
                (folder / "additional_chat_templates" / n).write_text(t)
    return do


def added(*tokens, first=None):
    """Tokens behind those that tokenizer.json has, in tokenizer_config.json too."""
    def do(folder):
        t = json.loads((folder / "tokenizer.json").read_text())
        free = 1 + max(*t["model"]["vocab"].values(), *(a["id"] for a in t["added_tokens"])) if first is None else first
        full = [dict(id=free + i, single_word=False, lstrip=False, rstrip=False, normalized=False, special=False) | one for i, one in enumerate(tokens)]
        edited("tokenizer.json", lambda t: t["added_tokens"].extend(full))(folder)
        edited("tokenizer_config.json", lambda c: c.setdefault("added_tokens_decoder", {}).update({str(t["id"]): {k: v for k, v in t.items() if k != "id"} for t in full}))(folder)
    return do


def beside(tokens):
    return edited("added_tokens.json", lambda t: t.update(tokens))


def decoder(tokens):
    return edited("tokenizer_config.json", lambda c: c["added_tokens_decoder"].update(tokens))


LAST = models.VOCAB - 1
# name -> (family, what is done to its folder)
CASES = {
    "no template": ("llama3", bare),
    "a list of templates": ("llama3", template(LIST)),
    "a list without a default": ("llama3", template(LIST[1:])),
    "a list of one": ("llama3", template(LIST[:1])),
    "an empty list": ("llama3", template([])),
    "a template that is null": ("llama3", template(None)),
    "null in the configuration, a file beside it": ("llama3", lambda f: (template(None)(f), files("J", keep=True)(f))),
    "names that become equal": ("llama3", template([{"name": "a-b", "template": "1"}, {"name": "a_b", "template": "2"}])),
    "a template file": ("llama3", files("J {{ messages }}\n")),
    "a template file and a configuration": ("llama3", files("J", keep=True)),
    "further templates": ("llama3", files("J", {"tool_use.jinja": "T", "rag.jinja": "R", "note.txt": "N"})),
    "further templates without the first": ("llama3", files(None, {"tool_use.jinja": "T"})),
    "a folder without templates": ("llama3", files("J", {"note.txt": "N"})),
    "the older file": ("llama3", files(older="O")),
    "the older file with a list": ("llama3", files(older=LIST)),
    "the older file and the newer": ("llama3", files("J", older="O")),
    "an empty template": ("llama3", template("")),
    "added: a hole": ("llama3", added({"content": "<far>"}, first=LAST)),
    "added: special": ("llama3", added({"content": "<|odd|>"}, {"content": "[x]", "special": True})),
    "added: stripped": ("llama3", added({"content": " lead", "lstrip": True}, {"content": "tail ", "rstrip": True}, {"content": "whole", "single_word": True})),
    "added: normalized": ("llama3", added({"content": "na\u00efve <n>", "normalized": True}, {"content": "na\u00efve <m>"})),
    "added: a space of sentencepiece's": ("llama3", added({"content": "a\u2581b"}, {"content": "<unused7>"})),
    "added: beyond the vocabulary": ("llama3", added(*({"content": f"<{i}>"} for i in range(60)))),
    "added: a number twice": ("llama3", added({"content": "<one>", "id": 300}, {"content": "<two>", "id": 300})),
    "added: a text twice": ("llama3", added({"content": "<one>"}, {"content": "<one>"})),
    "added: a token of the model": ("llama3", added({"content": "<over>"}, first=300)),
    "added: special by name alone": ("llama3", added({"content": "<pad>"}, {"content": "<mask>"}, {"content": "[@BOS@]"})),
    "spm: beside": ("llama2", beside({"<a>": LAST - 2, "\u2581b": LAST - 1})),
    "spm: beside, beyond": ("llama2", beside({"<a>": LAST + 5})),
    "spm: beside and decoded": ("llama2", lambda f: (beside({"<a>": LAST - 1})(f), decoder({str(LAST - 1): {"content": "<other>", "special": True}})(f))),
    "spm: decoded over a piece": ("llama2", decoder({"7": {"content": "<|seven|>", "special": False}, "8": {"content": "a\u2581b", "special": False}})),
    "spm: decoded, a hole": ("llama2", decoder({str(LAST): {"content": "<far>", "special": False}})),
    "spm: decoded, beyond": ("llama2", decoder({str(LAST + 4): {"content": "<far>", "special": False}})),
    "spm: a text twice": ("llama2", decoder({str(LAST): {"content": "<s>", "special": True}})),
    "spm: templates": ("llama2", template(LIST)),
}
# What the converter writes and amn refuses: llama.cpp aborts at equal tokens, and a number
# that tokenizers does not go by is a contradiction.
REFUSED = ("spm: a text twice", "added: a hole", "added: a number twice", "added: a text twice", "added: a token of the model")
# What transformers has and the converter leaves out: a file counts where the configuration says null.
OURS = {"a template that is null": "{% for m in messages %}<|begin|>{{ m['content'] }}<|end|>{% endfor %}", "null in the configuration, a file beside it": "J"}


def keys(got):
    """Names of templates are a set in the converter, which has no order."""
    if "tokenizer.chat_templates" in got:
        kind, names = got["tokenizer.chat_templates"]
        got["tokenizer.chat_templates"] = kind, sorted(names)
    return got


def check(work, amn, converter, same, wrong):
    bad = stopped = 0
    base = {}
    for n, (name, (family, change)) in enumerate(CASES.items()):
        if family not in base:
            base[family] = work / f"odd-{family}"
            base[family].mkdir()
            base[family] = base[family], models.make(family, base[family])[1]
        whole, pre = base[family]
        folder, ours, theirs = (work / f"odd-{n}{end}" for end in ("", "-ours.gguf", "-theirs.gguf"))
        shutil.copytree(whole, folder)
        change(folder)
        try:
            converter.write(folder, theirs, "f32", pre)
            why = None
        except Exception as e:  # whatever it stops at
            why = f"{type(e).__name__}: {e}"
        mine = amn("convert", folder, "--to", "gguf", "-o", ours, *(["--gguf-kv", f"tokenizer.ggml.pre={pre}"] if pre else []))
        stopped += bool(why)
        if why or name in REFUSED:
            if not mine:
                bad += wrong(f"odd: {name}", f"the converter stops ({why}), amn does not")
            elif ours.exists():
                bad += wrong(f"odd: {name}", "something was written")
            continue
        if mine:
            bad += wrong(f"odd: {name}", mine)
            continue
        (got, a), (want, b) = converter.read(ours), converter.read(theirs)
        if name in OURS:
            if (text := got.pop("tokenizer.chat_template", (0, None))[1]) != OURS[name]:
                bad += wrong(f"odd: {name}", f"the template is {text}")
        bad += same(f"odd: {name}", (keys(got), a), (keys(want), b))
    return [[f"runs: odd vocabularies and templates, {stopped} of which nobody writes", "llama.cpp's converter", len(CASES), bad]]
