"""Models of common types, quantized by amn to each format whose library runs on a
processor, and loaded by that library.

    python3 crosscheck/run.py targets        CROSSCHECK_TYPES="llama t5" CROSSCHECK_FORMATS="fp8 gptq" for some
    targets.py DUMP WORK [PAGE]              as run.py calls it; PAGE is docs/quantize.md, whose table of types is written anew
                                             CROSSCHECK_LEDGER=FILE: a line of JSON for each answer; what it has is not asked again
    targets.py breaks LEDGER > internal/transformers/breaks.txt

A small random model of each type in BF16. A difference is a key that is missing or left over
when the library loads the folder, a weight that it decodes to another number than the folder
that `amn dequantize` makes of it holds, a module that is quantized although the library's own
quantizer leaves it alone, and a folder that does not load. The library's own modules are:

    fp8                  what transformers' FineGrainedFP8 replaces
    fp8_dynamic, w4a16, mxfp4    all of torch's Linear but lm_head, as in llm-compressor's recipes
    torchao_int8         what transformers' TorchAoConfig quantizes
    gptq, awq            all of torch's Linear but lm_head; loaded by transformers with GPTQModel's modules, GPTQ with optimum
    modelopt_...         what ModelOpt quantizes and exports of the model itself; transformers loads no such folder,
                         so every exported tensor of the modules that amn quantizes is compared, bit by bit
    mlx_4                what mlx_lm's quantize_model quantizes

Modules that the library takes and amn leaves alone load: they are counted in the name of a row.
"""
import collections
import gc
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import traceback
import warnings

HERE = pathlib.Path(__file__).resolve().parent
# The modules torch.py and safetensors.py of this folder must not stand before the libraries.
sys.path = [p for p in sys.path if pathlib.Path(p or ".").resolve() != HERE]
sys.path.append(str(HERE / "linears"))
warnings.filterwarnings("ignore")
import reload as small  # noqa: E402
import torch  # noqa: E402
import transformers as T  # noqa: E402
from safetensors.torch import load_file  # noqa: E402
from transformers.core_model_loading import revert_weight_conversion  # noqa: E402
from transformers.initialization import no_tie_weights  # noqa: E402
from transformers.quantizers.base import HfQuantizer  # noqa: E402

T.logging.set_verbosity_error()
TYPES = """llama mistral mixtral qwen2 qwen2_moe qwen3 qwen3_moe qwen2_vl qwen2_5_vl gemma gemma2 gemma3 gemma3_text phi phi3 gpt2 gpt_neox gptj opt bloom starcoder2 stablelm
    cohere cohere2 olmo2 olmoe granite granitemoe glm glm4 smollm3 deepseek_v2 deepseek_v3 exaone4 llava bert roberta t5 whisper vit clip mamba lfm2 ernie4_5""".split()
TARGETS = ["fp8", "fp8_dynamic", "w4a16", "mxfp4", "torchao_int8", "gptq", "awq", "modelopt_fp8_block", "modelopt_mxfp8", "mlx_4"]
# Groups of 128 and heads that are whole: what a small model of reload.py has is too narrow.
WIDE = {k: 256 for k in small.WIDTHS} | {k: 512 for k in ("intermediate_size", "ffn_dim", "d_ff", "encoder_ffn_dim", "decoder_ffn_dim")} | {"head_dim": 64, "d_kv": 64}
SETS = (small.LAYERS | small.TOKENS | WIDE | small.HEADS, small.LAYERS | small.TOKENS | WIDE, small.LAYERS | small.TOKENS, small.LAYERS)
small.VARIANTS = SETS
CODES = re.compile(r"\.(weight_scale_inv|weight_scale|scales|weight_packed|weight:_weight_scale|weight_qdata|_weight_qdata|weight_scale_2)$")

LIBRARIES = {"w4a16": "compressed-tensors"}  # one of its formats stands for all
EXPERT = re.compile(r"\.experts\.\d+\.[^.]+$")


def amn(*args):
    return subprocess.run([os.environ["CROSSCHECK_AMN"], *map(str, args)], capture_output=True, text=True)


def tensors(folder):
    out = {}
    for f in sorted(folder.glob("*.safetensors")):
        out |= load_file(f)
    return out


def in_file(model):
    """The name in the file of each module of the model that has a matrix, None for one that is fused or taken apart."""
    state = dict(model.state_dict())
    saved = {id(v): k for k, v in revert_weight_conversion(model, dict(state)).items()}
    return {k.removesuffix(".weight"): (saved.get(id(v)) or "").removesuffix(".weight") or None for k, v in state.items() if k.endswith(".weight")}


def own(to, model, cls, plain):
    """The names in the file of the modules that the library quantizes."""
    names, experts = in_file(model), to in ("fp8_dynamic", "fp8_tensor", "w4a16", "w8a16", "mxfp4", "nvfp4")  # llm-compressor's recipes take Linear, which experts are in a file
    linear = {n for n, m in model.named_modules() if type(m) is torch.nn.Linear}
    if to == "fp8":
        from transformers.integrations.finegrained_fp8 import FP8Experts, FP8Linear, replace_with_fp8_linear
        with torch.device("meta"), no_tie_weights():
            empty = cls(model.config)  # as from_pretrained has it: a head is not yet its embedding
        skip = HfQuantizer.get_modules_to_not_convert(empty, None, model._keep_in_fp32_modules)
        replaced = replace_with_fp8_linear(empty, modules_to_not_convert=skip, quantization_config=T.FineGrainedFP8Config())
        taken = {n for n, m in replaced.named_modules() if isinstance(m, FP8Linear)}
        experts = any(isinstance(m, FP8Experts) for m in replaced.modules())
    elif to == "torchao_int8":
        from transformers.quantizers.quantizers_utils import should_convert_module
        with torch.device("meta"), no_tie_weights():
            skip = HfQuantizer.get_modules_to_not_convert(cls(model.config), None, model._keep_in_fp32_modules)
        taken = {n for n in linear if should_convert_module(n, skip)}
    else:
        taken = {n for n in linear if n != "lm_head"}
    return {names[n] for n in taken if names.get(n)}, {n for n in taken if not names.get(n)}, experts


def loaded(to, cls, folder):
    """The weights as the library decodes them, and what it misses or has left over."""
    if to == "fp8":
        q = T.FineGrainedFP8Config(dequantize=True)
    elif to == "torchao_int8":
        q = None
    else:
        q = T.CompressedTensorsConfig(dequantize=True)
    model, info = cls.from_pretrained(folder, dtype=torch.bfloat16, device_map="cpu", output_loading_info=True, **({"quantization_config": q} if q else {}))
    state = {k: v.dequantize() if hasattr(v, "dequantize") and type(v) is not torch.Tensor and type(v) is not torch.nn.Parameter else v for k, v in model.state_dict().items()}
    return state, {k: sorted(map(str, v))[:3] for k, v in info.items() if v}


def transformers(to, kind, cls, model, root):
    plain, ours, back = root / "plain", root / f"ours-{to}", root / "back"
    done = amn("quantize", "--json", "-f", "--to", to, "-o", ours, plain)
    said = json.loads(done.stdout.splitlines()[0]).get("forgotten", {}).get("breaks_again", "")
    if done.returncode:
        return "refused", done.stderr.strip().splitlines()[0].replace(f"amn: {plain}: ", "")[:160], 0
    stored = {CODES.sub("", k) for k in tensors(ours) if CODES.search(k)}
    theirs, fused, experts = own(to, model, cls, plain)
    theirs |= {k for k in stored if experts and EXPERT.search(k)}
    try:
        state, wrong = loaded(to, cls, ours)
    except Exception as e:
        if said:
            return "does not load", f"does not load: {small.said(e)}", 0
        raise
    if wrong:
        return "does not load" if said else "WRONG", f"loads with {wrong}", 0
    if more := stored - theirs:
        return "WRONG", f"quantized too: {sorted(more)[:3]}", 0
    done = amn("dequantize", "-q", "-f", "--to", "bf16", "-o", back, ours)
    if done.returncode:
        return "WRONG", done.stderr[-160:], 0
    want, wrong = cls.from_pretrained(back, dtype=torch.bfloat16, device_map="cpu", output_loading_info=True)
    want, n = want.state_dict(), 0
    if set(want) - set(state):
        return "WRONG", f"keys {sorted(set(want) ^ set(state))[:3]}", 0
    for k, v in want.items():
        n += v.numel()
        if small.bits(v) != small.bits(state[k].to(v.dtype)):
            return "WRONG", f"{k} decodes to other numbers", n
    left = len(theirs - stored) + len(fused)
    return ("equal" if not left else "fewer"), (f"{len(stored)} modules" + (f", {left} left alone: {sorted(theirs - stored or fused)[0]}" if left else "")), n


def unpacked(module):
    """The matrix of one of GPTQModel's modules, as its runtime decodes it."""
    if hasattr(module, "dequantize_weight"):
        return module.dequantize_weight().T
    from gptqmodel.quantization.awq.utils.packing_utils import dequantize_gemm
    return dequantize_gemm(module.qweight, module.qzeros, module.scales, module.bits, module.group_size).T


def packed(to, kind, cls, model, root):
    """GPTQ and AWQ, in transformers with GPTQModel's modules."""
    plain, ours, back = root / "half", root / f"ours-{to}", root / "back"
    model.half().save_pretrained(plain)
    model.bfloat16()
    done = amn("quantize", "--json", "-f", "--to", to, "-o", ours, plain)
    if done.returncode:
        return "refused", done.stderr.strip().splitlines()[0].replace(f"amn: {plain}: ", "")[:160], 0
    said = json.loads(done.stdout.splitlines()[0]).get("forgotten", {}).get("breaks_again", "")
    try:
        got, info = cls.from_pretrained(ours, dtype=torch.float16, device_map="cpu", output_loading_info=True)
    except Exception as e:
        if said:
            return "does not load", f"does not load: {small.said(e)}", 0
        raise
    if wrong := {k: sorted(map(str, v))[:3] for k, v in info.items() if v}:
        return "does not load" if said else "WRONG", f"loads with {wrong}", 0
    done = amn("dequantize", "-q", "-f", "--to", "f16", "-o", back, ours)
    if done.returncode:
        return "WRONG", done.stderr[-160:], 0
    want, n, modules, state = cls.from_pretrained(back, dtype=torch.float16, device_map="cpu").state_dict(), 0, dict(got.named_modules()), got.state_dict()
    taken = {k for k, m in modules.items() if hasattr(m, "qweight")}
    for k, v in want.items():
        at, _, part = k.rpartition(".")
        w = unpacked(modules[at]).to(v.dtype) if at in taken and part == "weight" else state[k]
        n += v.numel()
        if small.bits(v) != small.bits(w.to(v.dtype)):
            return "WRONG", f"{k} decodes to other numbers", n
    theirs = {k for k, m in model.named_modules() if type(m) is torch.nn.Linear and k.rpartition(".")[2] != "lm_head"}
    left = sorted(theirs - taken)
    if not taken:
        return "WRONG", "nothing is quantized where it is loaded", n
    return ("fewer" if left else "equal"), f"{len(taken)} modules" + (f", {len(left)} left alone: {left[0]}" if left else ""), n


def modelopt(to, kind, cls, model, root):
    """What ModelOpt exports of the same model: its weights need no data."""
    from modelopt.torch import quantization as mtq
    from modelopt.torch.export import export_hf_checkpoint
    plain, ours, theirs = root / "plain", root / f"ours-{to}", root / f"theirs-{to}"
    try:
        theirs_model = mtq.quantize(cls.from_pretrained(plain, dtype=torch.bfloat16, device_map="cpu"),
                                    {"modelopt_fp8_block": mtq.FP8_2D_BLOCKWISE_WEIGHT_ONLY_CFG, "modelopt_mxfp8": mtq.MXFP8_DEFAULT_CFG, "modelopt_fp8_channel": mtq.FP8_PER_CHANNEL_PER_TOKEN_CFG,
                                     "modelopt_fp8": mtq.FP8_DEFAULT_CFG, "modelopt_nvfp4": mtq.W4A16_NVFP4_CFG}[to])
        export_hf_checkpoint(theirs_model, export_dir=theirs)
        names = in_file(model)  # it exports some models under the names that modules have, others under those of files
        want = {next((k.replace(m, names[m], 1) for m in (CODES.sub("", k), k.removesuffix(".weight")) if names.get(m)), k): v for k, v in tensors(theirs).items()}
    except Exception as e:
        return "not exported", small.said(e), 0
    done = amn("quantize", "-q", "-f", "--to", to, "-o", ours, plain)
    if done.returncode:
        return "refused", done.stderr.strip().splitlines()[0].replace(f"amn: {plain}: ", "")[:160], 0
    got, n = tensors(ours), 0
    stored, taken = ({CODES.sub("", k) for k in t if CODES.search(k)} for t in (got, want))
    if more := stored - taken:
        return "WRONG", f"quantized too: {sorted(more)[:3]}", 0
    left = sorted(taken - stored)
    stacks = {k.removesuffix("_weight_scale") for k in want if k.endswith("experts.down_proj_weight_scale") or k.endswith("experts.gate_up_proj_weight_scale")} - stored
    left += sorted(stacks)  # experts that the class has stacked
    alone = own_scales(plain, got, want, stored) if to == "modelopt_nvfp4" else set()
    for k, v in want.items():
        if any(k.startswith((m + ".weight", m + "_weight")) or k == m for m in left) or k.endswith("input_scale") or CODES.sub("", k).removesuffix(".weight") in alone:
            continue
        n += v.numel()
        k = k if k in got else k.replace("model.", "backbone.", 1)  # the names of files, of what is no weight
        if v.numel() == 1 and k in got and got[k].numel() == 1:
            v = v.reshape(got[k].shape)  # ModelOpt squeezes the scale of a matrix of one block
        if k in got and not any(k.startswith(m + ".") for m in stored):
            v = v.to(got[k].dtype).reshape(got[k].shape)  # transformers loads what a class keeps in float32 so, and ModelOpt exports what is loaded
        if k not in got or small.bits(v) != small.bits(got[k]):
            return "WRONG", f"{k} {'is missing' if k not in got else 'has other bits'}", n
    return ("fewer" if left else "equal"), f"{len(stored)} modules" + (f", {len(left)} left alone: {left[0]}" if left else "") + (f", {len(alone)} with a global scale of their own" if alone else ""), n


def own_scales(plain, got, want, stored):
    """The modules to which ModelOpt's exporter gives the largest global scale of all modules with the same input, and amn their own, since no
    loader fuses them: their codes and scales are those that ModelOpt's quantizer makes with it."""
    from modelopt.torch.quantization.qtensor import NVFP4QTensor
    weights, found = tensors(plain), set()
    for m in stored:
        ours, theirs, w = got.get(m + ".weight_scale_2"), want.get(m + ".weight_scale_2"), weights.get(m + ".weight")
        if ours is None or theirs is None or w is None or small.bits(ours.reshape(theirs.shape)) == small.bits(theirs):
            continue
        own = w.float().abs().max() / (6 * 448)
        shared = sum(torch.equal(v, theirs) for k, v in want.items() if k.endswith(".weight_scale_2"))
        codes, scale, _ = NVFP4QTensor.quantize(w, 16, weights_scaling_factor_2=own)
        if shared > 1 and theirs > own and torch.equal(ours.reshape(()), own) and torch.equal(codes._quantized_data, got[m + ".weight"]) and small.bits(scale) == small.bits(got[m + ".weight_scale"]):
            found.add(m)
    return found


def mlx(to, kind, cls, model, root):
    import mlx.core as mx
    import mlx.utils
    import mlx_lm.utils as U
    plain, ours = root / "plain", root / f"ours-{to}"
    try:
        theirs, config = U.load_model(plain)
        mode = to.removeprefix("mlx_")
        how = {"bits": int(mode), "group_size": 64} if mode.isdigit() else {"mode": mode, "bits": 8 if mode.endswith("8") else 4, "group_size": 16 if mode == "nvfp4" else 32}
        theirs, _ = U.quantize_model(theirs, config, **how)
    except Exception as e:
        return "not read by mlx_lm", small.said(e), 0
    done = amn("quantize", "-q", "-f", "--to", to, "-o", ours, plain)
    if done.returncode:
        return "refused", done.stderr.strip().splitlines()[0].replace(f"amn: {plain}: ", "")[:160], 0
    got, _ = U.load_model(ours)  # strict: no key is missing or left over
    want, got = (dict(mlx.utils.tree_flatten(m.parameters())) for m in (theirs, got))
    if set(want) != set(got):
        return "WRONG", f"keys {sorted(set(want) ^ set(got))[:3]}", 0
    n = 0
    for k, v in want.items():
        n += v.size
        if v.dtype != got[k].dtype or v.shape != got[k].shape or not bool(mx.all(v == got[k])):
            return "WRONG", f"{k}: {v.dtype} {v.shape}, {got[k].dtype} {got[k].shape}", n
    return "equal", f"{sum(k.endswith('.scales') for k in want)} modules", n


def breaks(ledger):
    """internal/transformers/breaks.txt: the types of which transformers does not load a format, with what it says."""
    rows = collections.defaultdict(list)
    for r in map(json.loads, open(ledger)):
        if r["why"].startswith(("loads with ", "does not load: ")):
            rows[r["to"], reason(r["why"])].append(r["type"])
    print(f"# Types of which transformers {T.__version__} does not load what is quantized here, by format and library, as crosscheck/targets.py found.")
    print("# LIBRARY/TYPE ... | what it says")
    for (to, why), types in sorted(rows.items()):
        print(" ".join(f"{LIBRARIES.get(to, to)}/{t}" for t in sorted(types)) + "|" + why)


def reason(why):
    """What the program prints of an answer."""
    if m := re.match(r"loads with \{'(missing|unexpected)_keys': \['([^']+)", why):
        return f"{m[1]} keys, as {m[2]}"
    return re.sub(r"^does not load: (\w+: )?", "", why).split(". ")[0].strip()


def answers(types, targets, work, ledger=None):
    """(type, target, verdict, why, elements) of each."""
    known = {(r["type"], r["to"]) for r in map(json.loads, open(ledger))} if ledger and os.path.exists(ledger) else set()
    for kind in types:
        asked = [t for t in targets if (kind, t) not in known]
        if not asked:
            continue
        for answer in of_type(kind, asked, work):
            if ledger:
                with open(ledger, "a") as f:
                    print(json.dumps(dict(zip(("type", "to", "verdict", "why"), answer))), file=f)
            yield answer


def of_type(kind, targets, work):
    """The answers of one type."""
    with tempfile.TemporaryDirectory(dir=work) as tmp:
        root = pathlib.Path(tmp)
        try:
            cls = small.class_of(kind)
            model = small.built(kind, cls, root / "plain").bfloat16()
            model.save_pretrained(root / "plain")
        except Exception as e:
            for to in targets:
                yield kind, to, "not built", small.said(e), 0
            return
        for to in targets:
            try:
                how = next((f for begin, f in (("mlx", mlx), ("gptq", packed), ("awq", packed), ("modelopt", modelopt)) if to.startswith(begin)), transformers)
                verdict, why, n = how(to, kind, cls, model, root)
            except Exception as e:
                if os.environ.get("CROSSCHECK_TRACE"):
                    traceback.print_exc()
                verdict, why, n = "WRONG", f"does not load: {small.said(e)}", 0
            print(kind, to, verdict, why, n, file=sys.stderr, flush=True)
            yield kind, to, verdict, why, n
        gc.collect()


HEAD = "## Types that their libraries load"


def page(path, targets, table):
    """The verdicts, type by type; what is not equal has a note below."""
    text = path.read_text()
    begin = text.index("\n", text.index(HEAD)) + 1
    begin = text.index("\n| type |", begin) + 1
    end = text.find("\n## ", begin)
    notes, lines = {}, ["| type | " + " | ".join(targets) + " |", "|---|" + "---|" * len(targets)]
    for kind, answers in table.items():
        cells = []
        for to in targets:
            verdict, why = answers.get(to, ("", ""))
            if verdict not in ("equal", "", "not read by mlx_lm"):
                said = f"does not load: {reason(why)}" if verdict == "does not load" else why.split("; ")[0]  # without what a message advises
                notes.setdefault((kind, " ".join(said.split()).replace("<", "&lt;")), []).append(to)
            cells.append(verdict if verdict != "equal" else why.removesuffix(" modules"))
        lines.append(f"| {kind} | " + " | ".join(cells) + " |")
    notes = [f"- {kind}, {', '.join(of)}: {said}" for (kind, said), of in notes.items()]
    path.write_text(text[:begin] + "\n".join(lines + [""] + notes) + "\n" + (text[end:] if end > 0 else ""))


def main():
    types, targets = (os.environ.get(k, "").split() or d for k, d in (("CROSSCHECK_TYPES", TYPES), ("CROSSCHECK_FORMATS", TARGETS)))
    rows = collections.defaultdict(lambda: [0, 0])
    verdicts, table = collections.defaultdict(collections.Counter), collections.defaultdict(dict)
    for kind, to, verdict, why, n in answers(types, targets, sys.argv[2], os.environ.get("CROSSCHECK_LEDGER")):
        rows[to][0] += n
        rows[to][1] += verdict == "WRONG"
        verdicts[to][verdict] += 1
        table[kind][to] = verdict, why
    if len(sys.argv) > 3:
        page(pathlib.Path(sys.argv[3]), targets, table)
    out = [[f"quantize --to {to}: " + ", ".join(f"{n} {v}" for v, n in verdicts[to].items()), "mlx_lm" if to.startswith("mlx") else f"transformers {T.__version__}", *rows[to]] for to in rows]
    print(json.dumps(out))


if __name__ == "__main__":
    breaks(sys.argv[2]) if sys.argv[1:2] == ["breaks"] else main()
