"""FP8 and integers under scales, written by amn quantize: codes, scales and shapes with
the bits that transformers' Fp8Quantize and compressed-tensors' compressors make of the
same numbers, and folders that transformers loads.

    python3 crosscheck/run.py scaled
    scaled.py --golden FOLDER        writes what the Go tests compare with
"""
import functools
import json
import os
import pathlib
import random
import sys
import tempfile
import types
import warnings

HERE = pathlib.Path(__file__).resolve().parent
# The modules torch.py and safetensors.py of this folder must not stand before the libraries.
sys.path = [p for p in sys.path if pathlib.Path(p or ".").resolve() != HERE]
sys.path.append(str(HERE / "forget"))
warnings.filterwarnings("ignore")
import compressed_tensors  # noqa: E402
import torch  # noqa: E402
import transformers as T  # noqa: E402
from compressed_tensors.compressors.base import BaseCompressor  # noqa: E402
from compressed_tensors.quantization.quant_scheme import preset_name_to_scheme  # noqa: E402
from compressed_tensors.quantization.utils import calculate_qparams  # noqa: E402
from compressed_tensors.quantization.utils.helpers import maybe_pad_tensor_for_block_quant  # noqa: E402
from safetensors.torch import load_file, save_file  # noqa: E402
from stored import amn, codes  # noqa: E402
from transformers.integrations.finegrained_fp8 import Fp8Quantize  # noqa: E402


T.logging.set_verbosity_error()
T.utils.logging.disable_progress_bar()
PRESETS = {"fp8_dynamic": "float-quantized", "fp8_block": "float-quantized", "w8a8": "int-quantized", "w8a16": "pack-quantized", "w4a16": "pack-quantized"}
FORMATS = ("fp8", *PRESETS)
SHAPES = [(256, 512), (128, 128), (384, 256), (129, 256), (200, 300), (1, 128)]


def numbers(g, kind, shapes):
    """Matrices with rows of different scales, zeros of both signs, and small numbers."""
    out = {}
    for i, shape in enumerate(shapes):
        x = torch.randn(shape, generator=g) * torch.exp(2 * torch.randn((shape[0], 1), generator=g))
        if i % 2:
            x[torch.rand(shape, generator=g) < 0.2] = 0
        if i == 0:
            x[: shape[0] // 2] = 0
            x[3] = -0.0
        if i == 2:
            x *= 1e-4
        out[f"m.{i}.weight"] = x.to(kind).contiguous()
    return out


def quantized(name, w, to):
    """What the library stores for a weight; the weight itself where no block fits."""
    if to == "fp8":
        config = types.SimpleNamespace(weight_block_size=[128, 128], scale_fmt=None)
        return Fp8Quantize(types.SimpleNamespace(quantization_config=config)).convert({name: w})
    if to.endswith("a16") and w.shape[1] % 128:
        return {name: w}
    scheme = preset_name_to_scheme(to.upper(), ["Linear"])
    if scheme.weights.strategy == "channel":
        low, high = w.amin(1, keepdim=True), w.amax(1, keepdim=True)
    elif scheme.weights.strategy == "group":
        groups = w.reshape(w.shape[0], -1, scheme.weights.group_size)
        low, high = groups.amin(-1), groups.amax(-1)
    else:
        padded = maybe_pad_tensor_for_block_quant(w, (128, 128))
        blocks = padded.reshape(padded.shape[0] // 128, 128, padded.shape[1] // 128, 128)
        low, high = blocks.amin((1, 3)), blocks.amax((1, 3))
    scale, _ = calculate_qparams(low, high, scheme.weights)
    stored = BaseCompressor.get_value_from_registry(PRESETS[to]).compress({"weight": w, "weight_scale": scale}, scheme)
    return {name.removesuffix("weight") + k: v for k, v in stored.items()}


SMALL = {"vocab_size": 128, "hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 4}
MODELS = {
    "LlamaForCausalLM": T.LlamaConfig(**SMALL),
    "Qwen2ForCausalLM": T.Qwen2Config(**SMALL, tie_word_embeddings=True),
    "Qwen3MoeForCausalLM": T.Qwen3MoeConfig(**SMALL, head_dim=32, num_experts=4, num_experts_per_tok=2, moe_intermediate_size=128),
}


def loads(root, to, cls, config):
    """A folder in transformers: no key is missing or left over, and each weight, decoded
    by the library, is within a step of its codes of what was quantized."""
    model = getattr(T, cls)(config).to(torch.bfloat16)
    model.save_pretrained(root / "plain")
    amn("forget", "-q", "-f", "--to", to, "-o", root / "ours", root / "plain")
    if to == "fp8":
        q = T.FineGrainedFP8Config(dequantize=True)
    else:
        q = T.CompressedTensorsConfig(dequantize=True)
    got, info = getattr(T, cls).from_pretrained(root / "ours", dtype=torch.bfloat16, quantization_config=q, output_loading_info=True)
    bad = sum(len(v) for v in info.values())
    stored, want, n = {}, model.state_dict(), 0
    for f in (root / "ours").glob("*.safetensors"):
        stored |= load_file(f)
    taken = sum(k.endswith(("_scale_inv", "_scale")) for k in stored)
    for name, w in got.state_dict().items():
        if name.endswith("weight") and name in want and want[name].shape == w.shape:
            n += w.numel()
            bad += int((w.float() - want[name].float()).abs().max() > want[name].float().abs().max() / (6 if to == "w4a16" else 14))
    return n if taken else 0, bad


def golden(folder):
    g = torch.Generator().manual_seed(1)
    for kind in (torch.bfloat16, torch.float16, torch.float32):
        label = str(kind).removeprefix("torch.")
        model = numbers(g, kind, [(128, 128), (130, 40), (2, 128)])
        save_file(model, folder / f"{label}.safetensors")
        for to in FORMATS:
            out = {}
            for name, w in model.items():
                out |= {k: v.contiguous() for k, v in quantized(name, w, to).items()}
            save_file(out, folder / f"{label}-{to}.safetensors")


def main():
    if sys.argv[1] == "--golden":
        return golden(pathlib.Path(sys.argv[2]))
    seed = random.randrange(2**31)
    print("scaled: seed", seed, file=sys.stderr, flush=True)
    torch.manual_seed(seed)
    rows = []
    for to in FORMATS:
        oracle = f"transformers {T.__version__}" if to == "fp8" else f"compressed-tensors {compressed_tensors.__version__}"
        with tempfile.TemporaryDirectory() as work:
            g = torch.Generator().manual_seed(seed)
            n, bad = codes(functools.partial(numbers, g), SHAPES, int(os.environ["CROSSCHECK_ELEMENTS"]), pathlib.Path(work), to, quantized)
        rows.append([f"forget --to {to}", oracle, n, bad])
        for cls, config in MODELS.items():
            if "Moe" in cls and to == "w8a8":
                continue  # transformers' conversion of experts reads no integers that are not packed
            with tempfile.TemporaryDirectory() as work:
                n, bad = loads(pathlib.Path(work), to, cls, config)
            rows.append([f"forget --to {to}: {cls} loads", f"transformers {T.__version__}", n, bad])
    print(json.dumps(rows))


main()
