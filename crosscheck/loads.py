"""Models of odd widths, quantized by amn and loaded by transformers: whether the folder loads, and says the same.

    python3 crosscheck/run.py loads          CROSSCHECK_TYPES="qwen3_moe bert" CROSSCHECK_FORMATS="fp8 w4a16" CROSSCHECK_WIDTHS="192" for some
    loads.py DUMP WORK                       as run.py calls it
                                             CROSSCHECK_LEDGER=FILE: a line of JSON for each answer (contract/ledger.py); what it has is
                                             not asked again, but with CROSSCHECK_AGAIN=1 if another amn than CROSSCHECK_COMMIT wrote it:
                                             where that one and today's write the same bytes and say the same, what was loaded then is
                                             loaded today too, and is not loaded again

The width is that of the inner matrices of feed-forward layers and experts, where no group and no block of 128
may be whole; "heads" is attention with one key of 96 numbers beside queries of 384. Verdicts:

    equal       transformers' own report has no missing, unexpected, mismatched or reinitialized key, every parameter
                has the bits of the folder that `amn dequantize` makes of it, and so have the logits
    numbers     as equal, but the answers of one and the same model differ from run to run: parameters and buffers are compared alone
    refused     amn writes nothing, and says why
    said        transformers does not load it, or not as it is, and amn's "Loads" said so
    read        the library that loads it needs a GPU: what its exporter writes of the same model has the same tensors
    WRONG       all else
"""
import collections
import datetime
import functools
import gc
import hashlib
import importlib.metadata
import importlib.util
import json
import os
import pathlib
import re
import sys
import tempfile
import traceback

import targets  # its path and warnings
import reload as small
import torch
import transformers as T
from feed import Feed
from targets import amn

sys.path.append(str(targets.HERE / "contract"))
import ledger as asked_before  # noqa: E402

TYPES = """llama qwen2 qwen3_moe mixtral qwen2_moe olmoe deepseek_v2 deepseek_v3 glm4_moe glm_moe_dsa hy_v3 gpt_oss llama4_text nemotron_h nemotron qwen3_next
    dbrx granitemoe ernie4_5_moe phi3 gemma3_text cohere gpt2 gpt_neox opt falcon bert whisper vit siglip_vision_model t5 mamba falcon_mamba mamba2 bamba jamba lfm2 minimax ministral exaone4""".split()
TARGETS = ["nf4", "fp8", "w4a16", "nvfp4"]
WIDTHS = ["192", "160", "576", "1856", "heads"]
FOUR_BITS = ("nf4", "fp4")
INNER = ("intermediate_size", "moe_intermediate_size", "shared_expert_intermediate_size", "ffn_dim", "d_ff", "encoder_ffn_dim", "decoder_ffn_dim", "ffn_hidden_size", "n_inner",
         "moe_shared_expert_intermediate_size", "intermediate_size_mlp", "shared_intermediate_size")
SIZES = targets.WIDE
COMPRESSED = ("w4a16", "w8a16", "w4a16_asym", "w8a16_asym", "nvfp4", "mxfp4", "mxfp8", "fp8_dynamic", "fp8_tensor", "fp8_block", "w8a8")
# What some types ask of each other's sizes, and so that a small model has a layer of each kind.
OWN = {
    "deepseek_v2": {"n_group": 1, "topk_group": 1, "num_experts_per_tok": 2},
    "bamba": {"attn_layer_indices": [1]},
    "jamba": {"attn_layer_period": 2, "attn_layer_offset": 1, "expert_layer_period": 2, "expert_layer_offset": 1},
    "dbrx": {"attn_config": {"clip_qkv": 8.0, "kv_n_heads": 2, "rope_theta": 10000.0}, "d_model": 256, "n_heads": 4},
}
HEAD_BY_PARTS = ("deepseek_v2", "deepseek_v3", "glm_moe_dsa")  # their heads are of two parts


def variant(kind, width):
    """What makes a configuration small and odd, by less and less of it."""
    if width == "heads":
        inner, heads = {k: 256 for k in INNER}, {"num_attention_heads": 4, "num_key_value_heads": 1, "head_dim": 96, "hidden_size": 256}
    else:
        inner, heads = {k: int(width) for k in INNER}, dict(small.HEADS)
    if kind in HEAD_BY_PARTS:
        heads.pop("head_dim", None)
        inner["head_dim"] = 64
    base = small.LAYERS | small.TOKENS | SIZES | inner
    return (base | heads, base, small.LAYERS | small.TOKENS | inner, small.LAYERS | inner)


def load(to, cls, folder):
    """The model as transformers loads it, and what its report has."""
    more = {}
    if to == "fp8":
        more = {"quantization_config": T.FineGrainedFP8Config(dequantize=True)}
    elif to == "gpt_oss":
        more = {"quantization_config": T.Mxfp4Config(dequantize=True)}
    elif to in COMPRESSED:
        # As a user loads it, whose report must be empty too; inputs of some formats are quantized there.
        _, info = cls.from_pretrained(folder, dtype=torch.bfloat16, device_map="cpu", output_loading_info=True)
        if wrong := {k: sorted(map(str, v))[:3] for k, v in info.items() if v}:
            return None, wrong
        more = {"quantization_config": T.CompressedTensorsConfig(dequantize=True)}
    model, info = cls.from_pretrained(folder, dtype=torch.bfloat16, device_map="cpu", output_loading_info=True, **more)
    return model, {k: sorted(map(str, v))[:3] for k, v in info.items() if v}


def numbers(m):
    """The numbers of a 4-bit module, from codes and scales: bitsandbytes 0.50's kernel for a CPU gives others where rows
    are shorter than blocks."""
    q = m.weight.quant_state
    raw = m.weight.data.flatten()
    codes = torch.stack([raw >> 4, raw & 15], 1).flatten().long()
    out = (q.code[codes].reshape(-1, q.blocksize) * q.absmax[:, None]).reshape(-1)[:q.shape.numel()] if codes.numel() % q.blocksize == 0 else \
        torch.cat([q.code[c] * a for c, a in zip(codes.split(q.blocksize), q.absmax)])[:q.shape.numel()]
    return out.reshape(q.shape).to(q.dtype)


def decoded(model):
    """The parameters of a model, those of bitsandbytes and TorchAO decoded."""
    import bitsandbytes as bnb
    state = dict(model.named_parameters()) | dict(model.named_buffers())
    state = {k: v.dequantize() if hasattr(v, "dequantize") and type(v) not in (torch.Tensor, torch.nn.Parameter) and not isinstance(v, (bnb.nn.Params4bit, bnb.nn.Int8Params)) else v for k, v in state.items()}
    for name, m in model.named_modules():
        if isinstance(m, bnb.nn.Linear4bit):
            state[name + ".weight"] = numbers(m)
        elif isinstance(m, bnb.nn.Linear8bitLt):
            state[name + ".weight"] = rows(m)
            state = {k: v for k, v in state.items() if k not in (name + ".SCB", name + ".weight_format")}
    return state


def rows(m):
    """The numbers of a module of LLM.int8(), which has a scale for each row."""
    import bitsandbytes.functional as F
    return F.int8_vectorwise_dequant(m.weight.data, m.weight.SCB if m.weight.SCB is not None else m.state.SCB)


class Wrote:
    """What amn makes of a folder: quantized, and dequantized again."""

    def __init__(self, to, root):
        self.ours, self.back = root / f"ours-{to}", root / f"back-{to}"
        done = amn("quantize", "--json", "-f", "--to", to, "-o", self.ours, root / "plain")
        answer = json.loads(done.stdout.splitlines()[0])
        self.refused = answer["error"]["message"] if done.returncode else ""
        if str(root) in self.refused:
            raise RuntimeError(self.refused)  # about a folder of this sweep, not about the model
        self.forgotten = answer.get("forgotten", {})
        self.said = next((l.get("why") or l["verdict"] for l in self.forgotten.get("loads", ()) if l["loader"] == "transformers" and l["verdict"] != "loads"), self.forgotten.get("breaks_again", ""))
        self.failed = ""
        if not self.refused:
            done = amn("dequantize", "-q", "-f", "--to", "bf16", "-o", self.back, self.ours)
            self.failed = f"amn dequantize: {done.stderr[-160:]}" if done.returncode else ""

    def digest(self):
        """Of all bytes that an answer follows from, beside the versions of libraries: both folders, and what amn said."""
        sums = hashlib.sha256(f"{self.refused}\n{self.said}\n{len(self.forgotten.get('weights', ()))} {len(self.forgotten.get('kept', ()))}\n{'failed' * bool(self.failed)}\n".encode())
        for folder in (self.ours, self.back):
            for file in sorted(folder.rglob("*")) if folder.exists() else ():
                if file.is_file():
                    with open(file, "rb") as f:
                        sums.update(f"{folder.name}/{file.relative_to(folder)} ".encode() + hashlib.file_digest(f, "sha256").digest())
        return sums.hexdigest()[:16]


def one(to, cls, root, fed, wrote):
    ours, back, said = wrote.ours, wrote.back, wrote.said
    if wrote.refused:
        return "refused", wrote.refused[:200], 0
    forgotten = wrote.forgotten
    bad = "said" if said else "WRONG"
    try:
        got, wrong = load(to, cls, ours)
    except Exception as e:
        return bad, f"does not load: {small.said(e)}", 0
    if wrong:
        return bad, f"loads with {wrong}", 0
    if wrote.failed:
        return "WRONG", wrote.failed, 0
    want, wrong = cls.from_pretrained(back, dtype=torch.bfloat16, device_map="cpu", output_loading_info=True)
    if lost := {k: sorted(map(str, v))[:3] for k, v in wrong.items() if v}:
        return "WRONG", f"amn dequantize's loads with {lost}", 0
    a, b, n = decoded(want), decoded(got), 0
    turned = {name + ".weight" for name, m in want.named_modules() if type(m).__name__ == "Conv1D" and type(got.get_submodule(name)).__name__ != "Conv1D"}
    if set(a) != set(b):
        return bad, f"keys {sorted(set(a) ^ set(b))[:3]}", 0
    for k, v in a.items():
        n += v.numel()
        w = b[k].to(v.dtype)
        w = w.T if k in turned else w
        v, w = (v + 0, w + 0) if to == "fp4" else (v, w)  # its codes have two zeros
        if small.bits(v) != small.bits(w):
            return bad, f"{k}: other numbers than amn dequantize's, by {(v.float() - w.float()).abs().max():.3g}", n
    if to == "int8" or to.startswith("torchao"):  # their inputs are quantized too, or their kernels sum in another order
        multiply_decoded(got, b)
    x, cast = fed(want), typed(got, a) if to not in FOUR_BITS else []
    try:
        y = fed(got)
    except Exception as e:
        return bad, f"loads, and does not run: {small.said(e)}", n
    note = f"; amn said: {said}" if said else ""
    note += f"; transformers decodes and gives {cast[0]} another type than it loads it in ({len(cast)}): cast" if cast else ""
    if apart(x, y, 0) and any(apart(x, fed(want), 0) for _ in range(3)):
        return "numbers", f"{len(forgotten['weights'])} weights, {len(forgotten['kept'])} kept{note}; one model's answers differ from run to run", n
    if to in FOUR_BITS and apart(x, y, 0.05):  # its kernel sums in another order
        odd = by_hand(got)
        y, note = fed(got), note + ("; bitsandbytes' kernel for a CPU decodes rows that are no whole number of blocks wrong, its own as well: decoded by hand" if odd else
                                    "; other sums of bitsandbytes' kernel choose another way: decoded by hand")
        if apart(x, y, 0):
            return bad, f"answers differ by {apart(x, y, 0):.3g}", n
    elif to not in FOUR_BITS and apart(x, y, 0):
        return bad, f"answers differ by {apart(x, y, 0):.3g}", n
    return "equal", f"{len(forgotten['weights'])} weights, {len(forgotten['kept'])} kept{note}", n


def multiply_decoded(model, state):
    """Makes all quantized modules compute with the numbers that their library decodes."""
    for name, m in model.named_modules():
        w = state.get(name + ".weight")
        if type(m).__name__ in ("Linear8bitLt", "Linear") and w is not None and type(m.weight) is not torch.nn.Parameter:
            m.forward = lambda x, w=w, m=m: torch.nn.functional.linear(x, w.to(x.dtype), m.bias)


def typed(got, want):
    """Gives parameters the types that they have in a model that is not quantized, and returns their names: where transformers decodes,
    all that a converter makes gets the type of the model, also what the class keeps in float32. Their numbers were compared before."""
    other = {name: p for name, p in got.named_parameters() if name in want and p.is_floating_point() and p.dtype != want[name].dtype}
    for name, p in other.items():
        p.data = p.data.to(want[name].dtype)
    return sorted(other)


def apart(x, y, part):
    """By how much answers differ, if that is more than a part of their deviation. What is no number must be none in both."""
    if [v.shape for v in x] != [v.shape for v in y] or any(not torch.equal(a.isfinite(), b.isfinite()) for a, b in zip(x, y)):
        return float("inf")
    x, y = ([v.float().nan_to_num(0, 0, 0) for v in z] for z in (x, y))
    far = [((a.float() - b.float()).abs().max().item(), part * max(1e-3, a.float().std().item() if a.numel() > 1 else abs(a.item()))) for a, b in zip(x, y)]
    return max((d for d, most in far if not d <= most), default=0)


def by_hand(model):
    """Makes all 4-bit modules compute with numbers decoded by hand; whether one has rows that are no whole number of blocks."""
    import bitsandbytes as bnb
    modules = [m for m in model.modules() if isinstance(m, bnb.nn.Linear4bit)]
    for m in modules:
        w = numbers(m)
        m.forward = lambda x, w=w, m=m: torch.nn.functional.linear(x, w.to(x.dtype), m.bias)
    return any(m.weight.quant_state.shape[-1] % m.weight.quant_state.blocksize for m in modules)


def apart_from(to):
    """How a target is compared whose library does not load into the classes of transformers, or not with its own numbers: by the
    functions of targets.py. mlx_lm's own quantizer and ModelOpt's make the same numbers, GPTQModel's modules decode them."""
    how = targets.mlx if to.startswith("mlx") else targets.modelopt if to.startswith("modelopt") else targets.packed if to.startswith(("gptq", "awq")) else None
    if how is None:
        return None
    verdicts = {"not read by mlx_lm": "not built", "not exported": "not built", "fewer": "equal", "does not load": "said"}

    def compare(cls, root, kind, model):
        verdict, why, n = how(to, kind, cls, model, root)
        why = why.replace(str(root), "FOLDER")
        if how is targets.modelopt and verdict in ("equal", "fewer"):
            return "read", f"{why}; the tensors that ModelOpt exports; what loads them needs a GPU and was read", n
        return verdicts.get(verdict, verdict), why, n
    return compare


# What loads a target, besides transformers: by the beginning of its name.
OTHERS = {**dict.fromkeys(("nf4", "fp4", "int8"), ("bitsandbytes",)), **dict.fromkeys(COMPRESSED, ("compressed-tensors",)), "torchao": ("torchao",), "gptq": ("gptqmodel", "optimum"), "awq": ("gptqmodel", "optimum"),
          "modelopt": ("nvidia-modelopt",), "mlx": ("mlx-lm", "mlx")}


@functools.cache
def version(library):
    if library != "gptqmodel":
        return importlib.metadata.version(library)
    about, = importlib.util.find_spec(library).submodule_search_locations  # unpacked, not installed
    return re.search(r"^Version: (\S+)", (pathlib.Path(about).parent / "PKG-INFO").read_text(), re.M)[1]


def versions(to):
    """The amn that wrote a folder, and the libraries that loaded it."""
    more = OTHERS.get(to) or next((v for k, v in OTHERS.items() if to.startswith(k + "_")), ())
    amn = {"amn": os.environ["CROSSCHECK_COMMIT"]} if "CROSSCHECK_COMMIT" in os.environ else {}
    return {**amn, "transformers": T.__version__, "torch": torch.__version__.partition("+")[0]} | {k: version(k) for k in more}


def known(ledger):
    """The rows of a ledger that are not asked again."""
    rows = asked_before.rows(ledger) if ledger else []
    return [r for r in rows if not os.environ.get("CROSSCHECK_AGAIN") or r["versions"].get("amn") == os.environ.get("CROSSCHECK_COMMIT") or r["verdict"] in ("not built", "breaks") and without(r["versions"]) == without(versions(r["to"]))]


def without(versions):
    """The versions of the libraries alone."""
    return {k: v for k, v in versions.items() if k != "amn"}


def again(old, wrote):
    """What is added to the answer of an older amn if it is that of today too: the same libraries would load the same bytes. None if it is not known."""
    if old is None or old["verdict"] in ("not built", "breaks", "WRONG") or without(old["versions"]) != without(versions(old["to"])) or old.get("wrote") != wrote:
        return None
    return {"wrote": wrote, "loaded": old.get("loaded") or f"{old['date']} {old['versions'].get('amn', '')}".strip()}


def answers(types, widths, formats, work, ledger):
    lines = known(ledger)
    had = {asked_before.key(r) for r in lines}
    older = {asked_before.key(r): r for r in asked_before.rows(ledger)} if ledger else {}
    yield from lines
    for kind in types:
        for width in widths:
            asked = [t for t in formats if (kind, width, t) not in had]
            if not asked:
                continue
            with tempfile.TemporaryDirectory(dir=work) as tmp:
                root = pathlib.Path(tmp)
                for to, verdict, why, n, more in of(kind, width, asked, root, older):
                    row = {"type": kind, "width": width, "to": to, "verdict": verdict, "why": why, "elements": n, "date": datetime.date.today().isoformat(), "versions": versions(to), **more}
                    print(*list(row.values())[:6], file=sys.stderr, flush=True)
                    if ledger:
                        asked_before.add(ledger, row)
                    yield row
            gc.collect()


def of(kind, width, formats, root, older):
    """(target, verdict, why, elements, what else the row has) of each target."""
    try:
        cls = small.class_of(kind)
        small.VARIANTS = variant(kind, width)
        small.SMALL[kind] = small.SMALL.get(kind, {}) | OWN.get(kind, {})
        model = small.built(kind, cls, root / "plain").bfloat16()
        model.save_pretrained(root / "plain")
        fed = Feed(model)
        if not fed.how:
            raise ValueError(fed.what)
    except Exception as e:
        if os.environ.get("CROSSCHECK_TRACE"):
            traceback.print_exc()
        for to in formats:
            yield to, "not built", small.said(e), 0, {}
        return
    for to in formats:
        try:
            if other := apart_from(to):
                yield to, *other(cls, root, kind, model), {}
            else:
                yield to, *asked(to, cls, root, fed, older.get((kind, width, to)))
        except Exception as e:
            if os.environ.get("CROSSCHECK_TRACE"):
                traceback.print_exc()
            yield to, "WRONG", small.said(e), 0, {}


def asked(to, cls, root, fed, old):
    """(verdict, why, elements, what else the row has) of one target; old is the row of an older amn."""
    wrote = Wrote(to, root)
    if more := again(old, digest := wrote.digest()):
        return old["verdict"], old["why"], old["elements"], more
    return *one(to, cls, root, fed, wrote), {"wrote": digest}


def main():
    types, widths, formats = (os.environ.get(k, "").split() or d for k, d in (("CROSSCHECK_TYPES", TYPES), ("CROSSCHECK_WIDTHS", WIDTHS), ("CROSSCHECK_FORMATS", TARGETS)))
    rows = collections.defaultdict(lambda: [0, 0])
    verdicts = collections.defaultdict(collections.Counter)
    for r in answers(types, widths, formats, sys.argv[2], os.environ.get("CROSSCHECK_LEDGER")):
        rows[r["to"]][0] += r["elements"]
        rows[r["to"]][1] += r["verdict"] == "WRONG"
        verdicts[r["to"]][r["verdict"]] += 1
    if ledger := os.environ.get("CROSSCHECK_LEDGER"):
        asked_before.pack(ledger)
    print(json.dumps([[f"odd widths to {to}: " + ", ".join(f"{n} {v}" for v, n in verdicts[to].items()), f"transformers {T.__version__}", *rows[to]] for to in rows]))


if __name__ == "__main__":
    main()
