"""Folders that amn forget writes, run by the runtimes that load them on a processor:
transformers with compressed-tensors, FP8 and MXFP4 of its own, and GPTQModel's and
AWQ's modules in torch. Each weight that the runtime decodes, and each logit, has the bits
of the folder that amn remember makes of the same, which transformers runs.

    python3 crosscheck/run.py served          CROSSCHECK_FORMATS="gptq awq" for some of them
"""
import json
import os
import pathlib
import sys
import tempfile
import warnings

HERE = pathlib.Path(__file__).resolve().parent
# The modules torch.py and safetensors.py of this folder must not stand before the libraries.
sys.path = [p for p in sys.path if pathlib.Path(p or ".").resolve() != HERE]
sys.path.append(str(HERE / "forget"))
warnings.filterwarnings("ignore")
os.environ |= {"GPTQMODEL_DISABLE_PACK_EXT": "1", "HF_HUB_OFFLINE": "1"}
import torch  # noqa: E402
import transformers as T  # noqa: E402
from stored import amn  # noqa: E402
from tokenizers import Tokenizer  # noqa: E402
from tokenizers.models import WordLevel  # noqa: E402

T.logging.set_verbosity_error()
T.utils.logging.disable_progress_bar()
SMALL = {"vocab_size": 256, "hidden_size": 256, "intermediate_size": 512, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2}
WEIGHTS = ["mxfp8", "mxfp4", "nvfp4", "w8a16", "w4a16"]
# Decoded while they are loaded: their inputs are quantized too, or transformers 5.23 makes no room for packed zero points.
INPUTS = ["fp8_tensor", "fp8_dynamic", "fp8_block", "w8a8", "w8a16_asym", "w4a16_asym"]
PACKED = ["gptq_2", "gptq_3", "gptq", "gptq_8", "awq"]
FORMATS = [*WEIGHTS, *INPUTS, "fp8", "gpt_oss", *PACKED]


def model_of(to, root, kind):
    if to == "gpt_oss":
        config = T.GptOssConfig(num_hidden_layers=2, num_local_experts=4, num_experts_per_tok=2, vocab_size=256, hidden_size=64, intermediate_size=96, head_dim=16,
                                num_attention_heads=4, num_key_value_heads=2)
        model = T.GptOssForCausalLM(config)
    else:
        model = T.LlamaForCausalLM(T.LlamaConfig(**SMALL))
    model.to(kind).save_pretrained(root / "plain")
    words = Tokenizer(WordLevel({str(i): i for i in range(256)}, unk_token="0"))  # GPTQModel loads no folder without one
    T.PreTrainedTokenizerFast(tokenizer_object=words, unk_token="0", eos_token="1").save_pretrained(root / "plain")


def runtime(to, folder, kind):
    """The model as the runtime loads it, and how many keys it misses or has left over."""
    if to in PACKED:
        from gptqmodel import BACKEND, GPTQModel
        return GPTQModel.load(str(folder), backend=BACKEND.AWQ_TORCH if to == "awq" else BACKEND.GPTQ_TORCH, device="cpu", dtype=kind).model, 0
    if to == "gpt_oss":
        config = T.Mxfp4Config(dequantize=True)
    elif to == "fp8":
        config = T.FineGrainedFP8Config(dequantize=True)
    else:
        config = T.CompressedTensorsConfig(dequantize=to in INPUTS)
    model, info = T.AutoModelForCausalLM.from_pretrained(folder, dtype=kind, quantization_config=config, output_loading_info=True, device_map="cpu")
    return model, sum(len(v) for v in info.values())


def decoded(module, kind):
    """The weight of a quantized module, as the runtime decodes it: compressed-tensors does
    that for the first input."""
    if hasattr(module, "dequantize_weight"):
        return module.dequantize_weight().T.to(kind)
    if hasattr(module, "qweight"):
        from gptqmodel.quantization.awq.utils.packing_utils import dequantize_gemm
        return dequantize_gemm(module.qweight, module.qzeros, module.scales, module.bits, module.group_size).T.to(kind)
    return module.weight


def bits(a, b):
    a, b = (t.detach().contiguous().view({2: torch.int16, 4: torch.int32}[t.element_size()]) for t in (a, b))
    return int((a != b).sum())


def transposed(plain, modules):
    """Lets a model multiply as GPTQModel's modules do: by matrices of inputs and outputs."""
    for name, module in plain.named_modules():
        if isinstance(module, torch.nn.Linear) and hasattr(modules[name], "qweight"):
            module.forward = lambda x, w=module.weight.T.contiguous(): torch.matmul(x.reshape(-1, x.shape[-1]), w).reshape(*x.shape[:-1], -1)


def check(to, root, kind):
    model_of(to, root, kind)
    amn("forget", "-q", "--to", to, "-o", root / "ours", root / "plain")
    amn("remember", "-q", "--to", {torch.float16: "f16", torch.bfloat16: "bf16"}[kind], "-o", root / "decoded", root / "ours")
    ours, bad = runtime(to, root / "ours", kind)
    plain = T.AutoModelForCausalLM.from_pretrained(root / "decoded", dtype=kind)
    modules, n, stored = dict(ours.named_modules()), 0, 0
    ids = torch.arange(3, 30)[None]
    with torch.no_grad():
        if to in PACKED:
            transposed(plain, modules)
        got, want = ours(ids).logits, plain(ids).logits
        for name, module in plain.named_modules():
            if isinstance(module, torch.nn.Linear) and "lm_head" not in name:
                w = decoded(modules[name], kind)
                n, stored = n + w.numel(), stored + (type(modules[name]) is not torch.nn.Linear or to not in PACKED)
                off = bits(w, module.weight)
                if off:
                    print(f"{to}: {name}: {off} of {w.numel()} decode otherwise", file=sys.stderr)
                bad += off
    far = float((got.float() - want.float()).abs().max() / want.float().std())
    same = bits(got, want)
    print(f"{to}, {kind}: {n} weights, logits differ in {same} of {got.numel()} places, by {far:.2g} of their deviation", file=sys.stderr, flush=True)
    return n + got.numel() if stored else 0, bad + same


def main():
    seed = int.from_bytes(os.urandom(3), "little")
    print("served: seed", seed, file=sys.stderr, flush=True)
    torch.manual_seed(seed)
    rows = []
    for to in os.environ.get("CROSSCHECK_FORMATS", " ".join(FORMATS)).split():
        runs = "GPTQModel 7.7.0's torch modules" if to in PACKED else "transformers " + T.__version__
        with tempfile.TemporaryDirectory() as tmp:
            n, bad = check(to, pathlib.Path(tmp), torch.float16 if to in PACKED else torch.bfloat16)
        rows.append([f"forget --to {to}: weights and logits of what runs it", runs, n, bad])
    print(json.dumps(rows))


main()
